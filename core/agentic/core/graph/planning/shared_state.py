"""State that executors share: the view of each executor, and the merge of their writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentic.core.graph.definition.edges import Graph
from agentic.core.graph.definition.run_services import StateView
from agentic.core.graph.errors import StateConflictError
from agentic.core.graph.model.interrupts import stopped_by
from agentic.core.graph.model.messages import ActivationKey, ActivationResult
from agentic.core.graph.model.reducers import reduced
from agentic.core.graph.model.state import Draft


def merge_writes(
    graph: Graph, draft: Draft, results: Sequence[ActivationResult]
) -> Mapping[ActivationKey, Exception]:
    """Merge the writes of a superstep, in planner order.

    Returns:
        The activations whose writes cannot be merged, and why: parallel writers of one key without a reducer,
        and errors of a reducer. Empty if all is merged.
    """
    refused: dict[ActivationKey, Exception] = {}
    claims: dict[tuple[str, str], _Claim] = {}
    for result in results:
        if result.writes or result.local is not None:
            _claim(graph, claims, result, refused)
            try:
                _merge(graph, draft, result)
            except BaseException as exc:
                executor_id = result.activation.executor_id
                error = exc if isinstance(exc, Exception) else stopped_by(executor_id, exc)
                error.add_note(f"in a reducer of the shared state, for a write of executor {executor_id!r}")
                refused.setdefault(result.activation.key, error)
    return refused


@dataclass(slots=True)
class _Claim:
    """The writers of a key.

    Attributes:
        writer: The first one: an activation, or all of an executor without lanes.
        activations: All that wrote it so far.
        error: The conflict, set when a second one writes it.
    """

    writer: ActivationKey
    activations: list[ActivationKey]
    error: StateConflictError | None = None


def _claim(
    graph: Graph,
    claims: dict[tuple[str, str], _Claim],
    result: ActivationResult,
    refused: dict[ActivationKey, Exception],
) -> None:
    """Note the keys that an activation writes; refuse all writers of a key with several."""
    executor_id, shard = activation = result.activation.key
    # The shards of one executor run one after the other and see each other's writes, unless it has lanes.
    writer = (executor_id, shard if graph.lanes[executor_id] > 1 else 0)
    keys = {("shared", key): None for key, _ in result.writes if key not in graph.reducers}
    if result.local is not None:
        keys["local", executor_id] = None
    for table, key in keys:
        claim = claims.get((table, key))
        if claim is None:
            claims[table, key] = _Claim(writer, [activation])
            continue
        claim.activations.append(activation)
        if claim.error is None and claim.writer != writer:
            name = key if table == "shared" else "ctx.local"
            claim.error = StateConflictError(name, [_name(claim.writer), _name(writer)])
        if claim.error is not None:
            for one in claim.activations:
                refused.setdefault(one, claim.error)


def _merge(graph: Graph, draft: Draft, result: ActivationResult) -> None:
    for key, payload in result.writes:
        draft.put("shared", key, reduced(graph.reducers, draft.shared.get(key), key, payload))
    if result.local is not None:
        draft.put("local", result.activation.executor_id, result.local)


def view_after(graph: Graph, view: StateView, result: ActivationResult) -> StateView:
    """Return the view of the next shard of the same executor."""
    shared = view.shared
    if result.writes:
        changed = dict(shared)
        for key, payload in result.writes:
            changed[key] = reduced(graph.reducers, changed.get(key), key, payload)
        shared = changed
    return StateView(shared, view.local if result.local is None else result.local)


def _name(writer: ActivationKey) -> str:
    executor_id, shard = writer
    return f"{executor_id} (message {shard})" if shard else executor_id
