"""Rows that somebody wrote by hand: a clear error, no code run, and no other run held up."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentic.core import RunResult, RunStatus, Workflow, WorkflowBuilder, WorkflowContext, executor
from agentic.core.graph.errors import CheckpointError
from agentic.core.ledger import CorruptRunError
from agentic.core.types import RunId
from agentic.executors.durable import LocalRuns, Submission, WorkflowCatalog
from agentic.executors.durable.errors import UnknownWorkflowError
from agentic.executors.durable.runs.local import LocalDispatcher
from agentic.executors.durable.runs.service import RunService
from agentic.executors.durable.worker.host import RunHost
from agentic.mappers.ledger.ledger import SqlLedger

HUGE = "[" * 100_000
BYTES = b"\xff\xfe"


@executor(id="one")
async def one(number: int) -> int:
    return number + 1


@executor(id="asks")
async def asks(number: int, ctx: WorkflowContext[object, int]) -> None:
    if await ctx.request_info(number, bool):
        await ctx.yield_output(number)


def flow() -> Workflow:
    return WorkflowBuilder("flow", "1").set_start(one).build()


def asking() -> Workflow:
    return WorkflowBuilder("asking", "1").set_start(one).add_edge(one, asks).build()


CATALOG = {"flow": flow, "asking": asking}


@pytest.fixture
def file(tmp_path: Path, file_with_tables: Callable[[], Path]) -> Path:
    """A database in a file, which takes a word in a column of numbers: PostgreSQL does not."""
    path = tmp_path / "runs.db"
    shutil.copy(file_with_tables(), path)
    return path


@pytest.fixture
def store(file: Path) -> Iterator[SqlLedger]:
    ledger = SqlLedger.open(f"sqlite:///{file}")
    yield ledger
    ledger.close()


def write(file: Path, statement: str, *values: object) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute(statement, values)
    connection.close()


async def abandoned(store: SqlLedger, file: Path, *names: str) -> None:
    """Have runs whose worker is gone in the middle of an activation."""
    gone = RunService(RunHost(store=store, catalog=WorkflowCatalog(CATALOG), dispatcher=LocalDispatcher()))
    for name in names:
        await gone.submit("flow", 0, Submission(run_id=name))
    gone.close()
    write(file, "UPDATE activations SET status='running', fence=1, lease_until=1, worker='gone'")


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("runs", "status", "garbage"),
        ("runs", "workflow", "json.tool:main"),
        ("runs", "workflow", BYTES),
        ("runs", "revision", "x"),
        ("runs", "superstep", BYTES),
        ("runs", "max_parallel", "x"),
        ("runs", "cancel_at", BYTES),
        ("runs", "deadline", "x"),
        ("activations", "status", "garbage"),
        ("activations", "crashes", "x"),
        ("activations", "max_crashes", "x"),
        ("activations", "lease_until", "x"),
        ("activations", "lease_until", BYTES),
        ("activations", "on_crash", "os.system"),
        ("activations", "worker", BYTES),
        ("activations", "executor_id", "ghost"),
        ("activations", "shard", 2**62),
        ("activations", "progress", HUGE),
        ("activations", "fence", 2**62),
        ("run_checkpoints", "head", HUGE),
        ("run_checkpoints", "head", BYTES),
        ("run_checkpoints", "status", "garbage"),
    ],
)
async def test_a_crafted_row_holds_up_no_other_run(
    store: SqlLedger, file: Path, table: str, column: str, value: object
) -> None:
    await abandoned(store, file, "crafted", "healthy")
    write(file, f"UPDATE {table} SET {column}=? WHERE run_id='crafted'", value)

    async with LocalRuns(store, WorkflowCatalog(CATALOG), sweep_s=0.05) as runs:
        first = await runs.handle("healthy").result(10)
        later = await (await runs.submit("flow", 5)).result(10)

    assert (first.status, later.outputs) == (RunStatus.COMPLETED, (6,))


async def waiting(store: SqlLedger) -> RunResult:
    async with LocalRuns(store, WorkflowCatalog(CATALOG)) as runs:
        return await (await runs.submit("asking", 1, Submission(run_id="asked"))).result(10)


@pytest.mark.parametrize(
    "value", ["", "{", "null", "[]", HUGE, BYTES, "9" * 5_000, '{"$": "os:system", "v": "id"}']
)
@pytest.mark.parametrize("column", ["run_checkpoints.head", "run_parts.text"])
async def test_a_crafted_checkpoint_is_a_clear_error(
    store: SqlLedger, file: Path, column: str, value: object
) -> None:
    asked = await waiting(store)
    table, name = column.split(".")
    write(file, f"UPDATE {table} SET {name}=?", value)
    async with LocalRuns(store, WorkflowCatalog(CATALOG)) as runs:
        with pytest.raises(CheckpointError) as caught:
            await runs.handle("asked").answer({asked.pending_requests[0].id: True})
    assert len(str(caught.value)) < 2_000
    assert "asked" in str(caught.value)


@pytest.mark.parametrize("number", [10**400, -1, 2**63])
async def test_a_number_that_no_database_takes_is_a_clear_error(
    store: SqlLedger, file: Path, number: int
) -> None:
    asked = await waiting(store)
    write(
        file, "UPDATE run_checkpoints SET head=replace(head, '\"superstep\":2', ?)", f'"superstep":{number}'
    )
    async with LocalRuns(store, WorkflowCatalog(CATALOG)) as runs:
        with pytest.raises(CheckpointError, match="superstep"):
            await runs.handle("asked").answer({asked.pending_requests[0].id: True})


async def test_a_run_of_no_known_status_is_named(store: SqlLedger, file: Path) -> None:
    await waiting(store)
    write(file, "UPDATE runs SET status=?", "x" * 10_000)
    with store.transaction() as ledger, pytest.raises(CorruptRunError, match="run 'asked'") as caught:
        ledger.run(RunId("asked"))
    assert len(str(caught.value)) < 1_000


async def test_the_error_for_a_workflow_of_an_endless_name_is_short(store: SqlLedger, file: Path) -> None:
    await waiting(store)
    write(file, "UPDATE runs SET workflow=?", "x" * 1_000_000)
    async with LocalRuns(store, WorkflowCatalog(CATALOG)) as runs:
        with pytest.raises(UnknownWorkflowError) as caught:
            await runs.handle("asked").result(5)
    assert len(str(caught.value)) < 5_000
