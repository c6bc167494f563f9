"""Whatever happens to the process, the server, the connection or the disk, what was saved is whole."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.faults.core.stores.saving import MANY, assert_whole, changed, lines_of, saving
from tests.faults.disks import filled, small_disk
from tests.relays import at_port, relay_to

from agentic.core.graph.checkpoints.store import CheckpointStore
from agentic.core.graph.errors import CheckpointConflictError, CheckpointStoreError
from agentic.core.services import ServiceSupervisor, nats_service
from agentic.core.stores.nats_checkpoints import NatsCheckpointStore
from agentic.core.testing.checkpoint_contract import OTHER, RUN, checkpoint, load_all

pytestmark = [pytest.mark.faults, pytest.mark.integration, pytest.mark.slow, pytest.mark.requirement("CK10")]


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ServiceSupervisor]:
    """A server of the test's own, which is started again when it dies."""
    async with ServiceSupervisor(tmp_path, [nats_service(tmp_path)]) as supervisor:
        yield supervisor


@pytest.fixture
async def store(server: ServiceSupervisor) -> AsyncIterator[CheckpointStore]:
    async with NatsCheckpointStore.open(server.urls["nats"]) as store:
        yield store


async def test_a_killed_writer_leaves_whole_checkpoints_and_another_goes_on(
    server: ServiceSupervisor, store: CheckpointStore
) -> None:
    count = 0
    for delay_s in (0.0, 0.01, 0.03):
        with saving(NatsCheckpointStore, server.urls["nats"]) as process:
            lines = lines_of(process)
            await asyncio.to_thread(lambda: list(islice(lines, 2)))  # noqa: B023 - done before the next
            await asyncio.sleep(delay_s)
            process.kill()
            known = max(map(int, lines), default=0)
        await asyncio.sleep(0.5)  # what it had sent is written, or never will be
        count = await assert_whole(store, max(known, count + 2))
    assert await store.keep_last(RUN, 1) == count - 1
    assert dict((await store.latest(RUN)).parts)[f"of {count}"] == ""


async def test_a_server_that_is_killed_during_saves_loses_none_that_returned(
    server: ServiceSupervisor, store: CheckpointStore, tmp_path: Path
) -> None:
    assert not await store.list_metadata()  # a server is waited for by who was connected to it
    with saving(NatsCheckpointStore, server.urls["nats"]) as process:
        lines = lines_of(process)
        for delay_s in (0.0, 0.02, 0.05):
            await asyncio.to_thread(lambda: list(islice(lines, 2)))
            await asyncio.sleep(delay_s)
            kill_server(tmp_path)
        await asyncio.to_thread(lambda: list(islice(lines, 2)))
        process.kill()
        known = max(map(int, lines), default=8)
    await asyncio.sleep(0.5)  # what it had sent is written, or never will be
    await assert_whole(store, known)


@pytest.mark.parametrize("loss", ["answers", "requests"])
@pytest.mark.parametrize("revision", [2, 3])
async def test_a_save_whose_answer_is_lost_is_no_conflict_with_itself(
    server: ServiceSupervisor, store: CheckpointStore, loss: str, revision: int
) -> None:
    async with (
        relay_to(urlsplit(server.urls["nats"]).port or 0) as relay,
        NatsCheckpointStore.open(at_port(server.urls["nats"], relay.port)) as far,
    ):
        for number in range(1, revision):
            await far.save(changed(number))
        relay.loses = loss  # type: ignore[assignment] # one of the two
        await far.save(changed(revision))
        assert relay.loss_count == 1
        await far.save(changed(revision + 1))
    await assert_whole(store, revision + 1)


async def test_rivals_with_large_checkpoints_do_not_mix(
    server: ServiceSupervisor, store: CheckpointStore
) -> None:
    async with NatsCheckpointStore.open(server.urls["nats"]) as other:
        for revision in range(1, 4):
            ours, theirs = ({f"item {n}": who for n in range(MANY)} for who in ("ours", "theirs"))
            outcomes = await asyncio.gather(
                store.save(checkpoint(revision, ours)),
                other.save(checkpoint(revision, theirs)),
                return_exceptions=True,
            )
            assert [type(outcome) for outcome in outcomes if outcome] == [CheckpointConflictError]
            parts = (await store.latest(RUN)).parts
            assert set(parts.values()) == {"ours" if outcomes[0] is None else "theirs"}
    await store.keep_last(RUN, 1)
    assert len((await store.latest(RUN)).parts) == MANY


async def test_a_full_disk_is_told_and_what_was_saved_stays(tmp_path: Path) -> None:
    folder = tmp_path / "nats"
    folder.mkdir()
    with small_disk(folder, "24m"):
        async with (
            ServiceSupervisor(tmp_path, [nats_service(tmp_path)]) as supervisor,
            NatsCheckpointStore.open(supervisor.urls["nats"]) as store,
        ):
            await store.save(checkpoint(1, {"a": "1"}))
            with filled(folder), pytest.raises(CheckpointStoreError, match="'default' cannot be stored"):
                await save_much(store)
            kill_server(tmp_path)  # it takes nothing any more once its disk was full
            saved = await load_all(store)
            assert [one.metadata.revision for one in saved] == list(range(1, len(saved) + 1))
            await store.save(checkpoint(len(saved) + 1, {"a": "more"}))
            await store.fork(RUN, 1, OTHER)
            assert dict((await store.latest(OTHER)).parts) == {"a": "1"}


async def save_much(store: CheckpointStore) -> None:
    for revision in range(2, 30):
        await store.save(checkpoint(revision, {"a": os.urandom(200_000).hex()}))


def kill_server(home: Path) -> None:
    note = json.loads((home / "runtime.json").read_text(encoding="utf-8"))
    os.kill(note["pids"]["nats"], signal.SIGKILL)
