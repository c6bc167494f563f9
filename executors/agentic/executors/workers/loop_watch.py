"""Reports code that blocks an event loop: the code, the run and the duration."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextvars import Context
from types import FrameType

from structlog.contextvars import STRUCTLOG_KEY_PREFIX

from agentic.core.logging import get_logger
from agentic.executors.workers.pulse import own_pulse

log = get_logger(__name__)

BLOCKED_AFTER_S = 2.0
LOOK_EVERY_S = 0.25
_ENGINE = ("agentic.core.", "agentic.executors.")
_RUN_CALLBACK = asyncio.Handle._run.__code__


class LoopWatch:
    """Checks from a plain thread, four times a second, the work of an event loop's thread.

    A loop counts as blocked while a single callback keeps it busy. A lag alone does not count: it may come
    from a thousand short callbacks, or from an overloaded machine. For the same reason, the time while
    this thread could not check counts only partly.

    Args:
        thread: Runs the loop.
        blocked_after_s: How long one callback may take before a report; reported again at each doubling.
    """

    def __init__(self, thread: threading.Thread, *, blocked_after_s: float = BLOCKED_AFTER_S) -> None:
        self._watched = thread
        self._blocked_after_s = blocked_after_s
        self._look_every_s = min(LOOK_EVERY_S, blocked_after_s / 8)
        self._callback: FrameType | None = None
        self._held_s = self._told_s = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="agentic-loop-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._over.set()
        self._thread.join()

    def _serve(self) -> None:
        looked = time.monotonic()
        while not self._over.wait(self._look_every_s):
            before, looked = looked, time.monotonic()
            if (pulse := own_pulse()) is not None:
                pulse.beat_of_thread()
            self._look(min(looked - before, 2 * self._look_every_s))
        self._callback = None  # it would keep alive all that the callback refers to

    def _look(self, passed_s: float) -> None:
        calls = _calls(self._watched)
        callback = calls[-1] if calls else None
        if callback is not self._callback:
            if self._told_s:
                log.warning("loop.unblocked", after_s=round(self._held_s, 1))
                _blame()
            self._callback, self._held_s, self._told_s = callback, 0.0, 0.0
        elif calls:
            self._held_s += passed_s
            if self._held_s >= max(2 * self._told_s, self._blocked_after_s):
                self._told_s = self._held_s
                self._tell(calls)

    def _tell(self, calls: Sequence[FrameType]) -> None:
        by, bound = _place(_handler(calls)), _bound_to_log(calls[-1].f_locals["self"]._context)
        log.warning("loop.blocked", for_s=round(self._held_s, 1), by=by, at=_place(calls[0]), **bound)
        _blame(by=by, activation=bound.get("activation", ""))


def _blame(**facts: object) -> None:
    if (pulse := own_pulse()) is not None:
        pulse.blame(**facts)


def _calls(thread: threading.Thread) -> list[FrameType]:
    """Return a thread's calls, from the innermost up to the loop's callback; none while it waits."""
    calls = []
    frame = sys._current_frames().get(thread.ident or 0)
    while frame is not None:
        calls.append(frame)
        if frame.f_code is _RUN_CALLBACK:
            return calls
        frame = frame.f_back
    return []


def _handler(calls: Sequence[FrameType]) -> FrameType:
    """Return the first call outside the engine: the handler of an executor, or a call in it."""
    is_inside = False
    for frame in reversed(calls):
        is_engine = str(frame.f_globals.get("__name__")).startswith(_ENGINE)
        if is_inside and not is_engine:
            return frame
        is_inside = is_engine
    return calls[0]


def _place(frame: FrameType) -> str:
    return f"{frame.f_globals.get('__name__')}.{frame.f_code.co_qualname}:{frame.f_lineno}"


def _bound_to_log(context: Context) -> Mapping[str, object]:
    """Return the log context of the callback: ids of execution, run and agent."""
    return {
        variable.name.removeprefix(STRUCTLOG_KEY_PREFIX): value
        for variable, value in context.items()
        if variable.name.startswith(STRUCTLOG_KEY_PREFIX) and value is not ...
    }
