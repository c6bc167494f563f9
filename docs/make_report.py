"""Makes ``docs/explanation/run-report.html``: the report of a real crawl with a few faults in it.

Run it with ``python docs/make_report.py`` where ``agentic-pipelines[local,firecrawl]`` is installed. It
crawls the fake shop on loopback twice: the first time some articles are missing, the second time some pages
refuse, are slow, fail or are gone.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path

from agentic.core.hooks import get_registry
from agentic.core.logging import configure_logging
from agentic.core.pipeline import PipelineSpec, parse_spec
from agentic.core.settings import load_settings
from agentic.executors.agents.catalog import AgentFacts, put_agent
from agentic.executors.agents.local import run_locally
from agentic.executors.reports.gathering import gather_report
from agentic.executors.reports.page import render
from agentic.fakes.control import Fault
from agentic.fakes.server import FakeServer
from agentic.mappers import AgentModel, Database, ExecutionModel, add_project, create_execution, find_project
from agentic.mappers.catalog.pipelines import store_pipeline
from agentic.migrations import upgrade

REPORT = Path(__file__).parent / "explanation" / "run-report.html"
PRODUCTS = 560

SHOP = """
name: small-shop
description: Reads every page of a shop and keeps what its articles cost; what it refuses, Firecrawl gets.
http: {{allow_private_hosts: ["127.0.0.1"], requests_per_second: 60, timeout_s: 1}}
error_handling:
  timeout: {{retry_count: 2, backoff_s: 0.2}}
  http_5xx: {{retry_count: 2, backoff_s: 0.1}}
  403_error: {{retry_with_actor: firecrawl_scrape}}
steps:
  - id: articles
    type: crawl
    start: "{url}"
    detail:
      match: ["*/product/*"]
      config:
        schema:
          title: {{selector: "h1.title", required: true}}
          price: {{selector: ".price", type: number}}
          currency: .currency
          stock: {{selector: ".stock", type: integer}}
"""

FIRST_FAULTS = (Fault(path="/shop/product/52?", status=404, times=None),)
FAULTS = (
    Fault(path="/shop/product/1?", status=403, times=8),
    Fault(path="/shop/product/40", status=404, times=None),
    Fault(path="/shop/product/41", status=404, times=None),
    Fault(path="/shop/product/42", status=410, times=None),
    Fault(path="/shop/product/7*", delay_s=1.5, times=7),
    Fault(path="/shop/product/88", delay_s=1.5, times=None),
    Fault(path="/shop/product/3??", status=503, times=9),
    Fault(path="/shop/product/200", status=500, times=None),
)


def main() -> None:
    """Crawl twice, and write down the second time."""
    configure_logging("warning")
    with tempfile.TemporaryDirectory() as home:
        settings = load_settings(home=Path(home))
        upgrade(settings.database, get_registry())
        database, executions = Database.configured(settings), list[ExecutionModel]()
        with FakeServer(products=PRODUCTS) as fakes:
            os.environ["AGENTIC_FIRECRAWL_URL"] = fakes.firecrawl_url
            agent = stored_agent(database, fakes.shop_url)
            for faults in (FIRST_FAULTS, FAULTS):
                fakes.control.reset()
                for fault in faults:
                    fakes.control.add(fault)
                executions.append(crawl(database, agent))
        report = gather_report(database, executions[-1], agent)
        database.dispose()
    # The name of a worker is that of its machine.
    REPORT.write_text(render(replace(report, header=replace(report.header, workers=("worker-1",)))))


def stored_agent(database: Database, url: str) -> AgentModel:
    """Return a new agent that crawls the shop."""
    spec: PipelineSpec = parse_spec(SHOP.format(url=url), get_registry().actors)
    config = {"pipeline": spec.model_dump(mode="json", exclude_unset=True, by_alias=True), "inputs": {}}
    with database.writing() as session:
        add_project(session, "default")
        project = find_project(session, "default")
        store_pipeline(session, project.id, spec)
        return put_agent(session, project, AgentFacts(name=spec.name, platform="web", config=config))


def crawl(database: Database, agent: AgentModel) -> ExecutionModel:
    """Run the agent; return its execution."""
    with database.writing() as session:
        execution = create_execution(session, agent)
    run_locally(execution, database=database, settings=load_settings())
    return execution


if __name__ == "__main__":
    main()
