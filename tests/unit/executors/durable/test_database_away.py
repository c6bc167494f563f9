"""A database that goes away inside a handler or a function of the commit costs no attempt."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import errors as pg
from sqlalchemy.exc import DBAPIError, OperationalError

from agentic.core import Workflow, WorkflowBuilder, WorkflowContext, executor
from agentic.core.graph import RunResult, RunStatus
from agentic.core.ledger import LedgerUnavailableError
from agentic.executors.durable import LocalRuns, WorkflowCatalog
from agentic.executors.durable.worker import ledger_executor
from agentic.mappers.database.away import went_away
from agentic.mappers.errors import DatabaseUnavailableError
from agentic.mappers.ledger.ledger import SqlLedger

GRACE_S = 20.0


def sqlite_error(code: int, text: str) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError(text)
    error.sqlite_errorcode = code
    return error


def wrapped() -> Exception:
    error = ValueError("the mapper failed")
    error.__cause__ = pg.AdminShutdown("terminating connection due to administrator command")
    return error


def grouped() -> Exception:
    return ExceptionGroup("several", [ValueError("one"), pg.CannotConnectNow("the system is starting up")])


AWAY: dict[str, Callable[[], Exception]] = {
    "shut down": lambda: pg.AdminShutdown("terminating connection due to administrator command"),
    "by sqlalchemy": lambda: OperationalError("SELECT 1", {}, pg.AdminShutdown("terminating connection")),
    "invalidated": lambda: DBAPIError("SELECT 1", {}, ValueError("odd"), connection_invalidated=True),
    "socket": lambda: psycopg.OperationalError("consuming input failed: server closed the connection"),
    "closed": lambda: psycopg.InterfaceError("the connection is closed"),
    "wrapped": wrapped,
    "in a group": grouped,
    "locked": lambda: sqlite_error(sqlite3.SQLITE_BUSY, "database is locked"),
    "disk": lambda: sqlite_error(sqlite3.SQLITE_IOERR_READ, "disk I/O error"),
    "ours": lambda: DatabaseUnavailableError("sqlite:///x", "it went away"),
    "ledger": lambda: LedgerUnavailableError("it went away"),
}

PRESENT: dict[str, Callable[[], Exception]] = {
    "key": lambda: pg.UniqueViolation("duplicate key value"),
    "syntax": lambda: OperationalError("SELEC", {}, sqlite_error(sqlite3.SQLITE_ERROR, "syntax error")),
    "cancelled": lambda: pg.QueryCanceled("canceling statement due to statement timeout"),
    "cursor": lambda: psycopg.InterfaceError("no result available"),
    "network": lambda: ConnectionResetError("of a web server"),
}


@pytest.mark.parametrize("name", AWAY)
def test_errors_of_a_database_that_goes_away_are_known(name: str) -> None:
    assert went_away(AWAY[name]())


@pytest.mark.parametrize("name", PRESENT)
def test_what_a_database_refuses_is_no_absence(name: str) -> None:
    assert not went_away(PRESENT[name]())


def test_an_error_whose_cause_is_itself_is_looked_at_once() -> None:
    error = ValueError("round")
    error.__cause__ = error
    assert not went_away(error)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_executor, "PAUSES_S", (0.001, 0.001, 0.001))


@pytest.fixture
def store(tmp_path: Path, file_with_tables: Callable[[], Path]) -> Iterator[SqlLedger]:
    ledger = SqlLedger.open(f"sqlite:///{shutil.copy(file_with_tables(), tmp_path / 'runs.db')}")
    yield ledger
    ledger.close()


async def run(store: SqlLedger, flow: Workflow) -> RunResult:
    async with LocalRuns(store, WorkflowCatalog({"flow": lambda: flow})) as runs:
        return await (await runs.submit("flow", 1)).result(GRACE_S)


class Flaky:
    """Raises an error the first so many times."""

    def __init__(self, error: Callable[[], Exception], times: int) -> None:
        self.calls = 0
        self._error = error
        self._times = times

    def __call__(self, *_: object) -> None:
        self.calls += 1
        if self.calls <= self._times:
            raise self._error()


def in_handler(flaky: Flaky) -> Workflow:
    @executor(id="node")
    async def node(number: int, ctx: WorkflowContext) -> int:
        flaky()
        assert ctx.attempt == 1
        return number

    return WorkflowBuilder("flow", version="1").set_start(node).build()


def in_commit(flaky: Flaky) -> Workflow:
    @executor(id="node")
    async def node(number: int, ctx: WorkflowContext) -> int:
        ctx.on_commit(flaky)
        return number

    return WorkflowBuilder("flow", version="1").set_start(node).build()


@pytest.mark.parametrize("build", [in_handler, in_commit])
@pytest.mark.parametrize("name", AWAY)
async def test_what_met_it_is_tried_again(
    store: SqlLedger, name: str, build: Callable[[Flaky], Workflow]
) -> None:
    flaky = Flaky(AWAY[name], times=2)
    result = await run(store, build(flaky))
    assert (result.status, result.outputs, flaky.calls) == (RunStatus.COMPLETED, (1,), 3)


async def test_a_handler_whose_database_stays_away_fails_its_run(store: SqlLedger) -> None:
    flaky = Flaky(AWAY["socket"], times=1000)
    result = await run(store, in_handler(flaky))
    assert (result.status, flaky.calls) == (RunStatus.FAILED, 4)
    assert "server closed the connection" in str(result.error)


async def test_what_a_database_refuses_is_a_failure_at_once(store: SqlLedger) -> None:
    flaky = Flaky(PRESENT["key"], times=1000)
    result = await run(store, in_handler(flaky))
    assert (result.status, flaky.calls) == (RunStatus.FAILED, 1)
