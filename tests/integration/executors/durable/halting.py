"""A workflow that halts in its second superstep as long as a file is not there; to be killed meanwhile.

``python -m tests.integration.executors.durable.halting RUN_ID`` runs it durably in this process.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from agentic.core import Workflow, WorkflowBuilder, WorkflowContext, executor
from agentic.executors import submit

GATE = "HALTING_GATE"
"""Names the file; ``.reached`` is added to the name of the one that tells that it is waited for."""


def halting() -> Workflow:
    """Return three executors, one after the other."""

    @executor(id="first")
    async def first(number: int, ctx: WorkflowContext) -> int:
        ctx.set_state("seen", [number])
        return number + 1

    @executor(id="halt")
    async def halt(number: int) -> int:
        gate = Path(os.environ[GATE])
        Path(f"{gate}.reached").touch()  # noqa: ASYNC240 - another process looks for it
        while not gate.exists():  # noqa: ASYNC110, ASYNC240 - another process makes it
            await asyncio.sleep(0.01)
        return number * 10

    @executor(id="last")
    async def last(number: int) -> int:
        return number + 1

    return (
        WorkflowBuilder("halting", version="1")
        .set_start(first)
        .add_edge(first, halt)
        .add_edge(halt, last)
        .build()
    )


if __name__ == "__main__":
    submit("tests.integration.executors.durable.halting:halting", 1, run_id=sys.argv[1]).result()
