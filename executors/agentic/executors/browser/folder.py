"""The folder of one running browser: its profile, and a lock that shows whether its owner is alive."""

from __future__ import annotations

import fcntl
import os
import shlex
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO

from agentic.core.logging import get_logger
from agentic.executors.browser import launcher
from agentic.executors.browser.processes import kill_all_of

log = get_logger(__name__)

PREFIX = "agentic-browser-"

_own: set[Path] = set()
"""Folders of this process. Do not check their locks here: closing the file would release them."""


class BrowserFolder:
    """A folder for one browser, which this process owns until it removes it, or ends.

    The leftovers of killed processes are removed first.

    Attributes:
        path: The folder.
        launch: Starts the browser in it; the driver must start this.
    """

    def __init__(self, executable: Path) -> None:
        clear_leftovers()
        self.path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
        _own.add(self.path)
        self._owner = _locked(self.path / launcher.OWNER)
        self.launch = _launch_script(self.path, executable)

    def remove(self) -> None:
        """Kill the rest of the browser, and remove the folder."""
        kill_all_of(self.path)
        shutil.rmtree(self.path, ignore_errors=True)
        self._owner.close()
        _own.discard(self.path)


def clear_leftovers() -> None:
    """Kill the browsers whose owners are gone, and remove their folders."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if folder not in _own and _is_mine(folder):
            with suppress(OSError), (folder / launcher.OWNER).open("r+b") as owner:
                fcntl.lockf(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises while the owner is alive
                killed = kill_all_of(folder)
                shutil.rmtree(folder, ignore_errors=True)
                log.warning("browser.reaped", folder=folder.name, killed_count=killed)


def _is_mine(folder: Path) -> bool:
    """Whether this user made the folder: any user can put a file with that name there."""
    with suppress(OSError):
        return folder.lstat().st_uid == os.geteuid() and folder.is_dir() and not folder.is_symlink()
    return False


def _locked(path: Path) -> IO[bytes]:
    """Make a file that is locked from its creation on: another process may be cleaning up."""
    unseen = path.with_suffix(".new")
    file = unseen.open("wb")
    fcntl.lockf(file, fcntl.LOCK_EX)
    unseen.rename(path)
    return file


def _launch_script(folder: Path, executable: Path) -> Path:
    words = [sys.executable, "-IS", launcher.__file__, str(folder), str(executable)]
    script = folder / "launch"
    script.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
    script.chmod(0o700)
    return script
