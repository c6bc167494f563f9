"""Watches and disturbs runs of a platform's agents."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from agentic.core.graph import Workflow, WorkflowBuilder, executor
from agentic.executors.base import AgentWork, BaseAgentExecutor

if TYPE_CHECKING:
    from agentic.mappers import Database

ERROR = {"error": "no network"}


class Watch:
    """Records the calls of a platform's executor.

    Args:
        executor: The platform's executor; it is restored when the test ends.
        monkeypatch: The test's own.

    Attributes:
        results: The results to save, for each call.
        begun_count: How often work began: ``execute_agent`` called, or a graph with ``close`` made.
        ended_count: How often it ended, by ``cleanup`` or ``close``.
        fails_to_save: If set, it raises after it has saved.
        gives_an_error: If set, the work returns an error, whatever its result.
        on_worked: If set, work never ends: it calls this at its end instead.
    """

    def __init__(self, executor: type[BaseAgentExecutor], monkeypatch: pytest.MonkeyPatch) -> None:
        self.results: list[dict[str, object]] = []
        self.begun_count = 0
        self.ended_count = 0
        self.fails_to_save = False
        self.gives_an_error = False
        self.on_worked: Callable[[], object] | None = None
        for name in ("execute_agent", "cleanup", "work", "save_results"):
            around = getattr(self, f"_{name}")
            monkeypatch.setattr(executor, name, _wrapped(getattr(executor, name), around))

    async def _execute_agent(self, original: Callable[..., Any], *given: object) -> object:
        self.begun_count += 1
        results: object = await original(*given)
        if self.on_worked is not None:
            self.on_worked()
            await asyncio.Event().wait()
        return ERROR if self.gives_an_error else results

    async def _cleanup(self, original: Callable[..., Any], *given: object) -> None:
        await original(*given)
        self.ended_count += 1

    def _work(
        self, original: Callable[..., AgentWork | None], agent: BaseAgentExecutor, database: Database
    ) -> AgentWork | None:
        work = original(agent, database)
        if work is None:
            return None
        if self.gives_an_error:
            work = replace(work, results_of=lambda _: dict(ERROR))
        if self.on_worked is not None:
            work = replace(work, workflow=_held(work, self.on_worked))
        return work if work.close is None else replace(work, close=self._closing(work.close))

    def _closing(self, close: Callable[[], Any]) -> Callable[[], Any]:
        async def closed() -> None:
            await close()
            self.ended_count += 1

        self.begun_count += 1
        return closed

    def _save_results(
        self, original: Callable[..., bool], agent: BaseAgentExecutor, results: dict[str, object]
    ) -> bool:
        self.results.append(results)
        is_saved = original(agent, results)
        if self.fails_to_save:
            raise InterruptedError("saved, and then it failed")
        return is_saved


def _wrapped(original: Callable[..., Any], around: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that calls ``around`` with the original one and its arguments."""

    @functools.wraps(original)
    def method(*given: object) -> object:
        return around(original, *given)

    return method


def _held(work: AgentWork, on_worked: Callable[[], object]) -> Workflow:
    """Return the graph of an agent, followed by a node that never ends."""

    @executor(id="hold")
    async def hold(_output: object) -> object:
        on_worked()
        return await asyncio.Event().wait()

    inner = work.workflow.as_executor("work")
    return WorkflowBuilder("held", version="1").set_start(inner).add_edge(inner, hold).build()
