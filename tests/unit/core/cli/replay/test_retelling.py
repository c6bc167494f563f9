"""From events to steps."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest

from agentic.core import MemoryCheckpointStore, RunStatus, WorkflowBuilder, WorkflowContext, executor
from agentic.core.cli.replay.lines import ending_lines
from agentic.core.cli.replay.retelling import replay_events
from agentic.core.cli.replay.story import ReplayedRun
from agentic.core.graph import WorkflowEvent

if TYPE_CHECKING:
    from tests.unit.core.cli.replay.conftest import Events, Killed


def told(events: Events, run_id: str = "r") -> ReplayedRun:
    replayed = replay_events(events, run_id)
    assert replayed is not None
    return replayed


def test_each_superstep_is_a_step_with_what_ran_and_what_came_of_it(shopping: Events) -> None:
    replayed = told(shopping)
    first, second = replayed.steps

    assert (replayed.workflow, replayed.status) == ("shop 2", RunStatus.COMPLETED)
    assert (first.number, first.first, second.last) == (0, 1, len(shopping))
    assert first.is_done
    assert first.duration_s is not None
    (fetch,) = first.activations
    assert (fetch.path, fetch.outcome, fetch.attempt, fetch.input) == ("fetch", "completed", 2, "http://shop")
    assert [(one.number, one.error, one.will_retry) for one in fetch.failures] == [
        (1, "ConnectionError: reset by peer", True)
    ]
    assert first.edges == {"fetch->price": 1}
    assert first.changes["state"] == {"seen": ["http://shop"]}
    assert second.outputs == (("price", "7 €"),)
    assert second.ending is RunStatus.COMPLETED


def test_the_run_stands_after_a_step_where_the_next_one_begins(shopping: Events) -> None:
    first, second = (step.after for step in told(shopping).steps)
    assert first is not None
    assert second is not None
    assert [(due.executor_id, due.message) for due in first.due] == [("price", 7)]
    assert (first.state, first.outputs) == ({"seen": ["http://shop"]}, ())
    assert (second.status, second.outputs, second.due) == (RunStatus.COMPLETED, ("7 €",), ())


def test_order_and_repetitions_do_not_matter(shopping: Events, asked: Events) -> None:
    for events in (shopping, asked):
        shuffled = [*events, *events[::2]]
        random.Random(5).shuffle(shuffled)
        assert replay_events(shuffled, "r") == replay_events(events, "r")


def test_a_run_that_waited_has_a_step_before_the_answer_and_one_after(asked: Events) -> None:
    before, after = told(asked).steps
    assert before.ending is RunStatus.WAITING_INPUT
    assert [facts["question"] for facts in before.raised] == [{"who": "hello"}]
    assert before.activations[0].outcome == "parked"
    assert before.after is not None
    assert before.after.requests == (before.raised[0]["request"],)
    assert after.resumed_from == "waiting_input"
    assert [(facts["answer"], facts["answered_by"]) for facts in after.settled] == [("ada", "bob")]
    assert after.outputs == (("greet", "hello ada"),)


async def test_an_answer_that_is_not_the_last_one_leaves_a_run_waiting() -> None:
    @executor(id="ask", max_parallel=2)
    async def ask(word: str, ctx: WorkflowContext) -> str:
        return await ctx.request_info(word, str)

    @executor(id="split")
    async def split(text: str, ctx: WorkflowContext) -> None:
        for word in text.split():
            await ctx.send_message(word)

    store = MemoryCheckpointStore()
    flow = WorkflowBuilder("w", version="1").set_start(split).add_edge(split, ask).build()
    first = await flow.run("who why", run_id="r", checkpoints=store)
    one, other = (request.id for request in first.pending_requests)
    second = await flow.resume("r", checkpoints=store, responses={one: "x"})
    third = await flow.resume("r", checkpoints=store, responses={other: "y"})

    waiting = told([*first.events, *second.events])
    assert waiting.status is RunStatus.WAITING_INPUT
    assert [line.plain for line in ending_lines(waiting, 0.0)] == ["run r waits for answers", f"  to {other}"]
    replayed = told([*first.events, *second.events, *third.events])
    assert replayed.status is RunStatus.COMPLETED
    assert replayed.steps[-1].after is not None
    assert replayed.steps[-1].after.outputs == ("x", "y")


def test_a_killed_run_is_unfinished_and_what_was_in_hand_is_known(killed: Killed) -> None:
    replayed = told(killed.before)
    last = replayed.steps[-1]
    assert replayed.status is RunStatus.RUNNING
    assert not replayed.is_whole
    assert (last.number, last.is_done, last.duration_s, last.ending) == (1, False, None, None)
    assert [(one.path, one.input, one.attempt) for one in last.in_hand] == [("slow", 2, 1)]
    assert last.after is not None
    assert [due.executor_id for due in last.after.due] == ["slow"]


def test_a_killed_run_that_was_gone_on_with_has_two_legs_of_one_superstep(killed: Killed) -> None:
    replayed = told([*killed.before, *killed.since])
    assert [(step.number, step.leg, step.resumed_from) for step in replayed.steps] == [
        (0, 1, None),
        (1, 1, None),
        (1, 2, "running"),
    ]
    cut_off, again = replayed.steps[1:]
    assert [one.path for one in cut_off.in_hand] == ["slow"]
    assert again.activations[0].facts["again"] is True
    assert (replayed.status, replayed.is_whole) == (RunStatus.COMPLETED, True)


async def test_a_failed_run_that_was_gone_on_with_tells_why_it_had_failed() -> None:
    failing = [True]

    @executor(id="good")
    async def good(text: str) -> str:
        return text

    @executor(id="bad")
    async def bad(text: str) -> str:
        if failing:
            raise ValueError("not today")
        return text

    store = MemoryCheckpointStore()
    flow = WorkflowBuilder("w", version="1").set_start(good, bad).build()
    with pytest.raises(ValueError, match="not today") as caught:
        await flow.run("x", run_id="r", checkpoints=store)
    failing.clear()
    again = await flow.resume("r", checkpoints=store)
    events: Events = [*caught.value.result.events, *again.events]  # type: ignore[attr-defined]  # documented

    first, second = told(events).steps

    assert (first.ending, first.error) == (RunStatus.FAILED, "ValueError: not today")
    assert [one.outcome for one in first.activations] == ["completed", "failed"]
    assert (second.leg, [one.path for one in second.activations]) == (2, ["bad"])
    assert first.after is not None
    assert (first.after.status, first.after.error) == (RunStatus.FAILED, "not today")


def test_events_that_are_missing_are_told_and_what_they_hid_is_not_made_up(killed: Killed) -> None:
    events = [*killed.before, *killed.since]
    hole = next(e.sequence for e in events if e.sequence and e.kind == "run.resumed")
    replayed = told([event for event in events if event.sequence not in {hole - 1, hole}])

    assert replayed.missing == ((hole - 1, hole),)
    assert not replayed.is_whole
    assert replayed.steps[0].after is None  # what else was due may be among what is missing
    assert [step.missing for step in replayed.steps] == [(), ((hole - 1, hole),)]
    assert replayed.steps[-1].outputs == (("slow", 20),)
    assert replayed.steps[-1].after is None


def test_a_run_without_its_beginning_is_told_from_where_it_is_known(shopping: Events) -> None:
    replayed = told([event for event in shopping if event.superstep > 0])
    assert replayed.missing == ((1, replayed.steps[0].first - 1),)
    assert (replayed.workflow, [step.number for step in replayed.steps]) == ("", [1])
    assert replayed.steps[0].outputs == (("price", "7 €"),)
    assert [step.after for step in replayed.steps] == [None]


def test_an_event_that_was_too_large_for_the_bus_has_nothing_to_tell(shopping: Events) -> None:
    (large,) = [event for event in shopping if event.kind == "executor.completed" and event.path == "fetch"]
    shrunk = [event.with_data({"dropped_bytes": 9}) if event is large else event for event in shopping]
    replayed = told(shrunk)
    assert replayed.steps[0].bare == (large.sequence,)
    assert [step.after for step in replayed.steps] == [None, None]
    assert not replayed.is_whole
    assert replay_events([*shrunk, large], "r") == replay_events(shopping, "r")


async def test_a_run_within_a_run_belongs_to_its_activation_and_can_be_told_by_itself() -> None:
    @executor(id="inner")
    async def inner(text: str) -> str:
        return text.upper()

    @executor(id="last")
    async def last(text: str) -> str:
        return f"{text}!"

    sub = WorkflowBuilder("sub", version="1").set_start(inner).add_edge(inner, last).build()
    flow = WorkflowBuilder("w", version="1").set_start(sub.as_executor("impl")).build()
    events = (await flow.run("x", run_id="r")).events

    assert told(events).steps[0].activations[0].runs == ("r/impl.0.0",)
    replayed = told(events, "r/impl.0.0")
    assert [[one.path for one in step.activations] for step in replayed.steps] == [
        ["impl/inner"],
        ["impl/last"],
    ]
    view = replayed.steps[-1].after
    assert view is not None
    assert (view.run_id, view.outputs) == ("r/impl.0.0", ("X!",))


async def test_a_fork_is_told_from_the_beginning_of_its_origin() -> None:
    store = MemoryCheckpointStore()

    @executor(id="first")
    async def first(text: str) -> str:
        return text

    @executor(id="second")
    async def second(text: str) -> str:
        return text

    flow = WorkflowBuilder("w", version="1").set_start(first).add_edge(first, second).build()
    origin = await flow.run("x", run_id="r", checkpoints=store)
    fork = await flow.resume("r", checkpoints=store, checkpoint_id="r@2")

    replayed = told([*fork.events, *origin.events], fork.run_id)

    assert replayed.missing == ()
    assert replayed.status is RunStatus.COMPLETED
    assert [step.number for step in replayed.steps] == [0, 1, 1]


def test_a_step_is_json(asked: Events) -> None:
    for step in told(asked).steps:
        found = json.loads(json.dumps(step.to_dict()))
        assert found["number"] == step.number
        assert found["after"]["superstep"] == step.number + 1


def test_without_an_event_of_the_run_there_is_no_story(shopping: Events) -> None:
    assert replay_events(shopping, "other") is None
    assert replay_events([WorkflowEvent(shopping[0].kind, shopping[0].run_id, 1.0)], "r") is None
