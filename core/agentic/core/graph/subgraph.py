"""A workflow as a node of another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.graph.context import WorkflowContext
from agentic.core.graph.executor import Executor, ExecutorKind
from agentic.core.graph.messages import Several

if TYPE_CHECKING:
    from agentic.core.graph.workflow import Workflow


class WorkflowExecutor(Executor):
    """Runs a workflow for each message; each of its outputs counts as a value its handler returned."""

    def __init__(self, workflow: Workflow, id: str) -> None:
        super().__init__(id, kind=ExecutorKind.ORCHESTRATOR)
        self.workflow = workflow

    @property
    def input_types(self) -> tuple[object, ...]:
        """What the workflow's start executors take."""
        graph = self.workflow.graph
        return tuple(dict.fromkeys(t for start in graph.starts for t in graph.executors[start].input_types))

    def accepts(self, message: object) -> bool:
        """Whether every start executor of the workflow takes ``message``."""
        graph = self.workflow.graph
        return all(graph.executors[start].accepts(message) for start in graph.starts)

    async def handle(self, message: object, ctx: WorkflowContext) -> object:
        """Run the workflow with ``message`` as its input."""
        result = await ctx.run_workflow(self.workflow, message)
        return Several(result.outputs)
