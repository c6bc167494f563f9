"""Actors with language models in runs of agents: rows, budgets, kept answers and counts."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import cast

import pytest
from sqlalchemy import select

from agentic.core.bus import MemoryBus
from agentic.core.types import JSONValue
from agentic.executors.agents.runner import ExecutionOutcome, run_execution
from agentic.fakes.server import FakeServer
from agentic.mappers import (
    AgentResultModel,
    Database,
    ExecutionStatus,
    add_agent,
    add_project,
    create_execution,
    find_project,
)
from agentic.plugins.web.models import ItemModel

pytestmark = pytest.mark.integration

PRODUCTS = 12
Item = dict[str, JSONValue]
RunSteps = Callable[..., Awaitable[ExecutionOutcome]]

EXAMPLE = Path(__file__).parents[5] / "examples" / "labelled-shop" / "labelled_shop.yaml"

LABELS: Item = {
    "nature": "meadow river canyon summit garden winter summer harbor",
    "computing": "queue graph worker retry cursor kernel packet index socket buffer thread",
}
CLASSIFY: Item = {
    "model": "fake:words",
    "labels": LABELS,
    "may_be_unknown": True,
    "schema": {"title": "h1.title", "description": ".description"},
}


@pytest.fixture
def database(tmp_path: Path, whole_file: Path) -> Iterator[Database]:
    opened = Database(f"sqlite:///{shutil.copy(whole_file, tmp_path / 'web.db')}")
    with opened.writing() as session:
        add_project(session, "shops")
    yield opened
    opened.dispose()


@pytest.fixture(scope="module")
def shop() -> Iterator[str]:
    with FakeServer(seed=1, stories=1, products=PRODUCTS) as server:
        yield server.shop_url


@pytest.fixture
def run_steps(database: Database) -> RunSteps:
    """Run a pipeline of steps as an agent."""

    async def run(*steps: Item, name: str = "labels", **more: JSONValue) -> ExecutionOutcome:
        spec: Item = {"name": name, "item_key": "url", "steps": [*steps], **more}
        config: Item = {"pipeline": spec, "http": {"allow_private_hosts": ["127.0.0.1"]}}
        with database.writing() as session:
            project = find_project(session, "shops")
            agent = add_agent(session, project, f"agent-{name}-{len(steps)}", "web", config)
            execution_id = create_execution(session, agent).id
        return await run_execution(execution_id, agent.id, database=database, bus=MemoryBus())

    return run


@pytest.fixture
def result_of(database: Database) -> Callable[[ExecutionOutcome], Item]:
    def read(outcome: ExecutionOutcome) -> Item:
        query = select(AgentResultModel).where(AgentResultModel.execution_id == outcome.execution_id)
        with database.reading() as session:
            return dict(session.scalars(query).one().summary)

    return read


def crawl(shop: str, **config: JSONValue) -> Item:
    return {
        "type": "crawl",
        "start": shop,
        "detail": {"match": "*/product/*", "actor": "classify", "config": {**CLASSIFY, **config}},
    }


def rows(database: Database) -> list[Item]:
    with database.reading() as session:
        return [dict(row.data) for row in session.scalars(select(ItemModel))]


async def test_a_crawl_stores_the_labels_of_its_pages_and_the_next_run_asks_no_model(
    database: Database, shop: str, run_steps: RunSteps, result_of: Callable[[ExecutionOutcome], Item]
) -> None:
    first = await run_steps(crawl(shop))
    assert first.status is ExecutionStatus.SUCCEEDED
    stored = rows(database)
    assert len(stored) == PRODUCTS
    assert {*stored[0]} == {"url", "title", "description", "label"}
    assert set(Counter(item["label"] for item in stored)) <= {"nature", "computing", "unknown"}
    models = cast(Item, result_of(first)["models"])
    assert (models["requests"], models["cached"]) == (PRODUCTS, 0)
    assert cast(int, models["input_tokens"]) > PRODUCTS * 20
    again = cast(Item, result_of(await run_steps(crawl(shop), name="again"))["models"])
    assert again == {
        "requests": 0,
        "cached": PRODUCTS,
        "cached_share": 1.0,
        "input_tokens": 0,
        "output_tokens": 0,
        "cost_usd": 0.0,
    }


async def test_the_use_of_all_slices_of_a_crawl_is_counted(
    shop: str, run_steps: RunSteps, result_of: Callable[[ExecutionOutcome], Item]
) -> None:
    step = {**crawl(shop), "slices": 2, "slice_pages": 4, "commit_pages": 2}
    models = cast(Item, result_of(await run_steps(step))["models"])
    assert models["requests"] == PRODUCTS


async def test_items_of_a_list_get_labels_and_loops_and_pipelines_count_their_use(
    database: Database, shop: str, run_steps: RunSteps, result_of: Callable[[ExecutionOutcome], Item]
) -> None:
    named: Item = {"model": "fake:words", "labels": LABELS, "may_be_unknown": True}
    inner: JSONValue = {
        "inputs": {"texts": {"type": "list"}},
        "steps": [
            {
                "type": "loop",
                "source": "texts",
                "item_as": "text",
                "loop_steps": [{"actor": "classify", "config": {**named, "text": "${text}"}}],
                "collect": "item",
            }
        ],
    }
    outcome = await run_steps(
        {"actor": "fetch", "config": {"url": shop}},
        {"actor": "extract_list", "config": {"item_selector": "ul.featured li", "fields": {"name": "a"}}},
        {"actor": "classify", "id": "label", "config": {**named, "items": "${items}", "read": "name"}},
        {"type": "pipeline", "pipeline": inner, "inputs": {"texts": ["a river", "a socket"]}, "id": "inner"},
        {"actor": "aggregate", "config": {"items": "${label.items}"}},
    )
    assert outcome.status is ExecutionStatus.SUCCEEDED, outcome.error
    stored = rows(database)
    assert stored
    assert all(item["label"] in {"nature", "computing", "unknown"} for item in stored)
    models = cast(Item, result_of(outcome)["models"])
    assert models["requests"] == len({str(item["name"]) for item in stored}) + 2


async def test_a_rule_decides_when_the_budget_of_a_run_is_spent(
    database: Database, shop: str, run_steps: RunSteps
) -> None:
    outcome = await run_steps(
        crawl(shop, max_tokens=1_500, settings={"max_tokens": 400}),
        error_handling={"budget_exceeded": {"then": "dead_letter"}},
        limits={"max_failed": "100%", "partial_above": "100%"},
    )
    stored = rows(database)
    assert 0 < len(stored) < PRODUCTS
    assert outcome.failed_count == PRODUCTS - len(stored)


async def test_the_example_labels_a_shop(
    database: Database, shop: str, result_of: Callable[[ExecutionOutcome], Item]
) -> None:
    config: Item = {
        "pipeline": str(EXAMPLE),
        "inputs": {"start_url": shop},
        "http": {"allow_private_hosts": ["127.0.0.1"]},
    }
    with database.writing() as session:
        agent = add_agent(session, find_project(session, "shops"), "example", "web", config)
        execution_id = create_execution(session, agent).id
    outcome = await run_execution(execution_id, agent.id, database=database, bus=MemoryBus())
    assert outcome.status is ExecutionStatus.SUCCEEDED, outcome.error
    labels = Counter(str(item["label"]) for item in rows(database))
    assert labels.total() == PRODUCTS
    assert set(labels) <= {"nature", "computing", "things", "unknown"}
    assert cast(Item, result_of(outcome)["models"])["requests"] == PRODUCTS


async def test_other_steps_of_a_run_share_its_budget(run_steps: RunSteps) -> None:
    capped: Item = {
        "model": "fake:words",
        "labels": LABELS,
        "max_tokens": 700,
        "settings": {"max_tokens": 400},
    }
    steps = [
        {"actor": "classify", "id": f"step_{n}", "config": {**capped, "text": f"river {n} " * 40}}
        for n in range(8)
    ]
    outcome = await run_steps(*cast("list[Item]", steps))
    assert outcome.status is ExecutionStatus.FAILED
    assert "has no room for a call of fake:words" in str(outcome.error)
