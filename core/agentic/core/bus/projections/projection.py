"""The documents in the buckets of live state, computed from events. Pure: documents in, documents out.

``{run}`` is ``project/run``, ``{node}`` adds the executor's path and ``{edge}`` the edge's name to that, each
one word from :func:`token`.

    workflow.{run}.state              status, workflow, superstep, times, error
    workflow.{run}.superstep          number, counts, when it began and ended
    workflow.{run}.pending_messages   pending executors with the sources of their messages
    workflow.{run}.state.{key}        shared state
    executor.{node}.state             status, attempt, superstep, time
    executor.{node}.output            its last sent messages and outputs
    executor.{node}.attempts          its newest attempts in this run
    executor.{node}.errors            the newest errors of these attempts
    edge.{edge}.data                  hash, provenance and trace of the newest message
    edge.{edge}.metadata              activation_count, last_activated, avg_latency_ms
    graph.{run}.executors             the status of each executor that has run, by path
    graph.{run}.edges                 how often each edge carried messages
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any, cast

from agentic.core.bus.envelope import PublishedEvent
from agentic.core.bus.subjects import token
from agentic.core.graph import EventKind, WorkflowEvent
from agentic.core.graph.model.history import MAX_ATTEMPTS, MAX_ERRORS

Document = dict[str, Any]
Documents = MutableMapping[str, Document]

MAX_WAYS = 100
"""Above this number of source-target pairs, an edge is counted as a whole only."""

_STATUSES: Mapping[EventKind, str] = {
    EventKind.RUN_STARTED: "running",
    EventKind.RUN_RESUMED: "running",
    EventKind.RUN_WAITING_INPUT: "waiting_input",
    EventKind.RUN_COMPLETED: "completed",
    EventKind.RUN_FAILED: "failed",
    EventKind.RUN_CANCELLED: "cancelled",
}
_OUTCOMES: Mapping[EventKind, str] = {
    EventKind.EXECUTOR_INVOKED: "running",
    EventKind.EXECUTOR_COMPLETED: "completed",
    EventKind.EXECUTOR_FAILED: "failed",
    EventKind.EXECUTOR_PARKED: "parked",
}


def state_keys(events: Iterable[PublishedEvent]) -> set[str]:
    """Return the keys whose documents :func:`apply_state` reads or changes."""
    return {key for published in events for key in _keys(published.project, published.event)}


def run_key(published: PublishedEvent) -> str:
    """Return the key for the status of an event's run; its document also says which events are known."""
    return f"workflow.{token(published.project, published.event.run_id)}.state"


def apply_state(events: Iterable[PublishedEvent], documents: Documents) -> set[str]:
    """Update documents with durable events, in order; return the keys of changed documents.

    An event that a run's document already contains changes nothing.
    """
    changed: set[str] = set()
    for published in events:
        event = published.event
        known = documents.get(run_key(published), {})
        if event.sequence is None or event.sequence <= known.get("sequence", 0):
            continue
        changed.update(_apply(_Seen(published.project, event, documents)))
    return changed


class _Seen:
    """An event, its place, and the documents so far."""

    def __init__(self, project: str, event: WorkflowEvent, documents: Documents) -> None:
        self.event = event
        self.project = project
        self.run_key = f"workflow.{token(project, event.run_id)}"
        self.graph_key = f"graph.{token(project, event.run_id)}"
        self.node_key = f"executor.{_node(project, event)}"
        self._documents = documents

    def get(self, key: str) -> Document:
        return self._documents.setdefault(key, {})

    def put(self, key: str, document: Document) -> str:
        self._documents[key] = document
        return key

    def edge_key(self, name: str) -> str:
        return f"edge.{token(self.project, self.event.run_id, *_path(self.event), name)}"


def _apply(seen: _Seen) -> Iterator[str]:
    event = seen.event
    yield _run(seen)
    if event.kind in {EventKind.SUPERSTEP_STARTED, EventKind.SUPERSTEP_COMPLETED}:
        yield from _superstep(seen)
    if event.kind in _OUTCOMES:
        yield from _activation(seen)
    if event.kind is EventKind.EDGE_ACTIVATED:
        yield from _edge(seen)


def _run(seen: _Seen) -> str:
    event, key = seen.event, f"{seen.run_key}.state"
    facts = {"sequence": event.sequence, "superstep": event.superstep, "updated_at": event.time}
    document = {**seen.get(key), **facts}
    if status := _STATUSES.get(event.kind):
        document["status"] = status
        document.pop("error", None)
    if event.kind is EventKind.RUN_STARTED:
        document |= {name: event.data.get(name) for name in ("workflow", "version")}
        document["started_at"] = event.time
        document["trace_id"] = trace_id(seen.project, event.run_id)
    if event.kind is EventKind.RUN_FAILED:
        document["error"] = f"{event.data.get('error_type', '')}: {event.data.get('error', '')}"
    return seen.put(key, document)


def _superstep(seen: _Seen) -> Iterator[str]:
    event = seen.event
    key = f"{seen.run_key}.superstep"
    known = seen.get(key) if event.kind is EventKind.SUPERSTEP_COMPLETED else {}
    counts = {name: value for name, value in event.data.items() if name.endswith("_count")}
    moment = "began_at" if event.kind is EventKind.SUPERSTEP_STARTED else "ended_at"
    yield seen.put(key, {**known, **counts, "number": event.superstep, moment: event.time})
    if event.kind is EventKind.SUPERSTEP_STARTED:
        yield seen.put(f"{seen.run_key}.pending_messages", {"superstep": event.superstep, "in_hand": {}})
    for name, value in cast("Mapping[str, object]", event.data.get("state", {})).items():
        yield seen.put(f"{seen.run_key}.state.{token(name)}", {"value": value, "superstep": event.superstep})


def _activation(seen: _Seen) -> Iterator[str]:
    event, node = seen.event, seen.node_key
    status = "running" if event.data.get("will_retry") else _OUTCOMES[event.kind]
    executors = f"{seen.graph_key}.executors"
    yield seen.put(executors, {**seen.get(executors), event.path: status})
    yield seen.put(
        f"{node}.state",
        {
            "status": status,
            "attempt": event.attempt,
            "superstep": event.superstep,
            "shard": event.shard,
            "updated_at": event.time,
        },
    )
    yield _in_hand(seen)
    if event.kind is EventKind.EXECUTOR_INVOKED:
        yield from _carried(seen)
    if event.kind is EventKind.EXECUTOR_COMPLETED:
        given = {name: event.data.get(name) for name in ("sends", "outputs", "writes") if name in event.data}
        yield seen.put(f"{node}.output", {**given, "superstep": event.superstep, "at": event.time})
    if event.kind in {EventKind.EXECUTOR_COMPLETED, EventKind.EXECUTOR_FAILED}:
        yield _listed(seen, f"{node}.attempts", MAX_ATTEMPTS, attempt_of(event))
    if event.kind is EventKind.EXECUTOR_FAILED:
        yield _listed(seen, f"{node}.errors", MAX_ERRORS, attempt_of(event))


def _in_hand(seen: _Seen) -> str:
    event, key = seen.event, f"{seen.run_key}.pending_messages"
    in_hand = dict(seen.get(key).get("in_hand", {}))
    name = f"{event.path}#{event.shard}" if event.shard else event.path
    if event.kind is EventKind.EXECUTOR_INVOKED:
        in_hand[name] = event.data.get("sources", [])
    elif not event.data.get("will_retry"):
        in_hand.pop(name, None)
    return seen.put(key, {"superstep": event.superstep, "in_hand": in_hand})


def _edge(seen: _Seen) -> Iterator[str]:
    event = seen.event
    edges, own = f"{seen.graph_key}.edges", str(event.data.get("edge", ""))
    yield seen.put(edges, {**seen.get(edges), own: seen.get(edges).get(own, 0) + 1})
    for name in _edge_names(event):
        key = f"{seen.edge_key(name)}.metadata"
        known = seen.get(key)
        counts = {
            "activation_count": known.get("activation_count", 0) + 1,
            "message_count": known.get("message_count", 0) + cast(int, event.data.get("message_count", 1)),
        }
        yield seen.put(key, {**known, **counts, "edge": event.data.get("edge"), "last_activated": event.time})


def _edge_names(event: WorkflowEvent) -> dict[str, None]:
    """Return an edge's own name, and one for each path of a message over it."""
    sources, targets = (cast("list[str]", event.data.get(ends, [])) for ends in ("sources", "targets"))
    names = dict.fromkeys([str(event.data.get("edge", ""))])
    if len(sources) * len(targets) <= MAX_WAYS:
        names |= dict.fromkeys(f"{source}->{target}" for source in sources for target in targets)
    return names


def _carried(seen: _Seen) -> Iterator[str]:
    """Record the traffic on the edges between the sources of a message and its receiver."""
    event = seen.event
    target = event.path.rpartition("/")[2]
    text = json.dumps(event.data.get("input"), sort_keys=True, default=str)
    for source in cast("list[str]", event.data.get("sources", [])):
        key = seen.edge_key(f"{source}->{target}")
        yield seen.put(
            f"{key}.data",
            {
                "hash": hashlib.sha256(text.encode()).hexdigest(),
                "from": source,
                "to": target,
                "run": event.run_id,
                "superstep": event.superstep,
                "at": event.time,
                "trace_id": trace_id(seen.project, event.run_id),
            },
        )
        metadata = seen.get(f"{key}.metadata")
        if (since := metadata.get("last_activated")) is not None:
            count = metadata.get("latency_count", 0)
            average = metadata.get("avg_latency_ms", 0.0)
            latency_ms = max(event.time - since, 0.0) * 1e3
            metadata = {
                **metadata,
                "latency_count": count + 1,
                "avg_latency_ms": average + (latency_ms - average) / (count + 1),
            }
            yield seen.put(f"{key}.metadata", metadata)


def _listed(seen: _Seen, key: str, most: int, entry: Document) -> str:
    return seen.put(key, {"newest": [*seen.get(key).get("newest", []), entry][-most:]})


def attempt_of(event: WorkflowEvent) -> Document:
    """Return one attempt of an activation, from its end event."""
    failed = event.kind is EventKind.EXECUTOR_FAILED
    return {
        "run": event.run_id,
        "superstep": event.superstep,
        "number": event.attempt,
        "error_type": event.data.get("error_type", "error") if failed else "",
        "message": event.data.get("error", "") if failed else "",
        "duration_s": event.duration_s or 0.0,
        "at": event.time,
    }


def trace_id(project: str, run_id: str) -> str:
    """Return the trace id of a run and its sub-runs: 32 hexadecimal digits."""
    outermost = run_id.partition("/")[0]
    return hashlib.blake2b(f"{project}/{outermost}".encode(), digest_size=16).hexdigest()


def _keys(project: str, event: WorkflowEvent) -> Iterator[str]:
    run = f"workflow.{token(project, event.run_id)}"
    yield f"{run}.state"
    if event.kind in _OUTCOMES:
        node = f"executor.{_node(project, event)}"
        yield from (f"{run}.pending_messages", f"graph.{token(project, event.run_id)}.executors")
        yield from (f"{node}.{part}" for part in ("state", "output", "attempts", "errors"))
    match event.kind:
        case EventKind.SUPERSTEP_STARTED | EventKind.SUPERSTEP_COMPLETED:
            yield from (f"{run}.superstep", f"{run}.pending_messages")
            yield from (
                f"{run}.state.{token(name)}"
                for name in cast("Mapping[str, object]", event.data.get("state", {}))
            )
        case EventKind.EDGE_ACTIVATED:
            yield f"graph.{token(project, event.run_id)}.edges"
            for name in _edge_names(event):
                yield f"edge.{token(project, event.run_id, *_path(event), name)}.metadata"
        case EventKind.EXECUTOR_INVOKED:
            *around, target = event.path.split("/")
            for source in cast("list[str]", event.data.get("sources", [])):
                edge = f"edge.{token(project, event.run_id, *around, f'{source}->{target}')}"
                yield from (f"{edge}.metadata", f"{edge}.data")


def _node(project: str, event: WorkflowEvent) -> str:
    return token(project, event.run_id, *event.path.split("/"))


def _path(event: WorkflowEvent) -> list[str]:
    """Return the path of the graph that an event is from."""
    words = event.path.split("/") if event.path else []
    return words if event.kind is EventKind.EDGE_ACTIVATED else words[:-1]
