"""Asks memories in a turn: one that is away must not end the conversation."""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.agents.memory.provider import MemoryProvider, MemoryScope
from agentic.core.errors import line_of
from agentic.core.llm.messages import ChatMessage
from agentic.core.logging import get_logger
from agentic.core.types import JSONValue

log = get_logger(__name__)


async def recall(provider: MemoryProvider, scope: MemoryScope, messages: Sequence[ChatMessage]) -> JSONValue:
    """Return the messages that a memory adds to a turn, as JSON."""
    try:
        added = await provider.before_invoke(scope, messages)
    except Exception as exc:  # a memory that is away must not end the conversation
        log.warning("memory.failed", agent=scope.agent, error=line_of(exc))
        return []
    instructions = (ChatMessage.system(added.extra_instructions),) if added.extra_instructions else ()
    return [message.to_json() for message in (*instructions, *added.system_messages)]


async def learn(provider: MemoryProvider, scope: MemoryScope, messages: Sequence[ChatMessage]) -> JSONValue:
    """Give a turn to a memory; return nothing to keep."""
    try:
        await provider.after_invoke(scope, messages)
    except Exception as exc:  # the answer is there
        log.warning("memory.failed", agent=scope.agent, error=line_of(exc))
    return None
