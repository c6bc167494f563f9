"""``agentic demo --drift``: a shop is redesigned in mid-crawl, and its pipeline is repaired."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from itertools import count
from typing import TYPE_CHECKING
from urllib.request import Request, urlopen

from agentic.core.cli import console
from agentic.core.hooks import get_registry
from agentic.core.settings import Settings
from agentic.core.terminal import harmless
from agentic.core.types import JSONValue
from agentic.executors.commands.repairs import accept_repair, show_repair
from agentic.executors.commands.runs.steering import Desk
from agentic.executors.errors import ExecutionFailedError

if TYPE_CHECKING:
    from agentic.executors.agents.outcome import ExecutionOutcome
    from agentic.mappers import AgentModel, Database, ExecutionModel

PRODUCTS = 60
AFTER = 14
"""Product pages that the second crawl still gets in the old layout."""

CHANGES: Mapping[str, str] = {
    "hash_classes": "classes hashed",
    "wrap": "blocks wrapped",
    "swap_columns": "columns swapped",
    "change_language": "labels German",
}
AGENT = "shop"
APPROVER = "the demo"
Rows = Mapping[str, tuple[JSONValue, JSONValue]]
"""Key of an item -> its fields, and the version of the pipeline that read it."""


def pipeline_of(shop_url: str) -> dict[str, JSONValue]:
    """Return the pipeline of the demo: a crawl of the shop with five fields for each product."""
    return {
        "name": AGENT,
        "http": {"allow_private_hosts": ["127.0.0.1"]},
        "steps": [
            {
                "type": "crawl",
                "start": shop_url,
                "follow": {"include": ["*/category/*", "*/product/*"]},
                "commit_pages": 4,
                "max_parallel": 4,
                "store": {"pages": False},
                "repair": "propose",
                "detail": {
                    "match": ["*/product/*"],
                    "config": {
                        "schema": {
                            "title": "h1.title",
                            "price": {"selector": ".price", "type": "number"},
                            "sku": ".sku",
                            "stock": {"selector": ".stock", "type": "integer"},
                            "rating": {"selector": ".rating", "type": "number"},
                        }
                    },
                },
            }
        ],
    }


def tell_story(settings: Settings, database: Database, fakes_url: str) -> None:
    """Crawl the shop, redesign it in the next crawl, accept the repair, and compare all rows.

    Args:
        settings: Of the demo.
        database: Empty, and up to date.
        fakes_url: Where the fakes listen.

    Raises:
        ExecutionFailedError: A row is lost or wrong, or a crawl ended in another way than it should.
    """
    _Story(settings, database, fakes_url).tell()


class _Story:
    def __init__(self, settings: Settings, database: Database, fakes_url: str) -> None:
        self.settings, self.database, self.fakes_url = settings, database, fakes_url
        self._numbers = count(1)

    def tell(self) -> None:
        """Tell it, step by step."""
        agent = self._agent()
        self._head("a crawl of the shop as it is")
        first = self._run(self._execution(agent))
        self._check(first.status == "succeeded", f"the first crawl is {first.status}")
        healthy = self._rows()
        self._say(f"{len(healthy)} products are stored")
        self._head("the next crawl; after some pages the shop has another layout")
        self._redesign()
        self._say(f"page {AFTER + 1} on: {', '.join(CHANGES.values())}")
        execution = self._execution(agent)
        self._run(execution)
        desk = Desk(
            settings=self.settings,
            database=self.database,
            project_id=agent.project_id,
            project=agent.project.name,
        )
        repair = self._held(execution)
        self._head("the repair that the crawl proposes")
        show_repair(desk, repair)
        self._head(f"{APPROVER} accepts it, as a person would")
        accept_repair(desk, repair, APPROVER)
        self._head("the crawl continues with the new version")
        last = self._run(execution)
        self._check(last.status == "succeeded", f"the crawl is {last.status}")
        self._say(f"it is {last.status}")
        self._head("the demo compares all rows with the first crawl")
        self._compare(healthy, self._rows())

    def _agent(self) -> AgentModel:
        from agentic.executors.agents.catalog import AgentFacts, put_agent
        from agentic.executors.commands.shared.database import ensured_project

        facts = AgentFacts(
            name=AGENT, platform="web", config={"pipeline": pipeline_of(f"{self.fakes_url}/shop/")}
        )
        with self.database.writing() as session:
            return put_agent(session, ensured_project(session, None, self.settings), facts)

    def _execution(self, agent: AgentModel) -> ExecutionModel:
        from agentic.mappers import create_execution

        with self.database.writing() as session:
            return create_execution(session, agent)

    def _run(self, execution: ExecutionModel) -> ExecutionOutcome:
        from agentic.executors.agents.runner import run_execution

        return asyncio.run(run_execution(execution.id, execution.agent_id, database=self.database))

    def _redesign(self) -> None:
        order = {"path": "/shop/product/*", "changes": [*CHANGES], "after": AFTER}
        body = json.dumps(order).encode()
        url, headers = f"{self.fakes_url}/__control/redesign", {"Content-Type": "application/json"}
        with urlopen(Request(url, body, headers), timeout=10) as answer:  # noqa: S310 - the demo's own server
            answer.read()

    def _held(self, execution: ExecutionModel) -> str:
        """Show why the crawl waits; return the repair that it proposes."""
        from agentic.mappers.catalog.repairs import proposed_repairs
        from agentic.mappers.crawl.held import held_crawls

        with self.database.reading() as session:
            crawls = held_crawls(session, execution.project_id, execution.id)
            repairs = proposed_repairs(session, execution.project_id, execution.id)
        self._check(len(crawls) == len(repairs) == 1, "the crawl does not wait with a repair")
        (crawl,) = crawls
        for incident in crawl.incidents:
            self._say(incident.headline)
            for fault in incident.faults:
                self._say(f"  {fault.words}")
        self._say(f"{crawl.held} of {crawl.total} pages are held, and all rows are kept")
        return repairs[0]

    def _rows(self) -> Rows:
        """Return the stored products, by their keys."""
        from sqlalchemy import inspect, select

        from agentic.mappers import SourceColumns, find_project

        models = [one for one in get_registry().platform("web").models if issubclass(one, SourceColumns)]
        (items,) = (table for one in models if (table := inspect(one).local_table).name == "items")
        with self.database.reading() as session:
            project_id = find_project(session, self.settings.project).id
            query = select(items.c.key, items.c.data, items.c.pipeline_version)
            found = session.execute(query.where(items.c.project_id == project_id))
            return {key: (data, version) for key, data, version in found}

    def _compare(self, healthy: Rows, now: Rows) -> None:
        lost = healthy.keys() - now.keys()
        wrong = [key for key, (fields, _) in healthy.items() if key in now and now[key][0] != fields]
        repaired = sum(version is not None for _, version in now.values())
        self._say(f"{len(now)} rows: {len(lost)} lost, {len(wrong)} wrong")
        self._say(f"{repaired} of them were read by version 1 of the pipeline")
        self._check(not lost and not wrong and len(now) == len(healthy), "rows are lost or wrong")
        self._say("not one row is lost or wrong")

    def _check(self, is_right: bool, problem: str) -> None:
        if not is_right:
            raise ExecutionFailedError(f"the demo did not go as it should: {problem}")

    def _head(self, line: str) -> None:
        console.print(f"\n{next(self._numbers)}. {line}", markup=False, highlight=False, style="bold")

    def _say(self, line: str) -> None:
        console.print(harmless(f"   {line}"), markup=False, highlight=False)
