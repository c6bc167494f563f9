"""How often the ledger is asked for a piece of work: each statement more is a tenth of what a step costs."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event
from tests.databases import only_sqlite

from agentic.core import ItemResult, Workflow, WorkflowBuilder, WorkflowConfig, WorkflowContext, executor
from agentic.executors.durable import WorkflowCatalog
from agentic.executors.durable.runs.local import LocalDispatcher
from agentic.executors.durable.runs.service import RunService, Submission
from agentic.executors.durable.worker.host import RunHost
from agentic.executors.durable.worker.worker import Bounds, DurableWorker
from agentic.mappers import Database, add_project
from agentic.mappers.ledger.ledger import SqlLedger

FOR_EVER = Bounds(activations=10**9, seconds=1e9)
FEW, MANY = 10, 30


def hops(count: int) -> Workflow:
    """Return an executor that sends to itself, so often."""

    @executor(id="hop")
    async def hop(left: int, ctx: WorkflowContext[int, int]) -> int | None:
        if left > 1:
            return left - 1
        await ctx.yield_output(left)
        return None

    builder = WorkflowBuilder("hops", config=WorkflowConfig(max_supersteps=count)).set_start(hop)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that nothing but max_supersteps ends the cycle
        return builder.add_edge(hop, hop).build()


def items(_count: int) -> Workflow:
    """Return a list of so many items, and what handles each."""

    @executor(id="split")
    async def split(count: int) -> list[int]:
        return list(range(count))

    @executor(id="work")
    async def work(item: int) -> int:
        return item

    @executor(id="join")
    async def join(results: list[ItemResult]) -> int:
        return len(results)

    return WorkflowBuilder("items").set_start(split).add_map_edge(split, work, join).build()


@contextmanager
def counted(database: Database) -> Iterator[list[str]]:
    """Give the statements of this thread; another one extends claims, as time passes."""
    found: list[str] = []
    me = threading.get_ident()

    def note(statement: str) -> None:
        # SQLite tells a statement again for each of its triggers.
        if threading.get_ident() == me and found[-1:] != [statement]:
            found.append(statement)

    @event.listens_for(database.engine, "connect")
    def _connected(connection: Any, _: object) -> None:
        connection.set_trace_callback(note)

    database.engine.dispose()  # so that it connects anew
    yield found


@pytest.fixture
def project_id(migrated_database: Database) -> str:
    with migrated_database.writing() as session:
        return add_project(session, "ours").id


@only_sqlite
@pytest.mark.parametrize(
    ("flow", "statements"), [(hops, 10), (items, 10)], ids=["a step in place", "an item of a list"]
)
async def test_what_a_piece_of_a_run_asks_for(
    migrated_database: Database, project_id: str, flow: Callable[[int], Workflow], statements: int
) -> None:
    ledger = SqlLedger(migrated_database, project_id=project_id)
    counts = {}
    with counted(migrated_database) as found:
        for pieces in (FEW, MANY):
            service = _alone(ledger, flow(pieces))
            await service.submit("flow", pieces, Submission(is_told=False))
            found.clear()
            await DurableWorker(service.host, FOR_EVER).work()
            counts[pieces] = len(found)
            service.close()
    assert (counts[MANY] - counts[FEW]) / (MANY - FEW) == statements


@only_sqlite
async def test_what_a_run_asks_for_that_is_claimed_among_others(
    migrated_database: Database, project_id: str
) -> None:
    service = _alone(SqlLedger(migrated_database, project_id=project_id), hops(1))
    with counted(migrated_database) as found:
        for _ in range(FEW):
            await service.submit("flow", 1, Submission(is_told=False))
        worker = DurableWorker(service.host)
        for _ in range(FEW - 1):
            found.clear()
            assert (await worker.work()).done == 1
            assert len(found) == 15
    service.close()


def _alone(ledger: SqlLedger, workflow: Workflow) -> RunService:
    catalog = WorkflowCatalog({"flow": lambda: workflow})
    return RunService(RunHost(store=ledger, catalog=catalog, dispatcher=LocalDispatcher(), is_alone=True))
