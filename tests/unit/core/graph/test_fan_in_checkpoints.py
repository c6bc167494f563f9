"""What checkpoints keep of fan-ins: only what came, and all of it, whoever goes on with the run."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from operator import xor

import pytest

from agentic.core import (
    ItemResult,
    MemoryCheckpointStore,
    RunStatus,
    Workflow,
    WorkflowBuilder,
    WorkflowConfig,
    WorkflowContext,
    executor,
)
from agentic.core.graph import (
    Checkpoint,
    CheckpointStoreError,
    CorruptCheckpointError,
    FunctionExecutor,
    StoredCheckpoint,
)
from agentic.core.graph.checkpoints.store import part_digest
from agentic.core.graph.codec.codec import to_text
from agentic.core.graph.definition.edges import JoinMode
from agentic.core.graph.model.document import CheckpointDocument
from agentic.core.types import JSONValue, RunId

RUN = RunId("r")


class Weather:
    """Whether numbers fail, and at which one."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.fails_at = fails_at


def counter(upto: int, *, name: str, every: int, weather: Weather, size: int) -> FunctionExecutor:
    @executor(id=name)
    async def count(number: int, ctx: WorkflowContext) -> None:
        if number == weather.fails_at:
            raise ConnectionError(f"{number} is down")
        await ctx.send_message(str(number) * size, target="join")
        if every and number % every == 0:
            await ctx.send_message(number, target="tick")
        if number < upto:
            await ctx.send_message(number + 1, target=name)

    return count


@executor(id="tick")
async def tick(number: int) -> str:
    return f"tick {number}"


@executor(id="join")
async def join(parts: list[str]) -> str:
    return " ".join(parts)


def counting(
    upto: int,
    *,
    every: int = 0,
    mode: JoinMode = "all",
    weather: Weather | None = None,
    size: int = 1,
    config: WorkflowConfig | None = None,
) -> Workflow:
    """Edge 2 gathers each number that is counted, and a tick each time ``every`` divides it."""
    count = counter(upto, name="count", every=every, weather=weather or Weather(), size=size)
    return (
        WorkflowBuilder("counting", version="1", config=config or WorkflowConfig())
        .set_start(count)
        .add_edge(count, count, lambda number: True)
        .add_edge(count, tick)
        .add_fan_in_edge([count, tick], join, mode=mode)
        .build()
    )


def counting_anew(upto: int, *, every: int) -> Workflow:
    """Version 2 calls the counter ``number`` and declares the fan-in first."""
    number = counter(upto, name="number", every=every, weather=Weather(), size=1)
    return (
        WorkflowBuilder("counting", version="2")
        .set_start(number)
        .add_fan_in_edge([number, tick], join)
        .add_edge(number, number, lambda number: True)
        .add_edge(number, tick)
        .add_migration("1", _renamed)
        .build()
    )


def _renamed(document: CheckpointDocument) -> CheckpointDocument:
    text = to_text([document.head, dict(document.parts)])
    head, parts = json.loads(text.replace('"count"', '"number"').replace("fan_ins/2/", "fan_ins/0/"))
    return CheckpointDocument(head, parts)


def waiting(parts: Mapping[str, str | None]) -> dict[str, JSONValue]:
    """Return the parts of fan-ins, with the values that wait."""
    return {
        name.removeprefix("fan_ins/"): text if text is None else _values(json.loads(text))
        for name, text in parts.items()
        if name.startswith("fan_ins/")
    }


def _values(part: Mapping[str, list[dict[str, JSONValue]]]) -> JSONValue:
    return {source: [held["value"] for held in messages] for source, messages in part.items()}


class Recording(MemoryCheckpointStore):
    """Remembers what each checkpoint changed of fan-ins."""

    def __init__(self) -> None:
        super().__init__()
        self.changes: list[dict[str, JSONValue]] = []

    async def save(self, checkpoint: Checkpoint) -> None:
        await super().save(checkpoint)
        self.changes.append(waiting(checkpoint.changes))


@pytest.fixture
def store() -> Recording:
    return Recording()


async def test_step_1000_of_a_fan_in_that_collects_stores_no_more_than_step_100(store: Recording) -> None:
    result = await counting(1_000, config=WorkflowConfig(max_supersteps=2_000)).run(
        1, run_id="r", checkpoints=store
    )
    assert result.waiting_fan_ins == ("join",)
    sizes = [metadata.size_bytes for metadata in reversed(await store.list_metadata(run_id=RUN))]
    # Numbers have a digit more: superstep, sequence, part, and value.
    assert max(sizes[900:1_000]) <= max(sizes[100:200]) + 10


async def test_part_of_a_fan_in_holds_what_came_and_goes_when_it_fires(store: Recording) -> None:
    result = await counting(4, every=3).run(1, run_id="r", checkpoints=store)
    assert result.outputs == ("1 2 3 4 tick 3",)
    assert store.changes == [
        {},
        {"2/0": {"count": ["1"]}},
        {"2/1": {"count": ["2"]}},
        {"2/2": {"count": ["3"]}},
        {"2/0": None, "2/1": None, "2/2": None},
        {},
    ]


async def test_part_of_a_fan_in_names_only_the_sources_that_sent(store: Recording) -> None:
    def sending(name: str, other: str) -> FunctionExecutor:
        @executor(id=name)
        async def send(number: int, ctx: WorkflowContext) -> None:
            await ctx.send_message(f"{name}{number}", target="join")
            if number:
                await ctx.send_message(number - 1, target=other)

        return send

    flow = (
        WorkflowBuilder("ring", version="1")
        .set_start(sending("left", "right"))
        .add_fan_in_edge(["left", sending("right", "left"), tick], join)
        .add_edge("left", "right", lambda number: True)
        .add_edge("right", "left", lambda number: True)
        .add_edge("right", tick)
        .build()
    )
    await flow.run(3, run_id="r", checkpoints=store)
    assert store.changes[1:4] == [
        {"0/0": {"left": ["left3"]}},
        {"0/1": {"right": ["right2"]}},
        {"0/2": {"left": ["left1"]}},
    ]


async def test_latest_keeps_one_part_with_the_newest_of_each_source(store: Recording) -> None:
    await counting(4, every=2, mode="latest", size=3).run(1, run_id="r", checkpoints=store)
    assert store.changes == [
        {},
        {"2/0": {"count": ["111"]}},
        {"2/0": {"count": ["222"]}},
        {"2/0": {"count": ["333"], "tick": ["tick 2"]}},
        {"2/0": {"count": ["444"], "tick": ["tick 2"]}},
        {"2/0": {"count": ["444"], "tick": ["tick 4"]}},
        {},
    ]


async def test_another_process_adds_to_what_is_stored(store: Recording) -> None:
    with pytest.raises(ConnectionError):
        await counting(5, every=5, weather=Weather(fails_at=4)).run(1, run_id="r", checkpoints=store)
    store.changes.clear()
    result = await counting(5, every=5).resume("r", checkpoints=store)
    assert result.outputs == ("1 2 3 4 5 tick 5",)
    gone: dict[str, JSONValue] = dict.fromkeys(["2/0", "2/1", "2/2", "2/3", "2/4"])
    assert store.changes == [{}, {"2/3": {"count": ["4"]}}, {"2/4": {"count": ["5"]}}, gone, {}]


@pytest.mark.parametrize("mode", ["all", "latest", "available"])
async def test_every_checkpoint_leads_to_the_same_outputs(store: Recording, mode: JoinMode) -> None:
    flow = counting(8, every=3, mode=mode)
    whole = await flow.run(1, run_id="r", checkpoints=store)
    before = [await store.load(RUN, metadata.revision) for metadata in await store.list_metadata(run_id=RUN)]
    for stored in before:
        fork = await flow.resume("r", checkpoints=store, checkpoint_id=stored.metadata.id)
        assert fork.outputs == whole.outputs
    for stored in before:
        assert await store.load(RUN, stored.metadata.revision) == stored


class Flaky(MemoryCheckpointStore):
    """A store that is down at some of the calls."""

    def __init__(self, down_at: set[int]) -> None:
        super().__init__()
        self.down_at = down_at
        self.calls = 0

    async def save(self, checkpoint: Checkpoint) -> None:
        self.calls += 1
        if self.calls in self.down_at:
            raise CheckpointStoreError("network is down")
        await super().save(checkpoint)


@pytest.mark.parametrize("mode", ["all", "latest", "available"])
@pytest.mark.parametrize("down_from", range(2, 10))
async def test_saves_that_failed_are_made_up_for_even_if_the_fan_in_fired_meanwhile(
    mode: JoinMode, down_from: int
) -> None:
    whole = await counting(12, every=5, mode=mode).run(1)
    # Meanwhile the fan-in grew by three messages, or fired in mode all and had others after it.
    store = Flaky(set(range(down_from, down_from + 3)))
    config = WorkflowConfig(on_checkpoint_failure="continue")
    weather = Weather(fails_at=11)
    with pytest.raises(ConnectionError):
        await counting(12, every=5, mode=mode, weather=weather, config=config).run(
            1, run_id="r", checkpoints=store
        )
    flow = counting(12, every=5, mode=mode)
    for metadata in await store.list_metadata(run_id=RUN):
        fork = await flow.resume("r", checkpoints=store, checkpoint_id=metadata.id)
        assert fork.outputs == whole.outputs


class Stuck(MemoryCheckpointStore):
    """A store whose third save never returns, though it may have been made."""

    def __init__(self, *, is_made: bool) -> None:
        super().__init__()
        self.is_made = is_made
        self.called = asyncio.Event()

    async def save(self, checkpoint: Checkpoint) -> None:
        if checkpoint.metadata.revision == 3 and not self.called.is_set():
            if self.is_made:
                await super().save(checkpoint)
            self.called.set()
            await asyncio.Event().wait()
        await super().save(checkpoint)


@pytest.mark.parametrize("is_made", [True, False])
async def test_cancelled_save_neither_loses_a_message_nor_stores_it_twice(is_made: bool) -> None:
    store = Stuck(is_made=is_made)
    task = asyncio.create_task(counting(5, every=5).run(1, run_id="r", checkpoints=store))
    await store.called.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    stored = await store.latest(RUN)
    assert stored.metadata.status is RunStatus.CANCELLED
    assert waiting(stored.parts) == {"2/0": {"count": ["1"]}, "2/1": {"count": ["2"]}}
    assert (await counting(5, every=5).resume("r", checkpoints=store)).outputs == ("1 2 3 4 5 tick 5",)


async def test_large_message_is_stored_once_and_only_while_it_waits(store: Recording) -> None:
    await counting(4, every=3, size=40_000).run(1, run_id="r", checkpoints=store)
    found = [await store.load(RUN, revision) for revision in range(1, 7)]
    assert [stored.metadata.size_bytes // 40_000 for stored in found[1:4]] == [1, 1, 1]
    # In the end there are the list it gave, and then the output.
    counts = [sum(name.startswith("content/") for name in stored.parts) for stored in found]
    assert counts == [0, 1, 2, 3, 1, 1]


async def test_fan_in_of_a_sub_workflow_goes_on_with_what_it_had(store: Recording) -> None:
    @executor(id="begin")
    async def begin(text: str) -> str:
        return text

    @executor(id="ask")
    async def ask(text: str, ctx: WorkflowContext) -> str:
        return await ctx.request_info(text, str)

    def outer() -> Workflow:
        inner = (
            WorkflowBuilder("inner", version="1")
            .set_start(begin)
            .add_edge(begin, ask)
            .add_fan_in_edge([begin, ask], join)
            .build()
        )
        return WorkflowBuilder("outer", version="1").set_start(inner).build()

    asked = await outer().run("x", run_id="r", checkpoints=store)
    answers = {request.id: "y" for request in asked.pending_requests}
    result = await outer().resume("r", checkpoints=store, responses=answers)
    assert result.outputs == ("x y",)


async def test_migration_takes_the_messages_along_that_wait(store: Recording) -> None:
    with pytest.raises(ConnectionError):
        await counting(5, every=5, weather=Weather(fails_at=4)).run(1, run_id="r", checkpoints=store)
    store.changes.clear()
    result = await counting_anew(5, every=5).resume("r", checkpoints=store)
    assert result.outputs == ("1 2 3 4 5 tick 5",)
    moved: dict[str, JSONValue] = {f"0/{at}": {"number": [str(at + 1)]} for at in range(3)}
    assert store.changes[0] == {**moved, **dict.fromkeys(["2/0", "2/1", "2/2"])}
    assert store.changes[1] == {"0/3": {"number": ["4"]}}
    assert waiting((await store.latest(RUN)).parts) == {}


class Crafted(MemoryCheckpointStore):
    """A store in which somebody exchanged parts, and made the digest fit."""

    def __init__(self, edits: Mapping[str, JSONValue]) -> None:
        super().__init__()
        self._edits = edits

    async def latest(self, run_id: RunId) -> StoredCheckpoint:
        stored = await super().latest(run_id)
        parts = {**stored.parts, **{name: to_text(part) for name, part in self._edits.items()}}
        parts = {name: text for name, text in parts.items() if text != "null"}
        digest = reduce(xor, (part_digest(name, text) for name, text in parts.items()), 0)
        head = {**json.loads(stored.head), "digest": f"{digest:032x}"}
        return replace(stored, head=to_text(head), parts=parts)


ONE: JSONValue = [{"value": "x", "trail": {}}]
TWO: JSONValue = [{"value": "x", "trail": {}}, {"value": "y", "trail": {}}]
HUGE = "9" * 5_000


@pytest.mark.parametrize(
    ("edits", "reason"),
    [
        ({"fan_ins/2/1": None}, "its part 'fan_ins/2/1' is missing"),
        ({"fan_ins/2/0": None}, "its part 'fan_ins/2/0' is missing"),
        ({"fan_ins/2/4": {"count": ONE}}, "its part 'fan_ins/2/3' is missing"),
        ({"fan_ins/2/01": {"count": ONE}}, "its part 'fan_ins/2/3' is missing"),
        ({"fan_ins/2": {"count": ONE}}, "its part 'fan_ins/2/3' is missing"),
        ({"fan_ins/02/0": {"count": ONE}}, "'02' is not a number"),
        ({f"fan_ins/{HUGE}/0": {"count": ONE}}, "is not a number"),
        ({"fan_ins/0/0": {"count": ONE}}, "edge 0 of the workflow is not a FanInEdge"),
        ({"fan_ins/9/0": {"count": ONE}}, "edge 9 of the workflow is not a FanInEdge"),
        ({"fan_ins/2/3": {"join": ONE}}, "holds a message of 'join', which is not one of its sources"),
        ({"fan_ins/2/3": {"tick": ONE}}, "holds a message of every source and did not fire"),
        ({"fan_ins/2/3": {"count": []}}, "count: List should have at least 1 item"),
        ({"fan_ins/2/3": {}}, "Dictionary should have at least 1 item"),
        ({"fan_ins/2/3": ONE}, "Input should be a valid dictionary"),
    ],
)
async def test_crafted_fan_in_is_refused(edits: Mapping[str, JSONValue], reason: str) -> None:
    store = Crafted(edits)
    with pytest.raises(ConnectionError):
        await counting(5, every=5, weather=Weather(fails_at=4)).run(1, run_id="r", checkpoints=store)
    with pytest.raises(CorruptCheckpointError, match=re.escape(reason)):
        await counting(5, every=5).resume("r", checkpoints=store)


@pytest.mark.parametrize("edits", [{"fan_ins/2/0": {"count": TWO}}, {"fan_ins/2/1": {"count": ONE}}])
async def test_several_messages_of_one_source_are_refused_where_only_the_newest_is_kept(
    edits: Mapping[str, JSONValue],
) -> None:
    store = Crafted(edits)
    with pytest.raises(ConnectionError):
        await counting(5, mode="latest", weather=Weather(fails_at=4)).run(1, run_id="r", checkpoints=store)
    with pytest.raises(CorruptCheckpointError, match="several messages of one source"):
        await counting(5, mode="latest").resume("r", checkpoints=store)


async def test_newest_part_that_is_missing_is_told_by_the_digest() -> None:
    class Losing(MemoryCheckpointStore):
        async def latest(self, run_id: RunId) -> StoredCheckpoint:
            stored = await super().latest(run_id)
            return replace(stored, parts={n: text for n, text in stored.parts.items() if n != "fan_ins/2/2"})

    store = Losing()
    with pytest.raises(ConnectionError):
        await counting(5, weather=Weather(fails_at=4)).run(1, run_id="r", checkpoints=store)
    with pytest.raises(CorruptCheckpointError, match="missing, damaged or from another checkpoint"):
        await counting(5).resume("r", checkpoints=store)


async def test_list_that_claims_more_parts_than_there_are_is_refused_at_the_first_one() -> None:
    @executor(id="items")
    async def items(count: int) -> list[int]:
        return list(range(count))

    @executor(id="body")
    async def body(number: int) -> int:
        raise ConnectionError(f"{number} is down")

    @executor(id="results")
    async def results(found: list[ItemResult]) -> None: ...

    claimed: JSONValue = {
        "edge": 0, "count": 2, "trail": {}, "next_index": 2, "done_count": 0, "chunk_count": 10**15,
    }  # fmt: skip
    store = Crafted({"maps/0": claimed})
    flow = (
        WorkflowBuilder("map", version="1")
        .set_start(items)
        .add_map_edge(items, body, results, on_item_error="fail")
        .build()
    )
    with pytest.raises(ConnectionError):
        await flow.run(2, run_id="r", checkpoints=store)
    with pytest.raises(CorruptCheckpointError, match="'done/0/0' is missing"):
        await flow.resume("r", checkpoints=store)
