"""Publishes the events of all projects, again and again, beside whatever else goes on."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

from sqlalchemy import exists, select

from agentic.core.bus import EventBus
from agentic.core.logging import get_logger
from agentic.executors.durable.outbox import LOOK_S, Outbox, Published
from agentic.executors.durable.process import RunProcess
from agentic.mappers import Database
from agentic.mappers.ledger_sql import EVENTS, PROJECTS

log = get_logger(__name__)

_OTHERS_S = 5.0
"""How long to leave it to somebody else who is at it; if that one dies, this is the delay."""

_FIRST_RETRY_S = 0.2
_LAST_RETRY_S = 5.0


class Courier:
    """Carries the durable events of every project of a database to the bus.

    Any number may do so at once; whoever finds another one at the same events rests for a while.

    Args:
        database: Holds the ledgers.
        runs: Of this process.
        bus: Where events go.
    """

    def __init__(self, database: Database, runs: RunProcess, bus: EventBus) -> None:
        self._database = database
        self._runs = runs
        self._bus = bus
        self._outboxes: dict[str, Outbox] = {}
        self._retry_s = 0.0

    async def keep_publishing(self) -> None:
        """Publish what comes until cancelled; while the bus is away it says so once, and tries on."""
        while True:
            try:
                rest_s = _rest_after(await self.publish_some())
            except Exception as exc:  # whatever a client library comes up with: they are safe in the ledger
                rest_s = self._missed(exc)
            else:
                self._reached()
            _heed_cancellation()
            await asyncio.sleep(rest_s)

    async def publish_all(self) -> int:
        """Publish until nothing is left; return how many events those were. Raises as `publish_some`."""
        return sum([await outbox.publish_all() for outbox in await asyncio.to_thread(self._waiting)])

    async def publish_some(self) -> Published:
        """Publish some events of each project.

        Raises:
            BusUnavailableError: They stay where they are.
            LedgerUnavailableError: The ledger cannot be used.
            DatabaseUnavailableError: The database cannot be read.
        """
        found = [await outbox.publish_some() for outbox in await asyncio.to_thread(self._waiting)]
        count = sum(published.event_count for published in found)
        return Published(count, is_shared=bool(found) and all(published.is_shared for published in found))

    def _waiting(self) -> Sequence[Outbox]:
        """Return the outboxes that hold something; a read that no writer has to wait for."""
        of_project = EVENTS.c.project_id == PROJECTS.c.id
        holds = exists().where(of_project, EVENTS.c.published_at.is_(None))
        with self._database.reading() as session:
            projects = session.execute(select(PROJECTS.c.id, PROJECTS.c.name).where(holds)).all()
        return [self._outbox(project_id, name) for project_id, name in projects]

    def _outbox(self, project_id: str, name: str) -> Outbox:
        if project_id not in self._outboxes:
            lane = self._runs.service(project_id).host.lane
            self._outboxes[project_id] = Outbox(lane, name, self._bus)
        return self._outboxes[project_id]

    def _missed(self, fault: Exception) -> float:
        if not self._retry_s:
            log.warning("events.waiting", error=str(fault) or type(fault).__name__)
        self._retry_s = min(2 * self._retry_s or _FIRST_RETRY_S, _LAST_RETRY_S)
        return self._retry_s

    def _reached(self) -> None:
        if self._retry_s:
            log.warning("events.resumed")
            self._retry_s = 0.0


def _heed_cancellation() -> None:
    """Be cancelled if somebody asked for it: nats-py swallows a cancellation that meets it while flushing."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def _rest_after(published: Published) -> float:
    """Return how long to wait until the next look."""
    if published.is_shared:
        return random.uniform(_OTHERS_S / 2, _OTHERS_S)  # noqa: S311  # jitter is no secret
    return 0.0 if published.event_count else LOOK_S
