"""Opens buses."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from agentic.core.bus import Bus, open_bus
from agentic.core.settings import load_settings


@asynccontextmanager
async def opened_bus(bus: Bus | str | None) -> AsyncGenerator[Bus, None]:
    """Open a bus until the block ends; one that is open already is not closed.

    Args:
        bus: A bus, the URL of a NATS server, or None for the server of ``AGENTIC_NATS_URL``.
    """
    if bus is None:
        async with open_bus(load_settings()) as configured:
            yield configured
    elif isinstance(bus, str):
        from agentic.core.bus.nats.bus import NatsBus

        own = NatsBus(bus)
        try:
            yield own
        finally:
            await own.aclose()
    else:
        yield bus
