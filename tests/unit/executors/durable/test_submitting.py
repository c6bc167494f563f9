"""A run that is submitted twice begins once."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from pydantic import BaseModel, SecretStr
from tests.property.durable.auditing import AuditedLedger, Row, Session

from agentic.core import Workflow, WorkflowBuilder, WorkflowContext, executor
from agentic.core.graph import InvalidRunIdError, UnstorableTypesError
from agentic.core.graph.model.state import RunState
from agentic.core.ledger import MemoryLedger
from agentic.executors.durable import (
    IdempotencyKeyError,
    LocalRuns,
    RegisteredWorkflow,
    RunHooks,
    Submission,
    WorkflowCatalog,
)
from agentic.executors.durable.runs.local import LocalDispatcher
from agentic.executors.durable.runs.service import RunService
from agentic.executors.durable.worker.host import RunHost
from agentic.mappers import Base, Database
from agentic.mappers.ledger.ledger import SqlLedger

BROKEN = "name-\ud800"


def passing_on() -> Workflow:
    @executor(id="pass")
    async def passes(number: int) -> int:
        return number

    return WorkflowBuilder("passing on", version="1").set_start(passes).build()


def write_status(session: Session, state: RunState) -> None:
    session.add(Row("run", str(state.status)))


async def test_what_joins_the_beginning_of_a_run_is_done_once_when_it_is_submitted_twice() -> None:
    store, dispatcher = AuditedLedger(time.time), LocalDispatcher()
    flow = RegisteredWorkflow(passing_on(), RunHooks(on_rest=write_status))
    catalog = WorkflowCatalog({}, builders={"w": lambda _: flow})
    service = RunService(RunHost(store=store, catalog=catalog, dispatcher=dispatcher, is_alone=True))
    how = Submission(run_id="r", idempotency_key="key")
    for _ in range(2):
        assert (await service.submit("w:1", 7, how)).run_id == "r"
    assert (store.session.rows, dispatcher.wanted.qsize()) == ([Row("run", "running")], 1)
    service.close()


@pytest.mark.parametrize(
    ("how", "refusal", "said"),
    [
        (Submission(run_id=BROKEN), InvalidRunIdError, "run id"),
        (Submission(idempotency_key=BROKEN), IdempotencyKeyError, "idempotency key"),
    ],
)
async def test_names_that_no_store_takes_are_refused_before_the_ledger_sees_them(
    how: Submission, refusal: type[Exception], said: str
) -> None:
    async with LocalRuns(MemoryLedger(), WorkflowCatalog({"w": passing_on})) as runs:
        with pytest.raises(refusal, match=rf"{said} 'name-\\ud800' .*lone surrogates"):
            await runs.submit("w", 7, how)


async def test_values_may_hold_text_that_is_no_unicode_and_sql_keeps_them(tmp_path: Path) -> None:
    @executor(id="first")
    async def first(text: str, ctx: WorkflowContext) -> dict[str, str]:
        ctx.set_state("kept", text)
        ctx.local[text] = text
        return {await ctx.once("made", lambda: text): text}

    @executor(id="second")
    async def second(texts: dict[str, str], ctx: WorkflowContext) -> list[object]:
        return [texts, ctx.get_state("kept")]

    def pair() -> Workflow:
        return WorkflowBuilder("pair", version="1").set_start(first).add_edge(first, second).build()

    (tmp_path / "runs.db").touch()
    database = Database(f"sqlite:///{tmp_path / 'runs.db'}")
    Base.metadata.create_all(database.engine)
    store = SqlLedger.open(f"sqlite:///{tmp_path / 'runs.db'}")
    async with LocalRuns(store, WorkflowCatalog({"w": pair})) as runs:
        result = await (await runs.submit("w", BROKEN)).result(20.0)
    assert result.outputs == ([{BROKEN: BROKEN}, BROKEN],)
    store.close()
    database.dispose()


class Account(BaseModel):
    password: SecretStr


async def test_a_workflow_whose_messages_can_never_be_stored_is_refused_when_it_is_submitted() -> None:
    def logging_in() -> Workflow:
        @executor(id="log in")
        async def log_in(name: str) -> Account:
            return Account(password=SecretStr(name))

        return WorkflowBuilder("w", version="1").set_start(log_in).build()

    ledger = MemoryLedger()
    async with LocalRuns(ledger, WorkflowCatalog({"w": logging_in})) as runs:
        with pytest.raises(UnstorableTypesError, match=r"'log in' returns .* at \.password, which cannot"):
            await runs.submit("w", "anna")
    with ledger.transaction() as reading:
        assert not reading.list_runs()
