"""Who works on one run alone goes on with it at once, whoever was told of it before."""

from __future__ import annotations

from agentic.core import RunStatus, Workflow, WorkflowBuilder, executor
from agentic.core.ledger import MemoryLedger
from agentic.executors.durable import LocalRuns, WorkflowCatalog
from agentic.executors.durable.runs.local import HostOptions, LocalDispatcher
from agentic.executors.durable.runs.service import RunService
from agentic.executors.durable.worker.host import RunHost


@executor(id="one")
async def one(number: int) -> int:
    return number + 1


@executor(id="two")
async def two(number: int) -> int:
    return number + 1


def flow() -> Workflow:
    return WorkflowBuilder("flow", "1").set_start(one).add_edge(one, two).build()


async def test_a_run_that_a_process_was_told_of_that_is_gone_goes_on_at_once() -> None:
    store, catalog = MemoryLedger(), WorkflowCatalog({"flow": flow})
    gone = RunService(RunHost(store=store, catalog=catalog, dispatcher=LocalDispatcher(), is_alone=True))
    mine, other = await gone.submit("flow", 0), await gone.submit("flow", 0)
    gone.close()
    async with LocalRuns(store, catalog, options=HostOptions(only=mine.run_id)) as runs:
        row = await runs.handle(mine.run_id).rest(10)
        status_of_other = await runs.handle(other.run_id).status()
    assert row.status is RunStatus.COMPLETED
    assert status_of_other is RunStatus.RUNNING
