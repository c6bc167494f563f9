"""The messages that a model gets: complete pairs of calls and results, in the order of the calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentic.core.llm.messages import ChatMessage, ChatRole, DataPart, TextPart, ToolCall, ToolResult
from agentic.core.types import JSONValue

BY_AGENT = "by_agent"
"""Key of ``ChatMessage.meta``: the message of a user role is the words of another agent."""

NO_RESULT = "no result: the work was interrupted"


def well_formed(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Return messages as every provider accepts them.

    The results of a message's calls follow it, in one message, in the order of the calls. A call without a
    result gets one that says so; a result without its call is left out.
    """
    results = {
        result.call_id: (result, message)
        for message in messages
        if message.role is ChatRole.TOOL
        for result in message.tool_results
    }
    found: list[ChatMessage] = []
    for message in messages:
        if message.role is ChatRole.TOOL:
            continue
        found.append(message)
        if message.role is ChatRole.ASSISTANT and (calls := message.tool_calls):
            found.append(_results_of(calls, results))
    return found


def _results_of(
    calls: Sequence[ToolCall], results: Mapping[str, tuple[ToolResult, ChatMessage]]
) -> ChatMessage:
    if len(calls) == 1 and (known := results.get(calls[0].id)) and len(known[1].parts) == 1:
        return known[1]  # usually: conversations grow, and each request checks them all
    return ChatMessage.tool(
        *(
            results[call.id][0]
            if call.id in results
            else ToolResult(call_id=call.id, name=call.name, content=NO_RESULT, is_error=True)
            for call in calls
        )
    )


def from_agent(message: ChatMessage) -> ChatMessage:
    """Return the words of an agent as another agent gets them: as a message of a user, marked."""
    parts = tuple(part for part in message.parts if isinstance(part, (TextPart, DataPart)))
    meta: dict[str, JSONValue] = {**message.meta, BY_AGENT: True}
    return message.model_copy(update={"role": ChatRole.USER, "parts": parts, "meta": meta})


def is_by_person(message: ChatMessage) -> bool:
    """Whether a person said it, and not another agent: memories of a person come from such messages only."""
    return message.role is ChatRole.USER and not message.meta.get(BY_AGENT)


def groups_of(messages: Sequence[ChatMessage]) -> list[tuple[ChatMessage, ...]]:
    """Return well-formed messages in groups that belong together: a message with its calls' results."""
    found: list[tuple[ChatMessage, ...]] = []
    for message in messages:
        if message.role is ChatRole.TOOL and found:
            found[-1] = (*found[-1], message)
        else:
            found.append((message,))
    return found
