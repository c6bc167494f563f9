"""What a process knows of a run: where it stands, and what it takes to decide how it goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from agentic.core.graph.checkpoints.restore import restore
from agentic.core.graph.checkpoints.snapshots import CheckpointDraft, Snapshots
from agentic.core.graph.checkpoints.store import StoredCheckpoint
from agentic.core.graph.definition.edges import Graph
from agentic.core.graph.definition.run_services import Seen
from agentic.core.graph.errors import error_text
from agentic.core.graph.model.events import WorkflowEvent
from agentic.core.graph.model.messages import Activation, ActivationKey, ActivationResult
from agentic.core.graph.model.policies import WorkflowConfig
from agentic.core.graph.model.result import RunStatus
from agentic.core.graph.model.state import RunState
from agentic.core.graph.planning.planner import Decision
from agentic.core.graph.planning.shared_state import seen_after
from agentic.core.ledger import ActivationId, NewActivation, OnCommit, Step
from agentic.core.masking import KnownSecrets
from agentic.core.records import record
from agentic.core.types import RunId
from agentic.executors.durable.runs.catalog import Flow
from agentic.executors.durable.runs.encoding import batches, write_result
from agentic.executors.durable.runs.hooks import OnceKept


@record
class Plan:
    """A decision that the ledger has not got yet.

    Attributes:
        step: What it is to write.
        state: Where the run stands then.
        draft: The checkpoint.
        stays: Whether the superstep goes on, and what is under way in it.
        events: What the decision told.
        on_commit: What is to be done in the transaction that writes it.
    """

    step: Step
    state: RunState
    draft: CheckpointDraft
    stays: bool
    events: Sequence[WorkflowEvent] = ()
    on_commit: Sequence[OnCommit] = ()

    @property
    def is_settled(self) -> bool:
        """Whether the superstep that is due has its results already, so that the next decision can follow."""
        new = self.step.activations
        is_running = self.state.status is RunStatus.RUNNING and not self.stays
        return is_running and all(activation.result is not None for activation in new)


class RunImage:
    """A run as of one of its checkpoints.

    It follows what this process decides; when another one decided, it is worth nothing any more.

    Args:
        flow: Whose run it is.
        state: Where it stands.
        snapshots: What the ledger holds of it.
        changed: Names of executors and conditions whose code is another one since the run began.

    Attributes:
        workflow: Whose run it is.
        state: Where it stands.
        changed: As given.
        lock: Held from when a plan is made until it is taken over, or the image forgotten.
    """

    def __init__(
        self, flow: Flow, state: RunState, snapshots: Snapshots, changed: tuple[str, ...] = ()
    ) -> None:
        self.workflow = flow.workflow
        self._hooks = flow.hooks
        self._queue = flow.queue
        self.state = state
        self.changed = changed
        self.lock = asyncio.Lock()
        self._snapshots = snapshots
        self._finished: dict[ActivationKey, ActivationResult] = {}
        self._indexed: Sequence[Activation] = ()
        self._by_key: Mapping[ActivationKey, Activation] = {}
        self._once_kept: OnceKept | None = None

    @classmethod
    def restored(cls, flow: Flow, stored: StoredCheckpoint) -> RunImage:
        """Return a run as a checkpoint has it.

        Raises:
            CheckpointVersionError: The workflow is another one, or another version of it.
            CorruptCheckpointError: The checkpoint is damaged.
        """
        found = restore(stored, flow.workflow)
        run_id = found.state.run_id
        snapshots = Snapshots(flow.workflow, run_id, saved=found.saved, converted=found.converted)
        return cls(flow, found.state, snapshots, found.changed)

    @property
    def run_id(self) -> RunId:
        """The run."""
        return self.state.run_id

    @property
    def revision(self) -> int:
        """Of the checkpoint."""
        return self._snapshots.revision

    @property
    def graph(self) -> Graph:
        """The workflow's."""
        return self.workflow.graph

    @property
    def config(self) -> WorkflowConfig:
        """The workflow's."""
        return self.workflow.config

    @property
    def log_context(self) -> Mapping[str, str]:
        """What log lines of the run's handlers carry."""
        return {"run_id": self.run_id, **self._hooks.context(self.run_id)}

    @property
    def secrets(self) -> KnownSecrets | None:
        """Learns the secrets that the run's handlers read."""
        return self._hooks.secrets

    @property
    def clean(self) -> Callable[[WorkflowEvent], WorkflowEvent]:
        """Takes out of an event what nobody may see."""
        return self._hooks.clean

    def activation(self, activation_id: ActivationId) -> Activation | None:
        """Return an activation of the superstep that is due; None when it is of none."""
        if activation_id.superstep != self.state.superstep:
            return None
        if self._indexed is not self.state.activations:
            # Each of a wide superstep is asked for: to search them all every time would be quadratic.
            self._indexed = self.state.activations
            self._by_key = {a.key: a for a in self._indexed}
        return self._by_key.get((activation_id.executor_id, activation_id.shard))

    def keep(self, result: ActivationResult) -> None:
        """Remember what an activation of the superstep came to."""
        self._finished[result.activation.key] = result

    def finished(self, key: ActivationKey) -> ActivationResult | None:
        """Return what an activation came to since the superstep was begun, if this process knows it."""
        return self._finished.get(key)

    def kept(self, key: ActivationKey) -> ActivationResult | None:
        """Return what an activation came to, if this process knows it."""
        return self._finished.get(key) or self.state.kept.get(key)

    def seen_by(self, activation: Activation) -> Seen:
        """Return what an activation sees of the run's state; earlier ones of its lane must be known."""
        executor_id = activation.executor_id
        seen = Seen(self.state.shared, self.state.local.get(executor_id, {}))
        if self.graph.lanes[executor_id] > 1:
            return seen
        for shard in range(activation.shard):
            earlier = self.kept((executor_id, shard))
            if earlier is not None and (earlier.writes or earlier.local is not None):
                seen = seen_after(self.graph, seen, earlier)
        return seen

    def plan(self, decisions: Sequence[Decision], now: float) -> Plan:
        """Return what decisions, made one after the other, write.

        What an earlier plan had noted that was not taken over is forgotten.

        Raises:
            UnencodableError: Something in the state cannot be stored.
        """
        self._snapshots.forget()
        for decision in decisions:
            self._snapshots.note(decision)
        state = decisions[-1].state
        draft = self._snapshots.draft(state, now)
        clean = self._hooks.clean
        told = [clean(event) for decision in decisions for event in decision.events]
        # Requests of a child run are those of the run around it, which hands on that they have expired.
        asked_here = () if state.path else state.open_requests
        deadlines = [asked.deadline for asked in asked_here if asked.deadline is not None]
        step = Step(
            checkpoint=draft.checkpoint,
            activations=self._new_activations(state),
            events=batches(told),
            error=None if state.error is None else error_text(state.error),
            wake_at=min(deadlines, default=None),
            deadline=state.deadline,
        )
        return Plan(step, state, draft, self._stays(state), told, self._on_commit(state))

    def take(self, plan: Plan) -> None:
        """Take over a plan that the ledger has taken, and do what was to be done once it has."""
        self._snapshots.settle(plan.draft)
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

        def write(session: object) -> None:  # anew when the transaction is
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
        # What conditions have not said yet is asked again by whoever claims it.
        is_done = kept is not None and kept.is_judged and kept.routing_error is None
        return NewActivation(
            id=ActivationId(state.run_id, activation.superstep, *activation.key),
            position=position,
            lanes=self.graph.lanes[activation.executor_id],
            queue=executor.queue or self._queue,
            on_crash=policy.on_crash,
            max_crashes=policy.max_crashes,
            result=write_result(self.workflow.codec, kept) if kept is not None and is_done else None,
        )
