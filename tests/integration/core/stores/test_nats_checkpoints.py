"""Checkpoints in a NATS bucket, and in the one in memory that has the same interface."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentic.core.bus import MemoryKeyValue
from agentic.core.graph.checkpoints.store import CheckpointStore
from agentic.core.services import ServiceSupervisor, nats_service
from agentic.core.stores.nats_checkpoints import NatsCheckpointStore
from agentic.core.testing import CheckpointStoreContract
from agentic.core.testing.checkpoint_contract import checkpoint

pytestmark = pytest.mark.integration


@pytest.fixture
async def nats_url(tmp_path: Path) -> AsyncIterator[str]:
    """Return the URL of an embedded server of this test's own."""
    async with ServiceSupervisor(tmp_path, [nats_service(tmp_path)]) as supervisor:
        yield supervisor.urls["nats"]


class TestInMemory(CheckpointStoreContract):
    @pytest.fixture
    def store(self) -> CheckpointStore:
        return NatsCheckpointStore(MemoryKeyValue(), project="shop")


@pytest.mark.requirement("CK10")
class TestNatsCheckpointStore(CheckpointStoreContract):
    @pytest.fixture
    async def store(self, nats_url: str) -> AsyncIterator[CheckpointStore]:
        async with NatsCheckpointStore.open(nats_url, project="shop") as store:
            yield store


async def test_a_checkpoint_larger_than_the_server_takes_in_one_message_is_kept_in_pieces(
    tmp_path: Path,
) -> None:
    """As a server is by default: 1 MiB a message."""
    service = nats_service(tmp_path)
    (tmp_path / "nats" / "server.conf").write_text("jetstream {}", encoding="utf-8")
    wide = checkpoint(1, changes={"part": json.dumps("x" * 5_000_000)})
    async with (
        ServiceSupervisor(tmp_path, [service]),
        NatsCheckpointStore.open(service.urls["nats"], project="shop") as store,
    ):
        await store.save(wide)
        loaded = await store.load(wide.metadata.run_id, 1)
    assert loaded.parts == wide.changes
