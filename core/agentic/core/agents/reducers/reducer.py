"""The port to reducers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from agentic.core.llm.messages import ChatMessage
from agentic.core.types import JSONValue

Keep = Callable[[str, Callable[[], Awaitable[JSONValue]]], Awaitable[JSONValue]]
"""Runs an effect once under a key: its result is kept in the thread, also for later turns."""


class ChatReducer(Protocol):
    """Shortens conversations. Agent Framework calls it ``CompactionStrategy``.

    It runs before each request to the model, on well-formed messages. It never separates a call from its
    result, and keeps the messages of the system and the task: the last message of a person. The thread keeps
    all messages.
    """

    def needs_reduction(self, messages: Sequence[ChatMessage]) -> bool:
        """Whether the messages are too long."""
        ...

    async def reduce(self, messages: Sequence[ChatMessage], keep: Keep) -> Sequence[ChatMessage]:
        """Return shorter messages.

        Args:
            messages: Well-formed; the last ones belong to the current turn.
            keep: For effects, such as a summary by a model.
        """
        ...


async def keep_nothing(_: str, effect: Callable[[], Awaitable[JSONValue]]) -> JSONValue:
    """Run an effect; its result is not kept. For reducers outside of agents."""
    return await effect()
