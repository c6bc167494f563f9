"""A graph as plain data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import assert_never

from agentic.core.graph.codec.annotations import type_name
from agentic.core.graph.definition.edges import (
    DirectEdge,
    Edge,
    FanInEdge,
    FanOutEdge,
    Graph,
    MapEdge,
    RetryEdge,
    SwitchEdge,
    sources_of,
    targets_of,
)
from agentic.core.graph.definition.executor import Executor
from agentic.core.graph.definition.handler_types import Types
from agentic.core.graph.definition.wires import function_name, workflow_within
from agentic.core.graph.model.policies import RetryPolicy
from agentic.core.types import JSONValue


def graph_to_dict(graph: Graph) -> dict[str, JSONValue]:
    """Return all facts of a graph."""
    return {
        "starts": _texts(graph.starts),
        "executors": [_executor(node) for node in graph.executors.values()],
        "edges": [
            {"name": name, **edge_to_dict(edge)}
            for name, edge in zip(graph.edge_names, graph.edges, strict=True)
        ],
        "reducers": {name: _named(reducer) for name, reducer in graph.reducers.items()},
    }


def _executor(node: Executor) -> JSONValue:
    facts: dict[str, JSONValue] = {
        "id": node.id,
        "kind": str(node.kind),
        "input_types": _types(node.input_types),
        "send_types": _types(node.send_types),
        "output_types": _types(node.output_types),
        "return_types": _types(node.return_types),
        "max_parallel": node.max_parallel,
        "retry": _retry_policy(node.retry),
        "timeout_s": node.timeout_s,
    }
    inner = workflow_within(node)
    if inner is not None:
        facts["workflow"] = {"id": inner.id, "version": inner.version, **graph_to_dict(inner.graph)}
    return facts


def _types(types: Types) -> JSONValue:
    return None if types is None else [type_name(annotation) for annotation in types]


def _retry_policy(policy: RetryPolicy | None) -> JSONValue:
    if policy is None:
        return None
    return {**asdict(policy), "retry_on": [error.__name__ for error in policy.retry_on]}


def edge_to_dict(edge: Edge) -> dict[str, JSONValue]:
    """Return all facts of an edge except its name; functions by their names."""
    facts: dict[str, JSONValue] = {
        "sources": _texts(sources_of(edge)),
        "targets": _texts(targets_of(edge)),
        "on": "success" if isinstance(edge, (MapEdge, RetryEdge)) else edge.on,
    }
    return {**_own_facts(edge), **facts}


def _own_facts(edge: Edge) -> dict[str, JSONValue]:
    match edge:
        case DirectEdge():
            kind = "direct" if edge.condition is None else "conditional"
            return {"kind": kind, "condition": _named(edge.condition), "description": edge.description}
        case SwitchEdge():
            return {"kind": "switch", "cases": _cases(edge), "default": edge.default}
        case FanOutEdge():
            return {"kind": "fan_out", "select": _named(edge.select)}
        case FanInEdge():
            return {"kind": "fan_in", "mode": edge.mode}
        case MapEdge():
            return {"kind": "map", **_map(edge)}
        case RetryEdge():
            return {"kind": "retry", **_retry(edge)}
        case _:
            assert_never(edge)


def _cases(edge: SwitchEdge) -> JSONValue:
    return [
        {"target": case.target, "condition": _named(case.condition), "description": case.description}
        for case in edge.cases
    ]


def _map(edge: MapEdge) -> dict[str, JSONValue]:
    return {
        "body": edge.body,
        "join": edge.join,
        "max_parallel": edge.max_parallel,
        "window": edge.window,
        "on_item_error": edge.on_item_error,
    }


def _retry(edge: RetryEdge) -> dict[str, JSONValue]:
    return {
        "when": _named(edge.when),
        "max_passes": edge.max_passes,
        "exhausted": edge.exhausted,
        "payload": edge.payload,
    }


def _named(function: Callable[..., object] | None) -> str | None:
    return None if function is None else function_name(function) or "<lambda>"


def _texts(ids: Iterable[str]) -> list[JSONValue]:
    return list(ids)
