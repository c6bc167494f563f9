"""Runs workflows in this process: only on the engine, or durably."""

from __future__ import annotations

from agentic.core.graph import RunResult, Workflow
from agentic.core.ledger import MemoryLedger
from agentic.executors.durable import LocalRuns, WorkflowCatalog

TIMEOUT_S = 60.0


class RunWorkflow:
    """Runs a workflow, in a coroutine; see ``__call__``."""

    async def __call__(self, workflow: Workflow, message: object, *, is_durable: bool = False) -> RunResult:
        """Run it until it has ended, or waits for answers.

        Args:
            workflow: Any workflow.
            message: Given to every start executor.
            is_durable: Run it like a worker, from a ledger in memory: all messages are written as JSON, and
                read again.

        Returns:
            Outputs and durable events. A failed run raises nothing; its ``error`` has the cause.

        Raises:
            TypeError: A start executor does not take ``message``.
            TimeoutError: A durable run did not end within a minute.
        """
        return await (_durable(workflow, message) if is_durable else _plain(workflow, message))


async def _plain(workflow: Workflow, message: object) -> RunResult:
    try:
        return await workflow.run(message)
    except Exception as exc:
        result = getattr(exc, "result", None)
        if isinstance(result, RunResult):
            return result
        raise


async def _durable(workflow: Workflow, message: object) -> RunResult:
    async with LocalRuns(MemoryLedger(), WorkflowCatalog({"tested": lambda: workflow})) as runs:
        return await (await runs.submit("tested", message)).result(TIMEOUT_S)
