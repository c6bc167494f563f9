"""The random graphs have everything in them that there is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.property.graph.effort import examples
from tests.property.graph.playing import Story, played
from tests.property.graph.scripted import build
from tests.property.graph.shapes import FanIn, Retry, Shape, ends_of, shapes

from agentic.core import EventKind

RUNS = 300
LEAST = 0.05


def features(shape: Shape, story: Story) -> Iterator[str]:
    """Yield what a graph has in it and what happened in its run, sub-runs included."""
    kinds = Counter(event.kind for event in story.events)
    yield from {f"join {link.mode}" for link in shape.links if isinstance(link, FanIn)}
    yield from {type(link).__name__ for link in shape.links}
    if any(_is_in_a_loop(shape, node.id) for node in shape.nodes):
        yield "loop"
    invoked = [event for event in story.events if event.kind is EventKind.EXECUTOR_INVOKED]
    if max(Counter((e.run_id, e.path, e.shard) for e in invoked).values()) > 1:
        yield "executor that ran in several supersteps"
    if any("pass" in event.data for event in invoked):
        yield "message that a validator sent back"
    if any(event.attempt > 1 for event in story.events):
        yield "second attempt"
    if any(event.kind is EventKind.EXECUTOR_FAILED and event.data["handled"] for event in story.events):
        yield "failure that an edge or a map took"
    if any("item" in event.data for event in invoked):
        yield "item of a map"
    if any("/" in event.run_id for event in story.events):
        yield "sub-workflow that ran"
    yield from (str(kind) for kind in kinds)
    yield str(story.outcome.status)


def _is_in_a_loop(shape: Shape, name: str) -> bool:
    links = [link for link in shape.links if not isinstance(link, Retry)]
    reached: set[str] = set()
    frontier = {name}
    while frontier:
        frontier = {end for link in links for node in frontier for end in ends_of(link, node)} - reached
        reached |= frontier
    return name in reached


EXPECTED = [
    "loop", "executor that ran in several supersteps", "join all", "join latest", "join available",
    "Direct", "Switch", "FanOut", "FanIn", "MapOver", "Retry", "message that a validator sent back",
    "second attempt", "failure that an edge or a map took", "item of a map", "sub-workflow that ran",
    "request.raised", "request.answered", "request.expired", "run.resumed", "message.undeliverable",
    "message.superseded", "fan_in.waiting", "completed", "failed",
]  # fmt: skip


@pytest.mark.slow
def test_each_kind_of_edge_and_event_is_in_at_least_one_graph_of_twenty() -> None:
    found = Counter[str]()
    count = 0

    @examples(RUNS)
    @given(shape=shapes(), seed=st.integers(0, 1_000_000))
    def observe(shape: Shape, seed: int) -> None:
        nonlocal count
        count += 1
        found.update(features(shape, played(build(shape), seed)))

    observe()
    assert {name: found[name] / count for name in EXPECTED if found[name] < LEAST * count} == {}
