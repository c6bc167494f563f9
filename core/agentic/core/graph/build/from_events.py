"""The graph of a run, made from its events, for runs whose code is not available."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from agentic.core.graph.build.workflow import Workflow
from agentic.core.graph.definition.edges import DirectEdge, Edge, FanInEdge, FanOutEdge, Graph
from agentic.core.graph.definition.executor import Executor
from agentic.core.graph.definition.subgraph import WorkflowExecutor
from agentic.core.graph.model.events import EventKind, WorkflowEvent
from agentic.core.graph.model.policies import WorkflowConfig
from agentic.core.types import ExecutorId, JSONValue


class _NamedExecutor(Executor):
    """An executor with a known name only."""

    async def handle(self, message: object, ctx: object) -> object:
        """Never called: a graph from events is only displayed."""
        raise NotImplementedError


def graph_from_events(events: Iterable[WorkflowEvent]) -> Graph:
    """Return the graph of the active executors and the used edges, sub-workflows included.

    Args:
        events: Durable ones of one run and its sub-runs.
    """
    return _EventGraph(sorted(events, key=lambda event: (event.run_id, event.sequence or 0))).graph("")


class _EventGraph:
    def __init__(self, events: Iterable[WorkflowEvent]) -> None:
        self._nodes: dict[str, dict[str, None]] = {}
        self._edges: dict[str, dict[str, Mapping[str, JSONValue]]] = {}
        self._starts: dict[str, list[str]] = {}
        for event in events:
            if event.kind is EventKind.EXECUTOR_INVOKED:
                around, _, name = event.path.rpartition("/")
                self._nodes.setdefault(around, {})[name] = None
            elif event.kind is EventKind.EDGE_ACTIVATED:
                self._edges.setdefault(event.path, {})[str(event.data["edge"])] = event.data
            elif event.kind is EventKind.RUN_STARTED:
                self._starts[event.path] = cast(list[str], event.data["starts"])

    def graph(self, path: str) -> Graph:
        """Return the graph under ``path``."""
        edges = [_edge(facts) for facts in self._edges.get(path, {}).values()]
        names = dict.fromkeys(
            [*self._starts.get(path, ()), *self._nodes.get(path, ()), *(n for e in edges for n in _ends(e))]
        )
        executors = {ExecutorId(name): self._executor(path, name) for name in names}
        return Graph(executors, edges, [ExecutorId(name) for name in self._starts.get(path, ())])

    def _executor(self, path: str, name: str) -> Executor:
        inner = f"{path}/{name}" if path else name
        if inner not in self._nodes:
            return _NamedExecutor(name)
        return WorkflowExecutor(Workflow(name, None, WorkflowConfig(), self.graph(inner)), name)


def _edge(facts: Mapping[str, JSONValue]) -> Edge:
    sources = list(map(ExecutorId, cast(list[str], facts["sources"])))
    targets = list(map(ExecutorId, cast(list[str], facts["targets"])))
    if len(sources) > 1:
        return FanInEdge(sources=tuple(sources), target=targets[0])
    if len(targets) > 1:
        return FanOutEdge(source=sources[0], targets=tuple(targets))
    return DirectEdge(source=sources[0], target=targets[0])


def _ends(edge: Edge) -> tuple[ExecutorId, ...]:
    match edge:
        case FanInEdge():
            return (*edge.sources, edge.target)
        case FanOutEdge():
            return (edge.source, *edge.targets)
        case DirectEdge():
            return (edge.source, edge.target)
        case _:
            return ()
