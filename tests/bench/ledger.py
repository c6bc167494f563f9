"""What the ledger in SQL costs, without an engine: ``python -m tests.bench.ledger step-full``.

A step in place is one transaction: the activation is done, its run goes on by a checkpoint of one part, one
batch of events and one activation, and that is claimed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tests.bench.measuring import Figures, Stopwatch, main, per_commit, scratch

from agentic.core.graph.checkpoints.store import Checkpoint, CheckpointMetadata
from agentic.core.graph.model.result import RunStatus
from agentic.core.hooks import PluginRegistry
from agentic.core.ledger import (
    ActivationId,
    ActivationStatus,
    Claimed,
    EventBatch,
    LedgerStep,
    LedgerTransaction,
    NewActivation,
    NewRun,
    Settled,
)
from agentic.core.types import ExecutorId, RunId
from agentic.mappers.database.engine import Synchronous
from agentic.mappers.ledger.ledger import SqlLedger
from agentic.migrations import upgrade

STEPS = 500
RUNS = 100
ROUNDS = 10
QUEUED = 10_000
CLOSED = 100_000

HEAD = "x" * 300
"""As long as the JSON of a step with a number for a message."""
EVENTS = "y" * 600
"""As long as that of the events it gives."""

DONE = Settled(status=ActivationStatus.DONE)
LEASE_S = 30.0


@contextmanager
def opened(synchronous: Synchronous) -> Iterator[SqlLedger]:
    """Open an empty ledger in a file of its own."""
    with scratch() as folder:
        url = f"sqlite:///{Path(folder).resolve() / 'data.db'}"
        upgrade(url, PluginRegistry([]))
        ledger = SqlLedger.open(url, synchronous=synchronous)
        yield ledger
        ledger.close()


def step(run_id: RunId, superstep: int, *, width: int = 1) -> LedgerStep:
    """Return a step that makes a superstep due."""
    metadata = CheckpointMetadata(
        run_id=run_id,
        revision=superstep + 1,
        superstep=superstep,
        status=RunStatus.RUNNING,
        saved_at=1e9,
        workflow_id="flow",
    )
    return LedgerStep(
        checkpoint=Checkpoint(metadata=metadata, head=HEAD, changes={"local/work": "1"}),
        activations=[
            NewActivation(id=ActivationId(run_id, superstep, ExecutorId("work"), shard), position=shard)
            for shard in range(width)
        ],
        events=[EventBatch(run_id=run_id, first=superstep * 4 + 1, last=superstep * 4 + 4, text=EVENTS)],
    )


def accept(transaction: LedgerTransaction, run_id: RunId) -> None:
    """Add a run of one activation."""
    transaction.add_run(NewRun(step=step(run_id, 0), workflow="flow"))


def claim(transaction: LedgerTransaction, run_id: RunId, superstep: int) -> Claimed:
    """Claim the only activation of a superstep."""
    activation_id = ActivationId(run_id, superstep, ExecutorId("work"), 0)
    claimed = transaction.claim(activation_id, "worker@host:1", LEASE_S)
    assert claimed is not None
    return claimed


def go_on(transaction: LedgerTransaction, claimed: Claimed, decided: LedgerStep) -> Claimed:
    """Do one step in place."""
    run_id, superstep, _, _ = claimed.lease.id
    assert transaction.settle(claimed.lease, DONE)
    assert transaction.advance(run_id, superstep, claimed.revision, decided)
    return claim(transaction, run_id, superstep + 1)


def decide(claims: Sequence[Claimed], count: int) -> Iterator[LedgerStep]:
    """Return the next steps of some runs, of each run in turn, made before anybody looks at the clock."""
    begins = [claimed.lease.id.superstep + 1 for claimed in claims]
    steps = [
        step(claimed.lease.id.run_id, begin + number)
        for number in range(count)
        for claimed, begin in zip(claims, begins, strict=True)
    ]
    return iter(steps)


def begin(ledger: SqlLedger, count: int) -> list[Claimed]:
    """Add runs and claim their first activations."""
    names = [RunId(f"{number:032d}") for number in range(count)]
    with ledger.transaction() as transaction:
        for name in names:
            accept(transaction, name)
        return [claim(transaction, name, 0) for name in names]


def one_by_one(ledger: SqlLedger) -> Figures:
    """Return the cost of a step in a transaction of its own."""
    (claimed,) = begin(ledger, 1)
    watch = Stopwatch()
    for count in (10, STEPS):  # the first compile statements
        steps = decide([claimed], count)
        watch = Stopwatch()
        for decided in steps:
            with ledger.transaction() as transaction:
                claimed = go_on(transaction, claimed, decided)
    return per_commit(watch.read(), STEPS)


def together(ledger: SqlLedger) -> Figures:
    """Return the cost of one of many steps that share a transaction, each in a part of its own."""
    claims = begin(ledger, RUNS)
    watch = Stopwatch()
    for count in (1, ROUNDS):
        steps = decide(claims, count)
        watch = Stopwatch()
        for _ in range(count):
            claims = _together(ledger, claims, steps)
    return per_commit(watch.read(), ROUNDS * RUNS)


def _together(ledger: SqlLedger, claims: Sequence[Claimed], steps: Iterator[LedgerStep]) -> list[Claimed]:
    went_on = []
    with ledger.transaction() as transaction:
        for claimed in claims:
            with transaction.savepoint():
                went_on.append(go_on(transaction, claimed, next(steps)))
    return went_on


def crowd(ledger: SqlLedger) -> None:
    """Add runs that wait to be claimed, and one that has done a lot."""
    for begin_at in range(0, QUEUED, 1000):
        with ledger.transaction() as transaction:
            for number in range(begin_at, begin_at + 1000):
                accept(transaction, RunId(f"queued {number:025d}"))
    old = RunId("z" * 32)
    with ledger.transaction() as transaction:
        accept(transaction, old)
    for superstep in range(1, CLOSED // 1000 + 1):
        with ledger.transaction() as transaction:
            transaction.advance(old, superstep - 1, superstep, step(old, superstep, width=1000))


Case = Callable[[SqlLedger], Figures]


def measured(case: Case, synchronous: Synchronous, *, is_crowded: bool = False) -> Figures:
    """Return what a case costs in a new ledger, or in a crowded one."""
    with opened(synchronous) as ledger:
        if is_crowded:
            crowd(ledger)
        return case(ledger)


CASES: dict[str, Callable[[], Figures]] = {
    "step-full": partial(measured, one_by_one, "full"),
    "step-normal": partial(measured, one_by_one, "normal"),
    "group-full": partial(measured, together, "full"),
    "group-normal": partial(measured, together, "normal"),
    "step-full-crowded": partial(measured, one_by_one, "full", is_crowded=True),
    "step-normal-crowded": partial(measured, one_by_one, "normal", is_crowded=True),
    "group-full-crowded": partial(measured, together, "full", is_crowded=True),
}

if __name__ == "__main__":
    main(CASES, dict)
