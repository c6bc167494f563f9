"""Folders and files that only their owner can read, with any umask.

A home contains passwords, cookies and pages behind a login. New folders and files in it have mode 0700 or
0600; wider modes of older versions are narrowed by the owner at the next use.
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
    | {"serve-token", "serve-token.draft", "supervisor.lock", "valkey"}
    | {f"agentic.db{ending}" for ending in ("", "-wal", "-shm", "-journal")}
)
"""Files this project creates in a home. A folder with other files keeps its permissions."""


def make_private_folder(path: Path, *, below: Path | None = None) -> None:
    """Create a folder that only its owner can enter, with missing parents.

    Args:
        path: The folder. An existing one is narrowed if it has only files that this project creates.
        below: Our own folder: it and all folders from it down to ``path`` are private, old ones too.

    Raises:
        OSError: It cannot be created.
    """
    for folder in (*reversed(path.parents), path):
        folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
    ours = [path] if _is_ours(path) else []
    for folder in ours if below is None else (below, *_between(below, path)):
        narrow(folder, FOLDER_MODE)


def open_private(path: str | Path, flags: int) -> int:
    """Open a file, for ``open(..., opener=open_private)``: new files are only for their owner."""
    return os.open(path, flags, FILE_MODE)


def write_private(path: Path, text: str) -> None:
    """Replace the file at ``path`` by ``text``; only its owner can read it, from the first byte on."""
    draft = path.with_name(f"{path.name}.draft")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE), "w") as file:
        file.write(text)
    draft.replace(path)


def secure_sqlite(path: Path) -> None:
    """Create a missing SQLite file, or narrow our own existing one with the files beside it.

    SQLite gives its log and its index the mode of the file. An existing file is never opened here: closing
    it would release the locks of this process.

    Raises:
        OSError: It cannot be created.
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
    """Remove permissions outside ``mode``, if the file exists and belongs to this user."""
    with suppress(OSError):
        found = path.stat()
        if found.st_mode & ~mode & 0o777 and found.st_uid == os.geteuid():
            path.chmod(stat.S_IMODE(found.st_mode) & mode)


def is_wide(path: Path) -> bool:
    """Whether other users than the owner have access to ``path``; False if it does not exist."""
    try:
        return bool(path.stat().st_mode & _OTHERS)
    except OSError:
        return False


def wide_paths(home: Path) -> Iterator[Path]:
    """Yield the paths of a home that other users can access, the home first; closed folders are skipped."""
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
    """Whether a folder is not empty, and has only files that this project creates in a home."""
    try:
        names = {entry.name for entry in os.scandir(folder)}
        is_shared = folder.stat().st_mode & stat.S_ISVTX
    except OSError:
        return False
    return bool(names) and names <= _IN_A_HOME and not is_shared
