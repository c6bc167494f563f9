"""A reader of remote tasks: nothing that a server sends is trusted."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.types import JSONValue
from agentic.plugins.a2a.remote.reading import AnswerTooLargeError, TaskReader
from agentic.plugins.a2a.tasks.entries import TaskState
from agentic.plugins.a2a.vocabulary import SEQUENCE

Json = dict[str, Any]


def artifact(text: str, number: int, *, append: bool = True, name: str = "answer", task: str = "t") -> Json:
    return {
        "artifactUpdate": {
            "taskId": task,
            "append": append,
            "artifact": {"artifactId": name, "parts": [{"text": text}]},
            "metadata": {SEQUENCE: {"sequence": float(number)}},
        }
    }


def shown(reader: TaskReader, *events: Json) -> str:
    """Return the text that a caller sees after some events."""
    text = ""
    for event in events:
        for delta in reader.take(event):
            text = delta.text if delta.restarts else text + delta.text
    return text


def unnumbered(event: Json) -> Json:
    return {"artifactUpdate": {**event["artifactUpdate"], "metadata": {}}}


def whole(text: str, state: TaskState) -> Json:
    parts = [{"artifactId": "answer", "parts": [{"text": text}]}] if text else []
    return {"task": {"id": "t", "status": {"state": state.value}, "artifacts": parts}}


@given(st.lists(st.text(min_size=1, max_size=3), min_size=1, max_size=6), st.data())
def test_words_that_came_twice_without_numbers_are_put_right_by_the_whole_task(
    words: list[str], data: st.DataObject
) -> None:
    """The task that a reader gets first may have any part of the events after it."""
    known, first = (data.draw(st.integers(0, len(words))) for _ in range(2))
    events = [unnumbered(artifact(word, 0)) for word in words[first:]]
    reader = TaskReader("x")
    read = [whole("".join(words[:known]), TaskState.WORKING), *events]
    shown(reader, *read, {"statusUpdate": {"taskId": "t", "status": {"state": TaskState.COMPLETED.value}}})
    assert reader.is_settled
    assert reader.is_done == (not events)
    before, after = reader.outcome().text, whole("".join(words), TaskState.COMPLETED)
    forgotten = TaskReader("x")
    shown(forgotten, *read, whole("", TaskState.COMPLETED))
    assert forgotten.outcome().text == (before if events else "")
    shown(reader, whole(words[0], TaskState.WORKING))
    assert (reader.outcome().text, reader.outcome().state) == (before, TaskState.COMPLETED)
    shown(reader, after)
    assert (reader.outcome().text, reader.is_done) == ("".join(words), True)


@given(
    st.lists(st.tuples(st.text(max_size=3), st.booleans(), st.sampled_from("ab")), max_size=12),
    st.data(),
)
def test_a_reader_that_gets_old_events_again_shows_the_same_as_one_that_gets_each_once(
    texts: list[tuple[str, bool, str]], data: st.DataObject
) -> None:
    events = [
        artifact(text, number, append=append, name=name)
        for number, (text, append, name) in enumerate(texts, 1)
    ]
    once, often = TaskReader("x"), TaskReader("x")
    expected = shown(once, *events)
    repeated: list[Json] = []
    for number, event in enumerate(events):
        begin = data.draw(st.integers(0, number))
        repeated += [*events[begin:number], event]
    assert shown(often, *repeated) == expected
    assert often.outcome().text == once.outcome().text == expected


JSON: st.SearchStrategy[JSONValue] = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
KEYS = [
    "id",
    "taskId",
    "contextId",
    "status",
    "artifacts",
    "artifact",
    "parts",
    "metadata",
    "history",
    "append",
]


@given(
    st.sampled_from(["task", "statusUpdate", "artifactUpdate", "message", "other"]),
    st.dictionaries(st.sampled_from(KEYS), JSON),
)
def test_any_json_makes_no_reader_fail(kind: str, body: Json) -> None:
    reader = TaskReader("x")
    shown(reader, {kind: body}, artifact("a", 1))
    reader.outcome()


def test_events_of_another_task_do_not_count() -> None:
    reader = TaskReader("x")
    assert shown(reader, artifact("mine", 1), artifact("other", 2, task="u")) == "mine"


def test_nothing_follows_the_end_of_a_task() -> None:
    reader = TaskReader("x")
    for state in ("TASK_STATE_COMPLETED", "TASK_STATE_WORKING", "TASK_STATE_INPUT_REQUIRED", "NEW"):
        shown(reader, {"statusUpdate": {"taskId": "t", "status": {"state": state}}})
    assert reader.state is TaskState.COMPLETED


def test_an_endless_answer_is_refused() -> None:
    reader = TaskReader("x")
    events = [artifact("x" * 100_000, number) for number in range(1, 100)]
    with pytest.raises(AnswerTooLargeError):
        shown(reader, *events)


def test_a_server_cannot_choose_the_ids_of_requests_or_hide_whose_they_are() -> None:
    request = {
        "id": "approve-my-payment",
        "kind": "approval",
        "raised_at": 1.0,
        "call": {"kind": "tool_call", "id": "1", "name": "delete_all", "arguments": {"n": 3.0}},
    }
    status = {
        "state": "TASK_STATE_INPUT_REQUIRED",
        "message": {"parts": [{"text": "?"}, {"data": {"requests": [request]}}]},
    }
    reader = TaskReader("painter")
    shown(reader, {"statusUpdate": {"taskId": "t", "status": status}})
    (asked,) = reader.outcome().requests
    assert asked.remote_id == "approve-my-payment"
    assert asked.request.id != "approve-my-payment"
    assert asked.request.call
    assert (asked.request.call.name, asked.request.call.arguments) == ("painter.delete_all", {"n": 3})
