"""Awaits something in a context of its own, without a task of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Generator
from contextvars import copy_context
from typing import Any, Generic, TypeVar

ResultT = TypeVar("ResultT")


class OwnContext(Generic[ResultT]):
    """Lets an awaitable see the context variables as they are, and keeps what it sets from everybody else.

    Handlers of one superstep may share a task: without this, one would see what another bound for its log.
    """

    __slots__ = ("_awaitable",)

    def __init__(self, awaitable: Awaitable[ResultT]) -> None:
        self._awaitable = awaitable

    def __await__(self) -> Generator[Any, Any, ResultT]:
        context = copy_context()
        steps = self._awaitable.__await__()
        step: Any = context.run
        try:
            waits_for = step(next, steps)
            while True:
                try:
                    value = yield waits_for
                except GeneratorExit:
                    context.run(steps.close)
                    raise
                except BaseException as exc:
                    waits_for = step(steps.throw, exc)
                else:
                    waits_for = step(steps.send, value)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]  # what the awaitable returned
