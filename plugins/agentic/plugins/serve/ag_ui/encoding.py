"""Pieces of an answer as AG-UI events: a pure fold, so that a cut reader gets the same events as others."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ag_ui.core import (
    BaseEvent,
    MessagesSnapshotEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from agentic.core.agents.responses import AgentChunk, ChunkKind
from agentic.core.llm.messages import ChatMessage, ToolCall, ToolResult
from agentic.core.llm.structured import OUTPUT_TOOL
from agentic.plugins.serve.ag_ui.places import StreamPlace, TextState


@dataclass(frozen=True, slots=True)
class Placed:
    """An event, and the place of a reader who has it."""

    event: BaseEvent
    place: StreamPlace


class Encoder:
    """Makes the events of one reader.

    Args:
        turn: Id of the turn; ids of messages begin with it.
        place: Where the reader is.
        snapshot: Makes the event with all messages before the piece of a number, and that piece.
    """

    def __init__(
        self, turn: str, place: StreamPlace, snapshot: Callable[[int], MessagesSnapshotEvent]
    ) -> None:
        self._turn = turn
        self._snapshot = snapshot
        self._is_held = False
        self._heard: str | None = None
        self.place = place

    def events(self, piece: AgentChunk) -> Iterator[Placed]:
        """Yield the events of a piece that the reader lacks."""
        if piece.path:  # of a nested agent: its answer is the result of the call
            return
        if piece.token is not None:
            self.place = replace(self.place, cursor=piece.token.cursor)
        match piece.kind:
            case ChunkKind.TEXT:
                yield from self._live(piece.text, piece.offset)
            case ChunkKind.RESTARTED if self.place.text is TextState.OPEN:
                self._heard = ""
            case ChunkKind.MESSAGE if piece.message is not None:
                yield from self._message(piece.message)
            case ChunkKind.TOOL_FINISHED if piece.tool_result is not None:
                yield self._last(result_event(piece.tool_result, self._next_id))
            case ChunkKind.REQUEST:
                self.place = self.place.after_piece()
            case _:
                pass

    @property
    def _next_id(self) -> str:
        return message_id(self._turn, self.place.sequence + 1)

    def _live(self, text: str, offset: int | None) -> Iterator[Placed]:
        if self._heard is not None:
            yield from self._again(text, offset)
            return
        if self.place.text in (TextState.DONE, TextState.WRONG):  # it was read whole
            return
        if self._is_held or offset is None or offset > self.place.chars:
            self._is_held = True  # some is missing: the message comes whole
            return
        if new := text[self.place.chars - offset :]:
            yield from self._text(new)

    def _again(self, text: str, offset: int | None) -> Iterator[Placed]:
        """Compare a reply that began again with the text that the reader has."""
        heard = self._heard or ""
        if offset != len(heard):
            return  # some is missing: the message comes whole
        self._heard = heard = heard + text
        if len(heard) < self.place.chars:
            return
        self._heard = None
        if not self.place.has_begun_with(heard):
            yield from self._take_back()
        if new := heard[self.place.chars :]:
            yield from self._text(new)

    def _text(self, new: str) -> Iterator[Placed]:
        if self.place.text is TextState.NONE:
            start = TextMessageStartEvent(message_id=self._next_id, role="assistant")
            yield self._placed(start, text=TextState.OPEN)
        self.place = self.place.with_text(new)
        yield Placed(TextMessageContentEvent(message_id=self._next_id, delta=new), self.place)

    def _take_back(self) -> Iterator[Placed]:
        """Close a message whose words do not count, and show the messages without it."""
        if self.place.text is TextState.OPEN:
            yield self._placed(TextMessageEndEvent(message_id=self._next_id), text=TextState.WRONG)
        snapshot = self._snapshot(self.place.sequence)
        yield self._placed(snapshot, text=TextState.NONE, chars=0, crc=0)

    def _message(self, message: ChatMessage) -> Iterator[Placed]:
        self._is_held, self._heard = False, None
        place, text = self.place, message.text
        is_other = place.text is TextState.OPEN and not place.has_begun_with(text)
        if place.text is TextState.WRONG or is_other:
            yield from self._take_back()
        if self.place.text is not TextState.DONE and (text or self.place.text is TextState.OPEN):
            if new := text[self.place.chars :]:
                yield from self._text(new)
            if self.place.text is TextState.OPEN:
                yield self._placed(TextMessageEndEvent(message_id=self._next_id), text=TextState.DONE)
        yield from self._calls(message)
        self.place = self.place.after_piece()

    def _calls(self, message: ChatMessage) -> Iterator[Placed]:
        calls = [call for call in message.tool_calls if call.name != OUTPUT_TOOL]
        events = [event for call in calls for event in call_events(call, self._next_id)]
        for event in events[self.place.parts :]:
            yield self._placed(event, parts=self.place.parts + 1)

    def _last(self, event: BaseEvent) -> Placed:
        self.place = self.place.after_piece()
        return Placed(event, self.place)

    def _placed(self, event: BaseEvent, **changes: Any) -> Placed:  # noqa: ANN401  # fields of a place
        self.place = replace(self.place, **changes)
        return Placed(event, self.place)


def message_id(turn: str, number: int) -> str:
    """Return the id of a kept message: the same in every process."""
    return f"{turn}.{number}"


def call_events(call: ToolCall, parent: str) -> list[BaseEvent]:
    """Return the events of a call."""
    arguments = json.dumps(call.arguments, ensure_ascii=False) if call.invalid is None else call.invalid
    return [
        ToolCallStartEvent(tool_call_id=call.id, tool_call_name=call.name, parent_message_id=parent),
        ToolCallArgsEvent(tool_call_id=call.id, delta=arguments),
        ToolCallEndEvent(tool_call_id=call.id),
    ]


def result_event(result: ToolResult, name: str) -> ToolCallResultEvent:
    """Return the event of a result."""
    return ToolCallResultEvent(
        message_id=name, tool_call_id=result.call_id, content=result_text(result), role="tool"
    )


def result_text(result: ToolResult) -> str:
    """Return a result as text."""
    content = result.content
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
