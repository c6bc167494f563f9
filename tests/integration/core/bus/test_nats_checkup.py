"""What ``agentic doctor`` says of NATS servers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from os import urandom
from pathlib import Path

import nats
import pytest

from agentic.core.audit import DecisionKind, decided
from agentic.core.bus.decisions import decision_message
from agentic.core.bus.nats.bus import NatsBus
from agentic.core.bus.nats.checkup import nats_findings
from agentic.core.bus.nats.streams import AUDIT_STREAM, STREAM
from agentic.core.bus.subjects import EVENT_SUBJECTS
from agentic.core.hooks import Finding, Severity
from agentic.core.services import ServiceSupervisor, nats_service

pytestmark = pytest.mark.integration

Server = Callable[[str], Awaitable[tuple[str, str]]]
FULL = 1_000_000


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    """Return a function that starts a server, configured otherwise; it returns where that listens."""
    async with AsyncExitStack() as stack:

        async def start(config: str) -> tuple[str, str]:
            service = nats_service(tmp_path)
            file = tmp_path / "nats" / "server.conf"
            monitoring = [
                line for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("http")
            ]
            file.write_text("\n".join([*monitoring, config]), encoding="utf-8")
            supervisor = await stack.enter_async_context(ServiceSupervisor(tmp_path, [service]))
            return supervisor.urls["nats"], supervisor.urls["nats_http"]

        yield start


async def findings(url: str, http_url: str | None) -> list[Finding]:
    return await asyncio.to_thread(lambda: list(nats_findings(url, http_url)))


async def test_the_embedded_server_gives_no_cause_for_complaint(tmp_path: Path) -> None:
    async with ServiceSupervisor(tmp_path, [nats_service(tmp_path)]) as supervisor:
        assert await findings(supervisor.urls["nats"], supervisor.urls["nats_http"]) == []


async def test_one_that_seldom_writes_to_its_disk_is_told_with_how_seldom(server: Server) -> None:
    [finding] = await findings(*await server("jetstream { max_file: 2GB }"))

    assert "every 120 s only (sync_interval)" in finding.text
    assert finding.severity is Severity.WARNING


async def test_one_without_jetstream_is_a_fault(server: Server) -> None:
    [finding] = await findings(*await server(""))

    assert "JetStream is not available there" in finding.text
    assert finding.severity is Severity.FAULT


async def test_one_that_is_nearly_full_is_told_with_how_full(server: Server) -> None:
    url, http_url = await server(f"jetstream {{ sync_interval: always, max_file: {FULL} }}")
    client = await nats.connect(url)
    stream = client.jetstream()
    await stream.add_stream(name=STREAM, subjects=list(EVENT_SUBJECTS), max_bytes=1, allow_atomic=True)
    await stream.add_stream(name="filler", subjects=["filler"])
    await stream.publish("filler", b"x" * (FULL * 9 // 10))
    await client.close()

    found = await findings(url, http_url)

    assert [finding.text[:22] for finding in found] == ["JetStream uses 90% of "]


async def test_monitoring_that_does_not_answer_is_told(server: Server) -> None:
    url, _ = await server("jetstream { max_file: 2GB }")

    [finding] = await findings(url, f"{url.replace('nats:', 'http:')}/a-path-that-is-a-password")

    assert "the monitoring of NATS at http://127.0.0.1:" in finding.text
    assert "password" not in finding.text
    assert "AGENTIC_NATS_HTTP_URL" in finding.text


async def test_a_stream_of_decisions_that_is_nearly_full_is_told_in_time(nats_url: str) -> None:
    bus = NatsBus(nats_url)
    big = decided(DecisionKind.RUN_PAUSED, "one", "rests", who="anna", noise=urandom(900).hex())
    await bus.audit.publish([decision_message(big, "shop")])
    client = await nats.connect(nats_url)
    config = (await client.jetstream().stream_info(AUDIT_STREAM)).config
    used = (await client.jetstream().stream_info(AUDIT_STREAM)).state.bytes
    await client.jetstream().update_stream(config.evolve(max_bytes=used + 10))
    [finding] = await findings(nats_url, None)
    await client.close()
    await bus.aclose()

    assert "AGENTIC_AUDIT uses 100%" in finding.text
    assert "raise its max_bytes" in finding.text
