"""Functions as executors."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol, overload

from agentic.core.graph.codec.annotations import remembered
from agentic.core.graph.codec.hints import as_function
from agentic.core.graph.definition.dispatch import Dispatch
from agentic.core.graph.definition.executor import Executor, ExecutorKind
from agentic.core.graph.definition.handler_types import HandlerSignature, read_signature
from agentic.core.graph.errors import HandlerError
from agentic.core.graph.model.policies import RetryPolicy
from agentic.core.threads import in_spare_thread

if TYPE_CHECKING:
    from agentic.core.graph.definition.context import WorkflowContext


class FunctionExecutor(Executor):
    """An executor made of one function: plain, a bound method, a ``partial`` or a callable object.

    Args:
        function: ``(message)`` or, if async, ``(message, ctx)``.
        id: Unique in the graph.
        kind: Worker, validator or orchestrator.
        max_parallel: How many messages of one superstep are handled at a time.
        retry: How often a failing activation is tried.
        timeout_s: Seconds one try may take.

    Raises:
        HandlerError: The function cannot be used.
        InvalidPolicyError: ``retry`` or ``timeout_s`` makes no sense.
    """

    def __init__(
        self,
        function: Callable[..., object],
        id: str,
        *,
        kind: ExecutorKind = ExecutorKind.WORKER,
        max_parallel: int = 1,
        retry: RetryPolicy | None = None,
        timeout_s: float | None = None,
    ) -> None:
        if isinstance(function, type):
            raise HandlerError(f"executor {id!r}: {function.__name__} is a class; give a function")
        self.function = as_function(function)
        self._is_async = inspect.iscoroutinefunction(self.function)
        super().__init__(id, kind=kind, max_parallel=max_parallel, retry=retry, timeout_s=timeout_s)

    async def handle(self, message: object, ctx: WorkflowContext) -> object:
        """Call the function with ``message``; a sync one runs off the event loop.

        Raises:
            SendTypeError: It returned an undeclared type.
        """
        if self._is_async:
            call: Callable[..., Any] = self.function
            returned = await (call(message, ctx) if self._takes_ctx else call(message))
        else:
            returned = await in_spare_thread(self.function, message)
        if returned is not None and not self._returns.fits(returned):
            raise self._misfit(self._returns, "returned", returned)
        return returned

    def _read_handlers(self) -> Dispatch:
        function = self.function
        where = f"executor {self.id!r} ({getattr(function, '__qualname__', function)})"
        signature = read_signature(function, where)
        if signature.takes_ctx and not self._is_async:
            raise HandlerError(
                f"{where} is not async, so it runs in a thread, without ctx; make it `async def`"
            )
        self._takes_ctx = signature.takes_ctx
        found = _shared_dispatch(signature, repr(signature))
        self._returns = found.handlers[0].outlet
        return found


@remembered
def _shared_dispatch(signature: HandlerSignature, _written: str) -> Dispatch:
    """Return one table for all equal functions, which halves the memory of a node.

    Equal types may be written differently (``int | str``), and the description of a workflow must not depend
    on which came first.
    """
    return Dispatch([("handle", signature)], "")


class ExecutorDecorator(Protocol):
    """Makes an executor of a function; type checkers refuse functions it could not call."""

    @overload
    def __call__(self, function: Callable[[Any], object], /) -> FunctionExecutor: ...
    @overload
    def __call__(
        self, function: Callable[[Any, WorkflowContext[Any, Any]], Awaitable[object]], /
    ) -> FunctionExecutor: ...


@overload
def executor(function: Callable[[Any], object], /) -> FunctionExecutor: ...
@overload
def executor(
    function: Callable[[Any, WorkflowContext[Any, Any]], Awaitable[object]], /
) -> FunctionExecutor: ...
@overload
def executor(
    *,
    id: str | None = None,
    kind: ExecutorKind = ExecutorKind.WORKER,
    max_parallel: int = 1,
    retry: RetryPolicy | None = None,
    timeout_s: float | None = None,
) -> ExecutorDecorator: ...
def executor(
    function: Callable[..., object] | None = None,
    /,
    *,
    id: str | None = None,
    kind: ExecutorKind = ExecutorKind.WORKER,
    max_parallel: int = 1,
    retry: RetryPolicy | None = None,
    timeout_s: float | None = None,
) -> FunctionExecutor | ExecutorDecorator:
    """Make an executor of a function ``(message)`` or, if async, ``(message, ctx)``.

    Its return value is sent on; ``None`` sends nothing. A sync function runs in a thread.

    Args:
        function: Given by ``@executor`` without parentheses.
        id: Unique in the graph; the function's name when omitted.
        kind: Worker, validator or orchestrator.
        max_parallel: How many messages of one superstep are handled at a time.
        retry: How often a failing activation is tried; the workflow's policy when omitted.
        timeout_s: Seconds one try may take; the workflow's limit when omitted.

    Raises:
        HandlerError: The signature cannot be used, or the function has no name and no id is given.
        InvalidPolicyError: ``retry`` or ``timeout_s`` makes no sense.
    """

    def wrap(function: Callable[..., object]) -> FunctionExecutor:
        name = name_of(function) if id is None else id
        return FunctionExecutor(
            function, name, kind=kind, max_parallel=max_parallel, retry=retry, timeout_s=timeout_s
        )

    if function is None:
        return wrap
    if isinstance(function, str):
        raise HandlerError(
            f"executor({function!r}) needs the name of its argument: executor(id={function!r})"
        )
    return wrap(function)


def name_of(function: object) -> str:
    """Return the default id of an executor that is made of a function: the function's name.

    Raises:
        HandlerError: It is not callable, or has no name of its own.
    """
    if not callable(function):
        raise HandlerError(
            f"{function!r} is not an executor; give an Executor, a function, a workflow or the id of one"
        )
    if isinstance(function, type):
        raise HandlerError(f"{function.__name__} is a class; give an instance: {function.__name__}(...)")
    name = getattr(function, "__name__", "")
    if not isinstance(name, str) or not name.isidentifier():
        raise HandlerError(
            f"{function!r} has no name to use as id; make it an executor with executor(id=...)(function)"
        )
    return name
