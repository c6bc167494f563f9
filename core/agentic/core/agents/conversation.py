"""The messages that a model gets: complete pairs of calls and results, in the order of the calls."""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.llm.messages import ChatMessage, ChatRole, ToolResult

NO_RESULT = "no result: the work was interrupted"


def well_formed(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Return messages as every provider accepts them.

    The results of a message's calls follow it, in one message, in the order of the calls. A call without a
    result gets one that says so; a result without its call is left out.
    """
    results = {result.call_id: result for message in messages for result in message.tool_results}
    found: list[ChatMessage] = []
    for message in messages:
        if message.role is ChatRole.TOOL:
            continue
        found.append(message)
        if message.tool_calls:
            found.append(
                ChatMessage.tool(
                    *(
                        results.get(call.id)
                        or ToolResult(call_id=call.id, name=call.name, content=NO_RESULT, is_error=True)
                        for call in message.tool_calls
                    )
                )
            )
    return found


def groups_of(messages: Sequence[ChatMessage]) -> list[tuple[ChatMessage, ...]]:
    """Return well-formed messages in groups that belong together: a message with its calls' results."""
    found: list[tuple[ChatMessage, ...]] = []
    for message in messages:
        if message.role is ChatRole.TOOL and found:
            found[-1] = (*found[-1], message)
        else:
            found.append((message,))
    return found
