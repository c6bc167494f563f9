"""Runs whose events are told, as the bus tells them."""

from __future__ import annotations

from collections.abc import Iterable

from agentic.core import RetryPolicy, Workflow, WorkflowBuilder, WorkflowContext, executor
from agentic.core.bus import PublishedEvent
from agentic.core.graph import EventKind, WorkflowEvent
from agentic.core.types import RunId


def told(events: Iterable[WorkflowEvent], project: str = "shop", after: int = 0) -> list[PublishedEvent]:
    """Return durable events as they are read, numbered from ``after + 1``."""
    durable = [event for event in events if event.sequence is not None]
    return [
        PublishedEvent(stream_sequence=number, project=project, event=event)
        for number, event in enumerate(durable, after + 1)
    ]


def shaky(failures: int, *, end: str = "ok") -> Workflow:
    """Return ``read -> write``: ``write`` fails so often before it ends well, or in an error of that text."""
    left = [failures]

    @executor(id="read")
    async def read(number: int, ctx: WorkflowContext) -> int:
        ctx.set_shared_state("seen page", number)
        return number + 1

    @executor(id="write", retry=RetryPolicy(max_attempts=failures + 1, first_delay_s=0.0))
    async def write(number: int, ctx: WorkflowContext) -> None:
        if left[0]:
            left[0] -= 1
            raise OSError(f"port {4000 + left[0]} is closed")
        if end != "ok":
            raise ValueError(end)
        await ctx.yield_output(number)

    return WorkflowBuilder("shaky", version="1").set_start(read).add_edge(read, write).build()


def ended(run_id: str, *, attempt: int = 1, error: str = "", path: str = "fetch") -> WorkflowEvent:
    """Return the end of one try."""
    return WorkflowEvent(
        kind=EventKind.EXECUTOR_FAILED if error else EventKind.EXECUTOR_COMPLETED,
        run_id=RunId(run_id),
        time=1.0,
        sequence=attempt,
        path=path,
        attempt=attempt,
        data={"error_type": "OSError", "error": error} if error else {},
    )
