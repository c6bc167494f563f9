"""The events of a run tell where it stands, at every step."""

from __future__ import annotations

import random
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from tests.property.graph.checking import check_end_of_replay, expected, seen
from tests.property.graph.effort import examples
from tests.property.graph.playing import Story, play, played
from tests.property.graph.scripted import build
from tests.property.graph.shapes import Shape, shapes
from tests.property.graph.virtual import in_virtual_time
from tests.property.graph.world import World, living_in

from agentic.core import Workflow, WorkflowEvent
from agentic.core.graph import MemoryCheckpointStore, replay
from agentic.core.graph.checkpoints.restore import restore
from agentic.core.graph.checkpoints.store import StoredCheckpoint
from agentic.core.types import RunId

seeds = st.integers(0, 1_000_000)


@examples(120)
@given(shape=shapes(), seed=seeds)
def test_replay_equals_the_state_at_every_checkpoint(shape: Shape, seed: int) -> None:
    workflow, store = build(shape), MemoryCheckpointStore()

    async def main() -> tuple[Story, list[StoredCheckpoint]]:
        with living_in(World(seed)):
            story = await play(workflow, store=store)
        found = await store.list_metadata(run_id=RunId(story.run_id))
        return story, [await store.load(one.run_id, one.revision) for one in found]

    story, checkpoints = in_virtual_time(main)
    assert len(checkpoints) > 1
    for checkpoint in checkpoints:
        compare(workflow, story.events, checkpoint)


def compare(workflow: Workflow, events: Sequence[WorkflowEvent], checkpoint: StoredCheckpoint) -> None:
    restored = restore(checkpoint, workflow)
    state = restored.state
    told = [e for e in events if e.run_id != state.run_id or (e.sequence or 0) <= state.sequence]
    view = replay(told)[-1]
    assert seen(view) == expected(workflow, state)
    assert list(view.outputs) == [payload.data for payload in restored.outputs]


@examples(60)
@given(shape=shapes(), seed=seeds, order=seeds)
def test_replay_does_not_mind_the_order_of_events_nor_repetitions(
    shape: Shape, seed: int, order: int
) -> None:
    workflow = build(shape)
    story = played(workflow, seed)
    check_end_of_replay(workflow, story)
    shuffled = [*story.events, *story.events[::2]]
    random.Random(order).shuffle(shuffled)
    assert replay(shuffled) == replay(story.events)
