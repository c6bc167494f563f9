"""Each transport under the contract of all."""

from __future__ import annotations

import subprocess
import sys

import pytest

from agentic.core.http import HttpPolicy, open_transport
from agentic.core.http.transports import wire
from agentic.core.testing.http_peer import listening, page
from agentic.core.testing.http_transport import OpenTransport, TransportContract, send

pytestmark = pytest.mark.integration


def opening(name: str) -> OpenTransport:
    return lambda policy: open_transport(HttpPolicy.model_validate(policy.model_dump() | {"transport": name}))


class TestAiohttpTransport(TransportContract):
    @pytest.fixture
    def open_transport(self) -> OpenTransport:
        return opening("aiohttp")


class TestHttpx2Transport(TransportContract):
    @pytest.fixture
    def open_transport(self) -> OpenTransport:
        return opening("httpx2")


class TestCurlTransport(TransportContract):
    @pytest.fixture
    def open_transport(self) -> OpenTransport:
        return opening("curl_cffi")


@pytest.mark.parametrize("name", ["httpx2", "curl_cffi"])
async def test_the_address_that_was_checked_is_the_one_connected_to(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No name server knows this name: the library cannot have asked a second time."""

    async def look_up(host: str, port: int) -> list[str]:
        return ["127.0.0.1"] if host == "pinned.invalid" else []

    monkeypatch.setattr(wire, "_look_up", look_up)
    policy = HttpPolicy(allow_private_hosts=("pinned.invalid",))
    async with listening(page(b"hello")) as peer, opening(name)(policy) as opened:
        response = await send(opened, f"http://pinned.invalid:{peer.port}/")
    assert response.body == b"hello"
    assert f"host: pinned.invalid:{peer.port}".encode() in peer.requests[0].lower()


def test_no_client_library_is_loaded_before_it_is_used() -> None:
    libraries = {"aiohttp", "httpx2", "httpcore2", "curl_cffi", "protego", "redis", "yarl"}
    code = f"import sys, agentic.core.http; sys.exit(not {libraries}.isdisjoint(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
