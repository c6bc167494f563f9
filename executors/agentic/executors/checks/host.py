"""Checks this machine: open files, disk space."""

from __future__ import annotations

import resource
import shutil
from collections.abc import Iterator
from pathlib import Path

from agentic.core.hooks import Finding, warning

MIN_OPEN_FILES = 1024
MIB = 1024 * 1024
LITTLE_ROOM_MIB = 1024
NO_ROOM_MIB = 100


def host_findings(home: Path) -> Iterator[Finding]:
    """Report limits that a worker will reach."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit != resource.RLIM_INFINITY and limit < MIN_OPEN_FILES:
        yield warning(
            f"a process here may open {limit} files and connections, but a worker needs hundreds; start it "
            f"after `ulimit -n {MIN_OPEN_FILES}`"
        )
    yield from room_findings(home)


def room_findings(
    folder: Path, *, little_mib: float = LITTLE_ROOM_MIB, none_mib: float = NO_ROOM_MIB
) -> Iterator[Finding]:
    """Report a nearly full disk, if it holds ``folder`` or will hold it."""
    path = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    free_mib = shutil.disk_usage(path).free / MIB
    if free_mib >= little_mib:
        return
    text = f"{free_mib:.0f} MiB are free on the disk of {str(folder)!r}"
    if free_mib < none_mib:
        yield Finding(f"{text}, too little to continue; free some space")
    else:
        yield warning(f"{text}; free some space before it is full")
