"""Records of runs and activations in the ledger, and the writes to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from agentic.core.graph.checkpoints.store import Checkpoint, CheckpointMetadata
from agentic.core.graph.model.policies import OnCrash
from agentic.core.graph.model.result import RunStatus
from agentic.core.graph.names import between_colons
from agentic.core.types import ExecutorId, RunId

DEFAULT_QUEUE = "agentic.default"
NO_LIMIT = 1_000_000_000
"""For complete listings of one run."""

MAX_PRIORITY = 9
"""Priorities are 0 to 9; the highest runs first."""


class ActivationStatus(StrEnum):
    """Status of an activation."""

    PENDING = "pending"  # can be claimed, from `not_before` on
    BLOCKED = "blocked"  # its turn comes when an earlier one of its executor is closed
    RUNNING = "running"  # claimed by the worker with the fence, while the lease lasts
    WAITING = "waiting"  # for the end of a child run
    REVIEW = "review"  # its worker died, and a person must decide the next step
    DONE = "done"  # has a result, which may be a failure
    DEAD = "dead"  # has a result: it failed for good, after its workers died
    SKIPPED = "skipped"  # will not run: its superstep was interrupted, or an earlier one of its lane failed

    @property
    def is_open(self) -> bool:
        """Whether its superstep cannot end without it."""
        return self in _OPEN


_OPEN = frozenset(
    {
        ActivationStatus.PENDING,
        ActivationStatus.BLOCKED,
        ActivationStatus.RUNNING,
        ActivationStatus.WAITING,
        ActivationStatus.REVIEW,
    }
)


class ActivationId(NamedTuple):
    """Identifies an activation among all runs of a project."""

    run_id: RunId
    superstep: int
    executor_id: ExecutorId
    shard: int

    def __str__(self) -> str:
        return f"{self.run_id}:{self.superstep}:{between_colons(self.executor_id)}:{self.shard}"


class Lease(NamedTuple):
    """The right to settle an activation: only the claim with the newest fence has it."""

    id: ActivationId
    fence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewActivation:
    """An activation of the superstep that is due from now on.

    Attributes:
        id: Its name.
        position: Its place in the superstep, from 0, in planner order.
        lanes: How many of its executor may run at a time. With 1, each waits for the one before it.
        queue: Which workers may claim it.
        on_crash: The reaction when its worker dies.
        max_crashes: How often its workers may die before it fails for good.
        result: Set when it is already finished: the result from before the superstep was interrupted.
    """

    id: ActivationId
    position: int
    lanes: int = 1
    queue: str = DEFAULT_QUEUE
    on_crash: OnCrash = "retry"
    max_crashes: int = 2
    result: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventBatch:
    """Durable events of one decision.

    Attributes:
        run_id: The run.
        first: Sequence of the first one.
        last: Sequence of the last one.
        text: A JSON array of them.
        decided_at: Time of the newest event that reports a decision; None when no event does.
        deciding: Kinds of the events that report decisions, with a space before and after each.
    """

    run_id: RunId
    first: int
    last: int
    text: str
    decided_at: float | None = None
    deciding: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerStep:
    """The writes of a planner decision, all or none.

    Attributes:
        checkpoint: The run's new state. Its metadata has superstep, revision and status.
        activations: Activations of the due superstep; empty when the run has ended or rests.
        events: Events of the decision: a batch, and one for each run within it that has events.
        error: Why the run failed.
        wake_at: When the first deadline of an open request passes, in seconds since the epoch.
        deadline: When the run must be done, in seconds since the epoch.
    """

    checkpoint: Checkpoint
    activations: Sequence[NewActivation] = ()
    events: Sequence[EventBatch] = ()
    error: str | None = None
    wake_at: float | None = None
    deadline: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """A run to accept.

    Attributes:
        step: Its first step, of revision 1.
        workflow: Name of the workflow, known to every worker.
        idempotency_key: A second run with the same key is not accepted; None for no key.
        priority: 0 to 9; higher goes first.
        max_parallel: How many of its activations may run at a time; None for no limit.
        parent: The activation that waits for its end, if it is a child run.
    """

    step: LedgerStep
    workflow: str
    idempotency_key: str | None = None
    priority: int = 0
    max_parallel: int | None = None
    parent: ActivationId | None = None

    @property
    def run_id(self) -> RunId:
        """The run."""
        return self.step.checkpoint.metadata.run_id


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A run as the ledger knows it. Times are seconds since the epoch by the store's clock.

    Attributes:
        run_id: The run.
        workflow: Name of the workflow, known to every worker.
        status: Its status.
        superstep: The superstep that is due, or runs.
        revision: Revision of its newest checkpoint.
        priority: 0 to 9; higher goes first.
        created_at: When it was accepted.
        began_at: When the outermost run around it was accepted; work of older runs goes first.
        updated_at: When it last progressed.
        finished_at: When it ended.
        deadline: When it must be done.
        wake_at: When the first deadline of an open request passes.
        max_parallel: How many of its activations may run at a time.
        parent: The activation that waits for its end.
        idempotency_key: As it was accepted.
        cancel_reason: Set when it must be cancelled.
        cancel_at: When its cancellation was requested.
        is_paused: Whether claims are stopped for now.
        note: Why it does not continue, from the last worker that tried.
        error: Why it failed.
    """

    run_id: RunId
    workflow: str
    status: RunStatus
    superstep: int
    revision: int
    priority: int
    created_at: float
    began_at: float
    updated_at: float
    finished_at: float | None = None
    deadline: float | None = None
    wake_at: float | None = None
    max_parallel: int | None = None
    parent: ActivationId | None = None
    idempotency_key: str | None = None
    cancel_reason: str | None = None
    cancel_at: float | None = None
    is_paused: bool = False
    note: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivationRow:
    """An activation as the ledger knows it. Times are seconds since the epoch by the store's clock.

    Attributes:
        id: Its name.
        status: Its status.
        position: Its place in the superstep.
        lanes: How many of its executor may run at a time.
        queue: Which workers may claim it.
        priority: Priority of its run.
        began_at: Orders activations of one priority: the time of its run, unless it was moved to the end.
        fence: Counts its claims, including returned ones.
        crashes: How often its worker died.
        on_crash: The reaction when its worker dies.
        max_crashes: How often its workers may die.
        not_before: When it may be claimed.
        lease_until: When the claim ends unless it is extended.
        worker: Who claimed it last.
        dispatched_at: When it was last dispatched.
        progress: Progress that its attempts share, as JSON.
        result: Its result, as JSON.
        note: Why it waits, or failed for good.
        waits_for: The child run that it waits for.
        started_at: When it was first claimed.
        finished_at: When it was closed.
    """

    id: ActivationId
    status: ActivationStatus
    position: int
    lanes: int
    queue: str
    priority: int
    began_at: float = 0.0
    fence: int = 0
    crashes: int = 0
    on_crash: OnCrash = "retry"
    max_crashes: int = 2
    not_before: float = 0.0
    lease_until: float | None = None
    worker: str | None = None
    dispatched_at: float | None = None
    progress: str | None = None
    result: str | None = None
    note: str | None = None
    waits_for: RunId | None = None
    started_at: float | None = None
    finished_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A claimed activation.

    Attributes:
        lease: Its name and fence.
        workflow: Name of the workflow of its run.
        revision: Revision of the checkpoint that describes it.
        queue: The queue it came from.
        priority: Priority of its run.
        crashes: How often its workers died.
        progress: Progress of its attempts so far, as JSON.
        deadline: Deadline of the run, in seconds since the epoch.
        parent: Parent of its run, for a child run.
        is_told: Whether it was dispatched, and a message may still arrive.
    """

    lease: Lease
    workflow: str
    revision: int
    queue: str
    priority: int
    crashes: int = 0
    progress: str | None = None
    deadline: float | None = None
    parent: ActivationId | None = None
    is_told: bool = False


class LeaseState(StrEnum):
    """The result of a heartbeat."""

    HELD = "held"
    CANCELLED = "cancelled"  # still held, and the run must be cancelled
    LOST = "lost"  # this worker lost the activation; its work will not count


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """The new state of a claimed activation.

    Attributes:
        status: Any but ``RUNNING`` and ``BLOCKED``.
        result: Its result, as JSON; for a closed one.
        progress: Progress for later attempts; None keeps the old one.
        delay_s: How long until it may be claimed again; for a pending one.
        note: The reason.
        waits_for: The child run that it waits for; for a waiting one.
        is_crash: Whether its worker died.
        skips_rest: Whether the rest of its lane will not run.
        to_the_end: Whether it goes to the end, because its worker cannot run it; for a pending one.
    """

    status: ActivationStatus
    result: str | None = None
    progress: str | None = None
    delay_s: float = 0.0
    note: str | None = None
    waits_for: RunId | None = None
    is_crash: bool = False
    skips_rest: bool = False
    to_the_end: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivationOutcome:
    """The data of a closed activation that the planner needs."""

    id: ActivationId
    status: ActivationStatus
    result: str | None
    progress: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatchable:
    """An activation to dispatch to a worker.

    Attributes:
        id: Its name.
        queue: Which workers may claim it.
        priority: Priority of its run.
        workflow: Name of the workflow of its run.
        fence: Counts its claims so far.
        not_before: When it may be claimed, in seconds since the epoch.
    """

    id: ActivationId
    queue: str
    priority: int
    workflow: str
    fence: int
    not_before: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChanges:
    """The changes of a run since a checkpoint.

    Attributes:
        metadata: Metadata of the newest checkpoint.
        head: JSON.
        changes: Part name -> JSON, or None for a removed part.
    """

    metadata: CheckpointMetadata
    head: str
    changes: Mapping[str, str | None] = field(default_factory=dict)
