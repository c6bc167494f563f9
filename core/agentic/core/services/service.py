"""A command to keep running."""

from __future__ import annotations

import asyncio
import inspect
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field

ReadyCheck = Callable[[], bool] | Callable[[], Awaitable[bool]]
"""Returns whether a service is ready; called repeatedly. A plain function may block; an ``OSError``
means no.
"""


@dataclass(frozen=True, slots=True)
class Service:
    """A command that is started, watched, restarted when it ends, and stopped.

    Attributes:
        name: Word for messages and the name of its log file.
        command: Program and arguments; no shell.
        env: Added to the environment.
        urls: Its addresses, by their names in ``runtime.json`` (``nats`` and ``broker`` are read by the
            settings of every process in the same home). Fixed: a restart keeps them.
        ready: The next service starts when this returns true; at once if None.
        ready_timeout_s: How long that may take.
        stop_signal: Asks it to end.
        stop_grace_s: How long it may take before it is killed.
        umask: Permissions that its files must not have; as for this process if -1.
    """

    name: str
    command: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    _: KW_ONLY
    urls: Mapping[str, str] = field(default_factory=dict)
    ready: ReadyCheck | None = None
    ready_timeout_s: float = 120.0  # a first start compiles what it loads; a dead one is reported at once
    stop_signal: int = signal.SIGTERM
    stop_grace_s: float = 10.0
    umask: int = -1


async def is_ready(service: Service) -> bool:
    """Check ``service`` once."""
    if service.ready is None:
        return True
    try:
        if inspect.iscoroutinefunction(service.ready):
            return bool(await service.ready())
        answer = await asyncio.to_thread(service.ready)
        return bool(await answer if inspect.isawaitable(answer) else answer)
    except OSError:
        return False
