"""Results that a barrier cannot merge or route: they are dropped, so the run can resume with fixed code.

A refused result counts as a failed try of its activation. When the run continues, its executor runs
again; correct results are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from agentic.core.graph.definition.edges import Graph
from agentic.core.graph.errors import UndeliverableMessageError, error_text, error_type
from agentic.core.graph.model.messages import ActivationKey, ActivationResult
from agentic.core.graph.model.progress import FailedAttempt
from agentic.core.graph.planning.routed import LostMessage, RoutingContext
from agentic.core.types import ExecutorId


def undeliverable(lost: LostMessage) -> UndeliverableMessageError:
    """Return the error of a message that no executor took."""
    return UndeliverableMessageError(lost.source, lost.payload.value, lost.reason)


def refuse_senders(context: RoutingContext, results: Sequence[ActivationResult]) -> None:
    """Note the senders of lost messages; for a list, the senders of its parts in this superstep."""
    for lost in context.lost:
        error = undeliverable(lost)
        keys = (r.activation.key for r in results if r.activation.executor_id in lost.sources)
        for key in keys if lost.sender is None else (lost.sender,):
            context.refused.setdefault(key, error)


def with_later(
    graph: Graph, keys: Collection[ActivationKey], refused: Mapping[ActivationKey, Exception]
) -> Mapping[ActivationKey, Exception]:
    """Return the refused activations and their dependants: later messages of an executor without lanes.

    Args:
        graph: The workflow's.
        keys: The activations with a result.
        refused: The activations that are refused by themselves, and why.
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
    """Return a result as the result of a failed try.

    Args:
        error: Why it does not count.
        result: The result that does not count.
        is_new: Whether it is of this leg of the run; outputs of an earlier leg stay with the run.
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
            sub_runs={},  # they start again, under other names
            yielded=yielded,
            refused=before.refused + 1,
        ),
        duration_s=result.duration_s,
        sub_events=result.sub_events,
    )
