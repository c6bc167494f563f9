"""State that executors share: what each sees of it, and how their writes come together."""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.graph.edges import Graph
from agentic.core.graph.errors import StateConflictError
from agentic.core.graph.links import Seen
from agentic.core.graph.messages import ActivationKey, ActivationResult
from agentic.core.graph.reducing import reduced
from agentic.core.graph.state import Draft


def merge_writes(graph: Graph, draft: Draft, results: Sequence[ActivationResult]) -> Exception | None:
    """Merge what a superstep wrote, in planner order.

    Returns:
        What is wrong with it: two parallel writers of one key without a reducer, or what a reducer raised.
    """
    writers: dict[tuple[str, str], ActivationKey] = {}
    for result in results:
        if not (result.writes or result.local is not None):
            continue
        executor_id = result.activation.executor_id
        # The shards of one executor run one after the other and see each other's writes, unless it has lanes.
        writer = (executor_id, result.activation.shard if graph.lanes[executor_id] > 1 else 0)
        keys = [("shared", key) for key, _ in result.writes if key not in graph.reducers]
        if result.local is not None:
            keys.append(("local", executor_id))
        for key in keys:
            other = writers.setdefault(key, writer)
            if other != writer:
                return StateConflictError(
                    key[1] if key[0] == "shared" else "ctx.local", [_name(other), _name(writer)]
                )
        try:
            _merge(graph, draft, result)
        except Exception as exc:
            exc.add_note(f"in a reducer of the shared state, for a write of executor {executor_id!r}")
            return exc
    return None


def _merge(graph: Graph, draft: Draft, result: ActivationResult) -> None:
    for key, parcel in result.writes:
        draft.put("shared", key, reduced(graph, draft.shared.get(key), key, parcel))
    if result.local is not None:
        draft.put("local", result.activation.executor_id, result.local)


def seen_after(graph: Graph, seen: Seen, result: ActivationResult) -> Seen:
    """Return what the next shard of the same executor sees."""
    shared = seen.shared
    if result.writes:
        changed = dict(shared)
        for key, parcel in result.writes:
            changed[key] = reduced(graph, changed.get(key), key, parcel)
        shared = changed
    return Seen(shared, seen.local if result.local is None else result.local)


def _name(writer: ActivationKey) -> str:
    executor_id, shard = writer
    return f"{executor_id} (message {shard})" if shard else executor_id
