"""The folder of a supervisor: its lock, its logs, and the note on running services."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from agentic.core.private import make_private_folder, open_private, write_private
from agentic.core.services.errors import HomeInUseError
from agentic.core.services.processes import process_identity
from agentic.core.settings import RUNTIME_FILE

_LOCK_FILE = "supervisor.lock"
MAX_LOG_BYTES = 10 * 1024 * 1024
"""Larger logs are renamed to ``NAME.log.1``."""


class SupervisorHome:
    """A folder that one supervisor owns while it holds the lock."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._lock: int | None = None

    def acquire(self) -> None:
        """Take the lock; the system releases it when this process ends, in any way.

        Raises:
            HomeInUseError: Another process holds it.
        """
        make_private_folder(self.path)
        lock = os.open(self.path / _LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(lock, 32).decode("ascii", errors="replace").strip()
            os.close(lock)
            raise HomeInUseError(self.path, int(owner) if owner.isdecimal() else None) from None
        os.ftruncate(lock, 0)
        os.write(lock, f"{os.getpid()}\n".encode())
        self._lock = lock

    def release(self) -> None:
        """Remove the note and release the lock."""
        (self.path / RUNTIME_FILE).unlink(missing_ok=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def log_path(self, name: str) -> Path:
        """Return the log file of a service; a large one is renamed first."""
        folder = self.path / "logs"
        make_private_folder(folder, below=folder)
        path = folder / f"{name}.log"
        if path.exists() and path.stat().st_size > MAX_LOG_BYTES:
            path.replace(path.with_suffix(".log.1"))
        return path

    def trim_logs(self, max_bytes: int = MAX_LOG_BYTES) -> None:
        """Move the content of logs larger than ``max_bytes`` aside, replacing earlier content there.

        Their writers continue: they append, and so start again at the beginning of an emptied file.
        """
        for path in (self.path / "logs").glob("*.log"):
            if path.stat().st_size > max_bytes:
                older = path.with_suffix(".log.1")
                draft = path.with_suffix(".log.draft")
                with path.open("rb") as log, open(draft, "wb", opener=open_private) as copied:
                    shutil.copyfileobj(log, copied)
                draft.replace(older)
                os.truncate(path, 0)

    def write_note(self, urls: Mapping[str, str], pids: Mapping[str, int]) -> None:
        """Store the running services: for other commands in this home, and for a successor's cleanup."""
        note = {
            "pid": os.getpid(),
            "urls": dict(urls),
            "pids": dict(pids),
            "identities": {str(pid): process_identity(pid) for pid in pids.values()},
        }
        write_private(self.path / RUNTIME_FILE, json.dumps(note, indent=2))

    def leftovers(self) -> dict[int, str]:
        """Return pid -> identity from the note of a killed predecessor, where the identity was known."""
        try:
            note = json.loads((self.path / RUNTIME_FILE).read_text(encoding="utf-8"))
            return {int(pid): identity for pid, identity in note["identities"].items() if identity}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}
