"""Interpreters of programs: monty, in processes of its own, without files, network or modules of the host."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING, Any

from agentic.core.agents import ToolError
from agentic.core.threads import in_thread
from agentic.plugins.mcp.client.errors import McpMissingError

if TYPE_CHECKING:
    from pydantic_monty import CollectString, Monty, MontySession

MAX_PRINTED_BYTES = 64 * 1024
MAX_SNAPSHOT_BYTES = 4 * 1024 * 1024
MAX_PROCESSES = 4
CHECKOUT_S = 60.0
TURN_S = 10.0
FEED_S = 60.0
MEMORY_BYTES = 256 * 1024 * 1024
MAX_RECURSION = 300

_pools: dict[int, Monty] = {}
_lock = Lock()


class Interpreter:
    """One program in an interpreter, driven from snapshot to snapshot. Close it at the end.

    The sync interface, in threads: the asynchronous one makes short programs abort at their exit.

    Args:
        functions: Names that the program may use as functions of the host.
        started_at: The time of the program's clock, and the beginning of its random numbers: so it does the
            same when it is run again. Seconds since the epoch.
    """

    def __init__(self, functions: Mapping[str, Callable[..., object]], started_at: float) -> None:
        self._functions = dict(functions)
        self._started_at = started_at
        self._session: MontySession | None = None
        self._printed: CollectString | None = None

    @property
    def printed(self) -> str:
        """The texts that the program has printed since it was started or restored here."""
        return "" if self._printed is None else self._printed.output

    async def start(self, code: str, stubs: str) -> Any:  # noqa: ANN401  # a snapshot of monty
        """Check the types of a program, start it, and return its first snapshot."""
        return await self._done(self._start, code, stubs)

    async def restore(self, snapshot: bytes) -> Any:  # noqa: ANN401
        """Return a snapshot of another process."""
        return await self._done(self._restore, snapshot)

    async def resume(self, step: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401
        """Continue from a snapshot, by one of its methods."""
        return await self._done(step, *arguments)

    async def dump(self) -> bytes:
        """Return the program as it waits.

        Raises:
            ToolError: It holds too much data.
        """
        assert self._session is not None  # noqa: S101  # it was started
        snapshot: bytes = await in_thread(self._session.dump)
        if len(snapshot) > MAX_SNAPSHOT_BYTES:
            raise ToolError(
                f"the program holds {len(snapshot)} bytes while it waits; at most {MAX_SNAPSHOT_BYTES} can "
                "be kept: delete data that it does not need any longer before the call that waits"
            )
        return snapshot

    async def aclose(self) -> None:
        """Give the interpreter back."""
        session, self._session = self._session, None
        if session is not None:
            await in_thread(session.__exit__, None, None, None)

    async def _done(self, step: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401
        import pydantic_monty as monty

        try:
            return await in_thread(step, *arguments)
        except monty.MontyTypingError as exc:
            raise ToolError(
                f"the program was not run, because its types do not fit:\n{exc.display()}"
            ) from None
        except (monty.MontyRuntimeError, monty.MontySyntaxError) as exc:
            said = f"\nprinted before:\n{self.printed}" if self.printed else ""
            raise ToolError(f"the program failed:\n{exc.display()}{said}") from None
        except (monty.MontyError, RuntimeError, ValueError, TimeoutError) as exc:
            raise ToolError(f"the interpreter ended the program: {exc}") from None

    def _open(self, stubs: str) -> MontySession:
        import pydantic_monty as monty

        session = _pool().checkout(
            limits={
                "max_turn_duration_secs": TURN_S,
                "max_feed_duration_secs": FEED_S,
                "max_memory": MEMORY_BYTES,
                "max_recursion_depth": MAX_RECURSION,
            },
            type_check=bool(stubs),
            type_check_stubs=stubs or None,
            type_check_format="concise",
            os_policy={
                "datetime": datetime.fromtimestamp(self._started_at, UTC),
                "sleep": "zero",
                "random_start": {"seed": int(self._started_at)},
            },
        )
        session.__enter__()
        self._session = session
        self._printed = monty.CollectString(max_bytes=MAX_PRINTED_BYTES)
        return session

    def _start(self, code: str, stubs: str) -> object:
        session = self._open(stubs)
        return session.feed_start(code, external_lookup=self._functions, print_callback=self._printed)

    def _restore(self, snapshot: bytes) -> object:
        session = self._open("")  # a snapshot has its own
        return session.load_snapshot(snapshot, external_lookup=self._functions, print_callback=self._printed)


def close_pool() -> None:
    """Stop the interpreters of this process; the next program starts others."""
    with _lock:
        pool = _pools.pop(os.getpid(), None)
    if pool is not None:
        with suppress(Exception):
            pool.__exit__(None, None, None)


def _pool() -> Monty:
    """Return the pool of this process: a forked one must not use its parent's."""
    try:
        from pydantic_monty import Monty
    except ModuleNotFoundError as exc:
        raise McpMissingError("code mode") from exc
    with _lock:
        pool = _pools.get(os.getpid())
        if pool is None:
            pool = Monty(min_processes=0, max_processes=MAX_PROCESSES, checkout_timeout=CHECKOUT_S)
            pool.__enter__()
            _pools[os.getpid()] = pool
            atexit.register(close_pool)
        return pool
