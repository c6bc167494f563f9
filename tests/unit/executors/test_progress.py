"""What is shown of a run while it goes on."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console
from tests.clocks import Clock

from agentic.core.graph import EventKind, WorkflowEvent
from agentic.core.types import JSONValue, RunId
from agentic.executors.commands.run import progress
from agentic.executors.commands.run.progress import (
    PLAIN_EVERY_S,
    PlainLines,
    ProgressBars,
    ProgressLines,
    shown_progress,
)
from agentic.executors.commands.run.progress_facts import (
    RunProgress,
    duration_text,
    failures_text,
    hosts_text,
)


def event(kind: EventKind, path: str = "execute/pages", **data: JSONValue) -> WorkflowEvent:
    return WorkflowEvent(kind, RunId("r1"), 0.0, path=path, data=data)


def counted(done: int, total: int | None, path: str = "execute/pages", note: str = "") -> WorkflowEvent:
    return event(EventKind.EXECUTOR_PROGRESS, path, done=done, total=total, note=note)


def crawl(**facts: JSONValue) -> WorkflowEvent:
    known: dict[str, JSONValue] = {"done": 90, "failed": 10, "known": 300, "left": 200, "pages_per_s": 40.0}
    return event(EventKind.CUSTOM, type="crawl.progress", data=known | facts)


@pytest.fixture
def clock() -> Clock:
    return Clock(50.0)


@pytest.fixture
def run(clock: Clock) -> RunProgress:
    return RunProgress(clock)


def test_a_step_tells_how_far_it_is_and_how_long_it_may_take(run: RunProgress, clock: Clock) -> None:
    run.hear(counted(0, 1_200))
    clock.now += 10
    run.hear(counted(200, 1_200, note="2 failed"))
    assert run.facts("execute/pages") == "200/1,200 · 50 s left · 2 failed"


def test_what_was_done_before_says_nothing_about_the_pace(run: RunProgress, clock: Clock) -> None:
    run.hear(counted(1_000, 1_200))
    clock.now += 10
    run.hear(counted(1_100, 1_200))
    assert run.steps["execute/pages"].left_s(clock.now) == 10


def test_a_crawl_tells_pages_a_second_and_goes_by_its_own_pace(run: RunProgress) -> None:
    run.hear(counted(100, 300))
    run.hear(crawl())
    assert run.facts("execute/pages") == "100/300 · 40.0 pages/s · 5 s left"


def test_a_crawl_keeps_its_line_from_slice_to_slice(run: RunProgress) -> None:
    run.hear(counted(100, 300))
    run.hear(event(EventKind.EXECUTOR_COMPLETED))
    run.hear(event(EventKind.EXECUTOR_INVOKED))
    assert "execute/pages" in run.steps
    run.hear(event(EventKind.EXECUTOR_COMPLETED))
    run.hear(event(EventKind.EXECUTOR_INVOKED, "execute/next"))
    assert run.steps == {}


def test_a_loop_tells_how_many_items_are_done(run: RunProgress) -> None:
    run.hear(event(EventKind.SUPERSTEP_COMPLETED, "execute", maps={"0": {"done": 3, "count": 8}}))
    assert run.facts("execute items #0") == "3/8"
    run.hear(event(EventKind.SUPERSTEP_COMPLETED, "execute", maps={"0": None}))
    assert run.steps == {}


def test_a_line_tells_all_of_it(run: RunProgress) -> None:
    run.hear(counted(100, 300))
    run.hear(crawl(failures={"timeout": 8, "http_404": 2}))
    assert run.line("shop") == (
        "shop: execute/pages 100/300 · 40.0 pages/s · 5 s left (8 timeout, 2 http_404), 2 events"
    )


def test_a_line_has_no_failures_of_pages_that_robots_txt_excludes(run: RunProgress) -> None:
    run.hear(counted(3, 9, note="1 excluded by robots.txt"))
    run.hear(crawl(failures={"robots_denied": 1}))
    assert "(" not in run.line("shop")


def test_before_there_is_anything_to_count_the_line_names_the_step(run: RunProgress) -> None:
    run.hear(event(EventKind.EXECUTOR_INVOKED, "prepare"))
    assert run.line("shop") == "shop: prepare, 1 events"


@pytest.mark.parametrize("data", [None, 5, {"failures": 3, "hosts": [1], "pages_per_s": "x"}])
def test_foreign_events_of_the_same_type_do_no_harm(run: RunProgress, data: JSONValue) -> None:
    run.hear(event(EventKind.CUSTOM, type="crawl.progress", data=data))
    run.line("shop")


def test_frequent_failures_come_first_and_rare_ones_are_counted() -> None:
    failures = {f"class_{number}": number for number in range(1, 9)}
    assert failures_text(failures).startswith("8 class_8, 7 class_7")
    assert failures_text(failures).endswith("2 other classes")


def test_hosts_tell_what_failed_and_what_waits() -> None:
    hosts = {"a": {"pages": 1_200, "failed": 3, "waiting": 16}, "b": {"pages": 5, "failed": 0, "waiting": 0}}
    assert hosts_text(hosts) == "a 1,200 (3 failed, 16 waiting) · b 5"


@pytest.mark.parametrize(("seconds", "text"), [(45, "45 s"), (200, "3 min 20 s"), (7_500, "2 h 5 min")])
def test_durations_are_told_in_words(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


def console(*, is_terminal: bool) -> Console:
    return Console(file=StringIO(), force_terminal=is_terminal, width=100)


def said(by: Console) -> str:
    assert isinstance(by.file, StringIO)
    return by.file.getvalue()


def test_a_terminal_shows_bars_failures_and_hosts(clock: Clock) -> None:
    shown = console(is_terminal=True)
    with ProgressBars(shown) as bars:
        lines = ProgressLines(bars, "shop", clock)
        lines.tell(counted(100, 300))
        clock.now += 1
        lines.tell(crawl(failures={"timeout": 8}, hosts={"a.example": {"pages": 90}}))
        bars.refresh()
    assert "100/300 · 40.0 pages/s" in said(shown)
    assert "failed  8 timeout" in said(shown)
    assert "hosts   a.example 90" in said(shown)


def test_a_name_from_a_site_is_no_markup(clock: Clock) -> None:
    shown = console(is_terminal=True)
    with ProgressBars(shown) as bars:
        ProgressLines(bars, "[red]shop", clock).tell(crawl(hosts={"[/bold]": {"pages": 1}}))
        bars.refresh()
    assert "[red]shop" in said(shown)
    assert "[/bold] 1" in said(shown)


def test_elsewhere_there_is_a_line_every_few_seconds(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = console(is_terminal=False)
    monkeypatch.setattr(progress, "err_console", shown)
    lines = PlainLines("shop", clock)
    for _ in range(30):
        lines.tell(counted(1, 30))
        clock.now += PLAIN_EVERY_S / 10
    assert len(said(shown).splitlines()) == 2


@pytest.mark.parametrize("is_terminal", [True, False])
def test_nothing_is_shown_when_it_is_to_be_quiet(is_terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = console(is_terminal=is_terminal)
    monkeypatch.setattr(progress, "err_console", shown)
    with shown_progress("shop", quiet=True) as hear:
        hear(counted(1, 2))
    assert said(shown) == ""
