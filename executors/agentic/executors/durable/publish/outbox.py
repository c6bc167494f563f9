"""Publishes what the ledger has told: after the fact, in order within a run, and again until it is stored."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager

from agentic.core.audit import Decision, decisions_of
from agentic.core.bus import Bus, BusMessage, MessageTooLargeError
from agentic.core.bus.envelope import to_message, without_data
from agentic.core.graph import WorkflowEvent
from agentic.core.graph.errors import CorruptContentError
from agentic.core.ledger import EventBatch, LedgerTransaction
from agentic.core.ledger.batches import read_batch
from agentic.core.logging import get_logger
from agentic.core.records import record
from agentic.executors.durable.publish.auditing import AuditOutbox
from agentic.executors.durable.worker.ledger_executor import LedgerLane

log = get_logger(__name__)

LOOK_S = 0.5
"""Delay from an event to its message on the bus."""

_MAX_BATCHES = 200
"""Decisions whose events are read together: some thousand events, which stay in memory meanwhile."""

_MAX_MESSAGES = 500
_MAX_BYTES = 4 * 1024 * 1024


@record
class Published:
    """What became of a look into the outbox.

    Attributes:
        event_count: Events that were published.
        decision_count: Decisions that were published, and that no event tells of.
        is_shared: Whether somebody else published the same ones at the same time.
    """

    event_count: int
    decision_count: int = 0
    is_shared: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing was published."""
        return not (self.event_count or self.decision_count)


class Outbox:
    """The durable events of a project that are still to be published.

    An event leaves it when the bus has stored it. What a process published that died before it could note
    that is published again under the same id, and the bus knows it. Several may publish at the same time.

    Args:
        lane: To the ledger.
        project: Name of the project.
        bus: Where events go, and what they tell of decisions.
    """

    def __init__(self, lane: LedgerLane, project: str, bus: Bus) -> None:
        self._lane = lane
        self._project = project
        self._bus = bus
        self._audit = AuditOutbox(lane, project, bus.audit)

    async def publish_some(self) -> Published:
        """Publish what waits for longest, those of a run in order; nothing when there is none.

        Decisions that no event tells of are published, too; should their stream refuse them, they wait, and
        no event waits with them.

        Raises:
            BusUnavailableError: The bus may or may not have stored them; they stay in the outbox.
            LedgerUnavailableError: The ledger cannot be used.
        """
        batches, kept = await self._lane.do(_unpublished)
        decision_count = await self._audit.publish_kept(kept)
        if not batches:
            return Published(0, decision_count)
        events = [event for batch in batches for event in self._read(batch)]
        for group in _groups(events, self._project):
            await self._store(group)
        refused = await self._audit.publish(decisions_of(events))

        def note(ledger: LedgerTransaction) -> int:
            ledger.add_decisions(refused)
            return ledger.mark_published(batches)

        noted = await self._lane.do(note)
        return Published(len(events), decision_count, is_shared=noted == 0)

    async def publish_all(self) -> int:
        """Publish until nothing is left; return how many events those were. Raises as `publish_some`."""
        count = 0
        while not (found := await self.publish_some()).is_empty:
            count += found.event_count
        return count

    def _read(self, batch: EventBatch) -> Sequence[WorkflowEvent]:
        """Return the events of a batch; one that cannot be read must not hold up the others for ever."""
        try:
            return list(read_batch(batch))
        except (CorruptContentError, ValueError) as exc:
            log.warning(
                "event.dropped", run_id=batch.run_id, first=batch.first, last=batch.last, reason=str(exc)
            )
            return []

    async def _store(self, group: dict[str, _Parcel]) -> None:
        while group:
            try:
                await self._bus.publish([parcel.message for parcel in group.values()])
            except MessageTooLargeError as exc:
                self._shrink(group, exc)
            else:
                return

    def _shrink(self, group: dict[str, _Parcel], fault: MessageTooLargeError) -> None:
        """Leave the data out of an event that is too large; the event itself, if it still is."""
        parcel = group[fault.message_id]
        if parcel.is_shrunk:
            log.warning("event.dropped", event_id=parcel.event.id, reason=str(fault))
            del group[fault.message_id]
            return
        log.warning("event.shrunk", event_id=parcel.event.id, reason=str(fault))
        event = without_data(parcel.event, fault.size_bytes)
        group[fault.message_id] = _Parcel(event, to_message(event, self._project), is_shrunk=True)


@asynccontextmanager
async def kept_published(outbox: Outbox, grace_s: float) -> AsyncIterator[None]:
    """Publish what comes while the block runs, and for ``grace_s`` seconds after it.

    A bus that is away does not matter to the block: what is not published then stays in the outbox.
    """
    publishing = asyncio.create_task(_keep_publishing(outbox), name="outbox")
    try:
        yield
    finally:
        while not publishing.done():  # nats-py swallows a cancellation that meets it while flushing
            publishing.cancel()
            await asyncio.wait({publishing}, timeout=0.1)
        try:
            async with asyncio.timeout(grace_s):
                await outbox.publish_all()
        except Exception as exc:  # whatever a client library comes up with
            log.warning("events.kept", error=str(exc) or type(exc).__name__)


async def _keep_publishing(outbox: Outbox) -> None:
    while True:
        try:
            await outbox.publish_all()
        except Exception as exc:  # whatever a client library comes up with: the events are safe in the ledger
            log.info("events.waiting", error=str(exc) or type(exc).__name__)
        await asyncio.sleep(LOOK_S)


def _unpublished(ledger: LedgerTransaction) -> tuple[Sequence[EventBatch], Sequence[Decision]]:
    return ledger.unpublished(_MAX_BATCHES), ledger.decisions(unpublished=True, limit=_MAX_MESSAGES)


@record
class _Parcel:
    """An event and how it travels."""

    event: WorkflowEvent
    message: BusMessage
    is_shrunk: bool = False


def _groups(events: Sequence[WorkflowEvent], project: str) -> Iterator[dict[str, _Parcel]]:
    """Yield events as they are stored together, in order, by the ids of their messages."""
    group: dict[str, _Parcel] = {}
    size_bytes = 0
    for event in events:
        message = to_message(event, project)
        group[message.message_id] = _Parcel(event, message)
        size_bytes += len(message.payload)
        if len(group) == _MAX_MESSAGES or size_bytes >= _MAX_BYTES:
            yield group
            group, size_bytes = {}, 0
    if group:
        yield group
