"""Builds workflows, fluently."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from agentic.core.graph.edges import (
    Condition,
    DirectEdge,
    Edge,
    FanInEdge,
    FanOutEdge,
    Graph,
    MapEdge,
    OnItemError,
    Selector,
)
from agentic.core.graph.errors import InvalidGraphError
from agentic.core.graph.executor import Executor
from agentic.core.graph.planner import WorkflowConfig
from agentic.core.graph.validation import find_faults
from agentic.core.graph.workflow import Workflow
from agentic.core.types import ExecutorId

Node = Executor | Workflow | str
"""An executor, a workflow to be run as one, or the id of one that is added elsewhere."""


class WorkflowBuilder:
    """Collects executors and edges; :meth:`build` checks them all at once.

    Edges accept executors or ids, and add the executors they are given.

    Args:
        id: Name of the workflow.
        version: Says which checkpoints fit it.
        config: Limits of its runs.
    """

    def __init__(self, id: str, version: str | None = None, config: WorkflowConfig | None = None) -> None:
        self._id = id
        self._version = version
        self._config = config or WorkflowConfig()
        self._executors: dict[ExecutorId, Executor] = {}
        self._edges: list[Edge] = []
        self._starts: list[ExecutorId] = []
        self._faults: list[str] = []

    def set_start(self, *nodes: Node) -> Self:
        """Say which executors get the input of a run, each the same."""
        self._starts = [self._add(node) for node in nodes]
        return self

    def add_executor(self, *nodes: Executor | Workflow) -> Self:
        """Add executors."""
        for node in nodes:
            self._add(node)
        return self

    def add_edge(
        self, source: Node, target: Node, condition: Condition | None = None, *, description: str = ""
    ) -> Self:
        """Send what ``source`` sends to ``target``, always or when ``condition(message)`` holds."""
        return self._connect(
            DirectEdge(
                source=self._add(source),
                target=self._add(target),
                condition=condition,
                description=description,
            )
        )

    def add_conditional_edge(
        self, source: Node, target: Node, condition: Condition, description: str = ""
    ) -> Self:
        """Send to ``target`` what the condition, sync or async, holds for."""
        return self.add_edge(source, target, condition, description=description)

    def add_fan_out_edge(
        self, source: Node, targets: Sequence[Node], *, select: Selector | None = None
    ) -> Self:
        """Send to all ``targets`` at once, or to those that ``select(message, target_ids)`` names."""
        ends = tuple(map(self._add, targets))
        return self._connect(FanOutEdge(source=self._add(source), targets=ends, select=select))

    def add_fan_in_edge(self, sources: Sequence[Node], target: Node) -> Self:
        """Give ``target`` one list, in declared source order, when every source has sent."""
        return self._connect(FanInEdge(sources=tuple(map(self._add, sources)), target=self._add(target)))

    def add_map_edge(
        self,
        source: Node,
        body: Node,
        join: Node,
        *,
        max_parallel: int = 16,
        window: int = 1000,
        on_item_error: OnItemError = "collect",
    ) -> Self:
        """Work off the list that ``source`` sends; ``join`` gets ``list[ItemResult]`` in item order.

        Args:
            source: Sends lists.
            body: Handles one item at a time.
            join: Gets the results, also of an empty list.
            max_parallel: Items handled at the same time.
            window: Items handed out in one superstep.
            on_item_error: ``collect`` gives the join a result with an error, ``skip`` leaves it out, ``fail``
                fails the run.
        """
        return self._connect(
            MapEdge(
                source=self._add(source),
                body=self._add(body),
                join=self._add(join),
                max_parallel=max_parallel,
                window=window,
                on_item_error=on_item_error,
            )
        )

    def build(self) -> Workflow:
        """Return the workflow.

        Raises:
            InvalidGraphError: It cannot run; the error lists every fault.
        """
        faults = [*self._faults, *find_faults(self._executors, self._edges, self._starts)]
        if faults:
            raise InvalidGraphError(self._id, faults)
        graph = Graph(self._executors, self._edges, self._starts)
        return Workflow(self._id, self._version, self._config, graph)

    def _connect(self, edge: Edge) -> Self:
        self._edges.append(edge)
        return self

    def _add(self, node: Node) -> ExecutorId:
        if isinstance(node, str):
            return ExecutorId(node)
        known = self._executors.get(ExecutorId(node.id))
        if isinstance(node, Workflow):
            # One workflow named twice is one node, as one executor is.
            same = isinstance(known, Executor) and getattr(known, "workflow", None) is node
            node = known if same and known is not None else node.as_executor()
        if known is not None and known is not node:
            self._faults.append(f"two executors are called {node.id!r}; give one of them another id")
        self._executors.setdefault(node.id, node)
        return node.id
