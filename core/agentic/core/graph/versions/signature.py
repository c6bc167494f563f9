"""Signatures that distinguish workflows, so that a run resumes only in a workflow that fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NewType

from agentic.core.graph.codec.annotations import type_name
from agentic.core.graph.codec.plans import WIRE_NAME
from agentic.core.graph.definition.edges import (
    DirectEdge,
    Edge,
    FanOutEdge,
    Graph,
    MapEdge,
    RetryEdge,
    SwitchEdge,
)
from agentic.core.graph.definition.executor import Executor
from agentic.core.graph.definition.shape import edge_to_dict
from agentic.core.graph.definition.wires import workflow_within
from agentic.core.graph.definition.workflow import WorkflowSignature, digest
from agentic.core.graph.model.state import joined
from agentic.core.graph.versions.fingerprints import fingerprint
from agentic.core.types import JSONValue

_ORDER = "order of "
_STATE_KEY = "state key"
_EXECUTOR = "executor"
_MAX_NAMED = 12
_LIMITS = frozenset({"max_passes", "max_parallel", "window"})
_MAX_TYPES = 12  # of an executor; more would mean more than 4,096 shapes to check


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The changes of a workflow since one of its checkpoints was saved.

    Attributes:
        refusal: Why the checkpoint does not fit, and what to do; None if it can be resumed.
        changed_code: Functions and executors with changed code, if it can still be resumed.
    """

    refusal: str | None = None
    changed_code: tuple[str, ...] = ()


def signature_of(workflow_id: str, version: str | None, graph: Graph) -> WorkflowSignature:
    """Return a workflow's signature, the same in every process."""
    parts = {name: digest(facts) for name, facts in _parts(graph, "")}
    code = {name: fingerprint(value) for name, value in _code(graph, "")}
    return WorkflowSignature(workflow_id=workflow_id, version=version, parts=parts, code=code)


def compare(saved: WorkflowSignature, current: WorkflowSignature, graph: Graph | None = None) -> Change:
    """Decide whether a checkpoint may be resumed.

    With an explicit version on both sides, version and shape decide, and changed code is reported. The shape
    stays the same if an executor or a barrier accepts more: by a new reducer, or a new message type of an
    executor. It also stays if a reducer is gone: the joined values remain in the state. Without a version
    nothing may have changed. Edge limits are not part of the shape: a run can resume with other limits.

    Args:
        saved: Of the checkpoint.
        current: Of the workflow that would resume it.
        graph: Of that workflow; without it, another message type is another shape.
    """
    if graph is not None:
        saved = _without_limits(saved, graph)
    changed_code = tuple(_changed(saved.code, current.code))
    has_one_version = saved.version is not None and saved.version == current.version
    is_same_shape = saved.workflow_id == current.workflow_id and saved.parts == current.parts
    if has_one_version and saved.workflow_id == current.workflow_id and _still_fits(saved, current, graph):
        return Change(changed_code=changed_code)
    if is_same_shape and saved.version == current.version and not changed_code:
        return Change()
    return Change(refusal=_refusal(saved, current))


def _without_limits(saved: WorkflowSignature, graph: Graph) -> WorkflowSignature:
    """Return an old signature, which counted the limits of edges as shape, in today's form.

    If the limits have changed since, it stays unchanged: a fingerprint does not contain the old limits.
    """
    before = {name: digest(facts) for name, facts in _limited(graph, "") if name in saved.parts}
    same = {name for name, text in before.items() if saved.parts[name] == text}
    if not same:
        return saved
    now = {name: digest(facts) for name, facts in _parts(graph, "") if name in same}
    return replace(saved, parts={**saved.parts, **now})


def _limited(graph: Graph, path: str) -> Iterator[tuple[str, JSONValue]]:
    """Yield the edges that have limits, with them."""
    for name, edge in zip(graph.edge_names, graph.edges, strict=True):
        if isinstance(edge, (MapEdge, RetryEdge)):
            yield _named("edge", path, name), _edge_facts(edge)
    for node in graph.executors.values():
        if (inner := workflow_within(node)) is not None:
            yield from _limited(inner.graph, joined(path, node.id))


def _still_fits(saved: WorkflowSignature, current: WorkflowSignature, graph: Graph | None) -> bool:
    """Whether a run of the saved shape can resume in the current one."""
    if not all(name.startswith(_STATE_KEY) for name in saved.parts.keys() ^ current.parts.keys()):
        return False
    both = saved.parts.keys() & current.parts.keys()
    changed = {name for name in both if current.parts[name] != saved.parts[name]}
    if not changed:
        return True
    if graph is None or not all(name.startswith(_EXECUTOR) for name in changed):
        return False
    facts = {name: facts for name, facts in _parts(graph, "") if name in changed}
    return all(saved.parts[name] in _narrower(facts[name]) for name in changed)


def _narrower(facts: JSONValue) -> Iterator[str]:
    """Yield the shapes that an executor would have with only some of its message types."""
    if isinstance(facts, list) and isinstance(types := facts[1], list) and len(types) <= _MAX_TYPES:
        for count in range(1, len(types)):
            for fewer in combinations(types, count):
                yield digest([facts[0], list(fewer), *facts[2:]])


def _parts(graph: Graph, path: str) -> Iterator[tuple[str, JSONValue]]:
    yield _named("starts", path, ""), list(graph.starts)
    yield _named(_ORDER + "executors", path, ""), list(graph.executors)
    yield _named(_ORDER + "edges", path, ""), list(graph.edge_names)
    for key in graph.reducers:
        yield _named(_STATE_KEY, path, key), True
    for name, edge in zip(graph.edge_names, graph.edges, strict=True):
        yield _named("edge", path, name), _edge_shape(edge)
    for node in graph.executors.values():
        yield from _executor_parts(node, path)


def _executor_parts(node: Executor, path: str) -> Iterator[tuple[str, JSONValue]]:
    types: list[JSONValue] = [type_name(annotation, _lasting_name) for annotation in node.input_types]
    inner = workflow_within(node)
    within: JSONValue = None if inner is None else [inner.id, inner.version]
    yield _named(_EXECUTOR, path, node.id), [node.kind, types, within]
    if inner is not None:
        yield from _parts(inner.graph, joined(path, node.id))


def _lasting_name(cls: type | NewType) -> str:
    """Return the name of a type in shapes, which stays when its class is renamed."""
    own = vars(cls).get(WIRE_NAME)
    return cls.__name__ if own is None else str(own).rpartition(".")[2]


def _edge_shape(edge: Edge) -> JSONValue:
    return {name: value for name, value in _edge_facts(edge).items() if name not in _LIMITS}


def _edge_facts(edge: Edge) -> dict[str, JSONValue]:
    facts = edge_to_dict(edge)
    for name in facts.keys() & {"condition", "select"}:
        facts[name] = facts[name] is not None
    if isinstance(edge, SwitchEdge):
        facts["cases"] = [str(case.target) for case in edge.cases]
    return {name: value for name, value in facts.items() if name not in {"description", "when"}}


def _code(graph: Graph, path: str) -> Iterator[tuple[str, object]]:
    for node in graph.executors.values():
        yield _named("executor", path, node.id), node
        inner = workflow_within(node)
        if inner is not None:
            yield from _code(inner.graph, joined(path, node.id))
    for name, edge in zip(graph.edge_names, graph.edges, strict=True):
        for what, function in _functions(edge):
            yield _named(f"{what} of edge", path, name), function
    for key, reducer in graph.reducers.items():
        yield _named("reducer of", path, key), reducer


def _functions(edge: Edge) -> Iterator[tuple[str, Callable[..., object]]]:
    match edge:
        case DirectEdge() if edge.condition is not None:
            yield "condition", edge.condition
        case SwitchEdge():
            for number, case in enumerate(edge.cases, start=1):
                yield f"case {number}", case.condition
        case FanOutEdge() if edge.select is not None:
            yield "selector", edge.select
        case RetryEdge():
            yield "condition", edge.when
        case _:
            pass


def _named(what: str, path: str, name: str) -> str:
    return f"{what} {joined(path, name)}".rstrip()


def _changed(saved: Mapping[str, str], current: Mapping[str, str]) -> list[str]:
    return [name for name in {**saved, **current} if saved.get(name) != current.get(name)]


def _refusal(saved: WorkflowSignature, current: WorkflowSignature) -> str:
    both = saved.code.keys() & current.code.keys()  # the parts show the others
    reasons = [
        *_listed("removed", [name for name in saved.parts if name not in current.parts]),
        *_listed("added", [name for name in current.parts if name not in saved.parts]),
        *_listed("changed shape", _changed_shape(saved.parts, current.parts)),
        *_listed("changed code", [name for name in _changed(saved.code, current.code) if name in both]),
    ]
    sides = f"it was saved by {_called(saved)}, this is {_called(current)}"
    return "; ".join([sides, *reasons, _advice(saved, current)])


def _changed_shape(saved: Mapping[str, str], current: Mapping[str, str]) -> list[str]:
    """Return the parts with a new shape; an order that only gained or lost entries does not count."""
    is_same_set = saved.keys() == current.keys()
    return [
        name
        for name in saved
        if name in current and saved[name] != current[name] and (is_same_set or not name.startswith(_ORDER))
    ]


def _listed(what: str, names: list[str]) -> list[str]:
    if not names:
        return []
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return [f"{what}: {', '.join(names[:_MAX_NAMED])}{more}"]


def _called(signature: WorkflowSignature) -> str:
    version = f"version {signature.version!r}" if signature.version is not None else "no version"
    return f"workflow {signature.workflow_id!r} of {version} (signature {signature.text})"


def _advice(saved: WorkflowSignature, current: WorkflowSignature) -> str:
    if saved.workflow_id != current.workflow_id:  # migrations do not cover other workflows
        return "resume it with the workflow that saved it, or start a new run"
    if saved.version is None and current.version is None and saved.parts == current.parts:
        return (
            "resume it with the code that saved it, or start a new run; workflows with a version can "
            "resume runs after code changes"
        )
    return "resume it with the workflow that saved it, convert it with a migration, or start a new run"
