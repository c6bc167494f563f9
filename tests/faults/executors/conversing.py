"""A durable conversation whose process is killed at given points, and begun again, until it is over.

    python -m tests.faults.executors.conversing URL PROJECT SEED KILLS

One process imports everything and forks a child for each life, as imports take longer than a life. What was
done is in ``effects.log``: a line for each request to the model, and for each call of the tool.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
from pathlib import Path

from agentic.core import WorkflowBuilder, WorkflowConfig
from agentic.core.agents import AgentExecutorResponse, ChatAgent, UsageLimits, tool
from agentic.core.graph import CrashPolicy, RunStatus, Workflow
from agentic.core.llm import FunctionModel, ModelRequest, ScriptLine, ToolCall
from agentic.core.types import RunId
from agentic.executors.durable import LocalRuns, Submission, WorkflowCatalog
from agentic.mappers import Database
from agentic.mappers.ledger.ledger import SqlLedger

CALLS = 30
LOG = Path("effects.log")
RUN = "conversation"
LEASE_S = 0.3

Point = tuple[str, int]


def points() -> list[Point]:
    """Return every request to the model, and every call of the tool."""
    return [("model", number) for number in range(CALLS + 1)] + [("tool", number) for number in range(CALLS)]


def conversation(kill_at: Point | None) -> Workflow:
    """Return an agent that calls a tool 30 times, one call after the other, in a graph."""

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
    agent = ChatAgent(FunctionModel(reply), name="counter", tools=[square], limits=limits)
    config = WorkflowConfig(crash=CrashPolicy(max_crashes=1_000))
    return WorkflowBuilder("talk", version="1", config=config).set_start(agent).build()


async def live(url: str, project_id: str, kill_at: Point | None) -> None:
    """Work on the run to its end, or to the point."""
    catalog = WorkflowCatalog({"talk": lambda: conversation(kill_at)})
    store = SqlLedger(Database(url), project_id=project_id)
    options = {"only": RunId(RUN), "is_alone": True, "lease_s": LEASE_S, "worker": f"life-{os.getpid()}"}
    async with LocalRuns(store, catalog, sweep_s=0.05, options=options) as runs:  # type: ignore[arg-type]
        handle = await runs.submit(
            "talk", "Add up the squares.", Submission(run_id=RUN, idempotency_key=RUN, is_told=False)
        )
        result = await handle.result(timeout_s=60)
    if result.status is RunStatus.COMPLETED:
        answer = result.output(AgentExecutorResponse)
        usage = answer.agent_response.usage
        found = {"text": answer.text, "requests": usage.requests, "calls": usage.tool_calls}
        sys.stdout.write(json.dumps(found) + "\n")


def main(url: str, project_id: str, seed: str, kills: str) -> None:
    """Let children live one after the other."""
    chosen = random.Random(seed).sample(points(), int(kills))
    chosen.sort(key=lambda point: (point[1], point[0] == "tool"))
    for kill_at in (*chosen, None):
        pid = os.fork()
        if pid == 0:
            asyncio.run(live(url, project_id, kill_at))
            sys.stdout.flush()
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        if kill_at is not None and os.WTERMSIG(status) != signal.SIGKILL:
            raise SystemExit(f"the process was not killed at {kill_at}: {status}")


if __name__ == "__main__":
    main(*sys.argv[1:])
