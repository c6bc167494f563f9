"""A workflow as a node of another one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from agentic.core.graph.definition.context import WorkflowContext
from agentic.core.graph.definition.edges import Graph
from agentic.core.graph.definition.executor import Executor, ExecutorKind
from agentic.core.graph.definition.handler_types import Types, union_of
from agentic.core.graph.definition.workflow import WorkflowDefinition
from agentic.core.graph.model.messages import Several


@runtime_checkable
class CallsWorkflows(Protocol):
    """An executor whose handlers run workflows by their context: stored runs must know their types."""

    @property
    def called_workflows(self) -> tuple[WorkflowDefinition, ...]:
        """The workflows."""
        ...


class WorkflowExecutor(Executor):
    """Runs a workflow for each message; each of its outputs counts as a value its handler returned."""

    def __init__(self, workflow: WorkflowDefinition, id: str) -> None:
        super().__init__(id, kind=ExecutorKind.ORCHESTRATOR)
        self.workflow = workflow

    @property
    def input_types(self) -> tuple[object, ...]:
        """The types that the workflow's start executors take."""
        graph = self.workflow.graph
        return tuple(dict.fromkeys(t for start in graph.starts for t in graph.executors[start].input_types))

    @property
    def return_types(self) -> Types:
        """The types that the workflow yields; None if one of its executors does not declare them."""
        graph = self.workflow.graph
        return union_of(types for node in graph.executors.values() for types in _yielded(graph, node))

    def accepts(self, message: object) -> bool:
        """Whether every start executor of the workflow takes ``message``."""
        graph = self.workflow.graph
        return all(graph.executors[start].accepts(message) for start in graph.starts)

    async def handle(self, message: object, ctx: WorkflowContext) -> object:
        """Run the workflow with ``message`` as its input."""
        result = await ctx.run_workflow(self.workflow, message)
        return Several(result.outputs)


def _yielded(graph: Graph, node: Executor) -> Iterator[Types]:
    """Yield the output types of an executor: by its context, and by its returns if it has no out-edge."""
    yield node.output_types
    if node.id not in graph.sending:
        yield node.return_types
