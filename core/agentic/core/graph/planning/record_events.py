"""The durable events of each decision: their names and their facts."""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.graph.codec.payload import Payload
from agentic.core.graph.definition.edges import FanInEdge, Graph
from agentic.core.graph.errors import error_text, error_type
from agentic.core.graph.model.events import EventKind
from agentic.core.graph.model.messages import Activation, ActivationResult, ExecutorFailure, Sent
from agentic.core.graph.model.progress import Asked, Progress, request_id
from agentic.core.graph.model.result import RunStatus
from agentic.core.graph.model.state import Draft, EventLog, MapProgress
from agentic.core.graph.planning.routed import RoutingContext
from agentic.core.types import ExecutorId


def begin(log: EventLog, activations: Sequence[Activation]) -> None:
    """A superstep begins, and with it each of its activations."""
    executor_count = sum([activation.shard == 0 for activation in activations])
    counts = {"activation_count": len(activations), "executor_count": executor_count}
    log.add(EventKind.SUPERSTEP_STARTED, counts)
    for activation in activations:
        _invoke(log, activation, _invoked(activation))


def invoked_again(log: EventLog, activations: Sequence[Activation]) -> None:
    """A superstep that was broken off continues, with its unfinished activations."""
    for activation in activations:
        _invoke(log, activation, {**_invoked(activation), "again": True})


def _invoke(log: EventLog, activation: Activation, data: dict[str, object]) -> None:
    attempt = len(activation.delivery.progress.failures) + 1
    log.of(activation, EventKind.EXECUTOR_INVOKED, data, attempt)


def _invoked(activation: Activation) -> dict[str, object]:
    delivery = activation.delivery
    data: dict[str, object] = {"sources": delivery.sources, "input": delivery.payload}
    if delivery.item is not None:
        data["item"] = [delivery.item.map_id, delivery.item.index]
    if delivery.feedback:
        data["pass"] = len(delivery.feedback)
    if delivery.progress.origin:
        data["origin"] = delivery.progress.origin
    return data


def result(log: EventLog, result: ActivationResult, *, is_handled: bool) -> None:
    """An activation has a result: the failed tries, then the end."""
    activation = result.activation
    failed = result.progress.failures
    if failed:
        failures(log, activation, result.progress, is_handled=is_handled)
    if result.error is not None:
        return
    attempt = len(failed) + 1
    if result.parked:
        _parked(log, result, attempt)
        return
    log.of(activation, EventKind.EXECUTOR_COMPLETED, _completed(result), attempt, result.duration_s)
    for output in result.outputs[result.progress.yielded :]:
        data = {"type": type(output.value).__name__, "value": output}
        log.of(activation, EventKind.OUTPUT, data, attempt)


def failures(log: EventLog, activation: Activation, progress: Progress, *, is_handled: bool) -> None:
    """Tries of an activation failed."""
    for failure in progress.failures[len(activation.delivery.progress.failures) :]:
        will_retry = failure.delay_s is not None
        data = {
            "error_type": failure.error_type,
            "error": failure.message,
            "will_retry": will_retry,
            "handled": will_retry or is_handled,
        }
        log.of(activation, EventKind.EXECUTOR_FAILED, data, failure.number, failure.duration_s)


def _completed(result: ActivationResult) -> dict[str, object]:
    data: dict[str, object] = {"sends": [_sent(sent) for sent in result.sends], "outputs": result.outputs}
    if result.writes:
        data["writes"] = [[key, payload] for key, payload in result.writes]
    if result.local is not None:
        data["local"] = result.local
    return data


def _sent(sent: Sent) -> Payload | dict[str, object]:
    return (
        {"message": sent.payload} if sent.target is None else {"message": sent.payload, "target": sent.target}
    )


def _parked(log: EventLog, result: ActivationResult, attempt: int) -> None:
    activation = result.activation
    waits_for = [request_id(log.run_id, asked.name) for asked in result.progress.open_requests]
    log.of(
        activation,
        EventKind.EXECUTOR_PARKED,
        {"origin": activation.origin, "requests": waits_for},
        attempt=attempt,
        duration_s=result.duration_s,
    )
    for asked in result.progress.asked[len(activation.delivery.progress.asked) :]:
        log.of(
            activation,
            EventKind.REQUEST_RAISED,
            {
                "request": request_id(log.run_id, asked.name),
                "question": asked.question,
                "response_type": asked.response_type,
                "deadline": asked.deadline,
            },
        )


def answered(log: EventLog, asked: Asked, payload: Payload, answered_by: str) -> None:
    """A request has its answer."""
    log.add(
        EventKind.REQUEST_ANSWERED,
        {"request": request_id(log.run_id, asked.name), "answer": payload, "answered_by": answered_by},
    )


def expired(log: EventLog, asked: Asked) -> None:
    """A request was not answered in time."""
    log.add(
        EventKind.REQUEST_EXPIRED, {"request": request_id(log.run_id, asked.name), "deadline": asked.deadline}
    )


def routing(log: EventLog, context: RoutingContext) -> None:
    """Edges took messages; some messages were lost, or replaced before any executor saw them."""
    facts = context.graph.edge_facts
    for edge_index, count in context.carried.items():
        data = facts[edge_index]
        if edge_index in context.chosen:
            data = {**data, "chosen": {str(name): n for name, n in context.chosen[edge_index].items()}}
        log.add(EventKind.EDGE_ACTIVATED, data if count == 1 else {**data, "message_count": count})
    for source, target, payload in context.superseded:
        log.add(EventKind.MESSAGE_SUPERSEDED, {"target": target, "message": payload}, executor_id=source)
    lost(log, context)


def lost(log: EventLog, context: RoutingContext) -> None:
    """No executor took some messages."""
    for one in context.lost:
        log.add(
            EventKind.MESSAGE_UNDELIVERABLE,
            {"type": type(one.payload.value).__name__, "reason": one.reason, "message": one.payload},
            executor_id=one.source,
        )


def superstep(log: EventLog, draft: Draft, graph: Graph, activation_count: int, delivery_count: int) -> None:
    """A superstep is over: its changes of the state."""
    data: dict[str, object] = {"activation_count": activation_count, "delivery_count": delivery_count}
    if draft.changed:
        data |= _changes(draft, graph)
    log.add(EventKind.SUPERSTEP_COMPLETED, data)


def _changes(draft: Draft, graph: Graph) -> dict[str, dict[str, object]]:
    """Return the changes in the tables of the state, in the form of events."""
    told: dict[str, dict[str, object]] = {}
    for change in draft.changed:
        key = change.key
        match change.table:
            case "shared" if isinstance(key, str):
                told.setdefault("state", {})[key] = draft.shared[key]
            case "local" if isinstance(key, str):
                told.setdefault("local", {})[key] = draft.local[ExecutorId(key)]
            case "fan_ins" if isinstance(key, int):
                buffer = draft.fan_ins.get(key, {})
                waiting = {source: len(held) for source, held in buffer.items()}
                told.setdefault("fan_ins", {})[str(graph.edge_facts[key]["edge"])] = waiting
            case "maps" if isinstance(key, int):
                told.setdefault("maps", {})[str(key)] = _map(draft.maps.get(key))
    return told


def _map(progress: MapProgress | None) -> object:
    return None if progress is None else {"done": progress.done_count, "count": progress.count}


def waiting(log: EventLog, asked: Sequence[Asked]) -> None:
    """A run waits for answers."""
    names = [request_id(log.run_id, one.name) for one in asked]
    log.add(EventKind.RUN_WAITING_INPUT, {"requests": names})


def starving(log: EventLog, edge: FanInEdge, missing: Sequence[ExecutorId]) -> None:
    """A fan-in will never fire: reported when the run ends."""
    log.add(EventKind.FAN_IN_WAITING, {"target": edge.target, "missing": list(missing)})


def end(log: EventLog, draft: Draft, now: float) -> None:
    """A run is over."""
    took = now - draft.state.started_at
    facts: dict[str, object] = {"superstep_count": draft.superstep, "output_count": draft.output_count}
    match draft.status:
        case RunStatus.COMPLETED:
            log.add(EventKind.RUN_COMPLETED, facts, duration_s=took)
        case RunStatus.CANCELLED:
            log.add(EventKind.RUN_CANCELLED, facts, duration_s=took)
        case _:
            error = draft.error
            facts["error_type"] = "" if error is None else error_type(error)
            facts["error"] = "" if error is None else error_text(error)
            facts["unfinished"] = [a.executor_id for a in draft.activations if a.key not in draft.kept]
            log.add(EventKind.RUN_FAILED, facts, duration_s=took)


def failure_of(executor_id: ExecutorId, error: Exception, attempt_count: int) -> ExecutorFailure:
    """Return an error as data."""
    return ExecutorFailure(
        executor_id=executor_id,
        error_type=error_type(error),
        message=error_text(error),
        attempt_count=attempt_count,
    )
