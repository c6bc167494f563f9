"""A connection that the client does not end to close."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest
from nats.aio.client import Client
from structlog.testing import capture_logs

from agentic.core.bus.nats import link as nats_link
from agentic.core.bus.nats.link import NatsLink


class StuckClient:
    """A client whose server reads nothing; it swallows the first cancellation, as the real one may."""

    def __init__(self) -> None:
        self.cancellation_count = 0

    async def close(self) -> None:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancellation_count += 1
                if self.cancellation_count > 1:
                    raise


async def test_a_client_that_never_closes_does_not_hold_up_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(nats_link, "_CLOSE_S", 0.05)
    link, stuck = NatsLink("nats://127.0.0.1:9"), StuckClient()
    link._client = cast(Client, stuck)

    with capture_logs() as logs:
        await link.aclose()

    assert [line["event"] for line in logs] == ["bus.not_closed"]
    await asyncio.sleep(0)
    assert stuck.cancellation_count == 1
