"""pydantic-ai: ``python -m tests.bench.peers.pydantic_ai turn``, in an environment that has it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.metadata import version
from typing import Any

from tests.bench.measuring import TURNS, Figures, importing, main, per_piece, waiting


def _agent(calls: int) -> Any:
    framework: Any = import_module("pydantic_ai")
    messages: Any = import_module("pydantic_ai.messages")
    usage: Any = import_module("pydantic_ai.usage").RequestUsage(input_tokens=10, output_tokens=10)

    def reply(said: Any, _: object) -> Any:
        done = sum(part.part_kind == "tool-return" for part in said[-1].parts)
        if done == calls:
            return messages.ModelResponse([messages.TextPart("Fine.")], usage=usage)
        call = messages.ToolCallPart("add", {"a": 1, "b": 2})
        return messages.ModelResponse([call], usage=usage)

    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    add.__annotations__ = {"a": int, "b": int, "return": int}
    model = import_module("pydantic_ai.models.function").FunctionModel(reply)
    return framework.Agent(model, instructions="You help.", tools=[add])


async def _talk(agent: Any) -> None:
    said: Any = None
    for number in range(TURNS):
        answer = await agent.run(f"question {number}", message_history=said)
        assert answer.output == "Fine."
        said = answer.all_messages()
    assert len(said) >= 2 * TURNS


def _turn(calls: int) -> Figures:
    return asyncio.run(per_piece(partial(_talk, _agent(calls)), TURNS, repeats=7))


CASES: dict[str, Callable[[], Figures]] = {
    "turn": partial(_turn, 0),
    "turn-tool": partial(_turn, 1),
    "agents-import": lambda: importing(lambda: import_module("pydantic_ai").Agent),
    "agents-idle": lambda: waiting(partial(_agent, 1)),
}

if __name__ == "__main__":
    main(CASES, lambda: {"pydantic-ai-slim": version("pydantic-ai-slim")})
