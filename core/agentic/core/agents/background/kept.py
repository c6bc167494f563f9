"""The pieces of a turn that its thread keeps: the same in every process, and numbered alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from agentic.core.agents.responses import AgentChunk, ChunkKind
from agentic.core.agents.threads.entries import ThreadEntry
from agentic.core.llm.messages import ChatMessage, ChatRole
from agentic.core.llm.structured import OUTPUT_TOOL


def kept_pieces(agent: str, entries: Iterable[ThreadEntry], turn: str) -> list[AgentChunk]:
    """Return the messages, results and requests of a turn, numbered from 1. Entries only ever add some.

    Args:
        agent: Name of the agent.
        entries: Of the thread.
        turn: Id of the turn.
    """
    found = (piece for entry in entries if entry.turn == turn for piece in _of_entry(agent, entry))
    return [replace(piece, sequence=number) for number, piece in enumerate(found, 1)]


def kept_messages(entries: Iterable[ThreadEntry], turn: str) -> Sequence[ChatMessage]:
    """Return the messages that an agent has added in a turn.

    Args:
        entries: Of the thread.
        turn: Id of the turn.
    """
    own = (entry for entry in entries if entry.turn == turn and not entry.is_input)
    return [message for entry in own for message in entry.messages if message.role is not ChatRole.USER]


def _of_entry(agent: str, entry: ThreadEntry) -> Iterator[AgentChunk]:
    for message in () if entry.is_input else entry.messages:
        if message.role is ChatRole.ASSISTANT:
            yield AgentChunk(kind=ChunkKind.MESSAGE, author_name=agent, message=message)
        for result in message.tool_results:
            if result.name != OUTPUT_TOOL:
                yield AgentChunk(kind=ChunkKind.TOOL_FINISHED, author_name=agent, tool_result=result)
    for request in entry.asked:
        yield AgentChunk(kind=ChunkKind.REQUEST, author_name=agent, request=request)
