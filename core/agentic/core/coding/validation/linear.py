"""Executors without a graph: the part of a context that code workers need, and nothing of an engine."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, cast

from agentic.core.coding.errors import NeedsGraphError
from agentic.core.graph import CustomEvent, Executor, ExecutorHistory, FailedAttempt, WorkflowContext
from agentic.core.types import ExecutorId, JSONValue


class LinearContext:
    """A context of one call, without a run: nothing is stored, and nothing is known of other runs.

    Args:
        executor_id: The executor.
        previous_errors: Results of validators on its earlier code.
        outputs: Gets its outputs.
    """

    attempt = 1
    previous_attempts: tuple[FailedAttempt, ...] = ()

    def __init__(
        self,
        executor_id: str,
        *,
        previous_errors: tuple[object, ...] = (),
        outputs: list[object] | None = None,
    ) -> None:
        self.executor_id = ExecutorId(executor_id)
        self.previous_errors = previous_errors
        self.local: dict[str, JSONValue] = {}
        self._outputs = outputs

    async def once(self, key: str, function: Callable[[], object | Awaitable[object]]) -> object:  # noqa: ARG002
        """Call a function: without a run, nothing is kept."""
        result = function()
        return await result if inspect.isawaitable(result) else result

    async def yield_output(self, output: object) -> None:
        """Keep an output for the caller."""
        if self._outputs is not None:
            self._outputs.append(output)

    async def history(self) -> ExecutorHistory:
        """Return an empty history."""
        return ExecutorHistory()

    async def add_event(self, event: CustomEvent) -> None:
        """Drop an event."""

    def report_progress(self, done: int, total: int | None = None, note: str = "") -> None:
        """Drop a report."""

    def log(self, level: str, message: str, **facts: JSONValue) -> None:
        """Drop a line."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # never returns
        raise NeedsGraphError(self.__dict__.get("executor_id", ""), name)


async def handle_linearly(executor: Executor, message: object, ctx: LinearContext) -> object:
    """Pass a message to an executor, without a run, and return its result.

    Raises:
        MessageTypeError: It does not take the message.
        Exception: As of the executor.
    """
    return await executor.handle(message, cast("WorkflowContext", ctx))
