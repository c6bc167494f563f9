"""Which bus a process uses."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from agentic.core.bus.memory import MemoryBus
from agentic.core.bus.port import Bus
from agentic.core.settings import Settings


@asynccontextmanager
async def open_bus(settings: Settings) -> AsyncGenerator[Bus, None]:
    """Give the NATS server of ``settings``, or the bus in memory when there is none.

    Nothing is connected to before it is used, so this never fails.
    """
    bus = _make_bus(settings.nats)
    try:
        yield bus
    finally:
        await bus.aclose()


def _make_bus(nats_url: str | None) -> Bus:
    if nats_url is None:
        return MemoryBus()
    # The client costs 0.4 s to import, which a run without a server has no use for.
    from agentic.core.bus.nats_bus import NatsBus

    return NatsBus(nats_url)
