"""Agents of Microsoft Agent Framework: ``python -m tests.bench.peers.maf_agents turn``, with it installed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.metadata import version
from typing import Any

from tests.bench.measuring import (
    CAST,
    TURNS,
    WORDS,
    Figures,
    importing,
    main,
    per_chat,
    per_piece,
    scratch,
    waiting,
)

logging.disable(logging.CRITICAL)


def _client(calls: int) -> Any:
    framework: Any = import_module("agent_framework")
    usage = framework.UsageDetails(input_token_count=10, output_token_count=10, total_token_count=20)

    class Fake(framework.FunctionInvocationLayer, framework.BaseChatClient):  # type: ignore[misc]  # known when it runs
        def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **_: Any) -> Any:
            del stream, options

            async def reply() -> Any:
                if int(messages[-1].role == "tool") == calls:
                    content: Any = "Fine."
                else:
                    content = framework.Content.from_function_call(
                        f"c{len(messages)}", "add", arguments={"a": 1, "b": 2}
                    )
                message = framework.Message(role="assistant", contents=[content])
                return framework.ChatResponse(messages=[message], usage_details=usage)

            return reply()

    return Fake()


def _agent(calls: int) -> Any:
    framework: Any = import_module("agent_framework")

    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    add.__annotations__ = {"a": int, "b": int, "return": int}
    return framework.Agent(client=_client(calls), instructions="You help.", tools=[framework.tool(add)])


async def _talk(agent: Any) -> None:
    session = agent.create_session()
    for number in range(TURNS):
        answer = await agent.run(f"question {number}", session=session)
        assert answer.text == "Fine."
    (kept,) = session.state.values()
    assert len(kept["messages"]) >= 2 * TURNS


def _turn(calls: int) -> Figures:
    return asyncio.run(per_piece(partial(_talk, _agent(calls)), TURNS, repeats=7))


def _chat(turns: int, *, is_stored: bool) -> Figures:
    framework: Any = import_module("agent_framework")
    orchestrations: Any = import_module("agent_framework.orchestrations")

    class Fake(framework.BaseChatClient):  # type: ignore[misc]  # known when it runs
        def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **_: Any) -> Any:
            del messages, stream, options

            async def reply() -> Any:
                message = framework.Message(role="assistant", contents=[WORDS])
                return framework.ChatResponse(messages=[message])

            return reply()

    def speaker(state: Any) -> str:
        return CAST[state.current_round % len(CAST)]

    async def talk() -> None:
        with scratch() as folder:
            flow = orchestrations.GroupChatBuilder(
                participants=[framework.Agent(client=Fake(), name=name) for name in CAST],
                selection_func=speaker,
                max_rounds=turns,
                checkpoint_storage=framework.FileCheckpointStorage(folder) if is_stored else None,
            ).build()
            result = await flow.run("How much is it?")
            assert len(result.get_outputs()) == 1

    return asyncio.run(per_chat(talk))


CASES: dict[str, Callable[[], Figures]] = {
    "turn": partial(_turn, 0),
    "turn-tool": partial(_turn, 1),
    "chat": partial(_chat, 20, is_stored=False),
    "chat-durable": partial(_chat, 20, is_stored=True),
    "agents-import": lambda: importing(lambda: import_module("agent_framework").Agent),
    "agents-idle": lambda: waiting(partial(_agent, 1)),
}

if __name__ == "__main__":
    main(
        CASES,
        lambda: {name: version(name) for name in ("agent-framework-core", "agent-framework-orchestrations")},
    )
