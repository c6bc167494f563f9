"""Whatever is done to a ledger in whatever order, claims keep to what the port says of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.core.graph.model.result import RunStatus
from agentic.core.ledger import (
    ActivationId,
    ActivationRow,
    ActivationStatus,
    Lease,
    LeaseState,
    LedgerStore,
    LedgerTransaction,
    MemoryLedger,
    RunRow,
    Settled,
)
from agentic.core.testing.ledger.cases import (
    DONE,
    IN_REVIEW,
    LATER,
    QUEUES,
    RELEASED,
    due,
    each_alone,
    new_run,
    step,
)
from agentic.core.types import RunId

PROJECT_LIMIT = 3
WAYS: Sequence[Settled] = (
    DONE,
    RELEASED,
    DONE,
    LATER,
    IN_REVIEW,
    replace(RELEASED, is_crash=True),
    replace(DONE, skips_rest=True),
    Settled(status=ActivationStatus.DEAD),
)


class UndoneError(Exception):
    """Ends a transaction."""


class Chance:
    """Does something to a ledger, as a number says; knows only which leases should be worth something."""

    def __init__(self, store: LedgerStore) -> None:
        self.store = store
        self.ledger = each_alone(store)
        self.leases: list[Lease] = []
        self.held: dict[ActivationId, Lease] = {}
        self.fences: dict[ActivationId, int] = {}
        self.closed: dict[ActivationId, ActivationRow] = {}

    def accept(self, number: int) -> None:
        if len(self.ledger.list_runs()) < 3:
            name = f"run {len(self.ledger.list_runs())}"
            activations = due(1 + number % 4, lanes=(1, 2, 4)[number // 4 % 3], run_id=name)
            limit = (None, 1, 2)[number // 12 % 3]
            self.ledger.add_run(replace(new_run(activations, run_id=name), max_parallel=limit))

    def claim(self, number: int) -> None:
        rows = self.rows()
        may_run = runnable(self.ledger.now(), self.runs(), rows)
        wanted = [row for row in rows if number % 4 == 0 or row.id in may_run] or rows
        row = wanted[number % len(wanted)]
        claimed = self.ledger.claim(row.id, "worker", (-1.0, 60.0, 60.0)[number % 3])
        assert (claimed is not None) == (row.id in may_run)
        if claimed is not None:
            assert claimed.lease not in self.leases
            self.leases.append(claimed.lease)
            self.held[row.id] = claimed.lease

    def settle(self, number: int) -> None:
        if self.leases:
            lease = self.leases[number % len(self.leases)]
            is_held = self.held.get(lease.id) == lease
            assert self.ledger.settle(lease, WAYS[number % len(WAYS)]) == is_held
            if is_held:
                del self.held[lease.id]

    def finish(self, number: int) -> None:
        for lease in list(self.held.values())[: number % 3]:
            assert self.ledger.settle(lease, DONE)
            del self.held[lease.id]

    def take_from_the_dead(self, _: int) -> None:
        for row in self.ledger.expired():
            assert self.ledger.settle(Lease(row.id, row.fence), replace(RELEASED, is_crash=True))
            del self.held[row.id]

    def advance(self, number: int) -> None:
        run = self.runs()[number % len(self.runs())]
        later = run.superstep + number // 3 % 2
        activations = due(1 + number % 4, lanes=2, superstep=later, run_id=run.run_id)
        decided = step(run.revision + 1, later, activations, run_id=run.run_id)
        assert self.ledger.advance(run.run_id, run.superstep, run.revision, decided)
        self.forget(run.run_id)

    def note_answer(self, number: int) -> None:
        run = self.runs()[number % len(self.runs())]
        decided = step(run.revision + 1, run.superstep, run_id=run.run_id)
        assert self.ledger.advance(run.run_id, run.superstep, run.revision, decided)

    def stop(self, number: int) -> None:
        run = self.runs()[number % len(self.runs())]
        status = (RunStatus.FAILED, RunStatus.WAITING_INPUT)[number % 2]
        decided = step(run.revision + 1, run.superstep, run_id=run.run_id, status=status)
        assert self.ledger.advance(run.run_id, run.superstep, run.revision, decided)
        self.forget(run.run_id)

    def pause(self, number: int) -> None:
        run = self.runs()[number % len(self.runs())]
        self.ledger.pause(run.run_id, is_paused=not run.is_paused)

    def retry(self, _: int) -> None:
        for row in self.rows():
            assert self.ledger.retry(row.id) == (row.status is ActivationStatus.REVIEW)

    def do_in_vain(self, number: int) -> None:
        before = everything(self.ledger)
        with suppress(UndoneError), self.store.transaction() as ledger:
            for found in ledger.claimable(QUEUES, limit=number % 4):
                ledger.claim(found.id, "worker", 60.0)
            for lease in self.held.values():
                ledger.settle(lease, WAYS[number % len(WAYS)])
            for run in ledger.list_runs():
                ledger.advance(
                    run.run_id, run.superstep, run.revision, step(9, number % 2, run_id=run.run_id)
                )
            raise UndoneError
        assert everything(self.ledger) == before

    def forget(self, run_id: RunId) -> None:
        """Forget what was known of a run that stopped, or began a superstep."""
        self.held = {one: lease for one, lease in self.held.items() if one.run_id != run_id}
        self.closed = {one: row for one, row in self.closed.items() if one.run_id != run_id}

    def check(self) -> None:
        """Check what holds at any time."""
        rows, runs = self.rows(), self.runs()
        self._check_leases(rows)
        check_limits(runs, rows)
        check_lanes(rows)
        found = {one.id for one in self.ledger.claimable(QUEUES, limit=99)}
        assert found == runnable(self.ledger.now(), runs, rows)
        assert self.closed.items() <= {row.id: row for row in rows}.items()  # nothing opens again
        self.closed.update((row.id, row) for row in rows if not row.status.is_open)

    def _check_leases(self, rows: Iterable[ActivationRow]) -> None:
        """Of all leases of an activation, at most the newest is worth something."""
        running = {row.id: row.fence for row in rows if row.status is ActivationStatus.RUNNING}
        assert running == {lease.id: lease.fence for lease in self.held.values()}
        lost = [lease for lease in self.leases if self.held.get(lease.id) != lease]
        assert set(self.ledger.extend(lost, 60.0)) <= {LeaseState.LOST}
        for row in rows:
            assert row.fence >= self.fences.get(row.id, 0)
            self.fences[row.id] = row.fence

    def runs(self) -> Sequence[RunRow]:
        return sorted(self.ledger.list_runs(), key=lambda run: run.run_id)

    def rows(self) -> Sequence[ActivationRow]:
        return sorted(self.ledger.list_activations(), key=lambda row: row.id)


def runnable(now: float, runs: Sequence[RunRow], rows: Sequence[ActivationRow]) -> set[ActivationId]:
    """Return what may run, as the port says it of claims."""
    running = Counter(row.id.run_id for row in rows if row.status is ActivationStatus.RUNNING)
    if running.total() >= PROJECT_LIMIT:
        return set()
    with_room = {
        (run.run_id, run.superstep)
        for run in runs
        if run.status is RunStatus.RUNNING
        and not run.is_paused
        and (run.max_parallel is None or running[run.run_id] < run.max_parallel)
    }
    pending = [row for row in rows if row.status is ActivationStatus.PENDING and row.not_before <= now]
    return {row.id for row in pending if row.id[:2] in with_room}


def check_limits(runs: Sequence[RunRow], rows: Sequence[ActivationRow]) -> None:
    running = Counter(row.id.run_id for row in rows if row.status is ActivationStatus.RUNNING)
    assert running.total() <= PROJECT_LIMIT
    for run in runs:
        assert run.max_parallel is None or running[run.run_id] <= run.max_parallel


def check_lanes(rows: Sequence[ActivationRow]) -> None:
    """No more have their turn than there are lanes, and as many while others wait, who are behind them."""
    rows = [row for row in rows if row.status.is_open]
    for row in rows:
        beside = [one for one in rows if one.id[:3] == row.id[:3]]
        in_turn = [one.position for one in beside if one.status is not ActivationStatus.BLOCKED]
        blocked = [one.position for one in beside if one.status is ActivationStatus.BLOCKED]
        assert len(in_turn) == row.lanes if blocked else len(in_turn) <= row.lanes
        assert max(in_turn, default=0) <= min(blocked, default=99)


def everything(ledger: LedgerTransaction) -> object:
    return (ledger.list_runs(), ledger.list_activations(), ledger.claimable(QUEUES, limit=99))


ACTIONS: Sequence[Callable[[Chance, int], None]] = (
    *[Chance.claim] * 6,
    *[Chance.settle] * 4,
    Chance.finish,
    Chance.accept,
    Chance.take_from_the_dead,
    Chance.advance,
    Chance.note_answer,
    Chance.stop,
    Chance.pause,
    Chance.retry,
    Chance.do_in_vain,
)

actions = st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 1_000)), min_size=30, max_size=60)


def play(store: LedgerStore, chosen: Iterable[tuple[Callable[[Chance, int], None], int]]) -> None:
    chance = Chance(store)
    for number in (11, 7):  # four activations each, in four lanes and in two
        chance.accept(number)
    for act, number in chosen:
        act(chance, number)
        chance.check()


@settings(max_examples=60, database=None, derandomize=True)
@given(actions)
def test_claims_keep_to_the_rules_whatever_happens(
    chosen: Sequence[tuple[Callable[[Chance, int], None], int]],
) -> None:
    play(MemoryLedger(max_running=PROJECT_LIMIT), chosen)
