"""The port to memories: asked before an agent's turn, and given its result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agentic.core.agents.memory.records import Memory, UserMemories
from agentic.core.llm.messages import ChatMessage
from agentic.core.records import record


@record(kw_only=True)
class MemoryScope:
    """Whose memories are meant.

    Attributes:
        agent: Name of the agent.
        user_id: The person; None for memories of the agent itself.
        thread_id: The conversation.
    """

    agent: str
    user_id: str | None
    thread_id: str = ""


@record(kw_only=True)
class MemoryContext:
    """The additions of a memory to a turn.

    Attributes:
        extra_instructions: Put before the turn's input, as a message of the system.
        system_messages: Further messages before the input.
        retrieved_memories: The memories in them, for callers and tests.
    """

    extra_instructions: str = ""
    system_messages: tuple[ChatMessage, ...] = ()
    retrieved_memories: tuple[Memory, ...] = ()


class MemoryProvider(Protocol):
    """Adds memories to a turn, and learns from it. Agent Framework calls it ``ContextProvider``.

    All methods raise :class:`~agentic.core.agents.AgentMemoryError` if the store cannot be used. An agent
    then continues without memories, and logs a warning.
    """

    async def before_invoke(self, scope: MemoryScope, messages: Sequence[ChatMessage]) -> MemoryContext:
        """Return the additions to a turn with this input."""
        ...

    async def after_invoke(self, scope: MemoryScope, messages: Sequence[ChatMessage]) -> None:
        """Learn from a turn that is complete: its input, all replies and results."""
        ...

    async def get_memories(self, agent: str, user_id: str | None) -> UserMemories:
        """Return all memories of a person."""
        ...

    async def store_memory(self, agent: str, user_id: str | None, memory: Memory) -> None:
        """Keep a memory; the same one again replaces it."""
        ...

    async def clear_memories(self, agent: str, user_id: str | None) -> int:
        """Forget a person; return the number of forgotten memories."""
        ...
