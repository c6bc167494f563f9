"""What handlers of durable runs log."""

from __future__ import annotations

import asyncio

from structlog.contextvars import get_contextvars

from agentic.core import Workflow, WorkflowBuilder, executor
from agentic.core.ledger import MemoryLedger
from agentic.executors.durable import LocalRuns, Submission, WorkflowCatalog


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
