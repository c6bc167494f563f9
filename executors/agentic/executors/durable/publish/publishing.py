"""Publishes the events of all projects repeatedly, in the background."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from sqlalchemy import exists, or_, select

from agentic.core.bus import Bus, BusError
from agentic.core.logging import get_logger
from agentic.executors.durable.publish.outbox import LOOK_S, Outbox, Published
from agentic.executors.durable.worker.process import RunProcess
from agentic.mappers import Database
from agentic.mappers.audit import AUDIT
from agentic.mappers.catalog.event_streams import note_stream
from agentic.mappers.ledger.sql import EVENTS, PROJECTS

log = get_logger(__name__)

T = TypeVar("T")

_OTHERS_S = 5.0
"""Pause while another process publishes; if that one dies, this is the delay."""

STREAM_LOOK_S = 60.0
"""Delay until a recreated stream is found while there is nothing to publish."""

_FIRST_RETRY_S = 0.2
_LAST_RETRY_S = 5.0


class Courier:
    """Carries the durable events and the decisions of every project of a database to the bus.

    Any number may run at once; one that finds another at the same events pauses for a while.

    Args:
        database: Holds the ledgers.
        runs: The runs of this process.
        bus_of: Returns the bus for the events and decisions of a project.
    """

    def __init__(self, database: Database, runs: RunProcess, bus_of: Callable[[str], Bus]) -> None:
        self._database = database
        self._runs = runs
        self._bus_of = bus_of
        self._outboxes: dict[str, tuple[Outbox, Bus]] = {}
        self._retry_s = 0.0
        self._looks_at = 0.0

    async def keep_publishing(self) -> None:
        """Publish new events until cancelled; report an unavailable bus once, and keep trying."""
        while True:
            try:
                rest_s = _rest_after(await self.publish_some())
            except Exception as exc:  # any error of a client library: they are safe in the ledger
                rest_s = self._missed(exc)
            else:
                self._reached()
            _heed_cancellation()
            await asyncio.sleep(rest_s)

    async def publish_all(self) -> int:
        """Publish until nothing is left; return the number of events. Raises as `publish_some`."""
        return sum(await self._each(Outbox.publish_all))

    async def publish_some(self) -> Published:
        """Publish some events of each project.

        Raises:
            BusUnavailableError: The events stay in the ledger.
            LedgerUnavailableError: The ledger cannot be used.
            DatabaseUnavailableError: The database cannot be read.
        """
        found = await self._each(Outbox.publish_some)
        return Published(
            sum(published.event_count for published in found),
            sum(published.decision_count for published in found),
            is_shared=bool(found) and all(published.is_shared for published in found),
        )

    async def _each(self, publish: Callable[[Outbox], Awaitable[T]]) -> Sequence[T]:
        """Publish for every project, even if another's bus is unavailable; then raise the errors."""
        if time.monotonic() >= self._looks_at:
            rest_s = STREAM_LOOK_S if await self._look_at_streams() else _LAST_RETRY_S
            self._looks_at = time.monotonic() + rest_s
        found: list[T] = []
        faults: dict[Bus, BusError] = {}
        for outbox, bus in await asyncio.to_thread(self._waiting):
            if bus not in faults:
                try:
                    found.append(await publish(outbox))
                except BusError as exc:
                    faults[bus] = exc
        for fault in faults.values():
            raise fault
        return found

    async def _look_at_streams(self) -> bool:
        """Publish again the lost events of a deleted stream; return whether all streams were seen."""
        away: set[Bus] = set()
        for project_id, name in await asyncio.to_thread(self._projects):
            bus = self._bus_of(name)
            if bus not in away:
                try:
                    made = (await bus.state()).made
                except BusError:  # reported by the publisher there
                    away.add(bus)
                else:
                    await self._note(project_id, name, made)
        return not away

    async def _note(self, project_id: str, name: str, made: str) -> None:
        count = await asyncio.to_thread(note_stream, self._database, project_id, made) if made else 0
        if count:
            log.warning("events.told_again", project=name, batch_count=count)

    def _projects(self) -> Sequence[tuple[str, str]]:
        with self._database.reading() as session:
            return [(row[0], row[1]) for row in session.execute(select(PROJECTS.c.id, PROJECTS.c.name))]

    def _waiting(self) -> Sequence[tuple[Outbox, Bus]]:
        """Return the outboxes with content; this read blocks no writer."""
        holds = or_(
            *(
                exists().where(table.c.project_id == PROJECTS.c.id, table.c.published_at.is_(None))
                for table in (EVENTS, AUDIT)
            )
        )
        with self._database.reading() as session:
            projects = session.execute(select(PROJECTS.c.id, PROJECTS.c.name).where(holds)).all()
        return [self._outbox(project_id, name) for project_id, name in projects]

    def _outbox(self, project_id: str, name: str) -> tuple[Outbox, Bus]:
        if project_id not in self._outboxes:
            ledger_executor = self._runs.service(project_id).host.ledger_executor
            bus = self._bus_of(name)
            self._outboxes[project_id] = Outbox(ledger_executor, name, bus), bus
        return self._outboxes[project_id]

    def _missed(self, fault: Exception) -> float:
        if not self._retry_s:
            log.warning("events.waiting", error=str(fault) or type(fault).__name__)
        self._looks_at = 0.0  # its streams may be gone
        self._retry_s = min(2 * self._retry_s or _FIRST_RETRY_S, _LAST_RETRY_S)
        return self._retry_s

    def _reached(self) -> None:
        if self._retry_s:
            log.warning("events.resumed")
            self._retry_s = 0.0


def _heed_cancellation() -> None:
    """Raise a requested cancellation: nats-py swallows one that arrives while it flushes."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def _rest_after(published: Published) -> float:
    """Return the pause before the next look."""
    if published.is_shared:
        return random.uniform(_OTHERS_S / 2, _OTHERS_S)  # noqa: S311  # jitter is not a secret
    return LOOK_S if published.is_empty else 0.0
