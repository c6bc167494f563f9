"""Identities of processes: a pid alone may belong to another process by now."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from agentic.core.logging import get_logger

log = get_logger(__name__)

_GRACE_S = 5.0
_POLL_S = 0.05


def process_identity(pid: int) -> str | None:
    """Return the identity of process ``pid``, unique over time; None if it cannot be determined.

    It is the boot of the machine and the clock tick of its start, from Linux's ``/proc``.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # Fields follow the name in parentheses, which may contain some: state is the 3rd, start the 22nd.
    state, *fields = stat.rpartition(")")[2].split()
    return None if state == "Z" else f"{boot}:{fields[18]}"


async def end_leftovers(identities: Mapping[int, str]) -> None:
    """End the processes, with their groups, that a killed predecessor has left behind.

    Args:
        identities: Pid -> :func:`process_identity` at its start. A pid that belongs to another process by now
            is left alone.
    """
    for pid, identity in identities.items():
        if process_identity(pid) != identity:
            continue
        log.warning("service.reaped", pid=pid)
        signal_group(pid, signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_S):
                while process_identity(pid) == identity:  # noqa: ASYNC110 - not our child: nothing notifies us
                    await asyncio.sleep(_POLL_S)
        if process_identity(pid) == identity:
            signal_group(pid, signal.SIGKILL)


def signal_group(leader: int, number: int) -> None:
    """Send a signal to every process of a group, if there are any left."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)
