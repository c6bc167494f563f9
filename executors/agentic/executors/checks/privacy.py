"""Checks which other users of this machine may read a project's secrets."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import make_url

from agentic.core.bus.nats.access import has_accounts
from agentic.core.hooks import Finding, warning
from agentic.core.private import is_wide, wide_paths
from agentic.core.settings import Settings
from agentic.mappers.database.engine import sqlite_path


def privacy_findings(settings: Settings) -> Iterator[Finding]:
    """Report files and folders that other users of this machine may read."""
    yield from map(_finding, dict.fromkeys((*wide_paths(settings.home.absolute()), *_secret_files(settings))))


def _secret_files(settings: Settings) -> Iterator[Path]:
    """Yield secret files outside the home that others may read."""
    for path in (*_database_files(settings), *_keys(settings)):
        if is_wide(path) and _can_be_reached(path):
            yield path


def _database_files(settings: Settings) -> Iterator[Path]:
    path = sqlite_path(make_url(settings.database))
    if path is not None:
        yield from (path.with_name(path.name + ending) for ending in ("", "-wal", "-shm"))


def _keys(settings: Settings) -> Iterator[Path]:
    if settings.nats_key_file:
        yield Path(settings.nats_key_file)
    seed = settings.nats_seed
    if seed and has_accounts(settings):
        yield from sorted(Path(seed).parent.glob("*.nk"))
    elif seed:
        yield Path(seed)


def _can_be_reached(path: Path) -> bool:
    """Whether other users can pass all folders on the way."""
    return all(folder.stat().st_mode & 0o011 for folder in path.absolute().parents)


def _finding(path: Path) -> Finding:
    is_folder = path.is_dir()
    mode = 0o700 if is_folder else 0o600
    found = stat.S_IMODE(path.stat().st_mode)
    advice = f"`chmod {mode:o} {shlex.quote(str(path))}`"
    if path.stat().st_uid != os.geteuid():
        advice = f"ask its owner to run {advice}"
    kind = "folder" if is_folder else "file"
    return warning(
        f"other users of this machine can access the {kind} {str(path)!r} (mode {found:04o}), which "
        f"contains secrets of projects or pages behind a login; {advice}"
    )
