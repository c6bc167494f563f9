"""What handlers of durable runs log."""

from __future__ import annotations

import asyncio

import pytest
from structlog.contextvars import get_contextvars
from structlog.testing import capture_logs

from agentic.core import Workflow, WorkflowBuilder, executor
from agentic.core.ledger import MemoryLedger
from agentic.core.types import RunId
from agentic.executors.durable import LocalRuns, Submission, UnknownWorkflowError, WorkflowCatalog
from agentic.executors.durable.runs.catalog import RegisteredWorkflow
from agentic.executors.durable.runs.local import HostOptions


def telling(meeting: asyncio.Barrier) -> Workflow:
    """Return two executors that say what their log lines carry, each while the other one runs."""

    def arm(name: str) -> object:
        @executor(id=name)
        async def tell(_: int) -> dict[str, object]:
            before = get_contextvars()
            await meeting.wait()
            assert await asyncio.to_thread(get_contextvars) == before
            return dict(before)

        return tell

    @executor(id="start")
    async def start(number: int) -> int:
        return number

    arms = [arm("left"), arm("right")]
    return WorkflowBuilder("telling", version="1").set_start(start).add_fan_out_edge(start, arms).build()  # type: ignore[arg-type]  # they are executors


async def test_each_handler_carries_its_own_run_and_activation() -> None:
    meeting = asyncio.Barrier(2)
    catalog = WorkflowCatalog({"telling": lambda: telling(meeting)})
    async with LocalRuns(MemoryLedger(), catalog) as runs:
        handle = await runs.submit("telling", 1, Submission(run_id="one"))
        result = await handle.result(10)
    assert result.outputs == (
        {"run_id": "one", "activation": "one:1:left:0"},
        {"run_id": "one", "activation": "one:1:right:0"},
    )
    assert not get_contextvars()


@pytest.mark.parametrize(
    ("error", "is_explained"),
    [
        (RuntimeError("dictionary changed size during iteration"), True),
        (UnknownWorkflowError("made:of", "gone"), False),
    ],
)
async def test_only_an_unexpected_error_of_a_refused_activation_is_logged_with_its_traceback(
    error: Exception,
    is_explained: bool,
) -> None:
    refused: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
    ledger, known = MemoryLedger(), [RegisteredWorkflow(telling(asyncio.Barrier(2)))]

    def build(_: str) -> RegisteredWorkflow:
        if known:
            return known.pop()
        raise error

    async with LocalRuns(ledger, WorkflowCatalog({}, builders={"made": build}), concurrency=0) as runs:
        await runs.submit("made:of", 1, Submission(run_id="one"))
    options = HostOptions(only=RunId("one"), on_refused=refused.set_result)
    with capture_logs() as logs:
        async with LocalRuns(ledger, WorkflowCatalog({}, builders={"made": build}), options=options):
            assert await asyncio.wait_for(refused, 10) is error
    (line,) = [line for line in logs if line["event"] == "activation.refused"]
    assert (line.get("exc_info") is error) == is_explained
