"""Finds a browser's processes by the profile in their command line, measures and kills them."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from agentic.executors.browser.launcher import profile_of

PROC = Path("/proc")


def kill_all_of(folder: Path) -> int:
    """Kill the browser with its profile in ``folder``; return how many there were.

    It kills the browser's own process group.
    """
    groups = _groups_of(folder)
    for group in groups:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
    return len(groups)


def memory_of(folder: Path) -> dict[int, int]:
    """Return the memory of a browser's processes in bytes (PSS), by pid; empty without ``/proc``."""
    if not PROC.is_dir():
        return {}
    groups = _groups_of(folder)
    return {pid: _pss(pid) for pid in _all_pids() if _group_of(pid) in groups}


def _groups_of(folder: Path) -> set[int]:
    """Return the process group of the browser of ``folder``; never our own."""
    switch = profile_of(folder)
    groups = {_group_of(pid) for pid, command in _commands() if switch in command}
    return {group for group in groups if group and group != os.getpgrp()}


def _commands() -> Iterator[tuple[int, str]]:
    """Yield pid and command line of all visible processes."""
    if not PROC.is_dir():
        yield from _listed()
        return
    for pid in _all_pids():
        with suppress(OSError):
            yield pid, (PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace")


def _listed() -> Iterator[tuple[int, str]]:
    """Yield the same from ``ps``, where there is no ``/proc`` (macOS)."""
    command = ["ps", "-A", "-ww", "-o", "pid=", "-o", "command="]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        pid, _, words = line.strip().partition(" ")
        yield int(pid), words


def _all_pids() -> list[int]:
    return [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]


def _group_of(pid: int) -> int:
    """Return the process group of ``pid``; 0 if the process is gone."""
    try:
        return os.getpgid(pid)
    except OSError:
        return 0


def _pss(pid: int) -> int:
    with suppress(OSError):
        for line in (PROC / str(pid) / "smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0
