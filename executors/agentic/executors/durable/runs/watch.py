"""Looks at a durable run repeatedly; each look is a few small reads that block no writer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentic.core.graph import WorkflowEvent
from agentic.core.ledger import ActivationRow, ActivationStatus, RunRow
from agentic.core.ledger.batches import read_batch
from agentic.core.types import RunId
from agentic.mappers import Database
from agentic.mappers.runs.reading import LedgerReader
from agentic.mappers.runs.requests import OpenRequest, open_requests

CHILD_LIMIT = 100
"""Maximum number of child runs shown."""

_EARLIER_EVENTS = 20
_BATCHES = 200

_TELLING = (
    ActivationStatus.RUNNING,
    ActivationStatus.REVIEW,
    ActivationStatus.DEAD,
    ActivationStatus.WAITING,
)
"""Shown one by one, before the queued ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A run as it stood at one moment.

    Attributes:
        run: The run.
        now: That moment by the ledger's clock, in seconds since the epoch.
        counts: Activations by status, including the child runs it waits for.
        crash_count: How often workers died over them.
        activations: Some activations that have not ended, and some that failed for good.
        requests: The open requests.
        event_count: Durable events so far.
        events: The events since the last look; at the first look the newest earlier ones.
    """

    run: RunRow
    now: float
    counts: Mapping[ActivationStatus, int]
    crash_count: int
    activations: Sequence[ActivationRow]
    requests: Sequence[OpenRequest]
    event_count: int
    events: Sequence[WorkflowEvent]

    @property
    def facts(self) -> tuple[object, ...]:
        """Values that differ when something happened in between, but not because time passed."""
        return self.run, dict(self.counts), self.crash_count, self.event_count


class RunWatch:
    """Looks at one run.

    Args:
        database: Holds the ledger.
        project_id: Owns the run.
        run_id: The run.
        limit: Maximum number of activations to read one by one.
    """

    def __init__(self, database: Database, project_id: str, run_id: RunId, *, limit: int = 20) -> None:
        self._database = database
        self._project_id = project_id
        self._run_id = run_id
        self._limit = limit
        self._seen: int | None = None

    def look(self) -> Look:
        """Return the run's current state.

        Raises:
            UnknownRunError: It was removed.
            DatabaseUnavailableError: The database cannot be read.
        """
        with self._database.reading() as session:
            reader = LedgerReader(session, self._project_id)
            family = reader.family(self._run_id, CHILD_LIMIT)
            return Look(
                run=reader.run(self._run_id),
                now=reader.now(),
                counts=reader.counts(family),
                crash_count=reader.crash_count(family),
                activations=self._activations(reader, family),
                requests=list(open_requests(session, project_id=self._project_id, run_id=self._run_id)),
                event_count=reader.event_count(self._run_id),
                events=self._news(reader),
            )

    def _activations(self, reader: LedgerReader, family: Sequence[RunId]) -> Sequence[ActivationRow]:
        found = list(reader.activations(family, _TELLING, self._limit))
        left = self._limit - len(found)
        return [*found, *reader.activations(family, [ActivationStatus.PENDING], left)] if left else found

    def _news(self, reader: LedgerReader) -> Sequence[WorkflowEvent]:
        seen = self._seen
        if seen is None:
            seen = max(reader.event_count(self._run_id) - _EARLIER_EVENTS, 0)
        batches = reader.events(self._run_id, after=seen, limit=_BATCHES)
        found = [event for batch in batches for event in read_batch(batch) if (event.sequence or 0) > seen]
        self._seen = batches[-1].last if batches else seen
        return found
