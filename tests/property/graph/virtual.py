"""An event loop whose time passes only when there is nothing to do, so that waiting costs nothing.

Nothing in it depends on the machine: the same coroutine takes the same turns in the same order each time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Executor as Pool
from contextlib import contextmanager
from contextvars import Context
from selectors import BaseSelector, SelectorKey
from typing import Any, TypeVar, TypeVarTuple, Unpack
from unittest.mock import patch

from agentic.core.graph.definition import function

ValueT = TypeVar("ValueT")
Ts = TypeVarTuple("Ts")

EPOCH = 1_700_000_000.0


class NothingLeftError(RuntimeError):
    """Every task waits for something that nothing can bring about."""


class _NoSelector(BaseSelector):
    """Waits for no file: lets the time pass that the loop wants to wait."""

    def __init__(self, now: float) -> None:
        self.now = now

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        if timeout is None:
            raise NothingLeftError
        self.now += max(timeout, 0)
        return []

    def register(self, fileobj: Any, events: int, data: Any = None) -> SelectorKey:
        return SelectorKey(fileobj, 0, events, data)

    def unregister(self, fileobj: Any) -> SelectorKey:
        return SelectorKey(fileobj, 0, 0, None)

    def get_map(self) -> dict[Any, SelectorKey]:
        return {}


class VirtualLoop(asyncio.SelectorEventLoop):
    """The loop.

    Args:
        now: Where its time begins, in seconds.

    Attributes:
        turn: Callbacks that ran so far.
        before_turn: Called before each of them.
    """

    def __init__(self, now: float = 0.0) -> None:
        self._waiting = _NoSelector(now)
        self.turn = 0
        self.before_turn: Callable[[int], None] | None = None
        super().__init__(self._waiting)

    def time(self) -> float:
        return self._waiting.now

    def wall_clock(self) -> float:
        """Return what ``time.time`` is to say."""
        return EPOCH + self._waiting.now

    def call_soon(
        self,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.Handle:
        return super().call_soon(self._take_turn, callback, args, context=context)

    def _take_turn(self, callback: Callable[..., object], args: tuple[Any, ...]) -> None:
        self.turn += 1
        if self.before_turn is not None:
            self.before_turn(self.turn)
        callback(*args)

    def run_in_executor(
        self, executor: Pool | None, func: Callable[[Unpack[Ts]], ValueT], *args: *Ts
    ) -> asyncio.Future[ValueT]:
        """Call ``func`` in a turn of its own: threads would take their time."""
        future: asyncio.Future[ValueT] = self.create_future()

        def work() -> None:
            try:
                result = func(*args)
            except Exception as exc:
                if not future.done():
                    future.set_exception(exc)
            else:
                if not future.done():
                    future.set_result(result)

        self.call_soon(work)
        return future


@contextmanager
def virtual_loop(now: float = 0.0) -> Iterator[asyncio.Runner]:
    """Return a runner with a virtual loop, whose time is what the clocks show as long."""
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(now)) as runner:
        loop = loop_of(runner)
        with (
            patch.multiple(time, time=loop.wall_clock, perf_counter=loop.time),
            patch.object(function, "in_spare_thread", _in_a_turn),
        ):
            yield runner


async def _in_a_turn(call: Callable[..., ValueT], *args: Any) -> ValueT:
    """Call a sync executor's function in a turn of the loop: a thread would take real time."""
    return await asyncio.get_running_loop().run_in_executor(None, call, *args)


def loop_of(runner: asyncio.Runner) -> VirtualLoop:
    """Return the loop of a runner of :func:`virtual_loop`."""
    loop = runner.get_loop()
    assert isinstance(loop, VirtualLoop)
    return loop


def in_virtual_time(main: Callable[[], Coroutine[Any, Any, ValueT]]) -> ValueT:
    """Run a coroutine to its end."""
    with virtual_loop() as runner:
        return runner.run(main())
