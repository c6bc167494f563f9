"""Processes that stand still and die."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

ValueT = TypeVar("ValueT")


class DiedError(BaseException):
    """Leaves what a process was at when it died, where that cannot wait for ever."""


class Process:
    """A process: what was started in it ends with it.

    When it is killed its tasks are cancelled, and whatever they do then reaches nobody. While it is frozen
    the ledger hears nothing of it, and it does not notice.

    Args:
        name: Of it.
        on_death: Called once.

    Attributes:
        name: As given.
        is_leaving: Whether it was told to end.
        is_dead: Whether it did.
    """

    def __init__(self, name: str, on_death: Callable[[], object]) -> None:
        self.name = name
        self.is_leaving = False
        self.is_dead = False
        self._on_death = on_death
        self._stands_still_until = 0.0
        self._tasks: list[asyncio.Task[object]] = []
        self._answers: list[asyncio.Future[Any]] = []

    def start(self, work: Coroutine[object, object, ValueT]) -> asyncio.Task[ValueT]:
        """Do work in this process."""
        task = asyncio.create_task(work)
        self._tasks.append(task)
        return task

    def waits_for(self, answer: asyncio.Future[Any]) -> None:
        """Give up waiting for an answer when it dies."""
        self._answers.append(answer)

    def suffer(self, blow: str, seconds: float = 0.0) -> None:
        """Let something happen to it."""
        match blow.split():
            case ["kill", *_]:
                self.die()
            case ["shut", "down", *_]:
                self.leave()
            case ["freeze", *_]:
                self._stands_still_until = time.time() + seconds
            case _:
                raise AssertionError(blow)

    def leave(self) -> None:
        """End it in good order."""
        self.is_leaving = True
        self._cancel()
        asyncio.gather(*self._tasks, return_exceptions=True).add_done_callback(lambda _: self.die())

    def die(self) -> None:
        """End it where it stands."""
        if not self.is_dead:
            self.is_dead = True
            self._cancel()
            for answer in self._answers:
                answer.cancel()
            self._on_death()

    def when_awake(self, turn: Callable[[], None]) -> None:
        """Take a turn: now, when it does not stand still any more, or never."""
        wait_s = self._stands_still_until - time.time()
        if wait_s > 0:
            asyncio.get_running_loop().call_later(wait_s, self.when_awake, turn)
        elif not self.is_dead:
            with suppress(DiedError):
                turn()

    def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()
