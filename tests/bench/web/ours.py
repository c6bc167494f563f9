"""The tasks as pipelines and agents of this project."""

from __future__ import annotations

from sqlalchemy import select
from tests.bench.web.model import Case, Field, Row
from tests.bench.web.serving import Served
from tests.bench.web.verdicts import Outcome

from agentic.core.types import JSONValue
from agentic.executors.agents.runner import ExecutionOutcome, run_execution
from agentic.mappers import AgentModel, Database, add_agent, add_project, create_execution
from agentic.plugins.feed.models import FeedEntryModel
from agentic.plugins.web.models import ItemModel

LOOPBACK: JSONValue = ["127.0.0.1", "localhost"]


async def run_ours(case: Case, served: Served, database: Database) -> Outcome:
    """Run the task of a case in a project of its own."""
    with database.writing() as session:
        project = add_project(session, case.name)
        make = watch if case.feed else crawl
        agent = add_agent(session, project, "bench", *make(case, served))
    reports: list[str] = []
    for number in range(case.rounds):
        served.round = number
        outcome = await _run(agent, database)
        reports += [*outcome.warnings, *([outcome.error] if outcome.error else [])]
    read = _entries if case.feed else _items
    return Outcome(read(database, project.id), reports)


def crawl(case: Case, served: Served) -> tuple[str, dict[str, JSONValue]]:
    """Return the platform and the config of an agent that crawls a site."""
    schema: JSONValue = {name: _rule(field) for name, field in case.fields.items()}
    step: dict[str, JSONValue] = {
        "type": "crawl",
        "start": served.fill(case.start),
        "detail": {"match": ["*"], "config": {"schema": schema}},
    }
    if case.sitemap:
        step["sitemaps"] = [served.fill(f"{{here}}{case.sitemap}")]
    if case.max_pages:
        step["max_pages"] = case.max_pages
    pipeline: JSONValue = {"name": "bench", "steps": [step]}
    return "web", {"pipeline": pipeline, "http": {"allow_private_hosts": LOOPBACK}}


def watch(case: Case, served: Served) -> tuple[str, dict[str, JSONValue]]:
    """Return the platform and the config of an agent that polls a feed."""
    feeds: JSONValue = [served.fill(f"{{here}}{case.feed}")]
    return "feed", {"feeds": feeds, "ignore_schedule": True, "allow_private_hosts": LOOPBACK}


def _rule(field: Field) -> JSONValue:
    if field.jsonld:
        return {"jsonld": field.jsonld, **({"type": field.kind} if field.kind != "text" else {})}
    return field.css if field.kind == "text" else {"selector": field.css, "type": field.kind}


async def _run(agent: AgentModel, database: Database) -> ExecutionOutcome:
    with database.writing() as session:
        execution_id = create_execution(session, agent).id
    return await run_execution(execution_id, agent.id, database=database)


def _items(database: Database, project_id: str) -> list[Row]:
    with database.reading() as session:
        found = session.scalars(select(ItemModel.data).where(ItemModel.project_id == project_id))
        return [dict(data) for data in found]  # type: ignore[arg-type]


def _entries(database: Database, project_id: str) -> list[Row]:
    with database.reading() as session:
        found = session.scalars(select(FeedEntryModel).where(FeedEntryModel.project_id == project_id))
        return [
            {
                "title": entry.title,
                "link": entry.link,
                "published": entry.published_at.isoformat() if entry.published_at else None,
            }
            for entry in found
        ]
