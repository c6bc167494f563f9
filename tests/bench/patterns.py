"""This project's rows of patterns: ``python -m tests.bench.patterns chat``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING

from tests.bench.agents import durable
from tests.bench.measuring import CAST, WORDS, Figures, main, per_chat

if TYPE_CHECKING:
    from agentic.core import Workflow


def chat_of(turns: int) -> Workflow:
    """Return a group chat whose agents say the same in each turn."""
    from agentic.core.agents import ChatAgent
    from agentic.core.llm import FunctionModel
    from agentic.core.patterns import GroupChatBuilder

    agents = [ChatAgent(FunctionModel(lambda _: WORDS), name=name) for name in CAST]
    return GroupChatBuilder("flow", version="1").participants(agents).with_max_iterations(turns).build()


def chat(turns: int) -> Figures:
    """Return the cost of a chat in memory."""
    from agentic.core.patterns import PatternResult

    async def talk() -> None:
        result = await chat_of(turns).run("How much is it?")
        assert result.output(PatternResult).round_count == turns

    return asyncio.run(per_chat(talk))


def stored_chat(turns: int) -> Figures:
    """Return the cost of a chat as a durable run."""
    return {"cpu_ms": durable(lambda: chat_of(turns), 1)["cpu_us"] / 1e3}


CASES: dict[str, Callable[[], Figures]] = {
    "chat": partial(chat, 20),
    "chat-long": partial(chat, 100),
    "chat-durable": partial(stored_chat, 20),
    "chat-long-durable": partial(stored_chat, 100),
}

if __name__ == "__main__":
    main(CASES, lambda: {name: version(name) for name in ("agentic-pipelines", "pydantic")})
