"""What holds for every graph: results and event logs do not depend on timing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.core import (
    Executor,
    ItemResult,
    RunResult,
    Workflow,
    WorkflowBuilder,
    WorkflowConfig,
    WorkflowEvent,
)
from agentic.core.graph import EventKind, WorkflowContext, handler
from agentic.core.graph.edges import OnItemError

Text = str | list[str] | list[ItemResult]

pytestmark = pytest.mark.filterwarnings("ignore:.*circle")


class Step(Executor):
    """Waits as many turns of the loop as its plan says, then sends what it got, marked with its id."""

    def __init__(self, id: str, turns: Sequence[int], *, sends: int = 1) -> None:
        super().__init__(id)
        self.turns = turns
        self.sends = sends

    @handler
    async def run(self, message: Text, ctx: WorkflowContext) -> None:
        for _ in range(self.turns[ctx.superstep % len(self.turns)]):
            await asyncio.sleep(0)
        text = message if isinstance(message, str) else "+".join(map(_text, message))
        for n in range(self.sends):
            await ctx.send_message(f"{text[-60:]}.{self.id}{n}")


class Body(Step):
    """Fails on the first item of each list."""

    @handler
    async def run(self, message: Text, ctx: WorkflowContext) -> None:
        await super().run(message, ctx)
        if isinstance(message, str) and message.endswith("0"):
            raise ValueError(message)


class Split(Executor):
    @handler
    async def run(self, message: Text) -> list[str]:
        text = message if isinstance(message, str) else "+".join(map(_text, message))
        return [f"{text[-30:]}{n}" for n in range(len(text) % 4)]


def _text(part: str | ItemResult) -> str:
    return part if isinstance(part, str) else str(part.value if part.ok else part.error)


@dataclass(frozen=True)
class Shape:
    """A random layered graph: edges lead from lower to higher nodes, or back under a limit."""

    size: int
    sends: tuple[int, ...]
    edges: tuple[tuple[int, int], ...]
    fan_ins: tuple[tuple[tuple[int, ...], int], ...]
    maps: tuple[tuple[int, int, OnItemError], ...]
    nested: frozenset[int]
    back: tuple[tuple[int, int], ...]


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    size = draw(st.integers(2, 6))
    nodes = st.integers(0, size - 1)
    modes = st.sampled_from(get_args(OnItemError))
    forward = [(draw(st.integers(0, n - 1)), n) for n in range(1, size)]
    extra = draw(st.lists(st.tuples(nodes, nodes).filter(lambda p: p[0] < p[1]), max_size=4))
    sources = st.lists(nodes, min_size=2, max_size=3, unique=True).map(tuple)
    return Shape(
        size=size,
        sends=tuple(draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))),
        edges=tuple(dict.fromkeys([*forward, *extra])),
        fan_ins=tuple(draw(st.lists(st.tuples(sources, nodes), max_size=2, unique=True))),
        maps=tuple(draw(st.lists(st.tuples(nodes, nodes, modes), max_size=2, unique=True))),
        nested=frozenset(draw(st.sets(st.integers(1, size - 1), max_size=2))),
        back=tuple(
            draw(st.lists(st.tuples(nodes, nodes).filter(lambda p: p[0] >= p[1]), max_size=2, unique=True))
        ),
    )


def build(shape: Shape, turns: Sequence[int]) -> Workflow:
    def name(n: int) -> str:
        return f"n{n}"

    builder = WorkflowBuilder("random", config=WorkflowConfig(max_supersteps=7, strict=False))
    builder.set_start(Step("n0", turns, sends=max(1, shape.sends[0])))
    for n in range(1, shape.size):
        step = Step(name(n), turns[n:] or turns, sends=shape.sends[n])
        builder.add_executor(in_a_box(step) if n in shape.nested else step)
    for source, target in shape.edges:
        builder.add_edge(name(source), name(target))
    for source, target in shape.back:
        builder.add_edge(name(source), name(target), lambda text: len(text) < 25)
    for sources, target in shape.fan_ins:
        builder.add_fan_in_edge([name(s) for s in sources], name(target))
    for index, (source, join, mode) in enumerate(shape.maps):
        split, body = Split(f"split{index}"), Body(f"body{index}", turns)
        builder.add_edge(name(source), split)
        builder.add_map_edge(split, body, name(join), window=2, on_item_error=mode)
    return builder.build()


def in_a_box(step: Step) -> Executor:
    """Return a workflow of one step, as an executor of the step's name."""
    end = End("end")
    return WorkflowBuilder("box").set_start(step).add_edge(step, end).build().as_executor(step.id)


class End(Executor):
    @handler
    async def run(self, text: str) -> str:
        return text


def run(shape: Shape, turns: Sequence[int]) -> RunResult:
    async def outcome() -> RunResult:
        try:
            return await build(shape, turns).run("s", run_id="r")
        except (RuntimeError, ValueError) as exc:
            return exc.result  # type: ignore[union-attr, no-any-return]  # what failed a run carries it

    return asyncio.run(outcome())


def without_time(events: Sequence[WorkflowEvent]) -> list[object]:
    return [(e.id, e.kind, e.superstep, e.path, e.shard, e.attempt, dict(e.data)) for e in events]


def place(event: WorkflowEvent) -> tuple[str, int, str, int]:
    return (event.run_id, event.superstep, event.path, event.shard)


turn_plans = st.lists(st.integers(0, 5), min_size=1, max_size=7)


@pytest.mark.requirement("EN03", "EN04")
@settings(max_examples=60, deadline=None)
@given(shape=shapes(), one=turn_plans, other=turn_plans)
def test_permuted_completion_times_give_identical_event_logs(
    shape: Shape, one: list[int], other: list[int]
) -> None:
    first, second = run(shape, one), run(shape, other)
    assert first.outputs == second.outputs
    assert without_time(first.events) == without_time(second.events)


@settings(max_examples=60, deadline=None)
@given(shape=shapes(), turns=turn_plans)
def test_events_are_numbered_without_gaps_and_every_invocation_ends(shape: Shape, turns: list[int]) -> None:
    result = run(shape, turns)
    for run_id in {e.run_id for e in result.events}:
        sequences = [e.sequence for e in result.events if e.run_id == run_id]
        assert sequences == list(range(1, len(sequences) + 1))
    invoked = [place(e) for e in result.events if e.kind is EventKind.EXECUTOR_INVOKED]
    ended = [
        place(e) for e in result.events if e.kind in {EventKind.EXECUTOR_COMPLETED, EventKind.EXECUTOR_FAILED}
    ]
    assert sorted(invoked) == sorted(ended)
    assert len(set(invoked)) == len(invoked)


@settings(max_examples=60, deadline=None)
@given(shape=shapes(), turns=turn_plans)
def test_every_run_tells_its_start_first_and_one_end_last(shape: Shape, turns: list[int]) -> None:
    events = run(shape, turns).events
    ends = {EventKind.RUN_COMPLETED, EventKind.RUN_FAILED}
    for run_id in {e.run_id for e in events}:
        kinds = [e.kind for e in events if e.run_id == run_id]
        assert kinds[0] is EventKind.RUN_STARTED
        assert kinds[-1] in ends
        assert sum(kind in ends for kind in kinds) == 1
