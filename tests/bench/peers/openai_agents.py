"""OpenAI Agents SDK: ``python -m tests.bench.peers.openai_agents turn``, in an environment that has it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.metadata import version
from typing import Any

from tests.bench.measuring import TURNS, Figures, importing, main, per_piece, waiting


def _model(calls: int) -> Any:
    framework: Any = import_module("agents")
    testing: Any = import_module("agents.testing")
    usage = framework.Usage(requests=1, input_tokens=10, output_tokens=10, total_tokens=20)

    class Fake(framework.Model):  # type: ignore[misc]  # known when it runs
        async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> Any:
            del system_instructions
            said = input if isinstance(input, list) else []
            done = int(bool(said) and said[-1].get("type") == "function_call_output")
            item = (
                testing.assistant_message("Fine.")
                if done == calls
                else testing.function_call("add", {"a": 1, "b": 2}, call_id=f"c{len(said)}")
            )
            return framework.ModelResponse(output=[item], usage=usage, response_id=None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    return Fake()


def _agent(calls: int) -> Any:
    framework: Any = import_module("agents")
    framework.set_tracing_disabled(disabled=True)  # it would send traces to its vendor

    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    add.__annotations__ = {"a": int, "b": int, "return": int}
    tool = framework.function_tool(add)
    return framework.Agent(name="help", instructions="You help.", model=_model(calls), tools=[tool])


async def _talk(agent: Any) -> None:
    run = import_module("agents").Runner.run
    said: Any = []
    for number in range(TURNS):
        answer = await run(agent, [*said, {"role": "user", "content": f"question {number}"}])
        assert answer.final_output == "Fine."
        said = answer.to_input_list()
    assert len(said) >= 2 * TURNS


def _turn(calls: int) -> Figures:
    return asyncio.run(per_piece(partial(_talk, _agent(calls)), TURNS, repeats=7))


CASES: dict[str, Callable[[], Figures]] = {
    "turn": partial(_turn, 0),
    "turn-tool": partial(_turn, 1),
    "agents-import": lambda: importing(lambda: import_module("agents").Agent),
    "agents-idle": lambda: waiting(partial(_agent, 1)),
}

if __name__ == "__main__":
    main(CASES, lambda: {"openai-agents": version("openai-agents")})
