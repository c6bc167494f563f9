"""Whatever takes how long: the same run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.property.graph.effort import examples
from tests.property.graph.mail import Note
from tests.property.graph.playing import leg, played
from tests.property.graph.scripted import build
from tests.property.graph.shapes import Shape, Taste, shapes
from tests.property.graph.state import without_time, written
from tests.property.graph.virtual import in_virtual_time
from tests.property.graph.world import World, living_in

from agentic.core import WorkflowEvent
from agentic.core.graph import MemoryCheckpointStore

seeds = st.integers(0, 1_000_000)


def log(events: Sequence[WorkflowEvent]) -> list[str]:
    """Return events as text, without their times."""
    return [without_time({**event.to_dict(), "time": None}) for event in events]


@pytest.mark.requirement("EN03", "EN04")
@examples(100)
@given(shape=shapes(), one=seeds, other=seeds, max_parallel=st.sampled_from([None, 1, 2, 5]))
def test_permuted_completion_times_give_identical_event_logs_outputs_and_states(
    shape: Shape, one: int, other: int, max_parallel: int | None
) -> None:
    first, second = played(build(shape), one), played(build(replace(shape, max_parallel=max_parallel)), other)
    assert log(first.events) == log(second.events)
    assert first.outcome == second.outcome
    states = [without_time(written(build(shape), story.state)) for story in (first, second)]
    assert states[0] == states[1]


@examples(60)
@given(shape=shapes(Taste(asks=False)), one=seeds, other=seeds)
def test_a_run_that_is_not_stored_does_the_same_as_a_stored_one(shape: Shape, one: int, other: int) -> None:
    async def both() -> tuple[list[str], list[str]]:
        workflow = build(shape)
        with living_in(World(one)):
            stored = await leg(workflow.run(Note("in"), run_id="r", checkpoints=MemoryCheckpointStore()))
        with living_in(World(other)):
            fleeting = await leg(workflow.run(Note("in"), run_id="r"))
        assert stored.outputs == fleeting.outputs
        return log(stored.events), log(fleeting.events)

    stored, fleeting = in_virtual_time(both)
    assert stored == fleeting


@examples(40)
@given(shape=shapes(), seed=seeds)
def test_runs_of_one_workflow_at_the_same_time_do_not_meet(shape: Shape, seed: int) -> None:
    workflow = build(shape)

    async def alone(seed: int) -> list[str]:
        with living_in(World(seed)):
            return log((await leg(workflow.run(Note("in"), run_id="r"))).events)

    async def together() -> list[list[str]]:
        return await asyncio.gather(*(alone(seed + number) for number in range(3)))

    assert in_virtual_time(together) == [in_virtual_time(lambda: alone(seed))] * 3
