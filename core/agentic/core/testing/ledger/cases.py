"""Runs, steps and activations for tests of a ledger, and ways to call it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from typing import TypeVar, cast

import pytest

from agentic.core.graph.model.result import RunStatus
from agentic.core.ledger.errors import LedgerConflictError
from agentic.core.ledger.port import LedgerStore, LedgerTransaction
from agentic.core.ledger.records import (
    DEFAULT_QUEUE,
    ActivationId,
    ActivationRow,
    ActivationStatus,
    EventBatch,
    Lease,
    LedgerStep,
    NewActivation,
    NewRun,
    RunRow,
    Settled,
)
from agentic.core.testing.checkpoint_contract import Changes, checkpoint
from agentic.core.types import ExecutorId, RunId

T = TypeVar("T")

Act = Callable[[LedgerTransaction], object]
"""A change of a ledger."""

MakeStore = Callable[[int | None], LedgerStore]
"""Creates an empty ledger, with a limit of concurrent activations in the project."""

RUN = RunId("run")
OTHER = RunId("other")
CHILD = RunId("run/work.0.0")
WORK = ExecutorId("work")
QUEUES = (DEFAULT_QUEUE,)

MANY = 1_000
"""More lanes than a test needs."""

CLAIMS_S = 60.0
"""How long a claim lasts here: longer than any test."""

LONG_S = 3600.0
"""Events this far in the future do not happen during a test."""

DONE = Settled(status=ActivationStatus.DONE, result='{"n": 1}')
RELEASED = Settled(status=ActivationStatus.PENDING)
LATER = Settled(status=ActivationStatus.PENDING, delay_s=LONG_S)
IN_REVIEW = Settled(status=ActivationStatus.REVIEW, note="its worker died", is_crash=True)
WAITING = Settled(status=ActivationStatus.WAITING, waits_for=CHILD)


def named(shard: int = 0, *, executor: str = WORK, superstep: int = 0, run_id: str = RUN) -> ActivationId:
    """Return the name of an activation."""
    return ActivationId(RunId(run_id), superstep, ExecutorId(executor), shard)


FIRST, SECOND, THIRD = named(0), named(1), named(2)


def due(
    count: int = 1, *, lanes: int = MANY, executor: str = WORK, superstep: int = 0, run_id: str = RUN
) -> list[NewActivation]:
    """Return the activations of one executor in a superstep."""
    return [
        NewActivation(
            id=named(shard, executor=executor, superstep=superstep, run_id=run_id),
            position=shard,
            lanes=lanes,
        )
        for shard in range(count)
    ]


def step(
    revision: int = 1,
    superstep: int = 0,
    activations: Sequence[NewActivation] = (),
    *,
    status: RunStatus = RunStatus.RUNNING,
    run_id: str = RUN,
    changes: Changes | None = None,
) -> LedgerStep:
    """Return a step as a decision writes it."""
    whole = checkpoint(revision, changes, run_id=run_id)
    metadata = replace(whole.metadata, superstep=superstep, status=status)
    return LedgerStep(checkpoint=replace(whole, metadata=metadata), activations=activations)


def new_run(activations: Sequence[NewActivation] | None = None, *, run_id: str = RUN) -> NewRun:
    """Return a run of one activation, or of the given ones."""
    first = due(run_id=run_id) if activations is None else activations
    return NewRun(step=step(activations=first, run_id=run_id), workflow="flow")


def ended(status: RunStatus = RunStatus.COMPLETED, *, revision: int = 2, run_id: str = RUN) -> LedgerStep:
    """Return the step that ends a run in its first superstep, or makes it rest there."""
    return step(revision, 0, status=status, run_id=run_id)


def batch(first: int, last: int, run_id: str = RUN) -> EventBatch:
    """Return events with these sequences."""
    return EventBatch(run_id=RunId(run_id), first=first, last=last, text=f"[{first}, {last}]")


class UsesLedger:
    """Tests of an empty ledger; subclasses provide the fixture ``make_store``."""

    @pytest.fixture
    def store(self, make_store: MakeStore) -> LedgerStore:
        """Return an empty ledger without a limit."""
        return make_store(None)

    @pytest.fixture
    def ledger(self, store: LedgerStore) -> LedgerTransaction:
        """Return the ledger, with a transaction for each call."""
        return each_alone(store)


class _EachAlone:
    def __init__(self, store: LedgerStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Callable[..., object]:
        def call(*args: object, **options: object) -> object:
            return in_one(self._store, lambda ledger: getattr(ledger, name)(*args, **options))

        return call


def each_alone(store: LedgerStore) -> LedgerTransaction:
    """Return a ledger that makes each call in its own transaction; it has no parts."""
    return cast("LedgerTransaction", _EachAlone(store))


def in_one(store: LedgerStore, work: Callable[[LedgerTransaction], T]) -> T:
    """Do work in one transaction, which is started again after each conflict."""
    for _ in range(1_000):
        try:
            with store.transaction() as ledger:
                return work(ledger)
        except LedgerConflictError:
            continue
    raise AssertionError("a transaction had 1,000 conflicts in a row")


def at_once(count: int, call: Callable[[int], T]) -> list[T]:
    """Call from ``count`` threads at once, each with its number; return their results."""
    ready = Barrier(count)

    def begin(number: int) -> T:
        ready.wait()
        return call(number)

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(begin, range(count)))


def claim(ledger: LedgerTransaction, activation_id: ActivationId = FIRST, lease_s: float = CLAIMS_S) -> Lease:
    """Claim an activation that may run."""
    claimed = ledger.claim(activation_id, "worker", lease_s)
    assert claimed is not None
    return claimed.lease


def close(ledger: LedgerTransaction, activation_id: ActivationId = FIRST, settled: Settled = DONE) -> None:
    """Claim an activation and settle it."""
    assert ledger.settle(claim(ledger, activation_id), settled)


def row_of(ledger: LedgerTransaction, activation_id: ActivationId = FIRST) -> ActivationRow:
    """Return an existing activation."""
    row = ledger.activation(activation_id)
    assert row is not None
    return row


def run_of(ledger: LedgerTransaction, run_id: RunId = RUN) -> RunRow:
    """Return an existing run."""
    row = ledger.run(run_id)
    assert row is not None
    return row


def is_about(moment: float | None, expected: float) -> bool:
    """Whether a time is close to the expected one, even on a slow machine."""
    return moment is not None and abs(moment - expected) < 20


def next_moment(ledger: LedgerTransaction) -> None:
    """Wait until the store's clock shows a later time."""
    before = ledger.now()
    while ledger.now() <= before:
        pass
