"""A run comes to the same end, whichever of its checkpoints it goes on from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.property.graph.effort import examples
from tests.property.graph.playing import Outcome, go_on_with, leg, play
from tests.property.graph.scripted import build
from tests.property.graph.shapes import Shape, Taste, shapes
from tests.property.graph.virtual import in_virtual_time
from tests.property.graph.world import World, living_in

from agentic.core.graph import MemoryCheckpointStore
from agentic.core.types import RunId

seeds = st.integers(0, 1_000_000)


@pytest.mark.requirement("EN07", "CK02")
@examples(60)
@given(shape=shapes(Taste(expires=False)), seed=seeds)  # when a run goes on decides what expires
def test_resuming_from_every_checkpoint_comes_to_the_same_end(shape: Shape, seed: int) -> None:
    store = MemoryCheckpointStore()

    async def ends() -> tuple[Outcome, list[Outcome]]:
        with living_in(World(seed)):
            story = await play(build(shape), store=store)
        other = build(shape)  # as another process would have it
        again = []
        for metadata in await store.list_metadata(run_id=RunId(story.run_id)):
            with living_in(World(seed + metadata.revision)):
                first = await leg(other.resume("r", checkpoints=store, checkpoint_id=metadata.id))
                again.append((await go_on_with(other, first, store)).outcome)
        return story.outcome, again

    whole, again = in_virtual_time(ends)
    assert again == [whole] * len(again)


@examples(40)
@given(shape=shapes(), seed=seeds)
def test_a_fork_leaves_what_it_was_forked_from_as_it_was(shape: Shape, seed: int) -> None:
    store, workflow = MemoryCheckpointStore(), build(shape)

    async def main() -> None:
        with living_in(World(seed)):
            story = await play(workflow, store=store)
            found = await store.list_metadata(run_id=RunId("r"))
            before = [await store.load(one.run_id, one.revision) for one in found]
            for one in found[:-1]:
                fork = await leg(workflow.resume("r", checkpoints=store, checkpoint_id=one.id))
                await go_on_with(workflow, fork, store)
        assert [await store.load(one.run_id, one.revision) for one in found] == before
        assert story.state.sequence >= len(found)

    in_virtual_time(main)
