"""Properties of patterns over random casts of scripted participants."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.property.graph.effort import examples
from tests.property.graph.state import without_time
from tests.property.patterns.random_casts import (
    KINDS,
    LIMIT,
    Cast,
    casts,
    chat_of,
    concurrent_of,
    holds,
    mesh_of,
    sequence_of,
    team_of,
)

from agentic.core import MemoryCheckpointStore, RunStatus, Workflow
from agentic.core.graph import RunResult
from agentic.core.patterns import ParticipantResult, PatternResult

ALL = (chat_of, mesh_of, team_of, sequence_of, concurrent_of)


def run(flow: Workflow) -> RunResult:
    return asyncio.run(flow.run("go", run_id="r", checkpoints=MemoryCheckpointStore()))


def log(result: RunResult) -> list[str]:
    return [without_time({**event.to_dict(), "time": None}) for event in result.events]


def speakers(result: RunResult, names: Sequence[str]) -> list[str]:
    """Return who had a turn, silent ones included."""
    return [
        event.path for event in result.events if event.kind == "executor.completed" and event.path in names
    ]


@pytest.mark.requirement("PA15")
@examples(20)
@given(cast=casts())
def test_nobody_speaks_twice_in_a_row_under_no_repeat(cast: Cast) -> None:
    spoke = speakers(run(chat_of(Cast(cast.seed, cast.kinds, ("rounds", 9), repeats=False))), cast.names)
    assert spoke
    assert all(one != other for one, other in pairwise(spoke))


@pytest.mark.requirement("PA17")
@examples(25)
@given(cast=casts())
def test_terminations_always_end_and_never_too_late(cast: Cast) -> None:
    for build in (mesh_of, team_of):
        result = run(build(cast))
        assert result.status is RunStatus.COMPLETED
        assert len(result.outputs) == 1
        assert len(speakers(result, cast.names)) <= LIMIT + 1
    chat = run(chat_of(cast)).output(PatternResult)
    texts = [one.text for one in chat.conversation[1:]]
    assert not any(holds(cast.termination, texts[:count]) for count in range(len(texts)))
    assert holds(cast.termination, texts) != chat.reason.startswith("max_iterations")
    assert chat.round_count <= LIMIT


@pytest.mark.requirement("EN03")
@examples(6)
@given(cast=casts())
def test_the_same_seed_gives_the_same_log(cast: Cast) -> None:
    for build in ALL:
        assert log(run(build(cast))) == log(run(build(cast)))


@pytest.mark.requirement("PA10", "PA20", "PA22")
@examples(6)
@given(cast=casts(), cut=st.integers(0, 1_000))
def test_a_run_that_stops_at_any_checkpoint_gives_the_same_transcript(cast: Cast, cut: int) -> None:
    async def whole_and_cut(flow: Workflow, again: Workflow) -> tuple[RunResult, RunResult]:
        store = MemoryCheckpointStore()
        whole = await flow.run("go", run_id="r", checkpoints=store)
        found = await store.list_metadata(run_id=whole.run_id)
        point = found[cut % len(found)].id
        return whole, await again.resume("r", checkpoints=store, checkpoint_id=point)

    for build in ALL:
        whole, continued = asyncio.run(whole_and_cut(build(cast), build(cast)))
        assert continued.outputs == whole.outputs


@pytest.mark.requirement("PA06")
@examples(20)
@given(cast=casts(KINDS))
def test_an_aggregator_sees_each_participant_once_in_their_order(cast: Cast) -> None:
    seen: list[ParticipantResult] = []
    run(concurrent_of(cast, seen))
    assert [one.executor_id for one in seen] == cast.names
    assert [one.ok for one in seen] == [kind != "broken" for kind in cast.kinds]
