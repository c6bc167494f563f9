"""An agent's execution as a graph: prepare -> execute -> save."""

from __future__ import annotations

from agentic.core.graph import Executor, ExecutorKind, Workflow, WorkflowBuilder, WorkflowContext, handler
from agentic.core.types import SaveCounts
from agentic.executors.base import BaseAgentExecutor
from agentic.executors.errors import AgentFailedError
from agentic.executors.records import ExecutionRecords
from agentic.executors.redaction import Redactor
from agentic.executors.threads import in_thread


def agent_workflow(
    executor: BaseAgentExecutor, records: ExecutionRecords, redactor: Redactor | None = None
) -> Workflow:
    """Return the graph that runs ``executor`` once; its input is the execution's id.

    Three supersteps: ``prepare`` validates and makes the state, ``execute`` works with no database session
    open, ``save`` stores results and the end of the execution in one transaction.

    Args:
        executor: Of the agent, made for this execution.
        records: Where the execution is recorded.
        redactor: Cleans what a failing executor says.
    """
    prepare = Prepare(executor, records)
    execute = Execute(executor, redactor or Redactor())
    save = Save(executor, records)
    return (
        WorkflowBuilder(f"agent.{executor.agent.agent_platform}")
        .set_start(prepare)
        .add_edge(prepare, execute)
        .add_edge(execute, save)
        .build()
    )


class Prepare(Executor):
    """Validates the agent and makes the state its executor starts from."""

    def __init__(self, executor: BaseAgentExecutor, records: ExecutionRecords) -> None:
        super().__init__("prepare", kind=ExecutorKind.VALIDATOR)
        self._executor = executor
        self._records = records

    @handler
    async def prepare(self, _execution_id: str) -> dict[str, object]:
        """Return the initial state."""
        return await in_thread(self._records.prepare, self._executor)


class Execute(Executor):
    """Lets the platform executor work."""

    def __init__(self, executor: BaseAgentExecutor, redactor: Redactor) -> None:
        super().__init__("execute")
        self._executor = executor
        self._redactor = redactor

    @handler
    async def execute(self, state: dict[str, object], ctx: WorkflowContext) -> dict[str, object]:
        """Return the results.

        Raises:
            AgentFailedError: The executor raised, or returned an error.
        """
        try:
            with self._executor.working(ctx):
                results: object = await self._executor.execute_agent(state)
        except Exception as exc:
            raise AgentFailedError(self._redactor.error(exc)) from exc
        if not isinstance(results, dict):
            raise AgentFailedError(f"execute_agent returned {type(results).__name__}; it must return a dict")
        if said := results.get("error"):
            raise AgentFailedError(self._redactor.error(str(said)))
        return results


class Save(Executor):
    """Stores what came of it."""

    def __init__(self, executor: BaseAgentExecutor, records: ExecutionRecords) -> None:
        super().__init__("save")
        self._executor = executor
        self._records = records

    @handler
    async def save(self, results: dict[str, object], ctx: WorkflowContext) -> SaveCounts:
        """Return what storing came to, in rows."""
        superstep_count = ctx.superstep + 1 + self._executor.child_supersteps
        return await in_thread(self._records.save, self._executor, results, superstep_count)
