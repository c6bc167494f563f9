"""Decides the next step of a turn from its log alone: so it continues alike in any process."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal, assert_never

from agentic.core.agents.limits import call_text, is_same_call
from agentic.core.agents.requests import PendingRequest, RequestAnswer, RequestKind, request_id
from agentic.core.agents.structured import is_output_call
from agentic.core.agents.threads.entries import ThreadTurn
from agentic.core.agents.tools.pausing import MAX_PAUSES, KeptPause, answer_in_time, requests_of
from agentic.core.agents.tools.tool import Tool
from agentic.core.llm.messages import ChatMessage, ToolCall, ToolResult
from agentic.core.records import record


@record
class CallModel:
    """Ask the model.

    Attributes:
        number: The number of this request in the turn, from 1.
    """

    number: int


@record
class SettleCalls:
    """Add results that need no call: rejected, unknown, answered from outside, or known already."""

    results: tuple[ToolResult, ...]


@record
class RunCalls:
    """Run calls, all at a time.

    Attributes:
        calls: Key of the effect -> call.
    """

    calls: tuple[tuple[str, ToolCall], ...]


@record
class AskFor:
    """Ask people or programs.

    Attributes:
        requests: All that are open.
        new: Those that were not asked yet.
    """

    requests: tuple[PendingRequest, ...]
    new: tuple[PendingRequest, ...]


@record
class CheckAnswer:
    """The model has replied without calls: check its answer, and end the turn."""

    message: ChatMessage


Step = CallModel | SettleCalls | RunCalls | AskFor | CheckAnswer


def next_step(
    turn: ThreadTurn,
    tools: Mapping[str, Tool],
    now: float,
    approval_s: float | None = None,
    *,
    has_output: bool = True,
) -> Step:
    """Return the next step of a turn that has not ended.

    Args:
        turn: The turn.
        tools: By name.
        now: Seconds since the epoch.
        approval_s: Seconds after which a new request expires.
        has_output: Whether the answer has a type, so that the output tool gives it.
    """
    number, reply = turn.reply_count, turn.reply
    if reply is None:
        return CallModel(number + 1)
    if not reply.tool_calls or (has_output and is_output_call(reply)):
        return CallModel(number + 1) if turn.messages[-1] is not reply else CheckAnswer(reply)
    open_calls = _open_calls(turn.messages, reply)
    if not open_calls:
        return CallModel(number + 1)
    return _for_calls(turn, reply, open_calls, number, tools, now, approval_s)


def _for_calls(  # noqa: PLR0913, PLR0917  # the facts of one decision
    turn: ThreadTurn,
    reply: ChatMessage,
    calls: Collection[ToolCall],
    number: int,
    tools: Mapping[str, Tool],
    now: float,
    approval_s: float | None,
) -> Step:
    settled: list[ToolResult] = []
    ready: list[tuple[str, ToolCall]] = []
    waiting: list[PendingRequest] = []
    seen: set[str] = set()
    open_ids = {call.id for call in calls}
    for index, call in enumerate(reply.tool_calls):
        if call.id not in open_ids:
            continue
        match _fate(turn, call, tools, now, approval_s, seen):
            case ToolResult() as result:
                settled.append(result)
            case tuple() as requests:
                waiting += requests
            case None:
                ready.append((_key(turn, call, number, index), call))
            case "later":
                pass
            case never:
                assert_never(never)
    if settled:
        return SettleCalls(tuple(settled))
    if ready:
        return RunCalls(tuple(ready))
    asked = turn.asked or {}
    return AskFor(tuple(waiting), tuple(one for one in waiting if one.id not in asked))


def _fate(  # one return for each reason
    turn: ThreadTurn,
    call: ToolCall,
    tools: Mapping[str, Tool],
    now: float,
    approval_s: float | None,
    seen: set[str],
) -> ToolResult | tuple[PendingRequest, ...] | Literal["later"] | None:
    """Return a call's result or requests; None if it shall run, "later" if its twin runs first."""
    tool = tools.get(call.name)
    if tool is None:
        return _refused(
            call, f"no tool is called {call.name!r} (known: {', '.join(sorted(tools)) or 'none'})"
        )
    if tool.is_deduplicated and call.invalid is None:
        if earlier := _earlier_result(turn.messages, call):
            return earlier.model_copy(update={"call_id": call.id})
        key = call_text(call)
        if key in seen:
            return "later"
        seen.add(key)
    if call.id in (turn.paused or {}):
        return _fate_of_paused(turn, call, tool, now, approval_s)
    if call.invalid is not None or not (tool.is_external or tool.needs_approval(call.arguments)):
        return None
    return _fate_of_asked(turn, call, tool, now, approval_s)


def _fate_of_asked(
    turn: ThreadTurn, call: ToolCall, tool: Tool, now: float, approval_s: float | None
) -> ToolResult | tuple[PendingRequest, ...] | None:
    """Return the fate of a call that a person or a program decides."""
    request = _request(turn, call, tool, now, approval_s)
    answer = (turn.answers or {}).get(request.id)
    if answer is None:
        if request.expires_at is not None and request.expires_at <= now:
            return _refused(call, "no person answered in time; the tool was not called")
        return (request,)
    if not answer.approved:
        return _refused(call, _rejection(answer))
    if tool.is_external:
        return ToolResult(call_id=call.id, name=call.name, content=answer.result)
    return None


def _fate_of_paused(
    turn: ThreadTurn, call: ToolCall, tool: Tool, now: float, approval_s: float | None
) -> ToolResult | tuple[PendingRequest, ...] | None:
    kept = (turn.paused or {})[call.id]
    if kept.number > MAX_PAUSES:
        return _refused(call, f"the tool has asked {MAX_PAUSES} times without a result; it was stopped")
    asked = questions_of(turn, call, tool, kept, now, approval_s)
    waiting = [one for one in asked.values() if answer_in_time(one, turn.answers, now) is None]
    return tuple(waiting) or None


def questions_of(  # the facts of one decision
    turn: ThreadTurn, call: ToolCall, tool: Tool, kept: KeptPause, now: float, approval_s: float | None
) -> dict[str, PendingRequest]:
    """Return the requests of a paused call by the key of the question; one that was asked stays the same."""
    made = requests_of(turn.id, call, tool.version, kept, now, approval_s)
    return {key: (turn.asked or {}).get(one.id, one) for key, one in made.items()}


def _key(turn: ThreadTurn, call: ToolCall, number: int, index: int) -> str:
    kept = (turn.paused or {}).get(call.id)
    return f"tool.{number}.{index}" if kept is None else f"tool.{number}.{index}.{kept.number}"


def _request(
    turn: ThreadTurn, call: ToolCall, tool: Tool, now: float, approval_s: float | None
) -> PendingRequest:
    name = request_id(turn.id, call, tool.version)
    if known := (turn.asked or {}).get(name):
        return known
    question = call.arguments.get("question") if tool.is_external else f"call {call.name}"
    return PendingRequest(
        id=name,
        kind=RequestKind.RESULT if tool.is_external else RequestKind.APPROVAL,
        call=call,
        question=question if isinstance(question, str) else tool.description,
        raised_at=now,
        expires_at=None if approval_s is None else now + approval_s,
    )


def _rejection(answer: RequestAnswer) -> str:
    return f"a person rejected the call; the tool was not called{answer.reason and f': {answer.reason}'}"


def _refused(call: ToolCall, message: str) -> ToolResult:
    return ToolResult(call_id=call.id, name=call.name, content=message, is_error=True)


def _open_calls(messages: tuple[ChatMessage, ...], reply: ChatMessage) -> list[ToolCall]:
    settled: set[str] = set()
    for message in reversed(messages):  # the reply is near the end
        if message is reply:
            break
        settled.update(result.call_id for result in message.tool_results)
    return [call for call in reply.tool_calls if call.id not in settled]


def _earlier_result(messages: Collection[ChatMessage], call: ToolCall) -> ToolResult | None:
    twins = {
        one.id
        for message in messages
        for one in message.tool_calls
        if one.id != call.id and is_same_call(one, call)
    }
    results = (result for message in messages for result in message.tool_results)
    return next((one for one in results if one.call_id in twins and not one.is_error), None)
