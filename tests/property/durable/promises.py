"""What must be true of all that was written to a ledger, whatever happened meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tests.property.durable.auditing import Called, Change, Closed, Recorded, Stepped, Taken

from agentic.core import RunStatus
from agentic.core.ledger import ActivationId, ActivationStatus, Lease
from agentic.core.types import RunId


@dataclass
class Audit:
    """Reads the changes of a ledger, and tells of what should not be.

    Attributes:
        max_running: How many claims there may be at a time.
        makes_zombies: Whether a process may have lost a claim without noticing.
    """

    max_running: int | None
    makes_zombies: bool
    _held: dict[ActivationId, Lease] = field(default_factory=dict)
    _fences: dict[ActivationId, int] = field(default_factory=dict)
    _done: set[ActivationId] = field(default_factory=set)
    _places: dict[RunId, tuple[int, int]] = field(default_factory=dict)
    _recorded: set[str] = field(default_factory=set)

    def faults(self, changes: Iterable[Change]) -> Iterator[str]:
        """Tell of what should not be in ``changes``."""
        for change in changes:
            match change:
                case Stepped():
                    yield from self._step(change)
                case Taken():
                    yield from self._take(change)
                case Closed():
                    yield from self._close(change)
                case Called():
                    if change.key in self._recorded and not self.makes_zombies:
                        yield f"{change.key} did again what it had done once, and was recorded"
                case Recorded():
                    self._recorded.add(change.key)
        yield from (f"{lease} is held still" for lease in self._held.values())

    def _step(self, change: Stepped) -> Iterator[str]:
        """Revisions have no gaps; what a step leaves or begins anew is held by nobody."""
        step, metadata = change.step, change.step.checkpoint.metadata
        run_id = metadata.run_id
        revision, superstep = self._places.get(run_id, (0, 0))
        if metadata.revision != revision + 1:
            yield f"revision {metadata.revision} of {run_id} follows {revision}"
        if not superstep <= metadata.superstep <= superstep + 1:
            yield f"superstep {metadata.superstep} of {run_id} follows {superstep}"
        if change.has_open and metadata.status is not RunStatus.RUNNING:
            yield f"{run_id} is {metadata.status}, and something of it is open"
        self._places[run_id] = metadata.revision, metadata.superstep
        if step.activations or metadata.status is not RunStatus.RUNNING or metadata.superstep != superstep:
            for held in [held for held in self._held if held.run_id == run_id]:
                del self._held[held]
        self._done -= {new.id for new in step.activations if new.result is None}

    def _take(self, change: Taken) -> Iterator[str]:
        """Of what is due somebody has the newest claim, and nobody else one; limits hold."""
        lease = change.lease
        if held := self._held.get(lease.id):
            yield f"{lease} was claimed, although {held} is held"
        if lease.id in self._done:
            yield f"{lease} was claimed, although it was done"
        if lease.fence <= self._fences.get(lease.id, 0):
            yield f"{lease} is no newer than the claim before it"
        self._held[lease.id] = lease
        self._fences[lease.id] = lease.fence
        if change.around[0].cancel_at is not None:
            yield f"{lease} was claimed, although its run is to be cancelled"
        for run in change.around:
            if run.status is not RunStatus.RUNNING or run.is_paused:
                yield f"{lease} was claimed, although {run.run_id} does not go on"
        if self.max_running is not None and change.running_count > self.max_running:
            yield f"{lease} was claimed beside {change.running_count - 1} others"

    def _close(self, change: Closed) -> Iterator[str]:
        """Who settles has the claim, or takes it from somebody whose lease has ended."""
        lease, settled = change.lease, change.settled
        if self._held.pop(lease.id, None) != lease:
            yield f"{lease} was settled, and not held"
        if settled.is_crash and change.lease_until > change.at:
            yield f"{lease} was taken away {change.lease_until - change.at} s too early"
        if settled.status in {ActivationStatus.DONE, ActivationStatus.DEAD}:
            self._done.add(lease.id)
