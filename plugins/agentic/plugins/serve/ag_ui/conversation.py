"""Messages, interrupts and answers between AG-UI and our threads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from ag_ui.core import (
    AssistantMessage,
    FunctionCall,
    Interrupt,
    Message,
    MessagesSnapshotEvent,
    ResumeEntry,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from ag_ui.core import TokenUsage as AgUiUsage
from ag_ui.core import ToolCall as AgUiToolCall

from agentic.core.agents.background.kept import kept_pieces
from agentic.core.agents.requests import PendingRequest, RequestAnswer, RequestKind
from agentic.core.agents.threads.entries import ThreadEntry
from agentic.core.agents.threads.thread import AgentThread
from agentic.core.errors import AgenticError
from agentic.core.llm.messages import ChatMessage, ChatRole, DataPart, Part, TextPart
from agentic.core.llm.structured import OUTPUT_TOOL
from agentic.core.llm.usage import TokenUsage
from agentic.plugins.serve.ag_ui.encoding import message_id, result_text

_UNSHOWN = frozenset({"activity", "reasoning"})


class RunInputError(AgenticError, ValueError):
    """An input breaks a rule of the protocol; the run ends with ``RUN_ERROR``."""

    def __init__(self, code: str, words: str) -> None:
        super().__init__(words)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """The part of a turn that one run made: from its input to the next one.

    Attributes:
        first: Kept pieces of the turn before it.
        last: Kept pieces of the turn with it.
        entries: Its entries.
        is_newest: Whether no input follows.
    """

    first: int
    last: int
    entries: tuple[ThreadEntry, ...]
    is_newest: bool

    @property
    def pending(self) -> tuple[PendingRequest, ...]:
        """The requests that it ended with."""
        return tuple(one for entry in self.entries for one in entry.asked)

    @property
    def usage(self) -> TokenUsage:
        """Its use of models."""
        return sum((entry.usage for entry in self.entries if entry.usage is not None), TokenUsage())


def segment_at(thread: AgentThread, turn: str, first: int) -> Segment | None:
    """Return the segment of a turn that begins after a number of kept pieces; None if it has no input yet."""
    entries = [entry for entry in thread.entries if entry.turn == turn]
    starts = [number for number, entry in enumerate(entries) if entry.is_input]
    for start, end in pairwise([*starts, len(entries)]):
        before = len(kept_pieces("", entries[:start], turn))
        if before == first:
            return Segment(
                first=first,
                last=len(kept_pieces("", entries[:end], turn)),
                entries=tuple(entries[start:end]),
                is_newest=end == len(entries),
            )
    return None


def snapshot_of(thread: AgentThread, turn: str, before: int | None = None) -> MessagesSnapshotEvent:
    """Return the event with all messages of a thread, or of a turn only the first kept ones.

    Args:
        thread: The conversation.
        turn: The turn in progress.
        before: Kept pieces of the turn to show; None for all.
    """
    return MessagesSnapshotEvent(messages=list(_messages(thread, turn, before)))


def _messages(thread: AgentThread, turn: str, before: int | None) -> Iterator[Message]:
    counts: dict[str, int] = {}
    inputs = 0
    for entry in thread.entries:
        for message in entry.messages if entry.is_input else ():
            inputs += 1
            yield from _input_message(message, message.id or f"{entry.turn}.in{inputs}")
        for piece in kept_pieces("", [entry], entry.turn):
            number = counts[entry.turn] = counts.get(entry.turn, 0) + 1
            if entry.turn == turn and before is not None and number > before:
                continue
            name = message_id(entry.turn, number)
            if piece.message is not None:
                yield _assistant_message(piece.message, name)
            if (result := piece.tool_result) is not None:
                error = result_text(result) if result.is_error else None
                yield ToolMessage(
                    id=name, tool_call_id=result.call_id, content=result_text(result), error=error
                )


def _input_message(message: ChatMessage, name: str) -> Iterator[Message]:
    match message.role:
        case ChatRole.USER:
            yield UserMessage(id=name, content=message.text, name=message.author_name)
        case ChatRole.SYSTEM:
            yield SystemMessage(id=name, content=message.text)
        case ChatRole.ASSISTANT:
            yield AssistantMessage(id=name, content=message.text)
        case ChatRole.TOOL:
            return


def _assistant_message(message: ChatMessage, name: str) -> AssistantMessage:
    calls = [
        AgUiToolCall(
            id=call.id,
            function=FunctionCall(name=call.name, arguments=json.dumps(call.arguments, ensure_ascii=False)),
        )
        for call in message.tool_calls
        if call.name != OUTPUT_TOOL
    ]
    return AssistantMessage(id=name, content=message.text or None, tool_calls=calls or None)


def new_messages(thread: AgentThread, turn_messages: Sequence[Message]) -> list[ChatMessage]:
    """Return the messages of an input that a thread lacks; it keeps its own of the others.

    Raises:
        RunInputError: A message is new, but stands before one that the thread has: history is not rewritten.
    """
    known = {message.id for message in snapshot_of(thread, "").messages}
    shown = [one for one in turn_messages if one.role not in _UNSHOWN]
    places = [number for number, one in enumerate(shown) if one.id in known]
    first = places[-1] + 1 if places else 0
    if len(places) < first:
        raise RunInputError(
            "history_differs", "the thread has other earlier messages; begin a new threadId for other ones"
        )
    return [found for one in shown[first:] if (found := _chat_message(one)) is not None]


def _chat_message(given: Message) -> ChatMessage | None:
    match given:
        case UserMessage():
            parts = _parts(given.content)
            return ChatMessage(role=ChatRole.USER, parts=parts, author_name=given.name, id=given.id)
        case AssistantMessage():
            text = (TextPart(text=given.content),) if given.content else ()
            return ChatMessage(role=ChatRole.ASSISTANT, parts=text, id=given.id) if text else None
        case _ if given.role in ("system", "developer"):
            text = (TextPart(text=str(given.content)),)
            return ChatMessage(role=ChatRole.SYSTEM, parts=text, id=given.id)
        case _:
            return None


def _parts(content: str | Sequence[Any]) -> tuple[Part, ...]:
    if isinstance(content, str):
        return (TextPart(text=content),)
    return tuple(map(_part, content))


def _part(part: Any) -> Part:  # noqa: ANN401  # a union of the protocol
    if part.type == "text":
        return TextPart(text=part.text)
    source = getattr(part, "source", None)
    kind = getattr(source, "mime_type", None) or f"{part.type}/*"
    match getattr(source, "type", None):
        case "data":
            return DataPart(media_type=kind, data=source.value)  # type: ignore[union-attr]  # the source's type
        case "url":
            return DataPart(media_type=kind, url=source.value)  # type: ignore[union-attr]  # the source's type
        case other:
            words = f"a content part of type {part.type!r} has the unknown source {other!r}"
            raise RunInputError("content_unknown", words)


def interrupt_of(request: PendingRequest) -> Interrupt:
    """Return a request as an interrupt."""
    is_approval = request.kind is RequestKind.APPROVAL
    ends = request.expires_at
    call = request.call
    return Interrupt(
        id=request.id,
        reason="tool_call" if call is not None else "input_required",
        message=f"May {call.name} be called?" if is_approval and call is not None else request.question,
        tool_call_id=None if call is None else call.id,
        response_schema=_APPROVAL if is_approval else {},
        expires_at=None if ends is None else datetime.fromtimestamp(ends, UTC).isoformat(),
        metadata={"kind": str(request.kind), **({"data": request.data} if request.data is not None else {})},
    )


_APPROVAL: dict[str, Any] = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "reason": {"type": "string"}},
    "required": ["approved"],
}


def answers_of(
    entries: Sequence[ResumeEntry], pending: Sequence[PendingRequest], run_id: str, now: float
) -> list[RequestAnswer]:
    """Return the answers to all open interrupts.

    Args:
        entries: Of the input.
        pending: The open requests.
        run_id: The run that brings the answers.
        now: Seconds since the epoch.

    Raises:
        RunInputError: One is missing, unknown, answered twice, late, or has the wrong form.
    """
    open_ones = {request.id: request for request in pending}
    given = [entry.interrupt_id for entry in entries]
    if unknown := [name for name in given if name not in open_ones]:
        raise RunInputError("interrupt_unknown", f"no open interrupt has the id {unknown[0]!r}")
    if len(set(given)) < len(given):
        raise RunInputError("interrupt_twice", "an interrupt is answered twice; send one entry for each")
    if missing := [name for name in open_ones if name not in given]:
        raise RunInputError(
            "interrupt_open", f"'resume' must answer every open interrupt; {missing[0]!r} is missing"
        )
    found = (_answer(entry, open_ones[entry.interrupt_id], now) for entry in entries)
    return [one.model_copy(update={"answered_by": author(run_id)}) for one in found]


def author(run_id: str) -> str:
    """Return the author of the answers of a run: a reader finds them in the thread by it."""
    return f"ag-ui {run_id}"


def _answer(entry: ResumeEntry, request: PendingRequest, now: float) -> RequestAnswer:
    if request.expires_at is not None and request.expires_at <= now:
        raise RunInputError("interrupt_expired", f"interrupt {request.id!r} has expired")
    if entry.status == "cancelled":
        return RequestAnswer(request_id=request.id, approved=False, reason="cancelled")
    if request.kind is not RequestKind.APPROVAL:
        return RequestAnswer(request_id=request.id, result=entry.payload)
    payload = entry.payload if isinstance(entry.payload, dict) else {"approved": entry.payload}
    approved, reason = payload.get("approved"), payload.get("reason") or ""
    if not isinstance(approved, bool) or not isinstance(reason, str):
        raise RunInputError(
            "payload_misfit", f"the answer to interrupt {request.id!r} must be {{'approved': true or false}}"
        )
    if "editedArgs" in payload:
        raise RunInputError("payload_misfit", "arguments of a call cannot be edited; reject it with a reason")
    return RequestAnswer(request_id=request.id, approved=approved, reason=reason)


def usage_of(used: TokenUsage) -> list[AgUiUsage] | None:
    """Return the use of models; None without any."""
    if not used.requests:
        return None
    return [
        AgUiUsage(
            input_tokens=used.input_tokens,
            output_tokens=used.output_tokens,
            total_tokens=used.input_tokens + used.output_tokens,
            cached_input_tokens=used.cache_read_tokens,
        )
    ]
