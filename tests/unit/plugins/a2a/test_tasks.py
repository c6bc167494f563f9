"""Tasks as logs, and messages as answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.agents import AgentChunk, AgentResponse, ChunkKind, PendingRequest, RequestKind
from agentic.core.bus import MemoryBus
from agentic.core.llm import ToolCall
from agentic.plugins.a2a.nats.frames import AnswerFrame, FrameNumbers, Joiner, LostFrameError
from agentic.plugins.a2a.serving.inputs import UnclearAnswerError, read_answers
from agentic.plugins.a2a.serving.narrating import Narration
from agentic.plugins.a2a.tasks.entries import EntryKind, TaskEntry, TaskFacts, TaskView, viewed
from agentic.plugins.a2a.tasks.log import TaskChangedError, TaskLog

FACTS = TaskFacts(id="a" * 32, context="c", user="", created_at=1.0)


def piece(kind: ChunkKind, text: str = "") -> AgentChunk:
    call = ToolCall(id="1", name="read") if kind is ChunkKind.TOOL_STARTED else None
    return AgentChunk(kind=kind, author_name="a", text=text, tool_call=call)


@given(
    st.lists(
        st.one_of(
            st.builds(piece, st.just(ChunkKind.TEXT), st.text(max_size=4)),
            st.sampled_from([piece(ChunkKind.RESTARTED), piece(ChunkKind.TOOL_STARTED), None]),
        ),
        max_size=15,
    ),
    st.text(max_size=6),
)
def test_at_the_end_of_any_turn_the_artifact_is_the_answer(
    pieces: list[AgentChunk | None], answer: str
) -> None:
    narration = Narration()
    told = [
        one for given in pieces for one in (narration.flush() if given is None else narration.take(given))
    ]
    told += narration.end(AgentResponse(agent="a", thread_id="t", turn="u", text=answer))
    view = viewed(FACTS, [TaskEntry(kind=one.kind, at=2.0, run=1, body=one.body) for one in told])
    said = (view.artifacts or {}).get("answer", {}).get("parts", [])
    assert view.state == "TASK_STATE_COMPLETED"
    assert "".join(part["text"] for part in said) == answer.encode(errors="replace").decode()


async def test_of_two_writers_at_the_same_place_one_is_told_to_read_again() -> None:
    tasks = TaskLog(MemoryBus().bucket("T", project="p"), "agent")
    entry = TaskEntry(kind=EntryKind.MESSAGE, at=1.0, body={"messageId": "m"})
    key = await tasks.create(FACTS, "m", [entry])
    view = await tasks.read(key)
    assert view is not None
    await tasks.append(view, [TaskEntry(kind=EntryKind.BEGUN, at=2.0, run=1)])
    with pytest.raises(TaskChangedError):
        await tasks.append(view, [TaskEntry(kind=EntryKind.BEGUN, at=3.0, run=1)])
    other = FACTS.model_copy(update={"id": "b" * 32})
    assert await tasks.create(other, "m", [entry]) == key
    assert tasks.key_of("", "../x") is None
    stranger = tasks.key_of("someone else", FACTS.id)
    assert stranger is not None
    assert await tasks.read(stranger) is None


def test_servers_that_die_at_the_same_place_are_counted_and_progress_ends_the_count() -> None:
    def begun(place: int) -> TaskEntry:
        return TaskEntry(kind=EntryKind.BEGUN, at=1.0, body={"place": place})

    def tries(*entries: TaskEntry) -> int:
        return viewed(FACTS, entries).tries

    assert tries(begun(3), begun(3), begun(3)) == 3
    assert tries(begun(3), begun(3), begun(4)) == 1
    assert tries(begun(3), begun(3), TaskEntry(kind=EntryKind.HANDED, at=1.0), begun(3)) == 1


def asked(kind: RequestKind, name: str = "r1") -> PendingRequest:
    return PendingRequest(id=name, kind=kind, call=ToolCall(id="1", name="pay"), raised_at=1.0)


@pytest.mark.parametrize(
    ("text", "approved"), [("yes", True), (" Approve. ", True), ("NO", False), ("rejected", False)]
)
def test_an_approval_is_given_or_refused_by_a_word(text: str, approved: bool) -> None:
    (answer,) = read_answers({"parts": [{"text": text}]}, [asked(RequestKind.APPROVAL)], "ann")
    assert (answer.approved, answer.answered_by) == (approved, "ann")


@pytest.mark.parametrize("text", ["", "yes, but", "sure", "not no", "y"])
def test_any_other_word_is_no_approval(text: str) -> None:
    with pytest.raises(UnclearAnswerError, match='"yes" or "no"'):
        read_answers({"parts": [{"text": text}]}, [asked(RequestKind.APPROVAL)], "ann")


def test_a_result_is_a_text_or_data_and_two_requests_need_their_ids() -> None:
    one, two = asked(RequestKind.RESULT), asked(RequestKind.RESULT, "r2")
    assert read_answers({"parts": [{"text": "blue"}]}, [one], "")[0].result == "blue"
    assert read_answers({"parts": [{"data": {"n": 3.0}}]}, [one], "")[0].result == {"n": 3}
    with pytest.raises(UnclearAnswerError, match="2 requests are open"):
        read_answers({"parts": [{"text": "blue"}]}, [one, two], "")
    both = {"answers": [{"request_id": "r2", "result": "a"}, {"request_id": "r1", "result": "b"}]}
    found = read_answers({"parts": [{"data": both}]}, [one, two], "ann")
    assert [(answer.request_id, answer.answered_by) for answer in found] == [("r2", "ann"), ("r1", "ann")]
    twice = {"answers": [{"request_id": "r1"}, {"request_id": "r1"}]}
    with pytest.raises(UnclearAnswerError, match="no open request"):
        read_answers({"parts": [{"data": twice}]}, [one, two], "")


@given(st.lists(st.text(max_size=5), max_size=6), st.integers(0, 20))
def test_values_survive_their_frames_and_a_lost_frame_is_noticed(texts: list[str], lost: int) -> None:
    numbers = FrameNumbers()
    frames = [frame for text in texts for frame in numbers.value(text)]
    again = [AnswerFrame.model_validate_json(frame.encoded()) for frame in frames]
    joiner = Joiner(1_000)
    assert [value for frame in again if (value := joiner.take(frame)) is not None] == texts
    if lost < len(again) - 1:
        joiner = Joiner(1_000)
        with pytest.raises(LostFrameError):
            list(map(joiner.take, again[:lost] + again[lost + 1 :]))


def test_a_large_value_comes_in_several_frames_and_too_large_a_one_is_refused() -> None:
    frames = list(FrameNumbers().value("x" * 300_000))
    assert len(frames) == 3
    joiner = Joiner(300_000)
    assert [joiner.take(frame) for frame in frames][-1] == "x" * 300_000
    small = Joiner(100_000)
    with pytest.raises(ValueError, match="more than"):
        small.take(frames[0])


def test_an_ended_task_stays_as_it_is() -> None:
    done = TaskEntry(kind=EntryKind.STATUS, at=1.0, body={"state": "TASK_STATE_CANCELED"})
    late = TaskEntry(kind=EntryKind.STATUS, at=2.0, body={"state": "TASK_STATE_COMPLETED"})
    view: TaskView = viewed(FACTS, [done, late])
    assert view.state == "TASK_STATE_CANCELED"
