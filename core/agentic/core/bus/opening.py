"""Opens the bus of a process."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from agentic.core.bus.memory.bus import MemoryBus
from agentic.core.bus.nats.access import access_of, has_accounts
from agentic.core.bus.port import Bus
from agentic.core.settings import Settings


class Buses:
    """The bus of each project: one for all, unless each project has its own account on the server.

    Attributes:
        are_apart: Whether projects have their own accounts.
    """

    def __init__(self, settings: Settings) -> None:
        self.are_apart = settings.nats is not None and has_accounts(settings)
        self._settings = settings
        self._made: dict[str, Bus] = {}

    def of(self, project: str) -> Bus:
        """Return the bus for the events and buckets of a project."""
        key = project if self.are_apart else ""
        if key not in self._made:
            self._made[key] = self._make(project)
        return self._made[key]

    async def aclose(self) -> None:
        """Close the connections."""
        for bus in self._made.values():
            await bus.aclose()

    def _make(self, project: str) -> Bus:
        if self._settings.nats is None:
            return MemoryBus()
        # Importing the client takes 0.4 s, and a run without a server does not need it.
        from agentic.core.bus.nats.bus import NatsBus

        return NatsBus(self._settings.nats, access_of(self._settings, project))


@asynccontextmanager
async def open_buses(settings: Settings) -> AsyncGenerator[Buses, None]:
    """Open the buses of ``settings``: on a NATS server, or in memory without one.

    It connects only at the first use, so this never fails.
    """
    buses = Buses(settings)
    try:
        yield buses
    finally:
        await buses.aclose()


@asynccontextmanager
async def open_bus(settings: Settings, project: str | None = None) -> AsyncGenerator[Bus, None]:
    """Open the bus of one project; see :func:`open_buses`.

    Args:
        settings: Say where it is.
        project: Matters if each project has its own account; the project of ``settings`` if omitted.
    """
    async with open_buses(settings) as buses:
        yield buses.of(project or settings.project)
