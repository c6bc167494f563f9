from __future__ import annotations

import subprocess
import sys

import pytest

from agentic.core.bus import BusUnavailableError, MemoryBus, open_bus
from agentic.core.settings import load_settings

SCRIPT = "import agentic.core.bus, sys; sys.exit('nats' in sys.modules or 'aiohttp' in sys.modules)"


PLAIN = """
import asyncio, sys
import agentic.core.bus.nats.bus
assert "nats" in sys.modules and "aiohttp" not in sys.modules
import aiohttp, nats.aio.transport
assert aiohttp.ClientSession and nats.aio.transport.aiohttp is None
bus = agentic.core.bus.nats.bus.NatsBus("ws://127.0.0.1:9")
try:
    asyncio.run(bus.state())
except agentic.core.bus.BusUnavailableError as exc:
    assert "Cannot connect to host 127.0.0.1:9" in str(exc), exc
assert nats.aio.transport.aiohttp is aiohttp
"""


async def test_without_a_server_the_bus_is_in_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pytest.TempPathFactory
) -> None:
    monkeypatch.delenv("AGENTIC_NATS_URL", raising=False)
    async with open_bus(load_settings(home=tmp_path)) as bus:
        assert isinstance(bus, MemoryBus)


def test_importing_the_bus_loads_no_client_library() -> None:
    assert subprocess.run([sys.executable, "-c", SCRIPT], check=False).returncode == 0


def test_the_client_library_loads_aiohttp_for_a_websocket_only() -> None:
    assert subprocess.run([sys.executable, "-c", PLAIN], check=False).returncode == 0


def test_an_unreachable_server_is_named_without_its_passwords() -> None:
    error = BusUnavailableError("nats://u:secret1@a:1, nats://secret2@b:2", "no answer")
    assert "nats://a:1, nats://b:2" in str(error)
    assert "secret" not in str(error)
    assert error.exit_code == 3
