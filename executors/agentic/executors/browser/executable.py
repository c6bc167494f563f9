"""Chooses the browser to start."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from agentic.core.browser import BrowserUnavailableError

# The headless shell needs 0.2 s and 330 MiB to start, the whole browser 0.7 s and 490 MiB.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ADVICE = (
    "install one with `apt-get install chromium-headless-shell` or `playwright install "
    "chromium-headless-shell`, or set AGENTIC_BROWSER_PATH to yours"
)


def find_executable(configured: str, playwrights_own: Path) -> Path:
    """Return the browser to start: the one configured, else one on the path, else Playwright's.

    Args:
        configured: The setting; empty if there is none.
        playwrights_own: Where Playwright would install Chromium; it may be missing.

    Raises:
        BrowserUnavailableError: There is none, or the one configured cannot be run.
    """
    if configured:
        found = shutil.which(configured)
        if found is None:
            raise BrowserUnavailableError(
                f"AGENTIC_BROWSER_PATH names {configured!r}, which is not an executable program; {ADVICE}"
            )
        return Path(found).absolute()
    for candidate in _candidates(playwrights_own):
        return candidate
    raise BrowserUnavailableError(f"no browser found: no {' or '.join(NAMES[:4])} on the path; {ADVICE}")


def _candidates(playwrights_own: Path) -> Iterator[Path]:
    yield from (Path(found) for name in NAMES if (found := shutil.which(name)))
    # .../ms-playwright/chromium-1255/chrome-linux/chrome; the headless shell is in a folder beside.
    registry = playwrights_own.parents[2] if len(playwrights_own.parents) > 2 else playwrights_own
    shells = registry.glob("chromium_headless_shell-*/*/*headless*shell")
    yield from (path for path in [*sorted(shells, reverse=True), playwrights_own] if _can_be_run(path))


def _can_be_run(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
