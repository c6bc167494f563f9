"""Folders and files that only their owner reads, whatever the umask says.

A home holds passwords, cookies and pages behind a login. What this project makes in it has the mode 0700 or
0600; what an older version made wider is narrowed by its owner at the next use.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600

_OTHERS = 0o077

_IN_A_HOME = frozenset(
    {"demo", "files", "flower", "logs", "nats", "nats-accounts", "runtime.json", "runtime.json.draft"}
    | {"supervisor.lock", "valkey"}
    | {f"agentic.db{ending}" for ending in ("", "-wal", "-shm", "-journal")}
)
"""Files this project creates in a home. A folder with other files keeps its permissions."""


def make_private_folder(path: Path, *, below: Path | None = None) -> None:
    """Make a folder that only its owner enters, with the folders it is in that are missing.

    Args:
        path: The folder. One that was there is narrowed if it holds only what this project makes in a home.
        below: A folder of ours: it and all folders from it down to ``path`` are private, old ones too.

    Raises:
        OSError: It cannot be made.
    """
    for folder in (*reversed(path.parents), path):
        folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
    ours = [path] if _is_ours(path) else []
    for folder in ours if below is None else (below, *_between(below, path)):
        narrow(folder, FOLDER_MODE)


def open_private(path: str | Path, flags: int) -> int:
    """Open a file as ``open(..., opener=open_private)`` wants it: what is made is the owner's alone."""
    return os.open(path, flags, FILE_MODE)


def write_private(path: Path, text: str) -> None:
    """Put ``text`` in place of what is at ``path``, which only its owner can read from the first byte on."""
    draft = path.with_name(f"{path.name}.draft")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE), "w") as file:
        file.write(text)
    draft.replace(path)


def secure_sqlite(path: Path) -> None:
    """Make a SQLite file that is missing, and narrow one of ours with the files beside it.

    SQLite gives its log and its index the mode of the file. An existing file is never opened here: to close
    it would end the locks that this process holds on it.

    Raises:
        OSError: It cannot be made.
    """
    target = Path(os.path.realpath(path))
    try:
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE))
    except FileExistsError:
        if is_wide(target):
            narrow(target, FILE_MODE)
    for ending in ("-wal", "-shm", "-journal"):
        narrow(target.with_name(target.name + ending), FILE_MODE)
    if is_wide(target.parent) and _is_ours(target.parent):
        narrow(target.parent, FOLDER_MODE)


def narrow(path: Path, mode: int) -> None:
    """Take away what ``mode`` does not allow, where the file is there and belongs to this user."""
    with suppress(OSError):
        found = path.stat()
        if found.st_mode & ~mode & 0o777 and found.st_uid == os.geteuid():
            path.chmod(stat.S_IMODE(found.st_mode) & mode)


def is_wide(path: Path) -> bool:
    """Whether others than the owner may do anything with what is at ``path``; False if nothing is there."""
    try:
        return bool(path.stat().st_mode & _OTHERS)
    except OSError:
        return False


def wide_paths(home: Path) -> Iterator[Path]:
    """Yield what others may reach of a home: the home first; what is in a closed folder is not looked at."""
    if not is_wide(home):
        return
    yield home
    for name in sorted(_IN_A_HOME):
        if is_wide(home / name):
            yield home / name


def _between(top: Path, path: Path) -> Iterator[Path]:
    folder = top
    for part in path.relative_to(top).parts:
        folder = folder / part
        yield folder


def _is_ours(folder: Path) -> bool:
    """Whether a folder holds something, and nothing but what this project makes in a home."""
    try:
        names = {entry.name for entry in os.scandir(folder)}
        is_shared = folder.stat().st_mode & stat.S_ISVTX
    except OSError:
        return False
    return bool(names) and names <= _IN_A_HOME and not is_shared
