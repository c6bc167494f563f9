"""What holds for every graph: results and event logs do not depend on timing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

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

Text = str | list[str] | list[ItemResult]


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
    maps: tuple[tuple[int, int], ...]
    back: tuple[tuple[int, int], ...]


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    size = draw(st.integers(2, 6))
    nodes = st.integers(0, size - 1)
    forward = [(draw(st.integers(0, n - 1)), n) for n in range(1, size)]
    extra = draw(st.lists(st.tuples(nodes, nodes).filter(lambda p: p[0] < p[1]), max_size=4))
    sources = st.lists(nodes, min_size=2, max_size=3, unique=True).map(tuple)
    return Shape(
        size=size,
        sends=tuple(draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))),
        edges=tuple(dict.fromkeys([*forward, *extra])),
        fan_ins=tuple(draw(st.lists(st.tuples(sources, nodes), max_size=2, unique=True))),
        maps=tuple(draw(st.lists(st.tuples(nodes, nodes), max_size=2, unique=True))),
        back=tuple(
            draw(st.lists(st.tuples(nodes, nodes).filter(lambda p: p[0] >= p[1]), max_size=2, unique=True))
        ),
    )


def build(shape: Shape, turns: Sequence[int]) -> Workflow:
    def name(n: int) -> str:
        return f"n{n}"

    builder = WorkflowBuilder("random", config=WorkflowConfig(max_supersteps=12, strict=False))
    builder.set_start(Step("n0", turns, sends=max(1, shape.sends[0])))
    for n in range(1, shape.size):
        builder.add_executor(Step(name(n), turns[n:] or turns, sends=shape.sends[n]))
    for source, target in shape.edges:
        builder.add_edge(name(source), name(target))
    for source, target in shape.back:
        builder.add_edge(name(source), name(target), lambda text: len(text) < 25)
    for sources, target in shape.fan_ins:
        builder.add_fan_in_edge([name(s) for s in sources], name(target))
    for index, (source, join) in enumerate(shape.maps):
        split, body = Split(f"split{index}"), Step(f"body{index}", turns)
        builder.add_edge(name(source), split).add_map_edge(split, body, name(join), window=2)
    return builder.build()


def run(shape: Shape, turns: Sequence[int]) -> RunResult:
    async def outcome() -> RunResult:
        try:
            return await build(shape, turns).run("s", run_id="r")
        except RuntimeError as exc:
            return exc.result  # type: ignore[attr-defined, no-any-return]  # ConvergenceError carries it

    return asyncio.run(outcome())


def without_time(events: Sequence[WorkflowEvent]) -> list[object]:
    return [(e.id, e.kind, e.superstep, e.path, e.shard, e.attempt, dict(e.data)) for e in events]


turn_plans = st.lists(st.integers(0, 5), min_size=1, max_size=7)


@pytest.mark.requirement("EN03", "EN04")
@settings(max_examples=150, deadline=None)
@given(shape=shapes(), one=turn_plans, other=turn_plans)
def test_permuted_completion_times_give_identical_event_logs(
    shape: Shape, one: list[int], other: list[int]
) -> None:
    first, second = run(shape, one), run(shape, other)
    assert first.outputs == second.outputs
    assert without_time(first.events) == without_time(second.events)


@settings(max_examples=150, deadline=None)
@given(shape=shapes(), turns=turn_plans)
def test_events_are_numbered_without_gaps_and_every_invocation_ends(shape: Shape, turns: list[int]) -> None:
    result = run(shape, turns)
    assert [e.sequence for e in result.events] == list(range(1, len(result.events) + 1))
    invoked = [(e.superstep, e.path, e.shard) for e in result.events if e.kind is EventKind.EXECUTOR_INVOKED]
    ended = [
        (e.superstep, e.path, e.shard)
        for e in result.events
        if e.kind in {EventKind.EXECUTOR_COMPLETED, EventKind.EXECUTOR_FAILED}
    ]
    assert sorted(invoked) == sorted(ended)
    assert len(set(invoked)) == len(invoked)


@settings(max_examples=150, deadline=None)
@given(shape=shapes(), turns=turn_plans)
def test_every_run_tells_its_start_first_and_one_end_last(shape: Shape, turns: list[int]) -> None:
    kinds = [e.kind for e in run(shape, turns).events]
    ends = {EventKind.RUN_COMPLETED, EventKind.RUN_FAILED}
    assert kinds[0] is EventKind.RUN_STARTED
    assert kinds[-1] in ends
    assert sum(kind in ends for kind in kinds) == 1
