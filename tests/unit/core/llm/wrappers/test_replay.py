"""Replies recorded once, and replayed without the model: in order, and safe after a kill."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.core.llm import golden
from tests.unit.core.llm.strategies import replies, requests
from tests.unit.core.llm.wrappers.streams import PiecewiseModel, asked, list_files, mode_of, shown

from agentic.core.llm import (
    BrokenRecordingError,
    Budget,
    BudgetModel,
    ChatMessage,
    FunctionModel,
    MissingRecordingError,
    ModelReply,
    ModelRequest,
    ModelSettings,
    OutputFormat,
    OverloadedError,
    ReplayModel,
    ScriptedModel,
    ToolDefinition,
)
from agentic.core.masking import remember_secrets

pytestmark = pytest.mark.requirement("LM01")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "replies.jsonl"


def model_of(*script: str | Exception) -> ScriptedModel:
    return ScriptedModel(script, name="some:model", structured="tool")


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def write_lines(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def size_of(path: Path) -> int:
    return path.stat().st_size


def cut(path: Path, share: float) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])


async def texts_of(model: ReplayModel, *questions: str) -> list[str]:
    return [(await model.complete(asked(question))).text for question in questions]


async def test_what_was_recorded_is_replayed_without_the_model(path: Path) -> None:
    recording = ReplayModel(path, model_of("one", "two"))
    whole = [await recording.complete(asked(question)) for question in ("a", "b")]
    replay = ReplayModel(path, mode="replay")
    assert [await replay.complete(asked(question)) for question in ("b", "a")] == whole[::-1]
    assert (replay.name, replay.capabilities) == (recording.name, recording.capabilities)


async def test_equal_requests_get_their_replies_in_the_order_recorded(path: Path) -> None:
    await texts_of(ReplayModel(path, model_of("1", "2", "3")), "a", "b", "a")
    replay = ReplayModel(path, mode="replay")
    assert await texts_of(replay, "a", "a", "b") == ["1", "3", "2"]
    with pytest.raises(MissingRecordingError, match="recorded 2 times, and is made again"):
        await replay.complete(asked("a"))
    assert await texts_of(ReplayModel(path, mode="replay"), "a") == ["1"]


async def test_auto_replays_what_is_recorded_and_records_the_rest(path: Path) -> None:
    await texts_of(ReplayModel(path, model_of("1")), "a")
    model = model_of("2", "3")
    assert await texts_of(ReplayModel(path, model), "a", "b", "a") == ["1", "2", "3"]
    assert model.remaining_count == 0
    assert await texts_of(ReplayModel(path, mode="replay"), "a", "b", "a") == ["1", "2", "3"]


async def test_a_new_recording_takes_the_place_of_the_replies_of_earlier_ones(path: Path) -> None:
    await texts_of(ReplayModel(path, model_of("1", "2", "3")), "a", "a", "b")
    await texts_of(ReplayModel(path, model_of("new 1", "new 2"), mode="record"), "a", "a")
    replay = ReplayModel(path, mode="replay")
    assert await texts_of(replay, "a", "a", "b") == ["new 1", "new 2", "3"]


async def test_replay_never_calls_the_model(path: Path) -> None:
    await texts_of(ReplayModel(path, model_of("1")), "a")
    model = model_of("never")
    with pytest.raises(MissingRecordingError):
        await ReplayModel(path, model, mode="replay").complete(asked("b"))
    assert model.requests == []


async def test_a_stream_is_recorded_as_it_flows_and_replayed_as_a_stream(path: Path) -> None:
    seen: list[str] = []
    inner = PiecewiseModel(["Hel", lambda: seen.append("between"), "lo."])
    async for delta in ReplayModel(path, inner).stream(asked()):
        seen.append(delta.text)  # noqa: PERF401  # the order of both counts
    assert seen == ["Hel", "between", "lo.", ""]
    assert await shown(ReplayModel(path, mode="replay")) == ["Hello.", "<reply: Hello.>"]


async def test_errors_are_raised_and_not_recorded(path: Path) -> None:
    recording = ReplayModel(path, model_of(OverloadedError("some:model", "busy"), "1"))
    with pytest.raises(OverloadedError):
        await recording.complete(asked("a"))
    assert await texts_of(recording, "a") == ["1"]
    assert await texts_of(ReplayModel(path, mode="replay"), "a") == ["1"]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.tuples(requests, replies), min_size=1, max_size=3))
async def test_any_reply_to_any_request_is_replayed_as_it_was(
    tmp_path: Path, made: list[tuple[ModelRequest, ModelReply]]
) -> None:
    path = tmp_path / f"{time.monotonic_ns()}.jsonl"
    recording = ReplayModel(path, ScriptedModel([reply for _, reply in made]), mode="record")
    for request, _ in made:
        await recording.complete(request)
    replay = ReplayModel(path, mode="replay")
    assert [await replay.complete(request) for request, _ in made] == [reply for _, reply in made]


async def test_a_recording_of_an_earlier_version_is_replayed() -> None:
    replay = golden.recorded()
    assert replay.name == "some:model"
    for request in golden.REQUESTS.values():
        assert await replay.complete(request) == golden.REPLY


async def test_text_that_no_encoding_accepts_is_replayed_as_it_was(path: Path) -> None:
    await texts_of(ReplayModel(path, model_of("lone \ud800 surrogate")), "and \udfff")
    assert await texts_of(ReplayModel(path, mode="replay"), "and \udfff") == ["lone \ud800 surrogate"]


@pytest.mark.requirement("LM08")
async def test_a_replay_without_the_model_fits_a_budget_in_dollars_and_has_the_recorded_cost(
    path: Path,
) -> None:
    await ReplayModel(path, ScriptedModel(["Yes."], name="lab:new", cost_usd=0.25)).complete(asked())
    budget = Budget(max_usd=1)
    await BudgetModel(ReplayModel(path, mode="replay"), budget).complete(asked())
    assert (await budget.account()).spent.usd == 0.25


# -- what is missing

TALK = ModelRequest(
    instructions="You check prices. Today is 2026-11-26.",
    messages=(
        ChatMessage.user("Is the blue shoe a bargain?"),
        ChatMessage.assistant("It costs 9.90."),
        ChatMessage.user("And the red one?"),
    ),
)


@pytest.mark.parametrize(
    ("changed", "expected", "position"),
    [
        (
            {"instructions": TALK.instructions.replace("26.", "27.")},
            r"instructions differ .*-26\..*-27\.",
            None,
        ),
        ({"tools": (ToolDefinition(name="look_up"),)}, r"tools differ .*look_up", None),
        (
            {"messages": (*TALK.messages[:2], ChatMessage.user("And the tan one?"))},
            r"message 3 \(user\) differs .*the red one.*the tan one",
            3,
        ),
        (
            {"messages": (TALK.messages[0], ChatMessage.assistant("It costs 9.80."), TALK.messages[2])},
            r"message 2 \(assistant\) differs .*9\.90.*9\.80",
            2,
        ),
        ({"messages": (*TALK.messages, ChatMessage.assistant("No."))}, r"has 4 messages, .* has 3", 4),
        ({"messages": TALK.messages[:2]}, r"has 2 messages, .* has 3", 3),
        ({"settings": ModelSettings(temperature=0.5)}, r"settings or the output format differ .*0\.5", None),
        ({"output": OutputFormat(schema={})}, r"settings or the output format differ", None),
    ],
)
async def test_a_request_without_a_reply_says_where_it_differs_from_the_nearest_one(
    path: Path, changed: dict[str, object], expected: str, position: int | None
) -> None:
    recording = ReplayModel(path, ScriptedModel.repeating("No.", times=2))
    await recording.complete(asked("Something else"))
    await recording.complete(TALK)
    with pytest.raises(MissingRecordingError, match=expected) as caught:
        await ReplayModel(path, mode="replay").complete(TALK.model_copy(update=changed))
    assert caught.value.position == position
    assert "replies.jsonl, line 11" in str(caught.value)
    assert "mode='auto'" in str(caught.value)


async def test_a_miss_among_hundreds_of_recordings_is_found_quickly(path: Path) -> None:
    recording = ReplayModel(path, FunctionModel(lambda _: "Yes."), mode="record")
    many = tuple(ChatMessage.user(f"message {number}") for number in range(60))
    lines = [
        line
        for number in range(600)
        for line in recording._recordings.lines_of(
            ModelRequest(instructions=str(number), messages=many[: number % 60 + 1]),
            ModelReply(message=ChatMessage.assistant("Yes.")),
            replaces=False,
        )
    ]
    recording._recordings.append(lines, recording.name, recording.capabilities)
    replay = ReplayModel(path, mode="replay")
    wanted = ModelRequest(instructions="599", messages=(*many[:57], ChatMessage.user("message 57 or so")))
    begin = time.process_time()
    with pytest.raises(MissingRecordingError, match=r"message 58 \(user\)|instructions"):
        await replay.complete(wanted)
    assert time.process_time() - begin < 0.2


async def test_each_message_of_a_long_conversation_is_stored_once(path: Path) -> None:
    recording = ReplayModel(path, FunctionModel(lambda _: "Yes."))
    messages: tuple[ChatMessage, ...] = ()
    for number in range(40):
        messages = (*messages, ChatMessage.user(f"{number} " + "x" * 1_000))
        await recording.complete(ModelRequest(messages=messages))
    assert size_of(path) < 40 * 1_000 + 40 * 40 * 50
    continued = ReplayModel(path, FunctionModel(lambda _: "Yes."))
    await continued.complete(ModelRequest(messages=(*messages, ChatMessage.user("last"))))
    assert size_of(path) < 40 * 1_000 + 41 * 41 * 50


# -- mistakes


def test_nothing_recorded_is_refused_before_the_first_request(path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"replies\.jsonl'; run once with mode='auto' and a model"):
        ReplayModel(path, mode="replay")


def test_recording_needs_a_model(path: Path) -> None:
    with pytest.raises(ValueError, match="needs a model to record"):
        ReplayModel(path)


async def test_recordings_of_another_model_are_refused(path: Path) -> None:
    await texts_of(ReplayModel(path, model_of("1")), "a")
    with pytest.raises(ValueError, match="has replies of some:model, not of other:model; use another file"):
        ReplayModel(path, ScriptedModel([], name="other:model"))


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (lambda lines: [lines[0], "not JSON", *lines[1:]], r"replies\.jsonl, line 2 is not a recording"),
        (lambda lines: [lines[0].replace('"format":1', '"format":2'), *lines[1:]], "its format is 2, not 1"),
        (lambda lines: lines[1:], "its format is None"),
        (lambda lines: [*lines[:-1], lines[-1].replace('"role"', '"rule"')], "line 6 is not a recording"),
    ],
    ids=["a line", "the format", "no header", "a reply"],
)
async def test_a_damaged_file_is_refused_with_its_line(
    path: Path, damage: Callable[[list[str]], list[str]], expected: str
) -> None:
    await texts_of(ReplayModel(path, model_of("1")), "a")
    write_lines(path, damage(lines_of(path)))
    with pytest.raises(BrokenRecordingError, match=expected):
        ReplayModel(path, mode="replay")


# -- kills, and others beside us


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.9, 0.999])
async def test_a_file_that_a_kill_cut_anywhere_is_read_and_continued(path: Path, share: float) -> None:
    await texts_of(ReplayModel(path, model_of("1", "2")), "a", "b")
    cut(path, share)
    recording = ReplayModel(path, model_of(*(f"new {number}" for number in range(3))))
    before = await texts_of(recording, "a", "b", "c")
    assert await texts_of(ReplayModel(path, mode="replay"), "a", "b", "c") == before
    assert all(json.loads(line) for line in lines_of(path))


async def test_two_models_that_record_at_once_keep_their_lines_whole(path: Path) -> None:
    first, second = (ReplayModel(path, FunctionModel(lambda _: "y" * 100_000)) for _ in range(2))
    await asyncio.gather(
        *(model.complete(asked(f"{name} {number}")) for number in range(8) for name, model in
          (("a", first), ("b", second)))
    )  # fmt: skip
    replay = ReplayModel(path, mode="replay")
    assert await texts_of(replay, "a 7", "b 7") == ["y" * 100_000] * 2


async def test_in_a_folder_each_recorder_has_a_file_of_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "recorded"
    await texts_of(ReplayModel(folder, model_of("1")), "a")
    await texts_of(ReplayModel(folder, model_of("2")), "b")
    assert len(list_files(folder)) == 2
    assert await texts_of(ReplayModel(folder, mode="replay"), "a", "b") == ["1", "2"]


async def test_files_of_two_models_in_one_folder_are_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        await texts_of(
            ReplayModel(tmp_path / f"{name}.jsonl", ScriptedModel(["1"], name=f"{name}:model")), "a"
        )
    with pytest.raises(BrokenRecordingError, match=r"b\.jsonl, line 1 .*it is of b:model, .* of a:model"):
        ReplayModel(tmp_path, mode="replay")


# -- secrets


async def test_a_recording_has_no_secret_and_only_its_owner_reads_it(path: Path) -> None:
    remember_secrets("hunter-two-2")
    request = ModelRequest(
        messages=(ChatMessage.user("Log in with hunter-two-2, please."),),
        settings=ModelSettings(extra={"headers": {"Authorization": "Bearer abc-def-ghi"}}),
    )
    await ReplayModel(path, ScriptedModel(["I used hunter-two-2."])).complete(request)
    written = "".join(lines_of(path))
    assert "hunter-two-2" not in written
    assert "abc-def-ghi" not in written
    assert mode_of(path) == 0o600
    assert (await ReplayModel(path, mode="replay").complete(request)).text == "I used **********."
    other = request.model_copy(update={"messages": (ChatMessage.user("Log in with hunter-two-2, now."),)})
    with pytest.raises(MissingRecordingError) as caught:
        await ReplayModel(path, mode="replay").complete(other)
    assert "hunter-two-2" not in str(caught.value)
    secretive = request.model_copy(
        update={"settings": ModelSettings(extra={"headers": {"Authorization": "Bearer xyz-xyz-xyz"}})}
    )
    with pytest.raises(MissingRecordingError, match=r"settings .* by a value that is masked as a secret"):
        await ReplayModel(path, mode="replay").complete(secretive)
