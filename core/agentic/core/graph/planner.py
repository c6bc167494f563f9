"""Every decision of a run, as pure functions: no clock, no I/O, no chance.

A runner, in process or distributed, does nothing but this::

    state, events = start(graph, ...)
    while state.status is RunStatus.RUNNING:
        activations = due(graph, state)
        state, events = begin(graph, state, activations, now)
        results = ...run every activation...
        state, events = commit(graph, limits, state, results, now)

Supersteps follow bulk-synchronous parallel execution (Malewicz et al., Pregel, 2010).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agentic.core.graph.edges import FanInEdge, Graph, MapEdge, edge_name, receivers_of, sources_of
from agentic.core.graph.errors import ConvergenceError, UndeliverableMessageError
from agentic.core.graph.events import EventKind, WorkflowEvent
from agentic.core.graph.messages import Activation, ActivationResult, Delivery, isolated
from agentic.core.graph.result import RunStatus
from agentic.core.graph.routing import Lost, Routing, failure_of, route
from agentic.core.graph.state import EventLog, RunState
from agentic.core.types import ExecutorId, RunId

Decision = tuple[RunState, list[WorkflowEvent]]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowConfig:
    """Limits and manners of a run.

    Attributes:
        max_supersteps: A run with messages still in flight after so many ends with ``ConvergenceError``.
        strict: A message that reaches nobody fails the run; else it is only an event.
    """

    max_supersteps: int = 1000
    strict: bool = True


def start(graph: Graph, run_id: RunId, path: str, message: object, now: float) -> Decision:
    """Return the state before superstep 0, in which every start executor gets ``message``."""
    pending = tuple(Delivery(executor_id, (), isolated(message)) for executor_id in graph.starts)
    state = RunState(run_id=run_id, path=path, started_at=now, pending=pending)
    log = EventLog(state, now)
    log.add(EventKind.RUN_STARTED, {"starts": list(graph.starts)})
    return replace(state, sequence=log.sequence), log.events


def due(graph: Graph, state: RunState) -> list[Activation]:
    """Return the activations of this superstep: by executor in declaration order, then in delivery order."""
    if len(state.pending) == 1:
        return [Activation(state.pending[0], state.superstep, 0)]
    shards: dict[ExecutorId, int] = {}
    activations: list[Activation] = []
    for delivery in sorted(state.pending, key=lambda d: graph.rank[d.target]):
        shard = shards.get(delivery.target, 0)
        shards[delivery.target] = shard + 1
        activations.append(Activation(delivery, state.superstep, shard))
    return activations


def begin(state: RunState, activations: Sequence[Activation], now: float) -> Decision:
    """Announce a superstep. What was due is now in the runner's hands and no longer pending."""
    log = EventLog(state, now)
    executors = dict.fromkeys(a.executor_id for a in activations)
    log.add(
        EventKind.SUPERSTEP_STARTED,
        {"activation_count": len(activations), "executor_count": len(executors)},
    )
    for activation in activations:
        log.add(
            EventKind.EXECUTOR_INVOKED,
            {"sources": list(activation.delivery.sources)},
            activation=activation,
        )
    return replace(state, sequence=log.sequence, pending=()), log.events


def commit(
    graph: Graph, config: WorkflowConfig, state: RunState, results: Sequence[ActivationResult], now: float
) -> Decision:
    """End a superstep: route what was sent, and decide whether another one follows.

    Args:
        graph: The workflow's.
        config: Its limits.
        state: As :func:`begin` returned it.
        results: One per activation, in the order :func:`due` gave them.
        now: Seconds since the epoch.

    Returns:
        The state before the next superstep, or after the end, and the events of this one in planner order.
    """
    log = EventLog(state, now)
    for result in results:
        _record(log, result, handled=_is_collected(graph, state, result))
    state = replace(state, output_count=state.output_count + sum(len(r.outputs) for r in results))
    failure = _first_failure(graph, state, results)
    if failure is not None:
        return _end(replace(state, status=RunStatus.FAILED, error=failure), log, now)
    routing = route(graph, state, results)
    _record_routing(graph, log, routing)
    log.add(
        EventKind.SUPERSTEP_COMPLETED,
        {"activation_count": len(results), "delivery_count": len(routing.deliveries)},
    )
    after = replace(
        state,
        superstep=state.superstep + 1,
        pending=tuple(routing.deliveries),
        fan_ins=routing.fan_ins,
        maps=routing.maps,
        next_map_id=routing.next_map_id,
    )
    return _go_on(graph, config, after, log, now, routing.lost)


def cancel(state: RunState, now: float) -> Decision:
    """End a run because its caller no longer wants it."""
    return _end(replace(state, status=RunStatus.CANCELLED), EventLog(state, now), now)


def _go_on(
    graph: Graph, config: WorkflowConfig, state: RunState, log: EventLog, now: float, lost: Sequence[Lost]
) -> Decision:
    """Return the next state: running, completed or failed."""
    if lost and config.strict:
        error = UndeliverableMessageError(lost[0].source, lost[0].payload, lost[0].reason)
        return _end(replace(state, status=RunStatus.FAILED, error=error), log, now)
    if not state.pending:
        waiting = _waiting_fan_ins(graph, log, state)
        return _end(replace(state, status=RunStatus.COMPLETED, waiting_fan_ins=waiting), log, now)
    if state.superstep >= config.max_supersteps:
        still_due = list(dict.fromkeys(d.target for d in state.pending))
        stuck = ConvergenceError(state.run_id, config.max_supersteps, still_due)
        return _end(replace(state, status=RunStatus.FAILED, error=stuck), log, now)
    return replace(state, sequence=log.sequence), log.events


def _end(state: RunState, log: EventLog, now: float) -> Decision:
    took = now - state.started_at
    counts = {"superstep_count": state.superstep, "output_count": state.output_count}
    match state.status:
        case RunStatus.COMPLETED:
            log.add(EventKind.RUN_COMPLETED, counts, duration_s=took)
        case RunStatus.CANCELLED:
            log.add(EventKind.RUN_CANCELLED, counts, duration_s=took)
        case _:
            log.add(
                EventKind.RUN_FAILED,
                {**counts, "error_type": type(state.error).__name__, "error": str(state.error)},
                duration_s=took,
            )
    return replace(state, sequence=log.sequence), log.events


def _record(log: EventLog, result: ActivationResult, *, handled: bool) -> None:
    activation, took = result.activation, result.duration_s
    if result.error is not None:
        failure = failure_of(activation.executor_id, result.error)
        log.add(
            EventKind.EXECUTOR_FAILED,
            {
                "error_type": failure.error_type,
                "error": failure.message,
                "will_retry": False,
                "handled": handled,
            },
            activation=activation,
            duration_s=took,
        )
        return
    counts = {"send_count": len(result.sends), "output_count": len(result.outputs)}
    log.add(EventKind.EXECUTOR_COMPLETED, counts, activation=activation, duration_s=took)
    for output in result.outputs:
        log.add(EventKind.OUTPUT, {"type": type(output).__name__}, activation=activation)


def _record_routing(graph: Graph, log: EventLog, routing: Routing) -> None:
    for edge_index, count in routing.carried.items():
        edge = graph.edges[edge_index]
        log.add(
            EventKind.EDGE_ACTIVATED,
            {
                "edge": edge_name(edge),
                "sources": list(sources_of(edge)),
                "targets": list(receivers_of(edge)),
                "message_count": count,
            },
        )
    for lost in routing.lost:
        log.add(
            EventKind.MESSAGE_UNDELIVERABLE,
            {"type": type(lost.payload).__name__, "reason": lost.reason},
            executor_id=lost.source,
        )


def _is_collected(graph: Graph, state: RunState, result: ActivationResult) -> bool:
    """Whether a failure is a map item's that the join will see, or that is to be skipped."""
    edge = _map_edge(graph, state, result)
    return edge is not None and edge.on_item_error != "fail"


def _map_edge(graph: Graph, state: RunState, result: ActivationResult) -> MapEdge | None:
    lineage = result.activation.delivery.lineage
    if lineage is None:
        return None
    edge = graph.edges[state.maps[lineage.map_id].edge_index]
    return edge if isinstance(edge, MapEdge) else None


def _first_failure(graph: Graph, state: RunState, results: Sequence[ActivationResult]) -> Exception | None:
    for result in results:
        if result.error is not None and not _is_collected(graph, state, result):
            lineage = result.activation.delivery.lineage
            if lineage is not None:
                result.error.add_note(f"while working off item {lineage.index} of a map edge")
            return result.error
    return None


def _waiting_fan_ins(graph: Graph, log: EventLog, state: RunState) -> tuple[ExecutorId, ...]:
    """Name the fan-ins that will never fire: a run that comes to rest says so."""
    waiting: list[ExecutorId] = []
    for edge_index, buffer in sorted(state.fan_ins.items()):
        edge = graph.edges[edge_index]
        if isinstance(edge, FanInEdge):
            waiting.append(edge.target)
            missing = [source for source in edge.sources if source not in buffer]
            log.add(EventKind.FAN_IN_WAITING, {"target": edge.target, "missing": list(missing)})
    return tuple(waiting)
