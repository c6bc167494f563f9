"""A process's copy of a run: its state, and all that is needed to decide how it continues."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from agentic.core.graph.checkpoints.restore import restore
from agentic.core.graph.checkpoints.snapshots import CheckpointDraft, CheckpointTracker
from agentic.core.graph.checkpoints.store import StoredCheckpoint
from agentic.core.graph.definition.run_services import StateView
from agentic.core.graph.errors import error_text
from agentic.core.graph.model.events import WorkflowEvent
from agentic.core.graph.model.messages import Activation, ActivationKey, ActivationResult
from agentic.core.graph.model.result import RunStatus
from agentic.core.graph.model.state import RunState
from agentic.core.graph.planning.planner import Transition
from agentic.core.graph.planning.shared_state import view_after
from agentic.core.ledger import ActivationId, LedgerStep, NewActivation, OnCommit
from agentic.core.masking import KnownSecrets
from agentic.core.records import record
from agentic.executors.durable.runs.catalog import OnceKept, RegisteredWorkflow
from agentic.executors.durable.runs.encoding import batches, write_result


@record
class StepPlan:
    """A decision that is not in the ledger yet.

    Attributes:
        step: The step to write.
        state: The run's state after it.
        draft: The checkpoint.
        stays: Whether the superstep and its running activations continue.
        events: The events of the decision.
        on_commit: Called in the transaction that writes it.
    """

    step: LedgerStep
    state: RunState
    draft: CheckpointDraft
    stays: bool
    events: Sequence[WorkflowEvent] = ()
    on_commit: Sequence[OnCommit] = ()

    @property
    def is_settled(self) -> bool:
        """Whether the due superstep already has its results, so that the next decision can follow."""
        new = self.step.activations
        is_running = self.state.status is RunStatus.RUNNING and not self.stays
        return is_running and all(activation.result is not None for activation in new)


class CachedRun:
    """A run at one of its checkpoints.

    It follows the decisions of this process; a decision of another process makes it outdated.

    Args:
        registered: The run's workflow.
        state: The run's state.
        tracker: The parts of it in the ledger.
        changed: Names of executors and conditions whose code has changed since the run began.

    Attributes:
        workflow: The run's workflow.
        graph: The workflow's.
        config: The workflow's.
        run_id: The run.
        state: The run's state.
        changed: As given.
        lock: Held from the making of a plan until it is applied, or the run is dropped.
    """

    def __init__(
        self,
        registered: RegisteredWorkflow,
        state: RunState,
        tracker: CheckpointTracker,
        changed: tuple[str, ...] = (),
    ) -> None:
        self.workflow = registered.workflow
        self.graph = self.workflow.graph
        self.config = self.workflow.config
        self.run_id = state.run_id
        self._hooks = registered.hooks
        self._queue = registered.queue
        self.state = state
        self.changed = changed
        self.lock = asyncio.Lock()
        self._tracker = tracker
        self._finished: dict[ActivationKey, ActivationResult] = {}
        self._indexed: Sequence[Activation] = ()
        self._by_key: Mapping[ActivationKey, Activation] = {}
        self._once_kept: OnceKept | None = None

    @classmethod
    def restored(cls, registered: RegisteredWorkflow, stored: StoredCheckpoint) -> CachedRun:
        """Return a run from a checkpoint.

        Raises:
            CheckpointVersionError: The workflow, or its version, is a different one.
            CorruptCheckpointError: The checkpoint is damaged.
        """
        found = restore(stored, registered.workflow)
        run_id = found.state.run_id
        tracker = CheckpointTracker(registered.workflow, run_id, saved=found.saved, converted=found.converted)
        return cls(registered, found.state, tracker, found.changed)

    @property
    def revision(self) -> int:
        """The checkpoint's revision."""
        return self._tracker.revision

    @property
    def log_context(self) -> Mapping[str, str]:
        """The log context of the run's handlers."""
        return {"run_id": self.run_id, **self._hooks.context(self.run_id)}

    @property
    def secrets(self) -> KnownSecrets | None:
        """Learns the secrets that the run's handlers read."""
        return self._hooks.secrets

    @property
    def clean(self) -> Callable[[WorkflowEvent], WorkflowEvent]:
        """Removes secrets from an event."""
        return self._hooks.clean

    def activation(self, activation_id: ActivationId) -> Activation | None:
        """Return an activation of the due superstep; None if the id is unknown."""
        if activation_id.superstep != self.state.superstep:
            return None
        if self._indexed is not self.state.activations:
            # All activations of a wide superstep are looked up: to search them each time is quadratic.
            self._indexed = self.state.activations
            self._by_key = {a.key: a for a in self._indexed}
        return self._by_key.get((activation_id.executor_id, activation_id.shard))

    def keep(self, result: ActivationResult) -> None:
        """Remember the result of an activation of the superstep."""
        self._finished[result.activation.key] = result

    def finished(self, key: ActivationKey) -> ActivationResult | None:
        """Return an activation's result since the superstep began, if this process knows it."""
        return self._finished.get(key)

    def kept(self, key: ActivationKey) -> ActivationResult | None:
        """Return an activation's result, if this process knows it."""
        return self._finished.get(key) or self.state.kept.get(key)

    def view_for(self, activation: Activation) -> StateView:
        """Return the run's state as an activation sees it; earlier ones of its lane must be known."""
        executor_id = activation.executor_id
        view = StateView(self.state.shared, self.state.local.get(executor_id, {}))
        if self.graph.lanes[executor_id] > 1:
            return view
        for shard in range(activation.shard):
            earlier = self.kept((executor_id, shard))
            if earlier is not None and (earlier.writes or earlier.local is not None):
                view = view_after(self.graph, view, earlier)
        return view

    def plan(self, transitions: Sequence[Transition], now: float) -> StepPlan:
        """Return the plan of some decisions, made one after the other.

        Notes of an earlier plan that was not applied are dropped.

        Raises:
            UnencodableError: A part of the state cannot be stored.
        """
        self._tracker.forget()
        for transition in transitions:
            self._tracker.note(transition)
        state = transitions[-1].state
        draft = self._tracker.draft(state, now)
        clean = self._hooks.clean
        told = [clean(event) for transition in transitions for event in transition.events]
        # The parent run has the requests of a child run, and reports to it when they have expired.
        asked_here = () if state.path else state.open_requests
        deadlines = [asked.deadline for asked in asked_here if asked.deadline is not None]
        step = LedgerStep(
            checkpoint=draft.checkpoint,
            activations=self._new_activations(state),
            events=batches(told),
            error=None if state.error is None else error_text(state.error),
            wake_at=min(deadlines, default=None),
            deadline=state.deadline,
        )
        return StepPlan(step, state, draft, self._stays(state), told, self._on_commit(state))

    def take(self, plan: StepPlan) -> None:
        """Apply a plan that the ledger has accepted, and run its actions after the commit."""
        self._tracker.settle(plan.draft)
        once_kept, self._once_kept = self._once_kept, None
        if once_kept is not None:
            once_kept()
        if not plan.stays:
            self._finished = {}
        self.state = plan.state

    def _on_commit(self, state: RunState) -> Sequence[OnCommit]:
        on_rest = self._hooks.on_rest
        self._once_kept = None
        if on_rest is None or (self.revision and state.status is self.state.status):
            return ()

        def write(session: object) -> None:  # again with each try of the transaction
            self._once_kept = on_rest(session, state)

        return [write]

    def _stays(self, state: RunState) -> bool:
        before = self.state
        is_running = before.status is state.status is RunStatus.RUNNING and self.revision > 0
        return is_running and before.superstep == state.superstep

    def _new_activations(self, state: RunState) -> list[NewActivation]:
        if state.status is not RunStatus.RUNNING or self._stays(state):
            return []
        return [
            self._new_activation(state, position, activation)
            for position, activation in enumerate(state.activations)
        ]

    def _new_activation(self, state: RunState, position: int, activation: Activation) -> NewActivation:
        executor = self.graph.executors[activation.executor_id]
        policy = executor.crash or self.config.crash
        kept = state.kept.get(activation.key)
        # The next claimant evaluates the missing conditions again.
        is_done = kept is not None and kept.is_evaluated and kept.routing_error is None
        return NewActivation(
            id=ActivationId(state.run_id, activation.superstep, *activation.key),
            position=position,
            lanes=self.graph.lanes[activation.executor_id],
            queue=executor.queue or self._queue,
            on_crash=policy.on_crash,
            max_crashes=policy.max_crashes,
            result=write_result(self.workflow.codec, kept) if kept is not None and is_done else None,
        )
