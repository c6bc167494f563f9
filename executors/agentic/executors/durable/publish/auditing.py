"""Publishes decisions: each once, in a stream that keeps everything."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from agentic.core.audit import Decision
from agentic.core.bus import BusError, BusMessage, EventBus, MessageTooLargeError, StreamFullError
from agentic.core.bus.decisions import decision_message
from agentic.core.logging import get_logger
from agentic.executors.durable.worker.ledger_executor import LedgerExecutor

log = get_logger(__name__)

RETRY_S = 5.0
"""Pause before writing to a full stream again."""

_MAX_MESSAGES = 500


class AuditOutbox:
    """The unpublished decisions of a project.

    Decisions in a run's events are published with them; if the stream refuses one, it becomes a row of the
    audit, and waits with the decisions that are rows anyway. The bus recognizes duplicates by their ids.

    Args:
        ledger_executor: Access to the ledger.
        project: Name of the project.
        bus: The stream of decisions.
        clock: Gives seconds.
    """

    def __init__(
        self,
        ledger_executor: LedgerExecutor,
        project: str,
        bus: EventBus,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ledger_executor = ledger_executor
        self._project = project
        self._bus = bus
        self._clock = clock
        self._is_refused = False
        self._rests_until = 0.0

    async def publish(self, decisions: Sequence[Decision]) -> Sequence[Decision]:
        """Publish decisions; return the refused ones: the last ones, or none."""
        return decisions[await self._store(decisions) :]

    async def publish_kept(self, decisions: Sequence[Decision]) -> int:
        """Publish decisions that are rows; return their number.

        Raises:
            LedgerUnavailableError: The ledger cannot be used.
        """
        ids = [decision.id for decision in decisions[: await self._store(decisions)]]
        if ids:
            await self._ledger_executor.do(lambda ledger: ledger.mark_decisions(ids))
        return len(ids)

    async def _store(self, decisions: Sequence[Decision]) -> int:
        """Return how many, from the first on, are now in the stream; report a refusal once."""
        count = 0
        if self._clock() < self._rests_until:
            return count
        try:
            for count in range(0, len(decisions), _MAX_MESSAGES):
                await self._publish(decisions[count : count + _MAX_MESSAGES])
        except BusError as exc:
            self._refused(exc)
            return count
        if self._is_refused and decisions:
            log.warning("decisions.resumed", project=self._project)
            self._is_refused = False
        return len(decisions)

    async def _publish(self, decisions: Sequence[Decision]) -> None:
        messages = {message.message_id: message for message in map(self._message, decisions)}
        while messages:
            try:
                await self._bus.publish(list(messages.values()))
            except MessageTooLargeError as exc:  # it stays in the database, and blocks no other
                log.warning("decision.dropped", project=self._project, reason=str(exc))
                del messages[exc.message_id]
            else:
                return

    def _message(self, decision: Decision) -> BusMessage:
        return decision_message(decision, self._project)

    def _refused(self, fault: BusError) -> None:
        if not self._is_refused:
            log.warning("decisions.waiting", project=self._project, reason=str(fault))
        self._is_refused = True
        if isinstance(fault, StreamFullError):  # an unavailable server is retried with the next events
            self._rests_until = self._clock() + RETRY_S
