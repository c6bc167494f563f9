"""Loads graphs of LangGraph by name, and gets them ready to run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import Any, TypeAlias

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel

from agentic.core.errors import line_of
from agentic.plugins.langgraph.errors import GraphNotLoadedError
from agentic.plugins.langgraph.savers.saver import AgenticSaver
from agentic.plugins.langgraph.savers.serializer import StateType

Graph: TypeAlias = Pregel[Any, Any, Any, Any]

EVERY_NODE = "*"


def load_graph(name: str, trusted: Collection[str]) -> Graph:
    """Return the graph that a name leads to; importing it may take seconds.

    Args:
        name: ``package.module:attribute``: a compiled graph, a ``StateGraph``, or a function that makes one.
        trusted: Packages and modules that names may lead to.

    Raises:
        GraphNotLoadedError: It leads to something else, or its module is not trusted.
    """
    module, colon, attribute = name.partition(":")
    if not (colon and module and attribute):
        raise GraphNotLoadedError(name, 'name it as "package.module:attribute"')
    if not any(module == one or module.startswith(f"{one}.") for one in trusted):
        raise GraphNotLoadedError(
            name, f"the module {module!r} is not trusted; add its package to AGENTIC_WORKFLOW_MODULES"
        )
    try:
        found: object = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as exc:
        raise GraphNotLoadedError(name, str(exc)) from exc
    except BaseException as exc:  # a module that ends the process when it is imported must not end ours
        raise GraphNotLoadedError(name, f"importing {module!r} raised {line_of(exc)}") from exc
    return made(name, found)


def made(name: str, found: object) -> Graph:
    """Return a graph from a graph, a builder of one, or a function that returns one of these.

    Raises:
        GraphNotLoadedError: It is something else.
    """
    if isinstance(found, StateGraph):
        found = found.compile()
    if isinstance(found, Pregel):
        return found
    if callable(found):
        result = _called(name, found)
        if isinstance(result, StateGraph | Pregel):
            return made(name, result)
        kind = f"a function that returns {type(result).__name__}"
    else:
        kind = f"a {type(found).__name__}"
    raise GraphNotLoadedError(name, f"it is {kind}, but must be a graph or a function that returns one")


def _called(name: str, factory: Callable[..., object]) -> object:
    config: RunnableConfig = {"configurable": {}}
    try:
        needed = [
            one
            for one in inspect.signature(factory).parameters.values()
            if one.default is one.empty and one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
        ]
        result = factory(config) if needed else factory()
    except GraphNotLoadedError:
        raise
    except Exception as exc:
        raise GraphNotLoadedError(name, f"its function raised {line_of(exc)}") from exc
    if inspect.iscoroutine(result):
        result.close()
        raise GraphNotLoadedError(name, "its function is async; name a sync one, or a graph")
    return result


def prepared(graph: Graph, saver: BaseCheckpointSaver[Any], types: Collection[StateType] = ()) -> Graph:
    """Return a copy of a graph that keeps its threads in ``saver``, with the types of its states.

    Args:
        graph: Any graph; it is not changed.
        saver: The saver.
        types: Further types that its states have.
    """
    if isinstance(saver, AgenticSaver):
        saver = saver.with_types({*state_types(graph), *types})
    return graph.copy({"checkpointer": saver})


def state_types(graph: Graph) -> set[StateType]:
    """Return the types in the schemas of a graph and of the graphs in it."""
    from langgraph._internal._serde import build_serde_allowlist  # no public way gives them

    graphs = [graph, *(one for _, one in graph.get_subgraphs(recurse=True) if isinstance(one, Pregel))]
    found: set[StateType] = set()
    for one in graphs:
        builder = getattr(one, "builder", None)
        schemas = [] if builder is None else _schemas(builder)
        channels: Mapping[str, object] = one.channels
        found |= build_serde_allowlist(schemas=schemas, channels=dict(channels))
    return found


def _schemas(builder: StateGraph[Any, Any, Any, Any]) -> list[type[Any]]:
    found: list[type[Any] | None] = [
        builder.state_schema,
        builder.input_schema,
        builder.output_schema,
        builder.context_schema,
        *(node.input_schema for node in builder.nodes.values()),
        *(branch.input_schema for named in builder.branches.values() for branch in named.values()),
    ]
    return [schema for schema in found if schema is not None]


def is_named(node: str, nodes: Collection[str] | str) -> bool:
    """Whether a node is one of those where a graph stops; ``*`` stands for all."""
    return nodes == EVERY_NODE or node in nodes
