"""LangChain's agent: ``python -m tests.bench.peers.langchain turn``, in an environment that has it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.metadata import version
from typing import Any

from tests.bench.measuring import TURNS, Figures, importing, main, per_piece, waiting


def _model(calls: int) -> Any:
    messages: Any = import_module("langchain_core.messages")
    outputs: Any = import_module("langchain_core.outputs")
    usage = {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20}

    class Fake(import_module("langchain_core.language_models").BaseChatModel):  # type: ignore[misc]  # known when it runs
        _llm_type = "fake"

        def bind_tools(self, *_: Any, **__: Any) -> Any:
            return self

        async def _agenerate(self, said: Any, *_: Any, **__: Any) -> Any:
            if int(said[-1].type == "tool") == calls:
                reply = messages.AIMessage("Fine.", usage_metadata=usage)
            else:
                call = {"name": "add", "args": {"a": 1, "b": 2}, "id": f"c{len(said)}"}
                reply = messages.AIMessage("", tool_calls=[call], usage_metadata=usage)
            return outputs.ChatResult(generations=[outputs.ChatGeneration(message=reply)])

        def _generate(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    return Fake()


def _agent(calls: int) -> Any:
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    add.__annotations__ = {"a": int, "b": int, "return": int}
    made = import_module("langchain_core.tools").tool(add)
    make = import_module("langchain.agents").create_agent
    return make(_model(calls), tools=[made], system_prompt="You help.")


async def _talk(agent: Any) -> None:
    said: Any = []
    for number in range(TURNS):
        question = {"role": "user", "content": f"question {number}"}
        said = (await agent.ainvoke({"messages": [*said, question]}))["messages"]
        assert said[-1].content == "Fine."
    assert len(said) >= 2 * TURNS


def _turn(calls: int) -> Figures:
    return asyncio.run(per_piece(partial(_talk, _agent(calls)), TURNS, repeats=7))


def _versions() -> dict[str, str]:
    return {name: version(name) for name in ("langchain", "langgraph")}


CASES: dict[str, Callable[[], Figures]] = {
    "turn": partial(_turn, 0),
    "turn-tool": partial(_turn, 1),
    "agents-import": lambda: importing(lambda: import_module("langchain.agents").create_agent),
    "agents-idle": lambda: waiting(partial(_agent, 1)),
}

if __name__ == "__main__":
    main(CASES, _versions)
