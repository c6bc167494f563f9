"""A run that is submitted twice begins once."""

from __future__ import annotations

import time

from tests.property.durable.auditing import AuditedLedger, Row, Session

from agentic.core import Workflow, WorkflowBuilder, executor
from agentic.core.graph.state import RunState
from agentic.executors.durable import Flow, RunHooks, Submission, WorkflowCatalog
from agentic.executors.durable.local import LocalDispatcher
from agentic.executors.durable.service import HostOptions, RunService, make_host


def passing_on() -> Workflow:
    @executor(id="pass")
    async def passes(number: int) -> int:
        return number

    return WorkflowBuilder("passing on", version="1").set_start(passes).build()


def write_status(session: Session, state: RunState) -> None:
    session.add(Row("run", str(state.status)))


async def test_what_joins_the_beginning_of_a_run_is_done_once_when_it_is_submitted_twice() -> None:
    store, dispatcher = AuditedLedger(time.time), LocalDispatcher()
    flow = Flow(passing_on(), RunHooks(on_rest=write_status))
    catalog = WorkflowCatalog({}, builders={"w": lambda _: flow})
    service = RunService(make_host(store, catalog, dispatcher, HostOptions(is_alone=True)))
    how = Submission(run_id="r", idempotency_key="key")
    for _ in range(2):
        assert (await service.submit("w:1", 7, how)).run_id == "r"
    assert (store.session.rows, dispatcher.wanted.qsize()) == ([Row("run", "running")], 1)
    service.close()
