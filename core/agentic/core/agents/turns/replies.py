"""Replies of models, and results of calls, as a turn keeps them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel

from agentic.core.agents.conversation import from_agent
from agentic.core.agents.responses import AgentResponse, ResponseStatus
from agentic.core.agents.structured import OutputSpec
from agentic.core.agents.threads.entries import ThreadEntry, ThreadTurn
from agentic.core.agents.tools.pausing import ToolPause
from agentic.core.llm.messages import ChatMessage, ChatRole, ToolCall, ToolResult
from agentic.core.llm.requests import ModelReply, StopReason
from agentic.core.llm.structured import OUTPUT_TOOL
from agentic.core.llm.usage import TokenUsage
from agentic.core.types import JSONValue


class _StoredCall(BaseModel):
    """A call in a journal: its result, or its pause."""

    result: ToolResult | None = None
    pause: ToolPause | None = None
    usage: TokenUsage


def why_no_answer(reply: ModelReply) -> str | None:
    """Return why a whole reply is not an answer: it is a refusal, or cut off at its longest length."""
    if reply.stop_reason is StopReason.REFUSED:
        return f"the model refused: {reply.text[:500]}"
    if reply.stop_reason is StopReason.LENGTH and not reply.tool_calls:
        return "the reply reached the longest length (max_tokens)"
    return None


def as_heard(message: ChatMessage, agent: str) -> ChatMessage:
    """Return a given message as the agent hears it: replies of other agents are messages to this one."""
    if message.role is not ChatRole.ASSISTANT or message.author_name == agent:
        return message
    return from_agent(message)


def with_new_ids(message: ChatMessage, said: Iterable[ChatMessage]) -> ChatMessage:
    """Return a reply whose calls have ids of their own: some models use the same ids in each reply."""
    if not message.tool_calls:
        return message
    replies = (one for one in said if one.role is ChatRole.ASSISTANT)
    known = {call.id for one in replies for call in one.tool_calls}
    numbers: dict[str, int] = {}  # so that many equal ids do not each count from 1
    parts: list[Any] = []
    for part in message.parts:
        if isinstance(part, ToolCall):
            name, number = part.id, numbers.get(part.id, 1)
            while name in known:
                number += 1
                name = f"{part.id}_{number}"
            numbers[part.id] = number
            known.add(name)
            parts.append(part if name == part.id else part.model_copy(update={"id": name}))
        else:
            parts.append(part)
    return message.model_copy(update={"parts": tuple(parts)})


def accepting(message: ChatMessage) -> tuple[ChatMessage, ...]:
    """Return the result of the call that gave the final answer, if one did: each call needs one."""
    calls = [call for call in message.tool_calls if call.name == OUTPUT_TOOL]
    results = [ToolResult(call_id=call.id, name=call.name, content="accepted") for call in calls]
    return (ChatMessage.tool(*results),) if results else ()


def store_call(found: ToolResult | ToolPause, usage: TokenUsage) -> JSONValue:
    """Return a finished or paused call as a journal keeps it, with its use since the last pause.

    The use is of models, and of the call itself, if it has not paused before.
    """
    if isinstance(found, ToolResult):
        return {"result": found.to_json(), "usage": usage.to_json()}
    return {"pause": found.model_dump(mode="json", exclude_defaults=True), "usage": usage.to_json()}


def restore_call(stored: JSONValue) -> tuple[ToolResult | ToolPause, TokenUsage]:
    """Return the call that :func:`store_call` gave."""
    kept = _StoredCall.model_validate(stored)
    found = kept.result or kept.pause
    if found is None:
        raise ValueError("a stored call has neither a result nor a pause")
    return found, kept.usage


def response_of(
    turn: ThreadTurn,
    added: Iterable[ThreadEntry],
    agent: str,
    thread_id: str,
    output: OutputSpec[Any] | None,
) -> AgentResponse[Any]:
    """Return the response to an input.

    Args:
        turn: As far as it goes.
        added: The entries of this run.
        agent: Name of the agent.
        thread_id: The conversation.
        output: The type of the answer, if it has one.
    """
    status = ResponseStatus.NEEDS_INPUT if turn.ended is None else ResponseStatus(turn.ended)
    response: AgentResponse[Any] = AgentResponse(
        agent=agent,
        thread_id=thread_id,
        turn=turn.id,
        status=status,
        messages=tuple(one for entry in added for one in entry.messages if one.role is not ChatRole.USER),
        text=turn.reply.text if turn.reply else "",
        usage=turn.usage,
        pending=turn.pending if turn.ended is None else (),
        reason=turn.reason,
    )
    if output is None or status is not ResponseStatus.COMPLETE or turn.reply is None:
        return response
    found, data = output.read(turn.reply)
    return response.model_copy(update={"data": data}).with_output(found)
