"""Publishes the ledger's events: after the commit, in order within a run, retried until stored."""

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
from agentic.executors.durable.worker.ledger_executor import LedgerExecutor

log = get_logger(__name__)

LOOK_S = 0.5
"""Delay from an event to its message on the bus."""

_MAX_BATCHES = 200
"""Decisions whose events are read together: some thousand events, kept in memory meanwhile."""

_MAX_MESSAGES = 500
_MAX_BYTES = 4 * 1024 * 1024


@record
class Published:
    """The result of a look into the outbox.

    Attributes:
        event_count: Published events.
        decision_count: Published decisions without an event.
        is_shared: Whether another process published the same ones at the same time.
    """

    event_count: int
    decision_count: int = 0
    is_shared: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing was published."""
        return not (self.event_count or self.decision_count)


class Outbox:
    """The unpublished durable events of a project.

    An event leaves it when the bus has stored it. If a process dies before it records this, its events are
    published again under the same ids, which the bus recognizes. Several may publish at the same time.

    Args:
        ledger_executor: Access to the ledger.
        project: Name of the project.
        bus: Receives the events, and the decisions in them.
    """

    def __init__(self, ledger_executor: LedgerExecutor, project: str, bus: Bus) -> None:
        self._ledger_executor = ledger_executor
        self._project = project
        self._bus = bus
        self._audit = AuditOutbox(ledger_executor, project, bus.audit)

    async def publish_some(self) -> Published:
        """Publish the oldest events, in order within a run, if there are any.

        Decisions without an event are published, too; if their stream refuses them, they wait, but events
        do not wait with them.

        Raises:
            BusUnavailableError: The bus may or may not have stored them; they stay in the outbox.
            LedgerUnavailableError: The ledger cannot be used.
        """
        batches, kept = await self._ledger_executor.do(_unpublished)
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

        noted = await self._ledger_executor.do(note)
        return Published(len(events), decision_count, is_shared=noted == 0)

    async def publish_all(self) -> int:
        """Publish until nothing is left; return the number of events. Raises as `publish_some`."""
        count = 0
        while not (found := await self.publish_some()).is_empty:
            count += found.event_count
        return count

    def _read(self, batch: EventBatch) -> Sequence[WorkflowEvent]:
        """Return the events of a batch; an unreadable batch must not block the others forever."""
        try:
            return list(read_batch(batch))
        except (CorruptContentError, ValueError) as exc:
            log.warning(
                "event.dropped", run_id=batch.run_id, first=batch.first, last=batch.last, reason=str(exc)
            )
            return []

    async def _store(self, group: dict[str, _Outgoing]) -> None:
        while group:
            try:
                await self._bus.publish([outgoing.message for outgoing in group.values()])
            except MessageTooLargeError as exc:
                self._shrink(group, exc)
            else:
                return

    def _shrink(self, group: dict[str, _Outgoing], fault: MessageTooLargeError) -> None:
        """Remove the data of an event that is too large, or the event, if that is not enough."""
        outgoing = group[fault.message_id]
        if outgoing.is_shrunk:
            log.warning("event.dropped", event_id=outgoing.event.id, reason=str(fault))
            del group[fault.message_id]
            return
        log.warning("event.shrunk", event_id=outgoing.event.id, reason=str(fault))
        event = without_data(outgoing.event, fault.size_bytes)
        group[fault.message_id] = _Outgoing(event, to_message(event, self._project), is_shrunk=True)


@asynccontextmanager
async def kept_published(outbox: Outbox, grace_s: float) -> AsyncIterator[None]:
    """Publish new events while the block runs, and for ``grace_s`` seconds after it.

    An unavailable bus does not affect the block: unpublished events stay in the outbox.
    """
    publishing = asyncio.create_task(_keep_publishing(outbox), name="outbox")
    try:
        yield
    finally:
        while not publishing.done():  # nats-py swallows a cancellation that arrives while it flushes
            publishing.cancel()
            await asyncio.wait({publishing}, timeout=0.1)
        try:
            async with asyncio.timeout(grace_s):
                await outbox.publish_all()
        except Exception as exc:  # any error of a client library
            log.warning("events.kept", error=str(exc) or type(exc).__name__)


async def _keep_publishing(outbox: Outbox) -> None:
    while True:
        try:
            await outbox.publish_all()
        except Exception as exc:  # any error of a client library: the events are safe in the ledger
            log.info("events.waiting", error=str(exc) or type(exc).__name__)
        await asyncio.sleep(LOOK_S)


def _unpublished(ledger: LedgerTransaction) -> tuple[Sequence[EventBatch], Sequence[Decision]]:
    return ledger.unpublished(_MAX_BATCHES), ledger.decisions(unpublished=True, limit=_MAX_MESSAGES)


@record
class _Outgoing:
    """An event and its message."""

    event: WorkflowEvent
    message: BusMessage
    is_shrunk: bool = False


def _groups(events: Sequence[WorkflowEvent], project: str) -> Iterator[dict[str, _Outgoing]]:
    """Yield groups of events that are stored together, in order, by message id."""
    group: dict[str, _Outgoing] = {}
    size_bytes = 0
    for event in events:
        message = to_message(event, project)
        group[message.message_id] = _Outgoing(event, message)
        size_bytes += len(message.payload)
        if len(group) == _MAX_MESSAGES or size_bytes >= _MAX_BYTES:
            yield group
            group, size_bytes = {}, 0
    if group:
        yield group
