"""A process that runs an execution until it saves, and then dies."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentic.executors.base import BaseAgentExecutor

LEASE_S = 1.0
"""How long a dead worker keeps its claims."""

CODE = 9


def main(url: str, execution_id: str, agent_id: str, moment: str) -> None:
    """Run the execution; the process ends silently with the exit code ``CODE``.

    Args:
        url: URL of the database.
        execution_id: The execution.
        agent_id: Its agent.
        moment: ``before`` it saves its results, or ``after`` that, before the transaction is committed.
    """
    from agentic.executors.agents.factory import executor_class
    from agentic.executors.agents.runner import find_both, run_execution
    from agentic.mappers import Database

    database = Database(url)
    _, agent = find_both(database, execution_id, agent_id)
    executor = executor_class(agent.agent_platform)
    save = executor.save_results

    def save_and_be_gone(self: BaseAgentExecutor, results: dict[str, object]) -> bool:
        if moment == "after":
            save(self, results)
        os._exit(CODE)  # as if killed here

    executor.save_results = save_and_be_gone  # type: ignore[method-assign]  # in its own process
    asyncio.run(run_execution(execution_id, agent_id, database=database, lease_s=LEASE_S))


if __name__ == "__main__":
    main(*sys.argv[1:])
