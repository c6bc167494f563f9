"""Steps and views fit together, whatever the graph and however often a run was gone on with."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from hypothesis import given
from hypothesis import strategies as st
from tests.property.graph.effort import examples
from tests.property.graph.playing import played
from tests.property.graph.scripted import build
from tests.property.graph.shapes import Shape, shapes

from agentic.core.cli.replay.retelling import replay_events
from agentic.core.cli.replay.story import ReplayedStep
from agentic.core.graph import EventKind, WorkflowEvent, replay

seeds = st.integers(0, 1_000_000)
BEGINNING = {
    EventKind.SUPERSTEP_STARTED,
    EventKind.RUN_RESUMED,
    EventKind.EXECUTOR_INVOKED,
    EventKind.REQUEST_ANSWERED,
    EventKind.REQUEST_EXPIRED,
}


@examples(60)
@given(shape=shapes(), seed=seeds)
def test_a_run_stands_after_each_step_where_its_events_up_to_then_put_it(shape: Shape, seed: int) -> None:
    events = played(build(shape), seed).events
    replayed = replay_events(events, "r")
    assert replayed is not None
    assert (replayed.missing, replayed.steps[0].first) == ((), 1)
    for step, following in zip(replayed.steps, [*replayed.steps[1:], None], strict=True):
        assert following is None or following.first == step.last + 1
        assert step.after == replay(up_to(events, end_of(events, step, following)))[-1]


@examples(40)
@given(shape=shapes(), seed=seeds, cut=st.floats(0, 1), hole=st.floats(0, 1))
def test_with_events_missing_nothing_is_told_that_was_not_so(
    shape: Shape, seed: int, cut: float, hole: float
) -> None:
    events = played(build(shape), seed).events
    count = max(event.sequence or 0 for event in events if event.run_id == "r")
    first = 1 + int(hole * (count - 1))
    missing = range(first, first + max(1, int(cut * (count - first))))
    whole = replay_events(events, "r")
    replayed = replay_events([e for e in events if e.run_id != "r" or e.sequence not in missing], "r")
    assert whole is not None
    if replayed is None:
        assert len(missing) == count
        return
    assert all(gap == (missing[0], missing[-1]) for gap in replayed.missing)
    known = {(step.number, step.leg): step for step in whole.steps}
    for step in replayed.steps:
        if step.after is not None:
            assert step.last < missing[0]
            assert step.after == known[step.number, step.leg].after


def up_to(events: Sequence[WorkflowEvent], last: int) -> list[WorkflowEvent]:
    return [e for e in events if e.run_id != "r" or (e.sequence or 0) <= last]


def end_of(events: Sequence[WorkflowEvent], step: ReplayedStep, following: ReplayedStep | None) -> int:
    """Return the last event before it shows what the step after one came to."""
    if following is None or step.ending is not None or not step.is_done:
        return step.last
    later = [e for e in events if e.run_id == "r" and (e.sequence or 0) > step.last]
    begun = list(takewhile(lambda event: event.kind in BEGINNING, later))
    return step.last + len(begun)
