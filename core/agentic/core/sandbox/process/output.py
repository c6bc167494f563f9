"""The output of a process, up to its limit, and the thread that reads it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Literal, Protocol

from agentic.core.sandbox.model import SandboxResult
from agentic.core.sandbox.sandbox import OnOutput

_PIECE_BYTES = 64 * 1024
_Name = Literal["stdout", "stderr"]
NAMES: tuple[_Name, ...] = ("stdout", "stderr")
Emit = Callable[[_Name, bytes], None]


class ProcessOutput:
    """The kept output of a process.

    Args:
        most: Bytes to keep of stdout, and of stderr.
        emit: Receives output, in the thread that reads.
    """

    def __init__(self, most: int, emit: Emit) -> None:
        self._most = most
        self._emit = emit
        self._kept: dict[_Name, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}

    @property
    def is_over(self) -> bool:
        """Whether it is longer than its limit."""
        return any(len(kept) > self._most for kept in self._kept.values())

    def read(self, name: _Name, place: int) -> bool:
        """Read a piece from a descriptor; return whether more can come."""
        piece = os.read(place, _PIECE_BYTES)
        kept = self._kept[name]
        room = self._most - len(kept)
        if piece and room > 0:
            self._emit(name, piece[:room])
        kept += piece[: max(room, 0) + 1]
        return bool(piece)

    def drain(self, process: subprocess.Popen[bytes]) -> None:
        """Read the rest, and wait for nothing."""
        for name, place in pipes_of(process):
            os.set_blocking(place, False)
            with suppress(OSError):
                while self.read(name, place):
                    pass

    def text(self, name: _Name) -> str:
        """Return the output."""
        return bytes(self._kept[name][: self._most]).decode("utf-8", "replace")


def pipes_of(process: subprocess.Popen[bytes]) -> Iterator[tuple[_Name, int]]:
    """Yield the names and descriptors of the output of a process."""
    if process.stdout is not None:
        yield "stdout", process.stdout.fileno()
    if process.stderr is not None:
        yield "stderr", process.stderr.fileno()


class BlockingRun(Protocol):
    """A run that blocks its thread."""

    def run(self, emit: Emit) -> SandboxResult:
        """Run to the end."""
        ...

    def stop(self) -> None:
        """End it, from another thread."""
        ...


async def in_own_thread(run: BlockingRun, on_output: OnOutput | None) -> SandboxResult:
    """Return the result of a run. A run may take long, so it takes no thread from others."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[SandboxResult] = loop.create_future()

    def emit(name: _Name, piece: bytes) -> None:
        if on_output is not None:
            loop.call_soon_threadsafe(on_output, name, piece)

    def work() -> None:
        try:
            settle = partial(answer.set_result, run.run(emit))
        except BaseException as exc:  # its awaiter gets it
            settle = partial(answer.set_exception, exc)
        with suppress(RuntimeError):  # the loop is closed: no task waits
            loop.call_soon_threadsafe(settle)

    threading.Thread(target=work, name="agentic-sandbox").start()
    try:
        return await asyncio.shield(answer)
    except asyncio.CancelledError:
        run.stop()
        await asyncio.wait([answer])
        if not answer.cancelled():
            answer.exception()  # otherwise asyncio reports it
        raise
