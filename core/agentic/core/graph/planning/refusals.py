"""What a barrier cannot merge or route: it is not kept, so that a run can go on with corrected code.

A result that was refused counts as a failed try of its activation. When the run goes on, its executor is
asked again; results that nothing was wrong with are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from agentic.core.graph.definition.edges import Graph
from agentic.core.graph.errors import UndeliverableMessageError, error_text, error_type
from agentic.core.graph.model.messages import ActivationKey, ActivationResult
from agentic.core.graph.model.progress import FailedAttempt
from agentic.core.graph.planning.routed import Lost, Routing
from agentic.core.types import ExecutorId


def undeliverable(lost: Lost) -> UndeliverableMessageError:
    """Return the error of a message that reached nobody."""
    return UndeliverableMessageError(lost.source, lost.parcel.value, lost.reason)


def refuse_senders(routing: Routing, results: Sequence[ActivationResult]) -> None:
    """Note whose messages reached nobody; of a list, those who brought a part of it in this superstep."""
    for lost in routing.lost:
        error = undeliverable(lost)
        keys = (r.activation.key for r in results if r.activation.executor_id in lost.sources)
        for key in keys if lost.sender is None else (lost.sender,):
            routing.refused.setdefault(key, error)


def with_later(
    graph: Graph, keys: Collection[ActivationKey], refused: Mapping[ActivationKey, Exception]
) -> Mapping[ActivationKey, Exception]:
    """Return what is refused with all that rests on it: later messages of an executor without lanes.

    Args:
        graph: The workflow's.
        keys: The activations that have come to something.
        refused: Those that are refused by themselves, and why.
    """
    first: dict[ExecutorId, int] = {}
    for executor_id, shard in refused:
        if graph.lanes[executor_id] == 1:
            first[executor_id] = min(shard, first.get(executor_id, shard))
    return {
        key: refused[key] if key in refused else refused[key[0], first[key[0]]]
        for key in keys
        if key in refused or (key[0] in first and key[1] > first[key[0]])
    }


def failed_by(error: Exception, result: ActivationResult, *, is_new: bool) -> ActivationResult:
    """Return a result as that of a try that failed.

    Args:
        error: Why it does not count.
        result: That does not count.
        is_new: Whether it is of this leg of the run; what it yielded in an earlier one is the run's.
    """
    before = result.progress
    yielded = before.yielded if is_new else max(before.yielded, len(result.outputs))
    number = len(before.failures) + 1
    failure = FailedAttempt(number, error_type(error), error_text(error), result.duration_s, None)
    return ActivationResult(
        result.activation,
        error=error,
        progress=replace(
            before,
            origin=result.activation.origin,
            failures=(*before.failures, failure),
            surfaced=(),
            sub_runs={},  # they begin anew, under other names
            yielded=yielded,
            refused=before.refused + 1,
        ),
        duration_s=result.duration_s,
        sub_events=result.sub_events,
    )
