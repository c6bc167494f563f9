"""Awaits something in a context of its own, without a task of its own."""

from __future__ import annotations

import types
from asyncio import CancelledError, current_task
from collections.abc import Coroutine, Generator
from contextvars import copy_context
from typing import Any, TypeVar

from agentic.core.errors import text_of
from agentic.core.graph.cancels import count_of_others, note_cancellation, note_own

ResultT = TypeVar("ResultT")


@types.coroutine
def in_own_context(  # noqa: C901  # each call less is a tenth of what it costs
    coroutine: Coroutine[Any, Any, ResultT],
) -> Generator[Any, Any, ResultT]:
    """Let a coroutine see the context variables as they are, and keep what it sets from everybody else.

    Handlers of one superstep may share a task: without this, one would see what another bound for its log.
    """
    step: Any = copy_context().run
    task = current_task()
    # Looked at before and after each step, in place: a call for it would cost as much as the step.
    count = _none if task is None else task.cancelling
    others = (before := count()) and count_of_others(task)
    is_closed = False
    try:
        waits_for = step(coroutine.send, None)
        while True:
            if count() != before:
                note_own(task, others)
            try:
                value = yield waits_for
            except GeneratorExit:
                is_closed = True
                step(coroutine.close)
                raise
            except BaseException as exc:
                others = (before := count()) and count_of_others(task)
                if isinstance(exc, CancelledError):
                    note_cancellation(coroutine)
                waits_for = step(coroutine.throw, exc)
            else:
                others = (before := count()) and count_of_others(task)
                waits_for = step(coroutine.send, value)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]  # what the coroutine returned
    except GeneratorExit as exc:
        if is_closed:
            raise
        # Raised by the coroutine itself, as Python does with a StopIteration: else everybody who awaits this
        # would take it for the order to close.
        raise RuntimeError(f"coroutine raised GeneratorExit: {text_of(exc)}".rstrip(": ")) from exc
    finally:
        if count() != before and not is_closed:
            note_own(task, others)


def _none() -> int:
    return 0
