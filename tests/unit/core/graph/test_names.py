"""Names of activations, sub-runs, requests and events are unique, whatever executors are called."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic.core import (
    EventKind,
    Executor,
    MemoryCheckpointStore,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowEvent,
    executor,
    handler,
)
from agentic.core.bus.envelope import to_message
from agentic.core.bus.subjects import subject_for, token
from agentic.core.graph import FunctionExecutor, HandlerError, InvalidGraphError, InvalidRunIdError, replay
from agentic.core.graph.checkpoints.store import Checkpoint, part_digest
from agentic.core.graph.definition.edges import DirectEdge, Graph
from agentic.core.graph.names import between_colons, origin_of, sub_run_name
from agentic.core.ledger import ActivationId
from agentic.core.types import ExecutorId, RunId

ids = st.text("a.:%~0123456789-é", min_size=1, max_size=5)
counts = st.integers(0, 12)
places = st.tuples(ids, counts, counts)
quick = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])


def nested(keys: list[str]) -> Workflow:
    """Return a workflow whose ``a.2`` and ``a`` have sub-runs that dots alone do not tell apart."""

    @executor(id="leaf")
    async def leaf(number: int, ctx: WorkflowContext) -> int:
        ctx.log("info", "seen")
        keys.append(ctx.idempotency_key)
        return number

    inner = WorkflowBuilder("inner", version="1").set_start(leaf).build()

    def calling(name: str, count: int) -> FunctionExecutor:
        @executor(id=name)
        async def call(number: int, ctx: WorkflowContext) -> int:
            return sum([(await ctx.run_workflow(inner, number)).output(int) for _ in range(count)])

        return call

    @executor(id="start")
    async def start(number: int, ctx: WorkflowContext) -> None:
        for shard in range(3):
            await ctx.send_message(shard, target="a.2")
        await ctx.send_message(7, target="hop")

    @executor(id="hop")
    async def hop(number: int, ctx: WorkflowContext) -> None:
        await ctx.send_message(8)
        await ctx.send_message(9)

    builder = WorkflowBuilder("dots", version="1").set_start(start)
    builder.add_edge(start, calling("a.2", 1)).add_edge(start, hop).add_edge(hop, calling("a", 2))
    return builder.build()


async def test_each_activation_has_a_key_and_each_event_an_id_of_its_own() -> None:
    keys: list[str] = []
    events = [event async for event in nested(keys).run_stream(0, run_id="r")]
    assert len(set(keys)) == len(keys) == 7
    assert len({event.id for event in events}) == len(events)
    assert len({to_message(event, "p").message_id for event in events}) == len(events)


async def test_sub_runs_belong_to_the_activation_that_called_them_when_told_again() -> None:
    result = await nested([]).run(0, run_id="r")
    counts = [view.executors.get("a.2/leaf") for view in replay(result.events)]
    assert [0 if one is None else one.activation_count for one in counts] == [0, 0, 3, 3]


@quick
@given(st.lists(st.tuples(places, st.integers(1, 12), st.integers(0, 3)), unique=True, max_size=30))
def test_names_of_sub_runs_are_told_apart(calls: list[tuple[tuple[str, int, int], int, int]]) -> None:
    origins = [f"{name}.{step}.{shard}" for (name, step, shard), _, _ in calls]
    names = [sub_run_name(origin, *call[1:]) for origin, call in zip(origins, calls, strict=True)]
    assert len(set(names)) == len(names)
    assert [origin_of(name) for name in names] == origins


@quick
@given(st.lists(st.tuples(ids, places), unique=True, max_size=30))
def test_names_over_all_runs_are_told_apart(found: list[tuple[str, tuple[str, int, int]]]) -> None:
    names = {str(ActivationId(RunId(r), step, ExecutorId(name), shard)) for r, (name, step, shard) in found}
    keys = {f"{run}:{between_colons(f'{name}.{step}.{shard}')}" for run, (name, step, shard) in found}
    live = {live_event(run, *place).id for run, place in found}
    durable = {WorkflowEvent(EventKind.OUTPUT, RunId(run), 0.0, step).id for run, (_, step, _) in found}
    assert len(names) == len(keys) == len(live) == len(found)
    assert not live & durable
    tokens = {token("p", run, *name.split("/")) for run, (name, _, _) in found}
    assert len(tokens) == len({(run, name) for run, (name, _, _) in found})


def live_event(run: str, path: str, step: int, shard: int) -> WorkflowEvent:
    return WorkflowEvent(
        EventKind.EXECUTOR_LOG, RunId(run), 0.0, superstep=step, path=path, shard=shard, live_number=1
    )


@quick
@given(st.lists(st.sampled_from(["b", "b (2)", "b (3)", "b (2) (2)"]), min_size=1, max_size=8))
def test_names_of_edges_are_told_apart(targets: list[str]) -> None:
    edges = [DirectEdge(source=ExecutorId("a"), target=ExecutorId(target)) for target in targets]
    assert len(set(Graph({}, edges, []).edge_names)) == len(targets)


@quick
@given(ids, ids)
def test_subjects_of_executors_are_told_apart(one: str, other: str) -> None:
    subjects = {subject_for(live_event("r", name, 0, 0), "p") for name in (one, other)}
    assert len(subjects) == len({one, other})


async def test_run_that_was_stored_with_the_names_of_before_goes_on() -> None:
    """Its second sub-run waits under the name ``both.0.0.2``: what is answered there finds it."""

    @executor(id="ask")
    async def ask(text: str, ctx: WorkflowContext) -> str:
        return await ctx.request_info(f"{text}?", str)

    inner = WorkflowBuilder("inner", version="1").set_start(ask).build()

    @executor(id="both")
    async def both(text: str, ctx: WorkflowContext) -> str:
        calls = (ctx.run_workflow(inner, f"{text}{number}") for number in range(2))
        return ", ".join(result.output(str) for result in await asyncio.gather(*calls))

    flow = WorkflowBuilder("w", version="1").set_start(both).build()
    store = MemoryCheckpointStore()
    waiting = await flow.run("x", run_id="r", checkpoints=store)
    asked = {one.id for one in waiting.pending_requests}
    assert asked == {"r:both.0.0/ask.0.0.1", "r:both.0.0~2/ask.0.0.1"}
    before = await as_stored_before(store)
    answers = {"r:both.0.0/ask.0.0.1": "one", "r:both.0.0.2/ask.0.0.1": "two"}
    done = await flow.resume("r", checkpoints=before, responses=answers)
    assert done.outputs == ("one, two",)
    new = {"r:both.0.0/ask.0.0.1": "one", "r:both.0.0~2/ask.0.0.1": "two"}
    assert (await flow.resume("r", checkpoints=store, responses=new)).outputs == ("one, two",)


async def as_stored_before(store: MemoryCheckpointStore) -> MemoryCheckpointStore:
    """Return a store with what it would hold if the run had been stored with names of before."""
    latest = await store.latest(RunId("r"))
    parts = {name: _as_before(text) for name, text in latest.parts.items()}
    digest = 0
    for name, text in parts.items():
        digest ^= part_digest(name, text)
    head = json.dumps({**json.loads(latest.head), "digest": f"{digest:032x}"})
    metadata = replace(latest.metadata, revision=1)
    older = MemoryCheckpointStore()
    await older.save(Checkpoint(metadata=metadata, head=head, changes=dict(parts)))
    return older


def _as_before(text: str) -> str:
    return json.dumps(_unnamed(json.loads(text)), separators=(",", ":")).replace("both.0.0~2", "both.0.0.2")


def _unnamed(data: object) -> object:
    """Leave out the names of sub-runs, which were not stored."""
    if isinstance(data, list):
        return [_unnamed(one) for one in data]
    if isinstance(data, dict):
        is_sub_run = "head" in data
        return {key: _unnamed(one) for key, one in data.items() if not (is_sub_run and key == "name")}
    return data


BROKEN = "name-\ud800"


async def test_names_that_no_store_takes_are_refused_where_they_are_given() -> None:
    @executor(id="writes")
    async def writes(text: str, ctx: WorkflowContext) -> None:
        with pytest.raises(
            HandlerError, match=r"the key 'name-\\ud800' of ctx\.set_state contains lone surrogates"
        ):
            ctx.set_state(BROKEN, 1)
        with pytest.raises(HandlerError, match=r"of ctx\.once contains lone surrogates"):
            await ctx.once(BROKEN, lambda: 1)
        ctx.set_state("é", 1)

    assert (await WorkflowBuilder("w").set_start(writes).build().run("x")).is_success
    with pytest.raises(HandlerError, match=r"executor id 'name-\\ud800' contains lone surrogates"):
        executor(id=BROKEN)(lambda text: text)


class Elsewhere(Executor):
    queue = BROKEN

    @handler
    async def handle_text(self, text: str) -> None: ...


def test_a_workflow_whose_names_no_store_takes_is_not_built() -> None:
    builder = WorkflowBuilder(BROKEN, BROKEN).set_start(Elsewhere("e")).add_state(BROKEN, reducer=max)
    with pytest.raises(InvalidGraphError) as refused:
        builder.build()
    assert refused.value.faults == tuple(
        rf"{what}, 'name-\ud800', contains lone surrogates, which no store accepts; clean the text"
        for what in ("the workflow's id", "the workflow's version", "the state's key", "the queue of 'e'")
    )


@pytest.mark.parametrize("is_stored", [False, True])
async def test_a_run_id_that_no_store_takes_is_refused_before_anything_runs(is_stored: bool) -> None:
    entered = list[str]()

    @executor(id="a")
    async def a(text: str) -> None:
        entered.append(text)

    store = MemoryCheckpointStore() if is_stored else None
    with pytest.raises(InvalidRunIdError, match=r"run id 'name-\\ud800' must not .* lone surrogates"):
        await WorkflowBuilder("w").set_start(a).build().run("x", run_id=BROKEN, checkpoints=store)
    assert not entered


@pytest.mark.parametrize("is_stored", [False, True])
async def test_values_may_hold_text_that_is_no_unicode_wherever_they_go(is_stored: bool) -> None:
    """As a page says that cuts an emoji in half: only what is written into rows is cleaned of that."""
    seen = list[object]()

    @executor(id="first")
    async def first(text: str, ctx: WorkflowContext) -> dict[str, list[str]]:
        ctx.set_state("kept", BROKEN)
        ctx.local[BROKEN] = BROKEN
        await ctx.yield_output(await ctx.once("made", lambda: (BROKEN, text)))
        return {BROKEN: [BROKEN]}

    @executor(id="second")
    async def second(texts: dict[str, list[str]], ctx: WorkflowContext) -> None:
        seen.extend([texts, ctx.get_state("kept")])
        if is_stored and not ctx.previous_attempts:
            raise ValueError(BROKEN)
        await ctx.yield_output(BROKEN)

    flow = WorkflowBuilder("w").set_start(first).add_edge(first, second).build()
    store = MemoryCheckpointStore()
    if is_stored:
        with pytest.raises(ValueError, match="name-"):
            await flow.run(BROKEN, run_id="r", checkpoints=store)
        seen.clear()
        result = await flow.resume("r", checkpoints=store)
    else:
        result = await flow.run(BROKEN)
    assert seen == [{BROKEN: [BROKEN]}, BROKEN]
    assert result.outputs == ((BROKEN, BROKEN), BROKEN)
