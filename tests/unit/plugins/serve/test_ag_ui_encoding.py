"""A reader of AG-UI events that is cut anywhere, any number of times, ends with the same conversation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from ag_ui.core import (
    AssistantMessage,
    MessagesSnapshotEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
    ToolMessage,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.core.agents.background.token import ContinuationToken
from agentic.core.agents.responses import AgentChunk, ChunkKind
from agentic.core.llm.messages import ChatMessage, ToolCall, ToolResult
from agentic.core.types import TaskId
from agentic.plugins.serve.ag_ui.encoding import Encoder, message_id
from agentic.plugins.serve.ag_ui.places import PlaceError, StreamPlace, TextState

pytestmark = pytest.mark.requirement("AG24")

TURN = "turn"
TOKEN = ContinuationToken(task_id=TaskId("1"), agent="a", thread_id="t", turn=TURN, created_at=0.0)


@dataclass(frozen=True)
class Live:
    """An event on the bus: text of the message after a number of kept pieces, or a new beginning."""

    after: int
    at: int = 0
    text: str | None = None


@dataclass
class World:
    """The log of a run: live events and kept pieces, in the order of their making."""

    log: list[Live | AgentChunk] = field(default_factory=list)

    def kept(self, size: int) -> list[AgentChunk]:
        return [one for one in self.log[:size] if isinstance(one, AgentChunk)]

    def live(self, size: int) -> list[Live]:
        return [one for one in self.log[:size] if isinstance(one, Live)]

    def pieces(self, place: StreamPlace, sizes: list[int]) -> Iterator[tuple[int, AgentChunk]]:
        """Yield the pieces after a place, as a reader sees them who looks at the log at these sizes."""
        sequence, cursor = place.sequence, place.cursor
        for size in sizes:
            for piece in self.kept(size)[sequence:]:
                sequence += 1
                yield size, replace(piece, sequence=sequence, token=TOKEN.after(sequence, cursor))
            for number, live in enumerate(self.live(size)[cursor:], cursor + 1):
                if live.after > sequence:
                    break
                cursor = number
                if live.after == sequence:
                    kind = ChunkKind.RESTARTED if live.text is None else ChunkKind.TEXT
                    yield size, AgentChunk(
                        kind=kind, author_name="a", sequence=sequence, text=live.text or "",
                        offset=None if live.text is None else live.at, token=TOKEN.after(sequence, cursor),
                    )  # fmt: skip

    def messages(self, before: int | None = None) -> list[Any]:
        found: list[Any] = []
        for number, piece in enumerate(self.kept(len(self.log))[:before], 1):
            name = message_id(TURN, number)
            if (message := piece.message) is not None:
                calls = [call.id for call in message.tool_calls]
                if message.text or calls:
                    found.append(("assistant", name, message.text, tuple(calls)))
            if (result := piece.tool_result) is not None:
                found.append(("tool", name, str(result.content), (result.call_id,)))
        return found

    def snapshot(self, before: int) -> MessagesSnapshotEvent:
        return MessagesSnapshotEvent(
            messages=[
                AssistantMessage(id=name, content=text, metadata={"calls": list(calls)})
                if role == "assistant"
                else ToolMessage(id=name, content=text, tool_call_id=calls[0])
                for role, name, text, calls in self.messages(before)
            ]
        )


words = st.text("abé", min_size=1, max_size=4)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    world = World()
    number = 0
    for _ in range(draw(st.integers(1, 4))):
        tries = draw(st.lists(st.lists(words, max_size=4), min_size=1, max_size=3))
        for position, deltas in enumerate(tries):
            if position:
                world.log.append(Live(number))
            at = 0
            for delta in deltas:
                if draw(st.integers(0, 9)) < 8:  # some are lost
                    world.log.append(Live(number, at, delta))
                at += len(delta)
        calls = draw(st.integers(0, 2))
        tools = [ToolCall(id=f"{number}-{one}", name="look", arguments={"n": one}) for one in range(calls)]
        said = ChatMessage.assistant("".join(tries[-1]), *tools)
        world.log.append(AgentChunk(kind=ChunkKind.MESSAGE, author_name="a", message=said))
        number += 1
        for tool in tools:
            result = ToolResult(call_id=tool.id, name=tool.name, content="found")
            world.log.append(AgentChunk(kind=ChunkKind.TOOL_FINISHED, author_name="a", tool_result=result))
            number += 1
    return world


class Client:
    """A client of the protocol: it builds the conversation of the events, and refuses ill-formed streams."""

    def __init__(self) -> None:
        self.messages: dict[str, list[Any]] = {}
        self.open: str | None = None
        self.counts: Counter[tuple[str, str]] = Counter()

    def take(self, event: Any) -> None:
        match event:
            case TextMessageStartEvent():
                assert self.open is None
                assert not self.messages.get(event.message_id, ["", "", ()])[1]
                self.open = event.message_id
                self.messages.setdefault(event.message_id, ["assistant", "", ()])
            case TextMessageContentEvent():
                assert self.open == event.message_id
                self.messages[event.message_id][1] += event.delta
            case TextMessageEndEvent():
                assert self.open == event.message_id
                self.open = None
            case ToolCallStartEvent():
                message = self.messages.setdefault(str(event.parent_message_id), ["assistant", "", ()])
                message[2] = (*message[2], event.tool_call_id)
                self.counts["start", event.tool_call_id] += 1
            case ToolCallArgsEvent() | ToolCallEndEvent():
                self.counts[event.type.value, event.tool_call_id] += 1
            case ToolCallResultEvent():
                self.messages[event.message_id] = ["tool", event.content, (event.tool_call_id,)]
                self.counts["result", event.tool_call_id] += 1
            case MessagesSnapshotEvent():
                assert self.open is None
                self.messages = {one.id: _as_client(one) for one in event.messages}

    @property
    def conversation(self) -> list[Any]:
        found = [(role, name, text, calls) for name, (role, text, calls) in self.messages.items()]
        return [one for one in found if one[2] or one[3]]  # one was begun, and its model said nothing


def _as_client(message: Any) -> list[Any]:
    if message.role == "tool":
        return ["tool", message.content, (message.tool_call_id,)]
    return ["assistant", message.content, tuple((message.metadata or {}).get("calls", ()))]


@settings(max_examples=100, deadline=None)
@given(worlds(), st.data())
def test_a_reader_cut_anywhere_has_every_event_once(world: World, data: st.DataObject) -> None:
    client, place, size = Client(), StreamPlace(), 0
    for _ in range(data.draw(st.integers(0, 6), "cuts")):
        sizes = sorted(data.draw(st.lists(st.integers(size, len(world.log)), max_size=4), "looks"))
        count = data.draw(st.integers(0, 12), "events before the cut")
        place, size = read(world, client, place, sizes or [size], count)
    looks = sorted(data.draw(st.lists(st.integers(size, len(world.log)), max_size=4), "last looks"))
    read(world, client, place, [*looks, len(world.log)], None)
    assert client.conversation == world.messages()
    assert client.open is None
    assert set(client.counts.values()) <= {1}


def read(
    world: World, client: Client, place: StreamPlace, sizes: list[int], count: int | None
) -> tuple[StreamPlace, int]:
    """Read until a cut after some events; return the place, and the size of the log by then."""
    encoder = Encoder(TURN, place, world.snapshot)
    for size, piece in world.pieces(place, sizes):
        for placed in encoder.events(piece):
            if count is not None and count <= 0:
                return place, size
            client.take(placed.event)
            place = StreamPlace.decode(placed.place.encode())
            count = None if count is None else count - 1
    return place, sizes[-1]


@pytest.mark.parametrize("text", ["", "1", "1.2.3.4.5", "a.b.c.d.e.f", "1.9.0.0.0.0", "-1.0.0.0.0.0"])
def test_another_text_is_not_a_place(text: str) -> None:
    with pytest.raises(PlaceError):
        StreamPlace.decode(text)


@given(
    st.builds(
        StreamPlace,
        sequence=st.integers(0, 10**9),
        text=st.sampled_from(TextState),
        chars=st.integers(0, 10**9),
    )
)
def test_a_place_is_read_as_it_was_written(place: StreamPlace) -> None:
    assert StreamPlace.decode(place.encode()) == place
