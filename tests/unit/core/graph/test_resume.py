"""Checkpoints: going on after a crash, a failure, a limit; forks, versions, damage."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pydantic import BaseModel

from agentic.core import (
    EventKind,
    Executor,
    ItemResult,
    MemoryCheckpointStore,
    RetryPolicy,
    RunStatus,
    Workflow,
    WorkflowBuilder,
    WorkflowConfig,
    WorkflowContext,
    executor,
    handler,
)
from agentic.core.graph import (
    Checkpoint,
    CheckpointConflictError,
    CheckpointNotFoundError,
    CheckpointStoreError,
    CheckpointVersionError,
    ConvergenceError,
    CorruptCheckpointError,
    RetriesExhaustedError,
    StoredCheckpoint,
    UnencodableError,
)
from agentic.core.graph.checkpoints.restore import restore
from agentic.core.graph.checkpoints.store import part_digest
from agentic.core.graph.model.document import CheckpointDocument
from agentic.core.types import RunId


@dataclass(frozen=True)
class Page:
    """A message."""

    url: str
    text: str


class Note(BaseModel):
    """An output."""

    page: Page
    length: int


class Visits:
    """What was run how often, outside of any run."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.broken = True


def pages(visits: Visits) -> Workflow:
    @executor(id="start")
    async def start(text: str, ctx: WorkflowContext) -> None:
        visits.made.append("start")
        for letter in text:
            await ctx.send_message(letter)

    @executor(id="fetch")
    async def fetch(letter: str, ctx: WorkflowContext) -> Page:
        visits.made.append(letter)
        if visits.broken and letter == "b":
            raise ConnectionError("b is down")
        ctx.set_state(letter, {"seen": True})
        return Page(letter, letter * 3)

    @executor(id="note")
    async def note(page: Page) -> Note:
        visits.made.append(f"note {page.url}")
        return Note(page=page, length=len(page.text))

    return (
        WorkflowBuilder("pages", version="1")
        .set_start(start)
        .add_edge(start, fetch)
        .add_edge(fetch, note)
        .build()
    )


@pytest.fixture
def store() -> MemoryCheckpointStore:
    return MemoryCheckpointStore()


@pytest.mark.requirement("EN07", "EN09", "EN10", "CK02")
async def test_resume_runs_only_what_did_not_finish(store: MemoryCheckpointStore) -> None:
    visits = Visits()
    with pytest.raises(ConnectionError):
        await pages(visits).run("abc", run_id="r", checkpoints=store)
    visits.broken = False
    again = Visits()
    again.broken = False
    result = await pages(again).resume("r", checkpoints=store)
    # c waits for b: it would not see what b writes.
    assert again.made == ["b", "c", "note a", "note b", "note c"]
    assert result.outputs == tuple(Note(page=Page(x, x * 3), length=3) for x in "abc")
    assert result.events[0].kind is EventKind.RUN_RESUMED
    assert result.events[0].data["was"] == "failed"


async def test_every_checkpoint_leads_to_the_same_outputs(store: MemoryCheckpointStore) -> None:
    visits = Visits()
    visits.broken = False
    whole = await pages(visits).run("ab", run_id="r", checkpoints=store)
    found = await store.list_metadata(run_id=RunId("r"))
    assert [(m.superstep, m.status) for m in reversed(found)] == [
        (0, RunStatus.RUNNING),
        (1, RunStatus.RUNNING),
        (2, RunStatus.RUNNING),
        (3, RunStatus.COMPLETED),
    ]
    for metadata in found:
        again = await pages(visits).resume("r", checkpoints=store, checkpoint_id=metadata.id)
        assert again.outputs == whole.outputs


@pytest.mark.requirement("CK09")
async def test_going_on_from_an_old_checkpoint_leaves_the_first_history_as_it_is(
    store: MemoryCheckpointStore,
) -> None:
    visits = Visits()
    visits.broken = False
    await pages(visits).run("ab", run_id="r", checkpoints=store)
    before = [await store.load(RunId("r"), revision) for revision in range(1, 5)]
    fork = await pages(visits).resume("r", checkpoints=store, checkpoint_id="r@2")
    assert fork.run_id.startswith("r~2-")
    assert [await store.load(RunId("r"), revision) for revision in range(1, 5)] == before
    first = (await store.list_metadata(run_id=fork.run_id))[-1]
    assert first.forked_from == "r@2"


async def test_completed_run_is_only_read(store: MemoryCheckpointStore) -> None:
    visits = Visits()
    visits.broken = False
    whole = await pages(visits).run("a", run_id="r", checkpoints=store)
    made = list(visits.made)
    again = await pages(visits).resume("r", checkpoints=store)
    assert (again.outputs, again.status, visits.made) == (whole.outputs, RunStatus.COMPLETED, made)
    assert len(await store.list_metadata(run_id=RunId("r"))) == 4


async def test_limit_leaves_a_run_that_can_go_on_with_a_higher_one(store: MemoryCheckpointStore) -> None:
    visits = Visits()
    visits.broken = False
    flow = pages(visits)
    with pytest.raises(ConvergenceError):
        await flow.run("a", run_id="r", checkpoints=store, config=WorkflowConfig(max_supersteps=2))
    result = await flow.resume("r", checkpoints=store)
    assert len(result.outputs) == 1
    assert visits.made == ["start", "a", "note a"]


def grading(max_passes: int, version: str | None, *, max_supersteps: int = 1000) -> Workflow:
    """Return a workflow, in another one, whose validator is content with the third draft."""

    @executor(id="write")
    async def write(text: str, ctx: WorkflowContext) -> str:
        return f"{text}{len(ctx.previous_errors)}"

    @executor(id="grade")
    async def grade(text: str) -> str:
        return text

    @executor(id="print")
    async def prints(text: str) -> str:
        return text

    inner = (
        WorkflowBuilder("inner", version, WorkflowConfig(max_supersteps=max_supersteps))
        .set_start(write)
        .add_edge(write, grade)
        .add_edge(grade, prints, lambda text: text.endswith("2"))
        .add_retry_edge(grade, write, when=lambda text: not text.endswith("2"), max_passes=max_passes)
        .build()
    )
    return WorkflowBuilder("outer", version).set_start(inner.as_executor("in")).build()


@pytest.mark.parametrize("version", [None, "1"])
async def test_run_that_had_no_pass_left_goes_on_with_more_of_them(
    store: MemoryCheckpointStore, version: str | None
) -> None:
    with pytest.raises(RetriesExhaustedError, match="raise max_passes and resume the run"):
        await grading(1, version).run("x", run_id="r", checkpoints=store)
    result = await grading(2, version).resume("r", checkpoints=store)
    assert result.outputs == ("x2",)


@pytest.mark.parametrize("version", [None, "1"])
async def test_run_whose_sub_workflow_did_not_come_to_rest_goes_on_with_a_higher_limit(
    store: MemoryCheckpointStore, version: str | None
) -> None:
    with pytest.raises(ConvergenceError, match=r"raise WorkflowConfig\(max_supersteps=...\)"):
        await grading(2, version, max_supersteps=3).run("x", run_id="r", checkpoints=store)
    result = await grading(2, version).resume("r", checkpoints=store)
    assert result.outputs == ("x2",)


async def test_cancelled_run_can_be_taken_up_again(store: MemoryCheckpointStore) -> None:
    entered = asyncio.Event()

    @executor(id="slow")
    async def slow(text: str) -> str:
        if not entered.is_set():
            entered.set()
            await asyncio.Event().wait()
        return text

    flow = WorkflowBuilder("w", version="1").set_start(slow).build()
    task = asyncio.create_task(flow.run("x", run_id="r", checkpoints=store))
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await store.latest(RunId("r"))).metadata.status is RunStatus.CANCELLED
    assert (await flow.resume("r", checkpoints=store)).outputs == ("x",)


def mapping(visits: Visits) -> Workflow:
    @executor(id="items")
    async def items(count: int) -> list[int]:
        return list(range(count))

    @executor(id="body")
    async def body(number: int) -> int:
        visits.made.append(str(number))
        if visits.broken and number == 5:
            raise ValueError(number)
        return number * 10

    @executor(id="join")
    async def join(results: list[ItemResult]) -> list[object]:
        return [result.value for result in results]

    return (
        WorkflowBuilder("map", version="1")
        .set_start(items)
        .add_map_edge(items, body, join, window=2, on_item_error="fail")
        .build()
    )


async def test_map_goes_on_at_its_window(store: MemoryCheckpointStore) -> None:
    visits = Visits()
    with pytest.raises(ValueError, match="5"):
        await mapping(visits).run(7, run_id="r", checkpoints=store)
    again = Visits()
    again.broken = False
    result = await mapping(again).resume("r", checkpoints=store)
    assert result.outputs == ([0, 10, 20, 30, 40, 50, 60],)
    assert again.made == ["5", "6"]


async def test_sub_workflow_goes_on_inside_and_is_not_begun_again(store: MemoryCheckpointStore) -> None:
    visits = Visits()
    outer = WorkflowBuilder("outer", version="1").set_start(pages(visits)).build()
    with pytest.raises(ConnectionError):
        await outer.run("ab", run_id="r", checkpoints=store)
    again = Visits()
    again.broken = False
    outer = WorkflowBuilder("outer", version="1").set_start(pages(again)).build()
    result = await outer.resume("r", checkpoints=store)
    assert again.made == ["b", "note a", "note b"]
    assert [note.length for note in result.outputs if isinstance(note, Note)] == [3, 3]


def echo(suffix: str, version: str | None = None) -> Workflow:
    @executor(id="wait")
    async def wait(text: str, ctx: WorkflowContext) -> str:
        return await ctx.request_info(text, str) + suffix

    return WorkflowBuilder("echo", version=version).set_start(wait).build()


async def test_without_a_version_changed_code_is_refused(store: MemoryCheckpointStore) -> None:
    await echo("!").run("x", run_id="r", checkpoints=store)
    with pytest.raises(CheckpointVersionError, match="wait"):
        await echo("?").resume("r", checkpoints=store, responses={"r:wait.0.0.1": "y"})


async def test_with_a_version_changed_code_is_told(store: MemoryCheckpointStore) -> None:
    await echo("!", "1").run("x", run_id="r", checkpoints=store)
    result = await echo("?", "1").resume("r", checkpoints=store, responses={"r:wait.0.0.1": "y"})
    assert result.outputs == ("y?",)
    with pytest.raises(CheckpointVersionError, match="2"):
        await echo("?", "2").resume("r", checkpoints=store)


async def test_run_that_is_not_stored_is_named(store: MemoryCheckpointStore) -> None:
    with pytest.raises(CheckpointNotFoundError, match="'nobody'"):
        await echo("!").resume("nobody", checkpoints=store)
    await echo("!").run("x", run_id="r", checkpoints=store)
    with pytest.raises(CheckpointNotFoundError, match="checkpoint 9 of run 'r'"):
        await echo("!").resume("r", checkpoints=store, checkpoint_id="r@9")


async def test_run_id_that_is_taken_is_refused(store: MemoryCheckpointStore) -> None:
    await echo("!").run("x", run_id="r", checkpoints=store)
    with pytest.raises(CheckpointConflictError):
        await echo("!").run("x", run_id="r", checkpoints=store)


@pytest.mark.requirement("ED18")
async def test_value_that_cannot_be_stored_is_refused_at_the_send(store: MemoryCheckpointStore) -> None:
    @executor(id="send")
    async def send(text: str, ctx: WorkflowContext) -> None:
        await ctx.send_message(object())

    @executor(id="take")
    async def take(value: object) -> None: ...

    flow = WorkflowBuilder("w", version="1").set_start(send).add_edge(send, take).build()
    with pytest.raises(UnencodableError, match="object"):
        await flow.run("x", checkpoints=store)


class Edited(MemoryCheckpointStore):
    """A store whose content somebody changed."""

    def __init__(self, old: str, new: str) -> None:
        super().__init__()
        self._edit = (old, new)

    async def latest(self, run_id: RunId) -> StoredCheckpoint:
        stored = await super().latest(run_id)
        return replace(
            stored,
            head=stored.head.replace(*self._edit),
            parts={name: text.replace(*self._edit) for name, text in stored.parts.items()},
        )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"to":"wait"', '"to":"other"'),
        ('"schema":1', '"schema":2'),
        ('"superstep":0', '"superstep":-1'),
        ('"status":"waiting_input"', '"status":"dancing"'),
        ('{"', '{"extra":1,"'),
        ("{", ""),
        ('"question":"x"', '"question":{"$":"os.system","v":"ls"}'),
        ('"question":"x"', '"question":{"$":"builtins.eval","v":[]}'),
        ('"digest":"', '"digest":"0'),
    ],
)
async def test_damaged_or_crafted_checkpoint_is_refused(old: str, new: str) -> None:
    store = Edited(old, new)
    await echo("!", "1").run("x", run_id="r", checkpoints=store)
    stored = await MemoryCheckpointStore.latest(store, RunId("r"))
    assert old in stored.head + "".join(stored.parts.values())
    with pytest.raises(CorruptCheckpointError, match="r@"):
        await echo("!", "1").resume("r", checkpoints=store)


async def test_large_values_are_kept_once_and_only_as_long_as_they_are_needed(
    store: MemoryCheckpointStore,
) -> None:
    large = "x" * 100_000

    @executor(id="a")
    async def first(text: str) -> str:
        return large

    @executor(id="b")
    async def second(text: str) -> str:
        return text

    @executor(id="c")
    async def third(text: str) -> int:
        return len(text)

    flow = (
        WorkflowBuilder("w", version="1")
        .set_start(first)
        .add_edge(first, second)
        .add_edge(second, third)
        .build()
    )
    await flow.run("", run_id="r", checkpoints=store)
    sizes = [m.size_bytes for m in reversed(await store.list_metadata(run_id=RunId("r")))]
    assert [size > 100_000 for size in sizes] == [False, True, False, False]
    assert not any(name.startswith("content/") for name in (await store.latest(RunId("r"))).parts)


class Failing(MemoryCheckpointStore):
    """A store that goes away after some saves."""

    def __init__(self, good: int) -> None:
        super().__init__()
        self.good = good

    async def save(self, checkpoint: Checkpoint) -> None:
        if checkpoint.metadata.revision > self.good:
            raise CheckpointStoreError("disk full")
        await super().save(checkpoint)


async def test_failed_save_fails_the_run_by_default() -> None:
    visits = Visits()
    visits.broken = False
    store = Failing(2)
    stream = pages(visits).run_stream("a", run_id="r", checkpoints=store)
    kinds = [event.kind async for event in stream]
    assert EventKind.CHECKPOINT_FAILED in kinds
    with pytest.raises(CheckpointStoreError, match="disk full"):
        await stream.result()
    assert visits.made == ["start", "a"]
    store.good = 99
    again = await pages(visits).resume("r", checkpoints=store)
    assert len(again.outputs) == 1


async def test_run_can_go_on_without_its_checkpoints_and_says_so() -> None:
    visits = Visits()
    visits.broken = False
    config = WorkflowConfig(on_checkpoint_failure="continue")
    stream = pages(visits).run_stream("a", checkpoints=Failing(1), config=config)
    kinds = [event.kind async for event in stream]
    assert kinds.count(EventKind.CHECKPOINT_FAILED) == 3
    assert (await stream.result()).status is RunStatus.COMPLETED


async def test_old_checkpoints_go_when_only_some_are_to_be_kept(store: MemoryCheckpointStore) -> None:
    @executor(id="loop")
    async def loop(number: int, ctx: WorkflowContext) -> int | None:
        await ctx.yield_output(number)
        return number - 1 if number else None

    flow = (
        WorkflowBuilder("w", version="1")
        .set_start(loop)
        .add_conditional_edge(loop, loop, lambda number: True)
        .build()
    )
    await flow.run(30, run_id="r", checkpoints=store, config=WorkflowConfig(keep_checkpoints=3))
    kept = await store.list_metadata(run_id=RunId("r"))
    assert [m.revision for m in kept] == [32, 31, 30]
    assert (await flow.resume("r", checkpoints=store)).outputs == tuple(range(30, -1, -1))


class Growing(Executor):
    """Sends itself what it got until it is enough."""

    @handler
    async def grow(self, number: int, ctx: WorkflowContext) -> int | None:
        ctx.set_state(f"key {number % 100}", number)
        return number + 1 if number < 400 else None


async def test_checkpoint_costs_what_changed_and_not_what_there_is(store: MemoryCheckpointStore) -> None:
    flow = (
        WorkflowBuilder("w", version="1")
        .set_start(Growing("grow"))
        .add_conditional_edge("grow", "grow", lambda number: True)
        .build()
    )
    await flow.run(0, run_id="r", checkpoints=store)
    sizes = [m.size_bytes for m in reversed(await store.list_metadata(run_id=RunId("r")))]
    assert max(sizes[300:]) < 1.1 * max(sizes[1:10])


async def test_stored_text_is_json_and_nothing_else(store: MemoryCheckpointStore, tmp_path: Path) -> None:
    visits = Visits()
    visits.broken = False
    await pages(visits).run("ab", run_id="r", checkpoints=store)
    for revision in range(1, 5):
        stored = await store.load(RunId("r"), revision)
        for text in (stored.head, *stored.parts.values()):
            json.loads(text)


def renamed(document: CheckpointDocument) -> CheckpointDocument:
    """Version 2 calls ``wait`` ``ask``."""
    text = json.dumps([document.head, dict(document.parts)]).replace("wait.0.0", "ask.0.0")
    head, parts = json.loads(text.replace('"to": "wait"', '"to": "ask"'))
    return CheckpointDocument(head, parts)


def asks(version: str) -> WorkflowBuilder:
    @executor(id="ask")
    async def ask(text: str, ctx: WorkflowContext) -> str:
        ctx.set_state("asked", text)
        return text + await ctx.request_info("?", str)

    return WorkflowBuilder("echo", version=version).set_start(ask)


async def test_migration_makes_a_run_of_an_old_version_one_of_the_new(store: MemoryCheckpointStore) -> None:
    await echo("!", "1").run("x" * 50_000, run_id="r", checkpoints=store)
    answers: dict[str, object] = {"r:ask.0.0.1": "y"}
    with pytest.raises(CheckpointVersionError):
        await asks("2").build().resume("r", checkpoints=store, responses=answers)
    flow = asks("2").add_migration("1", renamed).build()
    result = await flow.resume("r", checkpoints=store, responses=answers)
    assert result.outputs == ("x" * 50_000 + "y",)
    again = await asks("2").build().resume("r", checkpoints=store)
    assert again.outputs == result.outputs


async def test_what_a_migration_renamed_and_the_same_save_drops_is_not_stored(
    store: MemoryCheckpointStore,
) -> None:
    await echo("!", "1").run("x" * 50_000, run_id="r", checkpoints=store)
    flow = asks("2").add_migration("1", renamed).build()
    await flow.resume("r", checkpoints=store, responses={"r:ask.0.0.1": "y"})
    parts = (await store.load(RunId("r"), 3)).parts
    assert [name for name in parts if name.startswith("parked/")] == []


class ShuffledStore(MemoryCheckpointStore):
    """Returns parts in an order of its own."""

    async def latest(self, run_id: RunId) -> StoredCheckpoint:
        stored = await super().latest(run_id)
        return replace(stored, parts=dict(sorted(stored.parts.items(), reverse=True)))


async def test_order_of_a_stores_parts_does_not_matter() -> None:
    @executor(id="split")
    async def split(text: str, ctx: WorkflowContext) -> None:
        for number in range(12):
            await ctx.send_message(f"{text}{number}")

    @executor(id="ask")
    async def ask(text: str, ctx: WorkflowContext) -> str:
        return await ctx.request_info(text, str)

    store = ShuffledStore()
    flow = WorkflowBuilder("order").set_start(split).add_edge(split, ask).build()
    first = await flow.run("x", run_id="r", checkpoints=store)
    again = await flow.resume("r", checkpoints=store)
    assert [asked.data for asked in again.pending_requests] == [
        asked.data for asked in first.pending_requests
    ]
    responses = {asked.id: str(asked.data) for asked in first.pending_requests}
    end = await flow.resume("r", checkpoints=store, responses=responses)
    assert end.outputs == tuple(f"x{number}" for number in range(12))


class SlowStore(MemoryCheckpointStore):
    """Tells when it saves what came of a superstep, and takes its time."""

    def __init__(self, revision: int) -> None:
        super().__init__()
        self.revision = revision
        self.is_saving = asyncio.Event()

    async def save(self, checkpoint: Checkpoint) -> None:
        await super().save(checkpoint)
        if checkpoint.metadata.revision == self.revision:
            self.is_saving.set()
            await asyncio.Event().wait()


async def test_cancellation_between_two_supersteps_leaves_nothing_of_the_first_in_the_second() -> None:
    tries: list[tuple[str, int]] = []

    @executor(id="flaky", retry=RetryPolicy(max_attempts=2, first_delay_s=0))
    async def flaky(text: str, ctx: WorkflowContext) -> str:
        tries.append((text, ctx.attempt))
        if text == "a" and ctx.attempt == 1:
            raise OSError(text)
        return text + "a"

    store = SlowStore(revision=2)
    flow = WorkflowBuilder("loop").set_start(flaky).add_edge(flaky, flaky, lambda text: len(text) < 3).build()
    run = asyncio.create_task(flow.run("a", run_id="r", checkpoints=store))
    await store.is_saving.wait()
    run.cancel()
    await asyncio.wait([run])
    await flow.resume("r", checkpoints=store)
    assert tries == [("a", 1), ("a", 2), ("aa", 1)]


async def test_crafted_state_of_a_sub_workflow_is_refused(store: MemoryCheckpointStore) -> None:
    @executor(id="ask")
    async def ask(text: str, ctx: WorkflowContext) -> str:
        return await ctx.request_info(text, str)

    inner = WorkflowBuilder("inner").set_start(ask).build().as_executor("inner")
    flow = WorkflowBuilder("outer").set_start(inner).build()
    await flow.run("x", run_id="r", checkpoints=store)
    stored = await store.latest(RunId("r"))
    parts = {name: text.replace('"to":"ask"', '"to":"other"') for name, text in stored.parts.items()}
    assert parts != stored.parts
    digest = 0
    for name, text in parts.items():
        digest ^= part_digest(name, text)
    head = json.dumps({**json.loads(stored.head), "digest": f"{digest:032x}"})
    with pytest.raises(CorruptCheckpointError, match="an executor 'other', which the workflow does not have"):
        restore(replace(stored, head=head, parts=parts), flow)
