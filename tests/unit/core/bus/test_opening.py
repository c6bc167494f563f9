from __future__ import annotations

import subprocess
import sys

import pytest

from agentic.core.bus import BusUnavailableError, MemoryBus, open_bus
from agentic.core.settings import load_settings

SCRIPT = "import agentic.core.bus, sys; sys.exit('nats' in sys.modules or 'aiohttp' in sys.modules)"


async def test_without_a_server_the_bus_is_in_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pytest.TempPathFactory
) -> None:
    monkeypatch.delenv("AGENTIC_NATS_URL", raising=False)
    async with open_bus(load_settings(home=tmp_path)) as bus:
        assert isinstance(bus, MemoryBus)


def test_importing_the_bus_loads_no_client_library() -> None:
    assert subprocess.run([sys.executable, "-c", SCRIPT], check=False).returncode == 0


def test_an_unreachable_server_is_named_without_its_passwords() -> None:
    error = BusUnavailableError("nats://u:secret1@a:1, nats://secret2@b:2", "no answer")
    assert "nats://a:1, nats://b:2" in str(error)
    assert "secret" not in str(error)
    assert error.exit_code == 3
