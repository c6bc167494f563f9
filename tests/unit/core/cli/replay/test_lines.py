"""Steps in words."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from agentic.core import WorkflowBuilder, WorkflowContext, executor
from agentic.core.cli.replay.lines import ending_lines, heading, step_lines
from agentic.core.cli.replay.retelling import replay_events
from agentic.core.cli.replay.story import ReplayedRun
from agentic.core.cli.texts import MAX_CHARS, shown

if TYPE_CHECKING:
    from tests.unit.core.cli.replay.conftest import Events, Killed


def told(events: Events) -> ReplayedRun:
    replayed = replay_events(events, "r")
    assert replayed is not None
    return replayed


def words(replayed: ReplayedRun, position: int = 0) -> list[str]:
    """Return the lines of a step without times."""
    lines = [line.plain for line in step_lines(replayed.steps[position])]
    return [re.sub(r"\d+\.\d+s", "TIME", line) for line in lines]


def test_a_step_says_what_ran_what_came_of_it_and_what_is_next(shopping: Events) -> None:
    title, *lines = words(told(shopping))
    assert title.startswith("superstep 0  TIME  ")
    assert title.endswith("  events 1-7")
    assert lines == [
        '  ran       fetch completed in TIME, attempt 2  <- "http://shop"',
        "              attempt 1 failed after TIME: ConnectionError: reset by peer; retried",
        "  edge      fetch->price carried 1",
        '  state     seen = ["http://shop"]',
        "  next      price  <- 7",
    ]


def test_the_last_step_says_what_was_yielded_and_how_the_run_ended(shopping: Events) -> None:
    replayed = told(shopping)
    assert words(replayed, 1)[1:] == [
        "  ran       price completed in TIME  <- fetch: 7",
        '  output    "7 €"  of price',
        "  run       completed",
    ]
    (line,) = ending_lines(replayed, 0.0)
    assert re.fullmatch(r"run r completed after [\d.]+s, 2 supersteps", line.plain)


def test_questions_and_answers_are_shown(asked: Events) -> None:
    replayed = told(asked)
    assert words(replayed)[2:] == [
        '  asks      r:greet.0.0.1  {"who": "hello"} (str)',
        "  waits     request r:greet.0.0.1",
        "  run       waiting input",
    ]
    assert words(replayed, 1)[1:3] == [
        "  resumed   state was waiting_input",
        '  request   r:greet.0.0.1 answered by bob  "ada"',
    ]


def test_of_a_killed_run_it_is_said_what_was_in_hand_and_that_nobody_knows_more(killed: Killed) -> None:
    replayed = told(killed.before)
    title, *lines = words(replayed, 1)
    assert "no end recorded" in title
    assert lines == ["  ran       slow in hand  <- first: 2"]
    first, *others = (line.plain for line in ending_lines(replace(replayed, heard_at=1e9), 1e9 + 720))
    assert first.endswith("12 min ago, in superstep 1, 1 still running")
    assert others == [
        "  running: slow  <- first: 2",
        "  it is still running, or its process was killed: events do not show which",
    ]


def test_who_went_on_with_a_killed_run_is_told_apart(killed: Killed) -> None:
    title, resumed, ran, *_ = words(told([*killed.before, *killed.since]), 2)
    assert title.startswith("superstep 1, leg 2  ")
    assert resumed == "  resumed   state was running: its process was killed"
    assert ran.startswith("  ran       slow completed in TIME, again")


def test_what_is_missing_is_said_at_the_top_and_where_it_is_missing(shopping: Events) -> None:
    replayed = told([event for event in shopping if event.sequence not in {3, 4, 10}])
    first, second = (line.plain for line in heading(replayed, "p", "the stream"))
    assert first == "run r of workflow shop 2, project p; 10 events from the stream"
    assert second.startswith("missing: events 3-4, 10, expired or lost")
    assert "from event 3 on" in second
    assert words(replayed)[1] == "  missing   events 3-4"


async def test_nothing_of_a_value_is_taken_for_markup_or_obeyed_and_long_ones_are_cut() -> None:
    @executor(id="evil[bold]")
    async def evil(text: str, ctx: WorkflowContext) -> str:
        ctx.set_state("key\x1b[2J", "x" * 1000)
        return "\x1b[31m\n[red]"

    events = (await WorkflowBuilder("w").set_start(evil).build().run("go", run_id="r")).events
    replayed = told(events)
    text = "\n".join(words(replayed))
    assert "\x1b" not in text
    assert "evil[bold] completed" in text
    assert r'"\u001b[31m\n[red]"  of evil[bold]' in text
    assert r"key\x1b[2J = " in text
    assert f'"{"x" * (MAX_CHARS - 1)}… (1,002 characters; --json has all)' in text


async def test_of_many_activations_some_are_shown_and_the_others_counted() -> None:
    @executor(id="split")
    async def split(count: int, ctx: WorkflowContext) -> None:
        for number in range(count):
            await ctx.send_message(number)

    @executor(id="work", max_parallel=10)
    async def work(number: int) -> None:
        """Do nothing."""

    flow = WorkflowBuilder("w").set_start(split).add_edge(split, work).build()
    replayed = told((await flow.run(1234, run_id="r")).events)
    assert words(replayed)[-1].strip() == "… and 1,214 more; --json has all"
    assert words(replayed, 1)[2].strip().startswith("work#1 completed")
    assert len(words(replayed, 1)) < 30


def test_a_value_that_its_event_only_names_is_described() -> None:
    found = shown({"$content": "ab" * 32, "bytes": 70_000})
    assert found == "<70,000 bytes, sha256 abababababab…: too large for an event>"
