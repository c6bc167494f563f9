"""The types that a workflow uses: in its annotations, and in the code of its executors.

A checkpoint restores only values of these types.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from functools import cache

from agentic.core.graph.codec.plans import RefusalError
from agentic.core.graph.codec.types import collect_types, why_never_stored
from agentic.core.graph.definition.edges import Graph
from agentic.core.graph.definition.executor import Executor
from agentic.core.graph.definition.function import FunctionExecutor
from agentic.core.graph.definition.handler_types import Types
from agentic.core.graph.definition.subgraph import CallsWorkflows, WorkflowExecutor
from agentic.core.graph.model.history import ExecutorHistory
from agentic.core.graph.model.messages import ExecutorFailure, ItemResult
from agentic.core.graph.model.policies import ApprovalRequest, ApprovalResponse
from agentic.core.graph.model.progress import FailedAttempt
from agentic.core.graph.model.state import joined

ENGINE_TYPES = (
    ApprovalRequest,
    ApprovalResponse,
    ExecutorFailure,
    ExecutorHistory,
    FailedAttempt,
    ItemResult,
)
"""Types of the engine itself: any executor may use them without an annotation."""


def declared_types(graph: Graph) -> set[type]:
    """Return every dataclass, pydantic model and enum that the workflow's executors name."""
    return {*_engine_types(), *collect_types(_annotations(graph))}


@cache
def _engine_types() -> frozenset[type]:
    """Return the types of the engine, and the types of their fields: the same for each workflow."""
    return frozenset(collect_types(ENGINE_TYPES))


def find_unstorable(graph: Graph, path: str = "") -> Iterator[str]:
    """Yield why a stored run would certainly fail in an executor: nothing it takes, or nothing it returns,
    can be stored.

    An executor that can work with some of its types is not reported: the actual messages decide.
    """
    for executor in graph.executors.values():
        where = joined(path, executor.id)
        if isinstance(executor, WorkflowExecutor):
            yield from find_unstorable(executor.workflow.graph, where)
            continue
        if why := _why_none(executor.input_types):
            yield f"{where!r} takes {why}"
        elif not any(signature.is_silent for signature in executor.signatures) and (
            why := _why_none(executor.return_types)
        ):
            yield f"{where!r} returns {why}"


def _why_none(declared: Types) -> str:
    """Return why none of the types can be stored; empty if one might be, or without any types."""
    reasons = [why_never_stored(annotation) for annotation in declared or ()]
    if not reasons or None in reasons:
        return ""
    return " or ".join(_shown(why) for why in reasons if why is not None)


def _shown(why: RefusalError) -> str:
    where = f" at {why.path}" if why.path else ""
    return f"a value of type {why.type_name}{where}, which cannot be stored: {why.reason}"


def _annotations(graph: Graph) -> Iterator[object]:
    for executor in graph.executors.values():
        if isinstance(executor, WorkflowExecutor):
            yield from _annotations(executor.workflow.graph)
            if type(executor) is WorkflowExecutor:  # its types are theirs
                continue
        for called in executor.called_workflows if isinstance(executor, CallsWorkflows) else ():
            yield from _annotations(called.graph)
        yield from executor.input_types
        for declared in (executor.send_types, executor.output_types, executor.return_types):
            yield from declared or ()
        for code in _functions(executor):
            yield from _named_classes(code)


def _functions(executor: Executor) -> Iterator[types.FunctionType]:
    if isinstance(executor, FunctionExecutor):
        if isinstance(executor.function, types.FunctionType):
            yield executor.function
        return
    for cls in type(executor).__mro__:
        if cls in {Executor, object}:
            return
        yield from (member for member in vars(cls).copy().values() if isinstance(member, types.FunctionType))


def _named_classes(function: types.FunctionType) -> Iterator[type]:
    """Yield the classes that a function's code refers to: as globals, or as variables around it."""
    names = set(_names(function.__code__))
    for name in names & function.__globals__.keys():
        yield from _classes(function.__globals__[name])
    for cell in function.__closure__ or ():
        try:
            yield from _classes(cell.cell_contents)
        except ValueError:  # a variable that is not set yet
            continue


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _classes(value: object) -> Iterator[type]:
    if isinstance(value, type):
        yield value
