"""An agent's execution as a graph: prepare -> execute -> save."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from agentic.core.errors import AgenticError, line_of
from agentic.core.graph import (
    Executor,
    ExecutorKind,
    RetryPolicy,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    handler,
)
from agentic.core.graph.definition.subgraph import WorkflowExecutor
from agentic.core.logging import get_logger
from agentic.core.threads import in_thread
from agentic.executors.agents.repository import WORK, AgentRepository
from agentic.executors.base import AgentWork, BaseAgentExecutor
from agentic.executors.errors import AgentFailedError

log = get_logger(__name__)

TRIES = RetryPolicy(max_attempts=3, first_delay_s=0.5, backoff=4.0, retry_on=(AgentFailedError,))
"""Class of an executor failure that may be temporary: a server was unavailable, or asked for a pause."""


def agent_workflow(repository: AgentRepository, platform: str, work: AgentWork | None = None) -> Workflow:
    """Return the graph of an agent's executions; its input is an execution id, which also names the run.

    Three supersteps: ``prepare`` validates and makes the state, ``execute`` works without an open database
    session, ``save`` stores results and the end of the execution in the transaction that ends the run. Each
    may run in another process, with its own executor.

    Args:
        repository: The agent's records.
        platform: The agent's platform.
        work: The graph that does the work, as a child run. By default ``execute_agent`` does it.
    """
    prepare = Prepare(repository, work)
    execute = Execute(repository) if work is None else WorkflowExecutor(work.workflow, WORK)
    save = Save(repository, dict if work is None else work.results_of)
    return (
        # With a version, executions continue where they stopped when this project is upgraded.
        WorkflowBuilder(f"agent.{platform}", version="1")
        .set_start(prepare)
        .add_edge(prepare, execute)
        .add_edge(execute, save)
        .build()
    )


class Prepare(Executor):
    """Validates the agent and makes its executor's initial state."""

    def __init__(self, repository: AgentRepository, work: AgentWork | None) -> None:
        super().__init__("prepare", kind=ExecutorKind.VALIDATOR)
        self._repository = repository
        self._work = work

    @handler
    async def prepare(self, _execution_id: str, ctx: WorkflowContext) -> object:
        """Return the initial state, or the result of the agent's graph."""
        log.info("execution.started")
        state = await in_thread(self._repository.prepare, ctx.run_id)
        return state if self._work is None else self._work.message_of(state)


class Execute(Executor):
    """Runs the platform executor."""

    def __init__(self, repository: AgentRepository) -> None:
        super().__init__(WORK, retry=TRIES)
        self._repository = repository

    @handler
    async def execute(self, state: dict[str, object], ctx: WorkflowContext) -> dict[str, object]:
        """Return the results.

        Raises:
            AgentFailedError: The executor raised, or returned an error.
        """
        executor = await in_thread(self._repository.begin, ctx.run_id)
        try:
            return await self._work(executor, state, ctx)
        finally:
            await _clean_up(executor)

    async def _work(
        self, executor: BaseAgentExecutor, state: dict[str, object], ctx: WorkflowContext
    ) -> dict[str, object]:
        redactor = self._repository.redactor
        try:
            with executor.working(ctx):
                results: object = await executor.execute_agent(state)
        except Exception as exc:
            error = redactor.error(exc)
            unexpected = {} if isinstance(exc, AgenticError) else {"exception": redactor.traceback(exc)}
            level = min(self._repository.log_level, logging.WARNING)  # it may be retried
            log.log(level, "attempt.failed", attempt=ctx.attempt, error=error, **unexpected)
            raise AgentFailedError(error, exc) from exc
        if not isinstance(results, dict):
            raise AgentFailedError(f"execute_agent returned {type(results).__name__}; it must return a dict")
        if said := results.get("error"):
            raise AgentFailedError(redactor.error(str(said)))
        return results


class Save(Executor):
    """Stores the results."""

    def __init__(self, repository: AgentRepository, results_of: Callable[[Any], dict[str, object]]) -> None:
        super().__init__("save")
        self._repository = repository
        self._results_of = results_of

    @handler
    async def save(self, output: object, ctx: WorkflowContext) -> None:
        """Store the results with the end of the run."""
        results = self._results_of(output)
        ctx.on_commit(partial(self._repository.save, execution_id=ctx.run_id, results=results))


async def _clean_up(executor: BaseAgentExecutor) -> None:
    try:
        await executor.cleanup()
    except Exception as exc:
        log.warning("cleanup.failed", error=line_of(exc))
