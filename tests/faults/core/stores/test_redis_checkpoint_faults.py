"""Whatever happens to the process, the server, the connection or the disk, what was saved is whole."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from itertools import count, islice
from pathlib import Path
from typing import TypeVar, cast
from urllib.parse import urlsplit

import pytest
from tests.faults.core.stores.saving import assert_whole, changed, lines_of, saving
from tests.faults.executors.broker import Broker
from tests.relays import Relay, at_port, relay_to

from agentic.core import Workflow, WorkflowBuilder, WorkflowContext, executor
from agentic.core.graph.checkpoints.store import StoredCheckpoint
from agentic.core.graph.errors import CheckpointConflictError, CheckpointStoreError
from agentic.core.stores.redis_checkpoints import RedisCheckpointStore
from agentic.core.testing.checkpoint_contract import OTHER, RUN, checkpoint, ids, load_all, save_history
from agentic.core.types import RunId

pytestmark = [pytest.mark.faults, pytest.mark.integration, pytest.mark.slow, pytest.mark.requirement("CK05")]

T = TypeVar("T")

RUNNER = """
import asyncio, sys
from agentic.core.logging import configure_logging
from agentic.core.stores.redis_checkpoints import RedisCheckpointStore
from tests.faults.core.stores.test_redis_checkpoint_faults import counting

async def main():
    async with RedisCheckpointStore.open(sys.argv[1]) as store:
        await counting(dies_at=4).run(0, run_id="counted", checkpoints=store)

configure_logging()
asyncio.run(main())
"""


@pytest.fixture(scope="module")
def module_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with Broker(tmp_path_factory.mktemp("server"), "--appendfsync", "always") as broker:
        yield broker


@pytest.fixture
def server(module_server: Broker) -> Broker:
    """An empty server that has on its disk what it says was saved."""
    module_server.do("FLUSHALL")
    return module_server


@pytest.fixture
async def store(server: Broker) -> AsyncIterator[RedisCheckpointStore]:
    async with RedisCheckpointStore.open(server.url(0)) as store:
        yield store


@pytest.fixture
async def relay(server: Broker) -> AsyncIterator[Relay]:
    async with relay_to(urlsplit(server.url(0)).port or 0) as relay:
        yield relay


@pytest.fixture
async def far(server: Broker, relay: Relay) -> AsyncIterator[RedisCheckpointStore]:
    """The same runs, over a connection that can be cut."""
    async with RedisCheckpointStore.open(at_port(server.url(0), relay.port)) as store:
        yield store


async def restart(server: Broker) -> None:
    server.kill()
    await asyncio.to_thread(server.start)


async def test_a_killed_writer_leaves_whole_checkpoints_and_another_goes_on(
    server: Broker, store: RedisCheckpointStore
) -> None:
    count = 0
    for delay_s in (0.0, 0.01, 0.03):
        with saving(RedisCheckpointStore, server.url(0)) as process:
            lines = lines_of(process)
            await asyncio.to_thread(lambda: list(islice(lines, 2)))  # noqa: B023 - done before the next
            await asyncio.sleep(delay_s)
            process.kill()
            known = max(map(int, lines), default=0)
        count = await assert_whole(store, max(known, count + 2))
    assert await store.keep_last(RUN, 1) == count - 1
    assert dict((await store.latest(RUN)).parts)[f"of {count}"] == ""


async def test_a_server_that_is_killed_between_saves_has_them_all(
    server: Broker, store: RedisCheckpointStore
) -> None:
    for revision in range(1, 5):
        await store.save(changed(revision))
        await restart(server)
    await assert_whole(store, 4)


async def test_a_server_that_is_killed_during_saves_loses_none_that_returned_and_has_none_twice(
    server: Broker, store: RedisCheckpointStore
) -> None:
    with saving(RedisCheckpointStore, server.url(0)) as process:
        lines = lines_of(process)
        for delay_s in (0.0, 0.005, 0.01, 0.02):
            await asyncio.to_thread(lambda: list(islice(lines, 2)))
            await asyncio.sleep(delay_s)
            await restart(server)
        await asyncio.to_thread(lambda: list(islice(lines, 2)))
        process.kill()
        known = max(map(int, lines), default=10)
    count = await assert_whole(store, known)
    with server.client() as client:
        [run, _] = sorted(client.scan_iter())
        names = cast("list[bytes]", client.hkeys(run))
    assert sum(name.endswith(b".meta") for name in names) == count


async def test_many_runs_that_save_while_the_server_is_killed_are_whole(
    server: Broker, store: RedisCheckpointStore
) -> None:
    names = [f"run {number}" for number in range(30)]
    saves = asyncio.gather(*(save_history(store, name, repeats=6) for name in names))
    for _ in range(2):
        await asyncio.sleep(0.1)
        await restart(server)
    expected = await saves
    for name, parts in zip(names, expected, strict=True):
        assert [dict(one.parts) for one in await load_all(store, name)] == parts


@pytest.mark.parametrize("loss", ["answers", "requests"])
async def test_a_save_whose_answer_is_lost_is_no_conflict_with_itself(
    store: RedisCheckpointStore, far: RedisCheckpointStore, relay: Relay, loss: str
) -> None:
    for revision in (1, 2):
        relay.loses = loss  # type: ignore[assignment] # one of the two
        await far.save(changed(revision))
        assert relay.loss_count == revision
    await far.save(changed(3))
    await assert_whole(store, 3)


async def test_a_save_whose_answer_is_lost_counts_although_another_went_on_meanwhile(
    store: RedisCheckpointStore, far: RedisCheckpointStore, relay: Relay
) -> None:
    relay.loses = "answers"
    save = asyncio.create_task(far.save(changed(1)))
    while not await store.list_metadata(run_id=RUN):  # noqa: ASYNC110 - the server sets no event of ours
        await asyncio.sleep(0.01)
    await store.save(changed(2))
    await save
    assert relay.loss_count == 1
    await assert_whole(store, 2)


async def test_a_server_that_does_not_answer_in_time_is_asked_again(
    server: Broker, store: RedisCheckpointStore
) -> None:
    with server.client() as client:
        pid = client.info("server")["process_id"]
    async with RedisCheckpointStore.open(f"{server.url(0)}?socket_timeout=0.2") as hasty:
        await hasty.save(changed(1))
        os.kill(pid, signal.SIGSTOP)
        save = asyncio.create_task(hasty.save(changed(2)))
        await asyncio.wait([save], timeout=0.7)
        os.kill(pid, signal.SIGCONT)
        await save
        await hasty.save(changed(3))
    await assert_whole(store, 3)


async def test_removals_and_forks_whose_answers_are_lost_tell_what_they_did(
    store: RedisCheckpointStore, far: RedisCheckpointStore, relay: Relay
) -> None:
    async def cut_at(answer: int, call: Coroutine[object, object, T]) -> T:
        await far.latest(RUN)
        relay.loses, relay.spares = "answers", answer - 1
        return await call

    await save_history(store)
    for run_id in (RunId("known"), OTHER):  # the server knows all scripts, the second time
        spares = (99, 99, 99) if run_id != OTHER else (3, 2, 2)
        assert await cut_at(spares[0], far.fork(RUN, 3, run_id)) == (await store.latest(run_id)).metadata
        await save_history(store, f"{run_id} too")
        assert await cut_at(spares[1], far.keep_last(RunId(f"{run_id} too"), 3)) == 5
        assert await cut_at(spares[2], far.delete_all(RunId(f"{run_id} too"))) == 3
    assert relay.loss_count == 3
    assert ids(await store.list_metadata(newest_only=True)) == ["run@8", "known@1", "other@1"]


async def test_a_removal_whose_answer_is_lost_spares_a_run_that_began_anew_meanwhile(
    store: RedisCheckpointStore, far: RedisCheckpointStore, relay: Relay
) -> None:
    await save_history(store, OTHER)
    assert await far.delete_all(OTHER) == 8  # from now on the server knows the script
    await save_history(store)
    relay.loses, relay.spares = "answers", 1
    removal = asyncio.create_task(far.delete_all(RUN))
    while await store.list_metadata(run_id=RUN):  # noqa: ASYNC110 - the server sets no event of ours
        await asyncio.sleep(0.01)
    await store.save(checkpoint(1, {"new": "1"}))
    assert await removal == 8
    assert relay.loss_count == 1
    assert dict((await far.latest(RUN)).parts) == {"new": "1"}


async def test_full_memory_is_told_what_was_saved_stays_and_removing_helps(
    server: Broker, store: RedisCheckpointStore
) -> None:
    await save_history(store, OTHER)
    await store.save(changed(1))
    with server.client() as client:
        client.config_set("maxmemory", client.info("memory")["used_memory"])
        try:
            with pytest.raises(
                CheckpointStoreError, match=r"maxmemory.*; raise its maxmemory, or remove runs"
            ):
                await save_much(store)
            saved = len(await store.list_metadata(run_id=RUN))
            await store.list_metadata()
            # The server frees buffers of its own meanwhile, so that one more may have room.
            with pytest.raises(CheckpointStoreError, match="raise its maxmemory"):
                await save_much(store, saved + 1)
            saved = len(await store.list_metadata(run_id=RUN))
            assert await store.keep_last(OTHER, 1) == 7
            assert await store.delete_all(RUN) == saved
            await store.save(checkpoint(9, run_id=OTHER))
        finally:
            client.config_set("maxmemory", 0)
    assert len(await load_all(store, OTHER)) == 2


async def test_a_full_disk_is_told_and_what_was_saved_stays(tmp_path: Path) -> None:
    with Broker(tmp_path) as server:
        async with RedisCheckpointStore.open(server.url(0)) as store:
            await store.save(checkpoint(1, {"a": "1"}))
            server.may_write(is_so=False)
            with pytest.raises(
                CheckpointStoreError, match=r"'default' cannot be stored.*; free space on its disk"
            ):
                await save_much(store)
            server.may_write(is_so=True)
            saved = await load_all(store)
            assert revisions(saved) == list(range(1, len(saved) + 1))
            await takes_again(store, len(saved) + 1)
            await written(server)
            await restart(server)
            again = await load_all(store)
            assert revisions(again) == [*revisions(saved), len(saved) + 1]
            assert again[:-1] == saved
            assert dict(again[-1].parts) == {"a": "more"}


async def test_a_server_that_dies_on_a_full_disk_loses_only_what_came_after_its_last_write(
    tmp_path: Path,
) -> None:
    """It answers before it writes (everysec): saves go through until the first write has failed."""
    with Broker(tmp_path) as server:
        async with RedisCheckpointStore.open(server.url(0)) as store:
            await store.save(checkpoint(1, {"a": "1"}))
            await written(server)
            server.may_write(is_so=False)
            with pytest.raises(CheckpointStoreError, match="free space on its disk"):
                await save_much(store)
            lost = len(await load_all(store))
            assert lost > 1
            await restart(server)  # with space
            assert revisions(await load_all(store)) == [1]
            with pytest.raises(CheckpointConflictError):  # of a process that has seen what was lost
                await store.save(checkpoint(lost + 1))
            await store.save(checkpoint(2, {"a": "2"}))
            assert [dict(one.parts) for one in await load_all(store)] == [{"a": "1"}, {"a": "2"}]


async def test_a_server_that_stays_away_is_waited_for_and_then_told(tmp_path: Path) -> None:
    with Broker(tmp_path) as server:
        async with RedisCheckpointStore.open(server.url(0), wait_s=0.5) as store:
            await store.save(checkpoint())
            server.kill()
            began = asyncio.get_running_loop().time()
            with pytest.raises(CheckpointStoreError, match="check its address, that it is running"):
                await store.save(checkpoint(2))
            assert 0.2 < asyncio.get_running_loop().time() - began < 2


async def test_a_run_whose_process_was_killed_goes_on_from_the_server(
    server: Broker, store: RedisCheckpointStore
) -> None:
    command = [sys.executable, "-c", RUNNER, server.url(0)]
    process = await asyncio.to_thread(subprocess.run, command, check=False)
    assert process.returncode == -signal.SIGKILL
    await restart(server)
    [newest] = await store.list_metadata(newest_only=True)
    assert (newest.run_id, newest.status, newest.superstep) == ("counted", "running", 4)
    result = await counting().resume("counted", checkpoints=store)
    assert result.outputs == (6,)


def counting(dies_at: int = 0) -> Workflow:
    """Return a workflow that counts to 6, a step for each; its process is killed at one of them."""

    @executor(id="count")
    async def count(number: int, ctx: WorkflowContext[int, int]) -> None:
        if dies_at and number == dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
        if number == 6:
            await ctx.yield_output(number)
        else:
            await ctx.send_message(number + 1)

    builder = WorkflowBuilder("counting", version="1").set_start(count)
    return builder.add_edge(count, count, condition=lambda number: number <= 6).build()


async def save_much(store: RedisCheckpointStore, first: int = 2) -> None:
    """Save a run's further checkpoints, until that fails.

    A server that syncs its file meanwhile writes no more to it for up to two seconds, and notices no full
    disk before.
    """
    async with asyncio.timeout(30):
        for revision in count(first):
            await store.save(checkpoint(revision, {"a": os.urandom(50_000).hex()}))


async def written(server: Broker) -> None:
    """Wait until a server has written all that it took: a kill, unlike a power cut, does not undo it."""
    async with asyncio.timeout(20):
        with server.client() as client:
            while client.info("persistence")["aof_buffer_length"]:  # noqa: ASYNC110 - the server sets no event of ours
                await asyncio.sleep(0.05)


def revisions(found: Sequence[StoredCheckpoint]) -> list[int]:
    return [one.metadata.revision for one in found]


async def takes_again(store: RedisCheckpointStore, revision: int) -> None:
    """Save, as soon as the server has noticed that it has room again."""
    async with asyncio.timeout(20):
        while True:
            try:
                return await store.save(checkpoint(revision, {"a": "more"}))
            except CheckpointStoreError:
                await asyncio.sleep(0.1)
