"""Repairs learn from repairs before them: here in memory, on NATS in the integration tests."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs
from tests.unit.core.coding.words import Words, drafts

from agentic.core.bus import BusUnavailableError, MemoryBus
from agentic.core.coding import (
    CodeFinding,
    CompileOutput,
    GeneratorInput,
    KvLessons,
    Lesson,
    RepairEngine,
    RepairResult,
    lesson_bucket,
)
from agentic.core.coding.repairing import lessons as module
from agentic.core.coding.repairing.learning import draft_of, lessons_of, without_secrets
from agentic.core.llm import FunctionModel, ModelRequest
from agentic.core.masking import remember_secrets

TASK = GeneratorInput.new("Say red and green", "python")
MENDED = "- W1: no word green\n```diff\n-red\n+red green\n```"


@pytest.fixture
def store() -> KvLessons:
    return KvLessons(lesson_bucket(MemoryBus(), "shop"))


def learner(request: ModelRequest) -> str:
    """Write a wrong first draft, unless a lesson shows the right one."""
    text = request.messages[-1].text
    return "```python\nred green\n```" if MENDED in text or "Attempt 1" in text else "```python\nred\n```"


async def repaired(engine: RepairEngine) -> RepairResult:
    return (await engine.workflow.run(TASK)).output(RepairResult)


@pytest.mark.requirement("LE01", "LE02", "LE03", "LE04")
async def test_the_second_run_needs_one_draft_less(store: KvLessons) -> None:
    engine = RepairEngine("repair", FunctionModel(learner), [Words("check", "red", "green")], lessons=store)
    first, second = await repaired(engine), await repaired(engine)
    assert (first.passed, first.rounds) == (second.passed, second.rounds + 1) == (True, 2)
    without = RepairEngine("repair", FunctionModel(learner), [Words("check", "red", "green")])
    assert (await repaired(without)).rounds == 2


@pytest.mark.requirement("LE02")
async def test_a_repeated_error_is_shown_with_the_change_that_mended_it(store: KvLessons) -> None:
    check = Words("check", "red", "green", "blue")
    await repaired(RepairEngine("a", drafts("red", "red blue", "red blue green"), [check], lessons=store))
    other = drafts("red blue", "red green blue")
    await repaired(RepairEngine("b", other, [check], lessons=store))
    first, second = (request.messages[-1].text for request in other.requests)
    assert "no word blue" in first  # one of those that are offered for a first draft
    assert "no word green" in second
    assert "no word blue" not in second
    assert "-red blue\n+red blue green" in second
    (known,) = await store.find("python", ["W1: no word green"])
    assert known.count == 2
    assert known.change == "-red blue\n+red green blue"


class NoStore:
    """A store whose server is away."""

    async def find(self, language: str, causes: Collection[str]) -> Sequence[Lesson]:
        raise BusUnavailableError("nats://a.example", "no answer")

    async def keep(self, lessons: Iterable[Lesson], source: str) -> None:
        raise BusUnavailableError("nats://a.example", "no answer")

    async def forget(self, language: str, causes: Collection[str] | None = None) -> None: ...


async def test_a_repair_continues_without_its_store() -> None:
    engine = RepairEngine("repair", drafts("red", "red green"), [Words("c", "green")], lessons=NoStore())
    with capture_logs() as logs:
        result = await repaired(engine)
    assert result.passed
    assert [entry["event"] for entry in logs] == ["lessons.unavailable"] * 3


def lesson(cause: str = "E1: no", change: str = "-a\n+b", language: str = "python") -> Lesson:
    return Lesson(language=language, cause=cause, error="E1: no x", change=change)


@pytest.mark.requirement("LE02")
async def test_a_step_that_is_repeated_after_a_crash_teaches_once(store: KvLessons) -> None:
    for source in ("one", "one", "two"):
        await store.keep([lesson()], source)
    assert [one.count for one in await store.find("python", ["E1: no"])] == [2]


async def test_processes_that_learn_at_a_time_lose_nothing(store: KvLessons) -> None:
    await asyncio.gather(*(store.keep([lesson()], f"step {number}") for number in range(4)))
    assert [one.count for one in await store.find("python", ["E1: no"])] == [4]


async def test_the_most_frequent_lessons_are_offered_and_languages_are_apart(store: KvLessons) -> None:
    for number in range(8):
        for source in range(number + 1):
            await store.keep([lesson(f"E{number}")], str(source))
    await store.keep([lesson("R1", language="rust")], "one")
    offered = [one.cause for one in await store.find("python", [])]
    assert offered == ["E7", "E6", "E5", "E4", "E3"]
    assert [one.cause for one in await store.find("rust", [])] == ["R1"]


async def test_lessons_are_forgotten(store: KvLessons) -> None:
    await store.keep([lesson("E1"), lesson("E2"), lesson("R1", language="rust")], "one")
    await store.forget("python", ["E1"])
    assert [one.cause for one in await store.find("python", [])] == ["E2"]
    await store.forget("python")
    assert not await store.find("python", [])
    assert len(await store.find("rust", [])) == 1


async def test_the_oldest_lessons_make_room(store: KvLessons, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_LESSONS", 3)
    for number in range(6):
        await store.keep([lesson(f"E{number}")], "one")
    assert [one.cause for one in await store.find("python", [])] == ["E3", "E4", "E5"]


async def test_what_another_version_stored_is_left_out() -> None:
    bucket = lesson_bucket(MemoryBus(), "shop")
    store = KvLessons(bucket)
    await store.keep([lesson()], "one")
    (key,) = await bucket.keys()
    await bucket.put(key, b'{"form": 2}')
    assert not await store.find("python", [])
    await store.keep([lesson()], "two")
    assert [one.count for one in await store.find("python", [])] == [1]


def failed(code: str, *findings: CodeFinding) -> CompileOutput:
    return CompileOutput(code=code, language="python", passed=not findings, findings=findings)


def fault(text: str, line: int = 1, **facts: str) -> CodeFinding:
    return CodeFinding(file="main.py", code="E", line=line, text=text, **facts)  # type: ignore[arg-type]  # texts


def test_only_the_change_near_an_error_is_its_lesson() -> None:
    old = "a\n" + "x\n" * 10 + "b\n"
    new = "A\n" + "x\n" * 10 + "B\n"
    (found,) = lessons_of(draft_of(failed(old, fault("no", 12)), 0), failed(new), 0)
    assert (found.change, found.error, found.cause) == ("-b\n+B", "E: no", "E: no")


@pytest.mark.parametrize(
    ("before", "after", "position"),
    [
        (failed("a", fault("no")), failed("b", fault("no", 7)), 1),  # it is still there, elsewhere
        (failed("a", fault("no")), failed("b", fault("other")), 0),  # an earlier check failed
        (failed("a", fault("no", test="test_a")), failed("b"), 1),  # failed tests are about one program
        (failed("a", CodeFinding(file="test_main.py", line=1, text="no")), failed("b"), 1),  # not in the code
        (failed("a\n" * 3_000, fault("no")), failed("b"), 1),  # too long to compare
        (failed("a", fault("no")), failed("b\n" * 3_000), 1),
        (failed("a", fault("no")), failed("a"), 1),  # nothing was changed
        (failed("a"), failed("b"), 1),
    ],
)
def test_drafts_that_teach_nothing(before: CompileOutput, after: CompileOutput, position: int) -> None:
    assert lessons_of(draft_of(before, 1), after, position) == []


@pytest.mark.requirement("LE02")
def test_a_lesson_has_no_secrets() -> None:
    remember_secrets("hunter2-secret")
    old = failed('connect("x")', fault("refused: hunter2-secret"))
    new = failed('connect("hunter2-secret", token="sk-Ab12Cd34Ef56Gh78Ij90")  # a_name_that_is_long_enough')
    (found,) = lessons_of(draft_of(old, 0), new, 0)
    assert found.error == found.cause == "E: refused: **********"
    assert (
        found.change
        == '-connect("x")\n+connect("**********", token="**********")  # a_name_that_is_long_enough'
    )
    assert without_secrets("plain words stay") == "plain words stay"


@pytest.mark.requirement("LE02")
async def test_an_error_with_a_secret_is_known_again(store: KvLessons) -> None:
    remember_secrets("12345-secret")
    check = Words("check", "red", "12345-secret")
    await repaired(RepairEngine("a", drafts("red", "red 12345-secret"), [check], lessons=store))
    other = drafts("red!", "red 12345-secret")
    await repaired(RepairEngine("b", other, [check], lessons=store))
    assert "-red\n+red **********" in other.requests[1].messages[-1].text


def test_marks_of_a_block_in_a_change_do_not_end_its_block() -> None:
    assert str(lesson(change="-a\n+```\n+b")) == "- E1: no x\n````diff\n-a\n+```\n+b\n````"


@given(st.text(max_size=300), st.text(max_size=300), st.lists(st.integers(1, 30), max_size=25))
def test_any_two_drafts_give_lessons_of_limited_size(old: str, new: str, lines: list[int]) -> None:
    found = lessons_of(
        draft_of(failed(old, *(fault(f"{old}{line}", line) for line in lines)), 0), failed(new), 0
    )
    assert len(found) <= 20
    assert all(len(str(one)) < 3_000 for one in found)
