from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentic.core.bus import PublishedEvent, StoredMessage
from agentic.core.bus.envelope import from_message, to_message
from agentic.core.graph import EventKind, WorkflowEvent
from agentic.core.types import RunId

names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
events = st.builds(
    WorkflowEvent,
    kind=st.sampled_from(EventKind),
    run_id=names.map(RunId),
    time=st.floats(0, 2e9),
    sequence=st.none() | st.integers(min_value=1),
    superstep=st.integers(0, 1000),
    path=st.text(st.characters(codec="utf-8"), max_size=20),
    duration_s=st.none() | st.floats(0, 1e6),
    data=st.dictionaries(names, st.none() | st.integers() | names | st.lists(names)),
)


@given(events, names)
def test_an_event_comes_back_whole(event: WorkflowEvent, project: str) -> None:
    message = to_message(event, project)
    stored = StoredMessage(sequence=7, subject=message.subject, payload=message.payload)
    assert from_message(stored) == PublishedEvent(stream_sequence=7, project=project, event=event)


@given(events, names)
def test_the_id_of_a_message_can_be_a_header(event: WorkflowEvent, project: str) -> None:
    message_id = to_message(event, project).message_id
    assert message_id.isascii()
    assert message_id.isprintable()
    assert " " not in message_id


@given(events, names, events, names)
def test_two_events_share_no_id(one: WorkflowEvent, here: str, other: WorkflowEvent, there: str) -> None:
    same_id = to_message(one, here).message_id == to_message(other, there).message_id
    assert same_id == ((here, one.id) == (there, other.id))


def test_a_project_and_a_run_with_slashes_are_not_mixed_up() -> None:
    one = WorkflowEvent(kind=EventKind.RUN_STARTED, run_id=RunId("b/c"), time=0.0, sequence=1)
    other = WorkflowEvent(kind=EventKind.RUN_STARTED, run_id=RunId("c"), time=0.0, sequence=1)
    assert to_message(one, "a").message_id != to_message(other, "a/b").message_id
