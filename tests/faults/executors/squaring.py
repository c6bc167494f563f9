"""An agent that calls a tool again and again, and lives that end at a request or a call.

One process imports everything and forks a child for each life, as imports take longer than a life. What was
done is in ``effects.log``: a line for each request to the model, and for each call of the tool.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from agentic.core.agents import ChatAgent, ThreadStore, UsageLimits, tool
from agentic.core.llm import FunctionModel, ModelRequest, ScriptLine, ToolCall

LOG = Path("effects.log")
LEASE_S = 0.3

Point = tuple[str, int]


def points(calls: int) -> list[Point]:
    """Return every request to the model, and every call of the tool."""
    return [("model", number) for number in range(calls + 1)] + [("tool", number) for number in range(calls)]


def squaring_agent(calls: int, kill_at: Point | None = None, store: ThreadStore | None = None) -> ChatAgent:
    """Return an agent that calls a tool, one call after the other; its process is killed at a point."""

    def enter(kind: str, number: int) -> None:
        if (kind, number) == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        with LOG.open("a") as log:
            log.write(f"{kind} {number}\n")

    def reply(request: ModelRequest) -> ScriptLine:
        done = [result for message in request.messages for result in message.tool_results]
        enter("model", len(done))
        if len(done) == calls:
            return f"The sum is {sum(int(str(result.content)) for result in done)}."
        return ToolCall(id=f"c{len(done)}", name="square", arguments={"number": len(done)})

    @tool
    async def square(number: int) -> int:
        """Return the square of a number."""
        enter("tool", number)
        return number * number

    limits = UsageLimits(max_model_calls=None, max_tool_calls=None)
    return ChatAgent(FunctionModel(reply), name="counter", tools=[square], limits=limits, store=store)


def live_again_and_again(
    live: Callable[[Point | None], Awaitable[None]], calls: int, seed: str, kills: int
) -> None:
    """Let children live one after the other; the last one to the end.

    Raises:
        SystemExit: A child was not killed where it should be.
    """
    chosen = random.Random(seed).sample(points(calls), kills)
    chosen.sort(key=lambda point: (point[1], point[0] == "tool"))
    live_until_killed([*chosen, None], live)


def live_until_killed(
    chosen: Sequence[Point | None], live: Callable[[Point | None], Awaitable[None]]
) -> None:
    """Let a child live for each point, one after the other, and one to its end for None.

    Raises:
        SystemExit: A child was not killed where it should be, or the last one failed.
    """
    for kill_at in chosen:
        pid = os.fork()
        if pid == 0:
            asyncio.run(_awaited(live(kill_at)))
            sys.stdout.flush()
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        if kill_at is not None and os.WTERMSIG(status) != signal.SIGKILL:
            raise SystemExit(f"the process was not killed at {kill_at}: {status}")
        if kill_at is None and status:
            raise SystemExit(f"the last process failed: {status}")


async def _awaited(life: Awaitable[None]) -> None:
    await life
