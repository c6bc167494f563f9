"""All data of a ledger in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from agentic.core.audit import Decision
from agentic.core.graph.checkpoints.store import CheckpointMetadata
from agentic.core.ledger.memory_tables import Journal, Places, Sort, Table
from agentic.core.ledger.records import ActivationId, ActivationRow, ActivationStatus, EventBatch, RunRow
from agentic.core.types import RunId


class Effect(NamedTuple):
    """The result of a call."""

    run_id: RunId
    origin: str
    key: str
    text: str


class CheckpointHead(NamedTuple):
    """A run's newest checkpoint, without its parts."""

    metadata: CheckpointMetadata
    text: str


class StatePart(NamedTuple):
    """A part of a run's state in the newest checkpoint; a removed part has no text."""

    run_id: RunId
    revision: int
    name: str
    text: str | None


@dataclass(frozen=True, slots=True)
class KeptBatch:
    """Events of a run; batches of all runs are numbered in order of arrival."""

    number: int
    batch: EventBatch
    is_published: bool = False


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """A decision; decisions are numbered in order of arrival."""

    number: int
    decision: Decision
    is_published: bool = False


class Rows:
    """The tables of a ledger, with the clock and the limit that its statements need."""

    def __init__(self, clock: Callable[[], float], max_running: int | None) -> None:
        self.clock = clock
        self.max_running = max_running
        self.journal = Journal()
        self.runs: Table[RunId, RunRow] = Table(self.journal, _places_of_run)
        self.activations: Table[ActivationId, ActivationRow] = Table(self.journal, _places_of_activation)
        self.effects: Table[tuple[RunId, str, str], Effect] = Table(self.journal, _places_of_effect)
        self.heads: Table[RunId, CheckpointHead] = Table(self.journal, _no_places)
        self.parts: Table[tuple[RunId, str], StatePart] = Table(self.journal, _places_of_part)
        self.batches: Table[tuple[RunId, int], KeptBatch] = Table(self.journal, _places_of_batch)
        self.decisions: Table[str, DecisionRow] = Table(self.journal, _places_of_decision)


class UsesRows:
    """Base class for the parts of a transaction in memory."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows


def rank(row: ActivationRow) -> Sort:
    """Return the place of an activation in the claim order; the lowest goes first."""
    return (-row.priority, row.began_at, row.id.run_id, row.position)


def as_pending(row: ActivationRow, not_before: float) -> ActivationRow:
    """Return an activation that can be claimed from ``not_before`` on."""
    return replace(
        row,
        status=ActivationStatus.PENDING,
        not_before=not_before,
        lease_until=None,
        waits_for=None,
        dispatched_at=None,
    )


def _places_of_run(row: RunRow) -> Places:
    places: dict[tuple[str | int, ...], Sort] = {}
    if row.idempotency_key is not None:
        places["key", row.idempotency_key] = ()
    if not row.status.is_final:
        places["unfinished",] = (row.updated_at,)
        if row.parent is not None:
            places["unfinished child", row.parent.run_id] = (row.created_at,)
    return places


def _places_of_activation(row: ActivationRow) -> Places:
    run_id, superstep, executor_id, _ = row.id
    order = (row.position,)
    places: dict[tuple[str | int, ...], Sort] = {
        ("run", run_id): (-superstep, row.position),
        ("superstep", run_id, superstep): order,
    }
    if row.status.is_open:
        places["open", run_id, superstep] = order
    if row.status is ActivationStatus.PENDING:
        places["pending",] = places["pending of queue", row.queue] = rank(row)
        places["pending of run", run_id] = rank(row)
    elif row.status is ActivationStatus.BLOCKED:
        places["blocked", run_id, superstep, executor_id] = order
    elif row.status is ActivationStatus.RUNNING:
        places["running",] = places["running of run", run_id] = (row.lease_until or 0.0,)
    elif row.status is ActivationStatus.WAITING and row.waits_for is not None:
        places["waiting for", row.waits_for] = ()
    return places


def _places_of_effect(row: Effect) -> Places:
    return {("origin", row.run_id, row.origin): ()}


def _places_of_part(row: StatePart) -> Places:
    return {("run", row.run_id): (row.revision, row.name)}


def _places_of_batch(row: KeptBatch) -> Places:
    places: dict[tuple[str | int, ...], Sort] = {("run", row.batch.run_id): (row.batch.last,)}
    if not row.is_published:
        places["unpublished",] = (row.number,)
    return places


def _places_of_decision(row: DecisionRow) -> Places:
    places: dict[tuple[str | int, ...], Sort] = {("all",): (row.number,)}
    if not row.is_published:
        places["unpublished",] = (row.number,)
    return places


def _no_places(_: CheckpointHead) -> Places:
    return {}
