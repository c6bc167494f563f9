"""Processes that run an execution until it saves, and then die."""

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

MOMENTS = ("before", "after")
"""When an execution dies: before it saves its results, or after that, before the transaction is committed."""


def main(url: str, *queued: str) -> None:
    """Run an execution for each moment, in a forked process that ends silently with the exit code ``CODE``.

    Args:
        url: URL of the database.
        queued: An execution and its agent for each of ``MOMENTS``, in that order.
    """
    _load()
    for moment, execution_id, agent_id in zip(MOMENTS, queued[::2], queued[1::2], strict=True):
        child = os.fork()
        if not child:
            _run_until(moment, url, execution_id, agent_id)
            return
        _, status = os.waitpid(child, 0)
        if (code := os.waitstatus_to_exitcode(status)) != CODE:
            sys.exit(f"a run that was to die {moment} its results are saved ended with {code}")


def _load() -> None:
    """Load what both need, once: that takes longer than most runs."""
    import agentic.executors.agents.runner  # noqa: F401
    from agentic.core.hooks import get_registry

    get_registry()


def _run_until(moment: str, url: str, execution_id: str, agent_id: str) -> None:
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
