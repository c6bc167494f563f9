"""A background run whose workers are killed at given points, one after the other, until it is over.

    python -m tests.faults.executors.backgrounding URL PROJECT RUN SEED KILLS

One process imports everything and forks a child for each life. What was done is in ``effects.log``: a line
for each request to the model, and for each call of the tool.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from pathlib import Path

from agentic.core import WorkflowConfig
from agentic.core.agents import ChatAgent, UsageLimits, background_workflow, tool
from agentic.core.graph import CrashPolicy, Workflow
from agentic.core.llm import FunctionModel, ModelRequest, ScriptLine, ToolCall
from agentic.core.types import RunId
from agentic.executors.durable import LocalRuns, WorkflowCatalog
from agentic.mappers import Database, SqlThreadStore
from agentic.mappers.ledger.ledger import SqlLedger

CALLS = 12
LOG = Path("effects.log")
FLOW = "counter"
LEASE_S = 0.3

Point = tuple[str, int]


def points() -> list[Point]:
    """Return every request to the model, and every call of the tool."""
    return [("model", number) for number in range(CALLS + 1)] + [("tool", number) for number in range(CALLS)]


def counting(store: SqlThreadStore, kill_at: Point | None = None) -> ChatAgent[str]:
    """Return an agent that calls a tool 12 times, one call after the other."""

    def enter(kind: str, number: int) -> None:
        if (kind, number) == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        with LOG.open("a") as log:
            log.write(f"{kind} {number}\n")

    def reply(request: ModelRequest) -> ScriptLine:
        done = [result for message in request.messages for result in message.tool_results]
        enter("model", len(done))
        if len(done) == CALLS:
            return f"The sum is {sum(int(str(result.content)) for result in done)}."
        return ToolCall(id=f"c{len(done)}", name="square", arguments={"number": len(done)})

    @tool
    async def square(number: int) -> int:
        """Return the square of a number."""
        enter("tool", number)
        return number * number

    limits = UsageLimits(max_model_calls=None, max_tool_calls=None)
    return ChatAgent(FunctionModel(reply), name="counter", tools=[square], limits=limits, store=store)


def flow(store: SqlThreadStore, kill_at: Point | None = None) -> Workflow:
    """Return its workflow, which may crash often."""
    config = WorkflowConfig(crash=CrashPolicy(max_crashes=1_000))
    return background_workflow(counting(store, kill_at), config=config)


async def live(url: str, project_id: str, run: str, kill_at: Point | None) -> None:
    """Work on the run to its end, or to the point."""
    database = Database(url)
    store = SqlThreadStore(database, project_id=project_id)
    catalog = WorkflowCatalog({FLOW: lambda: flow(store, kill_at)})
    ledger = SqlLedger(database, project_id=project_id)
    options = {"only": RunId(run), "is_alone": True, "lease_s": LEASE_S, "worker": f"life-{os.getpid()}"}
    async with LocalRuns(ledger, catalog, sweep_s=0.05, options=options) as runs:  # type: ignore[arg-type]
        await runs.handle(run).result(timeout_s=60)


def main(url: str, project_id: str, run: str, seed: str, kills: str) -> None:
    """Let children live one after the other."""
    chosen = random.Random(seed).sample(points(), int(kills))
    chosen.sort(key=lambda point: (point[1], point[0] == "tool"))
    for kill_at in (*chosen, None):
        pid = os.fork()
        if pid == 0:
            asyncio.run(live(url, project_id, run, kill_at))
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        if kill_at is not None and os.WTERMSIG(status) != signal.SIGKILL:
            raise SystemExit(f"the process was not killed at {kill_at}: {status}")


if __name__ == "__main__":
    main(*sys.argv[1:])
