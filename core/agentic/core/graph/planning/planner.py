"""Every decision of a run, as pure functions: no clock, no I/O, no randomness.

A runner, in process or distributed, only does this::

    transition = start(graph, config, run, message)
    while transition.state.status is RunStatus.RUNNING:
        results = ...run every activation that due(transition.state) returns...
        decision = commit(graph, config, transition.state, results, now)

and passes on events from outside: :func:`settle`, :func:`break_off`, :func:`go_on`.
Supersteps follow bulk-synchronous parallel execution (Malewicz et al., Pregel, 2010).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from agentic.core.graph.codec.payload import Payload
from agentic.core.graph.definition.edges import Graph, MapEdge
from agentic.core.graph.errors import ConvergenceError
from agentic.core.graph.model.events import EventKind, WorkflowEvent
from agentic.core.graph.model.messages import Activation, ActivationKey, ActivationResult, Delivery
from agentic.core.graph.model.policies import WorkflowConfig
from agentic.core.graph.model.progress import Asked, Progress
from agentic.core.graph.model.result import RunStatus
from agentic.core.graph.model.state import Draft, EventLog, Parked, RunState, StateChange
from agentic.core.graph.planning import joins, record_events
from agentic.core.graph.planning.refusals import failed_by, refuse_senders, undeliverable, with_later
from agentic.core.graph.planning.routed import RoutingContext
from agentic.core.graph.planning.routing import route, takes_failure
from agentic.core.graph.planning.shared_state import merge_writes
from agentic.core.records import record
from agentic.core.types import ExecutorId


@record
class Transition:
    """The transition of a run to its next state.

    Attributes:
        state: The next state.
        events: Durable, in order.
        changes: Entries of the state that differ from the last one; its other fields always may differ.
        outputs: The outputs that the run yields by it.
    """

    state: RunState
    events: list[WorkflowEvent]
    changes: list[StateChange]
    outputs: list[Payload]


_NONE_KEPT: Mapping[ActivationKey, ActivationResult] = {}


@record
class Answer:
    """An answer to a request, checked already."""

    payload: Payload
    answered_by: str = ""


@record
class EarlyEnd:
    """How a superstep was broken off.

    Attributes:
        error: The error that ended it; None if the caller cancelled the run.
        tried: Progress from the tries of activations that did not finish.
    """

    error: Exception | None
    tried: Mapping[ActivationKey, Progress]


def start(
    graph: Graph,
    config: WorkflowConfig,
    state: RunState,
    now: float,
    message: Payload,
    facts: Mapping[str, object],
) -> Transition:
    """Begin superstep 0: every start executor gets ``message``.

    Args:
        graph: The workflow's.
        config: Limits of the run.
        state: A new one: name, path and times of the run.
        now: Seconds since the epoch.
        message: The input.
        facts: For the event: the workflow.
    """
    barrier = _Barrier(graph, config, state, now)
    barrier.log.add(EventKind.RUN_STARTED, {**facts, "starts": list(graph.starts), "input": message})
    deliveries = [
        Delivery(executor_id, (), message if position == 0 else message.for_next_receiver())
        for position, executor_id in enumerate(graph.starts)
    ]
    return barrier.open(deliveries, superstep=0)


def due(state: RunState) -> Sequence[Activation]:
    """Return the activations of this superstep: in executor declaration order, then delivery order."""
    if not state.kept:
        return state.activations
    return [activation for activation in state.activations if activation.key not in state.kept]


def commit(
    graph: Graph,
    config: WorkflowConfig,
    state: RunState,
    results: Sequence[ActivationResult],
    now: float,
) -> Transition:
    """End a superstep: merge the writes, route the messages, and decide whether another one follows.

    Args:
        graph: The workflow's.
        config: Limits of the run.
        state: As of the superstep.
        results: One per activation, in the order :func:`due` gave them.
        now: Seconds since the epoch.
    """
    barrier = _Barrier(graph, config, state, now)
    whole = _with_kept(state, results)
    error = _first_failure(graph, state, whole)
    if error is not None:
        barrier.record(results)
        return barrier.failed(whole, error)
    refused = merge_writes(graph, barrier.draft, whole)
    if refused:
        return barrier.refuse(results, refused, next(iter(refused.values())))
    return barrier.commit(results, whole)


def break_off(
    graph: Graph,
    config: WorkflowConfig,
    state: RunState,
    results: Sequence[ActivationResult],
    now: float,
    ending: EarlyEnd,
) -> Transition:
    """End a run in the middle of a superstep; keep the finished results for when it continues.

    Args:
        graph: The workflow's.
        config: Limits of the run.
        state: As of the superstep.
        results: The finished results, in the order of :func:`due`.
        now: Seconds since the epoch.
        ending: The reason, and the progress of activations that did not finish.
    """
    barrier = _Barrier(graph, config, state, now)
    barrier.record(results)
    results = _with_kept(state, results)
    barrier.tried = ending.tried
    for activation in due(state):
        if activation.key in ending.tried:
            record_events.failures(barrier.log, activation, ending.tried[activation.key], is_handled=True)
    if ending.error is None:
        return barrier.break_off(results, RunStatus.CANCELLED)
    return barrier.failed(results, _first_failure(graph, state, results) or ending.error)


def take_in(
    graph: Graph,
    config: WorkflowConfig,
    state: RunState,
    results: Sequence[ActivationResult],
    now: float,
    tried: Mapping[ActivationKey, Progress],
) -> Transition:
    """Keep the finished results, like :func:`break_off`, when a run is ended without its code."""
    barrier = _Barrier(graph, config, state, now)
    barrier.record(results)
    barrier.tried = tried
    barrier.keep(_with_kept(state, results))
    return barrier.decide()


def settle(
    graph: Graph,
    config: WorkflowConfig,
    state: RunState,
    answers: Mapping[str, Answer | None],
    now: float,
    *,
    resumed: Mapping[str, object] | None = None,
) -> Transition:
    """Settle requests; activations that wait for nothing else continue.

    Args:
        graph: The workflow's.
        config: Limits of the run.
        state: Of any run that is not completed.
        answers: By name of an open request within the run; None for a request that expired.
        now: Seconds since the epoch.
        resumed: Facts for the event that a stored run was resumed; None for no such event.
    """
    barrier = _Barrier(graph, config, state, now)
    if resumed is not None:
        barrier.log.add(EventKind.RUN_RESUMED, {**resumed, "was": str(state.status)})
    for origin, parked in state.parked.items():
        before = parked.progress
        if any(asked.name in answers for asked in before.open_requests):
            progress = replace(
                before,
                asked=tuple(_settled(barrier.log, asked, answers) for asked in before.asked),
                surfaced=tuple(_settled(barrier.log, asked, answers) for asked in before.surfaced),
            )
            barrier.draft.put("parked", origin, replace(parked, progress=progress))
    again = _re_entries(barrier.draft) if state.status is RunStatus.WAITING_INPUT else []
    if not again:
        return barrier.decide()
    barrier.draft.status = RunStatus.RUNNING
    return barrier.open(again, superstep=state.superstep)


def _settled(log: EventLog, asked: Asked, answers: Mapping[str, Answer | None]) -> Asked:
    if not asked.is_open or asked.name not in answers:
        return asked
    given = answers[asked.name]
    if given is None:
        record_events.expired(log, asked)
        return replace(asked, has_expired=True)
    record_events.answered(log, asked, given.payload, given.answered_by)
    return replace(asked, answer=given.payload, answered_by=given.answered_by)


def go_on(
    graph: Graph,
    config: WorkflowConfig,
    state: RunState,
    now: float,
    facts: Mapping[str, object],
) -> Transition:
    """Resume a run that was interrupted, failed or cancelled, from its state.

    Args:
        graph: The workflow's.
        config: Limits from now on.
        state: The saved state; neither completed nor waiting.
        now: Seconds since the epoch.
        facts: For the event: the checkpoint, and the changes since.
    """
    was = str(state.status)
    state = replace(state, status=RunStatus.RUNNING, error=None)
    barrier = _Barrier(graph, config, state, now)
    barrier.log.add(EventKind.RUN_RESUMED, {**facts, "was": was})
    if state.is_begun:
        record_events.invoked_again(barrier.log, due(state))
    if state.activations:
        return barrier.begin()
    return barrier.open(_re_entries(barrier.draft), superstep=state.superstep)


def is_handled(graph: Graph, state: RunState, result: ActivationResult) -> bool:
    """Whether the run survives a failure: an edge takes it, or a map edge collects or skips it."""
    if result.error is None:
        return True
    item = result.activation.delivery.item
    if item is not None:
        edge = graph.edges[state.maps[item.map_id].edge_index]
        return isinstance(edge, MapEdge) and edge.on_item_error != "fail"
    return takes_failure(graph, result)


class _Barrier:
    """One decision in the making."""

    __slots__ = ("config", "draft", "graph", "log", "now", "refused", "state", "tried")

    def __init__(self, graph: Graph, config: WorkflowConfig, state: RunState, now: float) -> None:
        self.graph = graph
        self.config = config
        self.state = state
        self.now = now
        self.draft = Draft(state)
        self.log = EventLog(state, now)
        self.tried: Mapping[ActivationKey, Progress] = {}
        self.refused: frozenset[ActivationKey] = frozenset()

    def record(self, results: Sequence[ActivationResult]) -> None:
        """Record the results of activations."""
        for result in results:
            handled = is_handled(self.graph, self.state, result)
            if self.refused:
                handled = handled and result.activation.key not in self.refused
            record_events.result(self.log, result, is_handled=handled)
            yielded = result.progress.yielded
            self.draft.outputs.extend(result.outputs[yielded:] if yielded else result.outputs)

    def commit(self, results: Sequence[ActivationResult], whole: Sequence[ActivationResult]) -> Transition:
        """Route the messages, and continue with the next superstep.

        Args:
            results: The new results.
            whole: The new and the kept results.
        """
        draft = self.draft
        context = route(self.graph, draft, whole)
        _park(draft, whole)
        again = _re_entries(draft)
        if self.graph.has_available:
            _fire_available(context, again)
        error = context.error
        if context.lost and self.config.strict:
            error = error or undeliverable(context.lost[0])
            refuse_senders(context, whole)
        if error is not None:
            return self.refuse(results, context.refused, error, context)
        self.record(results)
        record_events.routing(self.log, context)
        record_events.superstep(self.log, draft, self.graph, len(whole), len(context.deliveries))
        return self.open(again + context.deliveries, superstep=self.state.superstep + 1)

    def refuse(
        self,
        results: Sequence[ActivationResult],
        refused: Mapping[ActivationKey, Exception],
        error: Exception,
        context: RoutingContext | None = None,
    ) -> Transition:
        """End a run whose superstep cannot be merged or routed; the activations that prevent it have failed.

        Args:
            results: The new results.
            refused: The activations to run again, and why.
            error: The error of the run.
            context: The decisions with the undelivered messages, if they are the reason.
        """
        new = {result.activation.key for result in results}
        whole = {result.activation.key: result for result in _with_kept(self.state, results)}
        refused = with_later(self.graph, whole, refused)
        evaluated = [
            failed_by(refused[key], result, is_new=key in new) if key in refused else result
            for key, result in whole.items()
        ]
        self.refused = frozenset(refused)
        self.record([r for r in evaluated if r.activation.key in new or r.activation.key in refused])
        if context is not None:
            record_events.lost(self.log, context)
        return self.failed(evaluated, error)

    def open(self, deliveries: Sequence[Delivery], *, superstep: int) -> Transition:
        """Begin a superstep; without deliveries, wait for answers or complete the run."""
        draft = self.draft
        draft.superstep = self.log.superstep = superstep
        draft.activations = _activations(self.graph, deliveries, superstep)
        draft.kept = _NONE_KEPT
        draft.is_begun = False
        if deliveries:
            return self.begin()
        if draft.parked:
            waiting = [asked for p in draft.parked.values() for asked in p.progress.open_requests]
            record_events.waiting(self.log, waiting)
            draft.status = RunStatus.WAITING_INPUT
            return self.decide()
        starving = list(joins.starving(draft.fan_ins, self.graph.edges))
        for edge, missing in starving:
            record_events.starving(self.log, edge, missing)
        draft.waiting_fan_ins = tuple(edge.target for edge, _ in starving)
        return self.end(RunStatus.COMPLETED)

    def begin(self) -> Transition:
        """Announce a superstep, unless it exceeds the limit."""
        draft = self.draft
        if draft.is_begun:
            return self.decide()
        if draft.superstep >= self.config.max_supersteps:
            still_due = list(dict.fromkeys(activation.executor_id for activation in draft.activations))
            draft.error = ConvergenceError(self.state.run_id, self.config.max_supersteps, still_due)
            return self.end(RunStatus.FAILED)
        record_events.begin(self.log, draft.activations)
        draft.is_begun = True
        return self.decide()

    def failed(self, results: Sequence[ActivationResult], error: Exception) -> Transition:
        """End a run that failed. Its superstep is neither merged nor routed; finished results are kept."""
        outputs = self.draft.outputs
        self.draft = Draft(self.state)
        self.draft.outputs = outputs
        self.draft.error = error
        return self.break_off(results, RunStatus.FAILED)

    def break_off(self, results: Sequence[ActivationResult], status: RunStatus) -> Transition:
        """End the run in the middle of its superstep; keep the results, and the progress of the rest."""
        self.keep(results)
        return self.end(status)

    def keep(self, results: Sequence[ActivationResult]) -> None:
        """Keep the results of a superstep that is broken off, and the progress of the rest."""
        _park(self.draft, results)  # they wait for answers, independent of the others
        finished = {
            key: r
            for r in results
            if (key := r.activation.key) not in self.refused
            and not r.parked
            and is_handled(self.graph, self.state, r)
        }
        tried = {**self.tried, **{r.activation.key: r.progress for r in results if r.error is not None}}
        parked = {r.activation.key for r in results if r.parked}
        self.draft.kept = finished
        self.draft.activations = tuple(
            replace(a, delivery=replace(a.delivery, progress=tried[a.key])) if a.key in tried else a
            for a in self.state.activations
            if a.key not in parked
        )

    def end(self, status: RunStatus) -> Transition:
        """End the run."""
        self.draft.status = status
        record_events.end(self.log, self.draft, self.now)
        return self.decide()

    def decide(self) -> Transition:
        """Return the decision."""
        draft = self.draft
        return Transition(
            draft.finished(self.log.sequence), self.log.events, list(draft.changed), draft.outputs
        )


def _with_kept(state: RunState, results: Sequence[ActivationResult]) -> Sequence[ActivationResult]:
    """Return the new results and the results kept from before, in planner order."""
    if not state.kept:
        return results
    by_key: dict[ActivationKey, ActivationResult] = {
        **state.kept,
        **{result.activation.key: result for result in results},
    }
    return [by_key[a.key] for a in state.activations if a.key in by_key]


def _first_failure(graph: Graph, state: RunState, results: Iterable[ActivationResult]) -> Exception | None:
    for result in results:
        if result.routing_error is not None:
            return result.routing_error
        if result.error is not None and not is_handled(graph, state, result):
            item = result.activation.delivery.item
            if item is not None:
                result.error.add_note(f"while processing item {item.index} of a map edge")
            return result.error
    return None


def _park(draft: Draft, results: Iterable[ActivationResult]) -> None:
    for result in results:
        if result.parked:
            draft.put("parked", result.activation.origin, Parked(result.activation, result.progress))


def _re_entries(draft: Draft) -> list[Delivery]:
    """Take out the parked activations that can continue, oldest first."""
    if not draft.parked:
        return []
    ready = [(origin, parked) for origin, parked in draft.parked.items() if parked.progress.is_ready]
    for origin, _ in ready:
        draft.drop("parked", origin)
    # Not in parking order: in a superstep that was broken off, some parked before the others.
    ready.sort(key=lambda entry: (entry[1].activation.superstep, entry[1].activation.shard))
    return [replace(parked.activation.delivery, progress=parked.progress) for _, parked in ready]


def _fire_available(context: RoutingContext, again: Sequence[Delivery]) -> None:
    draft = context.draft
    live = {delivery.target for delivery in (*again, *context.deliveries)}
    for progress in draft.maps.values():
        edge = context.graph.edges[progress.edge_index]
        if isinstance(edge, MapEdge):
            live |= {edge.body, edge.join}
    waiting = {parked.activation.executor_id for parked in draft.parked.values()}
    joins.fire_available(context, live, waiting)


def _activations(graph: Graph, deliveries: Sequence[Delivery], superstep: int) -> tuple[Activation, ...]:
    if len(deliveries) < 2:
        return (Activation(deliveries[0], superstep, 0),) if deliveries else ()
    shards: dict[ExecutorId, int] = {}
    activations: list[Activation] = []
    rank = graph.rank
    for delivery in sorted(deliveries, key=lambda d: rank[d.target]):
        shard = shards.get(delivery.target, 0)
        shards[delivery.target] = shard + 1
        activations.append(Activation(delivery, superstep, shard))
    return tuple(activations)
