"""Functions as executors."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, cast

from agentic.core.graph.errors import HandlerError
from agentic.core.graph.executor import Executor, ExecutorKind, message_type
from agentic.core.graph.matching import matches, members, specificity

if TYPE_CHECKING:
    from agentic.core.graph.context import WorkflowContext


class FunctionExecutor(Executor):
    """An executor made of one function."""

    def __init__(
        self, function: Callable[..., object], id: str, *, kind: ExecutorKind, max_parallel: int
    ) -> None:
        super().__init__(id, kind=kind, max_parallel=max_parallel)
        self._function = function
        self._is_async = inspect.iscoroutinefunction(function)
        parameters = list(inspect.signature(function).parameters.values())
        where = f"executor {id!r} ({getattr(function, '__qualname__', function)})"
        if len(parameters) not in {1, 2}:
            raise HandlerError(f"{where} must take (message) or (message, ctx)")
        if len(parameters) == 2 and not self._is_async:
            raise HandlerError(
                f"{where} is not async and so runs in a thread, without ctx; make it `async def`"
            )
        self._takes_ctx = len(parameters) == 2
        annotation = message_type(function, parameters[0], where)
        self._types = tuple(sorted(members(annotation), key=lambda part: -specificity(part)))

    @property
    def input_types(self) -> tuple[object, ...]:
        """The message types the function takes, most specific first."""
        return self._types

    def accepts(self, message: object) -> bool:
        """Whether the function takes ``message``."""
        return any(matches(annotation, message) for annotation in self._types)

    async def handle(self, message: object, ctx: WorkflowContext) -> object:
        """Call the function with ``message``; a sync one runs off the event loop."""
        if not self._is_async:
            return await asyncio.to_thread(self._function, message)
        call = cast(Callable[..., Awaitable[object]], self._function)
        return await (call(message, ctx) if self._takes_ctx else call(message))


def executor(
    *, id: str, kind: ExecutorKind = ExecutorKind.WORKER, max_parallel: int = 1
) -> Callable[[Callable[..., object]], FunctionExecutor]:
    """Make an executor of a function ``(message)`` or, if async, ``(message, ctx)``.

    What it returns is sent on; ``None`` sends nothing. A sync function runs in a thread.

    Args:
        id: Unique in the graph.
        kind: Worker, validator or orchestrator.
        max_parallel: How many messages of one superstep are handled at a time.

    Raises:
        HandlerError: The signature cannot be used.
    """

    def wrap(function: Callable[..., object]) -> FunctionExecutor:
        return FunctionExecutor(function, id, kind=kind, max_parallel=max_parallel)

    return wrap
