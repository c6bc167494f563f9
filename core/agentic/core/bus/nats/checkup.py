"""Problems of a NATS server, for ``agentic doctor``."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from nats.js.api import AccountInfo, StreamInfo
from nats.js.errors import NotFoundError

from agentic.core.bus.errors import BusAccessError, BusUnavailableError
from agentic.core.bus.nats.access import NatsAccess
from agentic.core.bus.nats.link import NatsLink
from agentic.core.bus.nats.streams import AUDIT_STREAM, EVENTS
from agentic.core.hooks import Finding, warning
from agentic.core.settings import safe_url

NEARLY_FULL = 0.85
ANSWER_S = 3.0


def nats_findings(url: str, http_url: str | None, access: NatsAccess | None = None) -> Iterator[Finding]:
    """Check the server, and also its monitoring if ``http_url`` says where that is."""
    try:
        account, audit = asyncio.run(_account(url, access))
    except (BusUnavailableError, BusAccessError) as exc:
        yield Finding(str(exc))
        return
    yield from _room_findings("this account", account.storage, account.limits.max_storage)
    yield from _audit_findings(audit)
    if http_url:
        yield from _server_findings(http_url)


def _server_findings(http_url: str) -> Iterator[Finding]:
    try:
        jetstream = asyncio.run(_jetstream(http_url))
    except (aiohttp.ClientError, TimeoutError, ValueError) as exc:
        yield warning(
            f"the monitoring of NATS at {_without_path(http_url)} does not answer ({_reason(exc)}); correct "
            f"or unset AGENTIC_NATS_HTTP_URL"
        )
        return
    config = jetstream["config"]
    if not config.get("sync_always"):
        every_s = config.get("sync_interval", 0) / 1e9
        yield warning(
            f"NATS writes to its disk every {every_s:g} s only (sync_interval), and a power cut loses "
            "accepted events; set `sync_interval: always` in its `jetstream` block"
        )
    yield from _room_findings("the server", jetstream["storage"], config["max_storage"])


def _without_path(http_url: str) -> str:
    """Return a URL without its path, which is the password of an embedded server."""
    parts = urlsplit(safe_url(http_url))
    return f"{parts.scheme}://{parts.netloc}"


def _reason(fault: Exception) -> str:
    if isinstance(fault, aiohttp.ClientResponseError):  # its text has the URL and an untrusted answer
        return f"HTTP {fault.status}"
    return str(fault) or type(fault).__name__


def _room_findings(whose: str, used: int, limit: int) -> Iterator[Finding]:
    """Compare bytes; no limit is 0 or -1."""
    if limit > 0 and used >= NEARLY_FULL * limit:
        yield warning(
            f"JetStream uses {used / limit:.0%} of the {limit} bytes that {whose} may store; raise "
            "max_file, or lower the retention of streams"
        )


def _audit_findings(audit: StreamInfo | None) -> Iterator[Finding]:
    """Check the room in the stream of decisions: it only grows, so operators need a warning in time."""
    limit = 0 if audit is None else audit.config.max_bytes or 0
    if audit is not None and limit > 0 and audit.state.bytes >= NEARLY_FULL * limit:
        yield warning(
            f"{AUDIT_STREAM} uses {audit.state.bytes / limit:.0%} of its {limit} bytes, and rejects "
            "decisions when it is full; raise its max_bytes"
        )


async def _account(url: str, access: NatsAccess | None) -> tuple[AccountInfo, StreamInfo | None]:
    link = NatsLink(url, access)
    try:
        async with link.requesting(EVENTS) as client:
            jetstream = client.jetstream()
            account = await jetstream.account_info()
            try:
                return account, await jetstream.stream_info(AUDIT_STREAM)
            except NotFoundError:
                return account, None
    finally:
        await link.aclose()


async def _jetstream(http_url: str) -> dict[str, Any]:
    timeout = aiohttp.ClientTimeout(total=ANSWER_S)
    url = f"{http_url.rstrip('/')}/jsz?config=true"
    async with (
        aiohttp.ClientSession(timeout=timeout, raise_for_status=True) as session,
        session.get(url) as answer,
    ):
        return dict(await answer.json())
