"""What tests do where there is no browser to start."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentic.core.browser import BrowserUnavailableError
from agentic.core.settings import load_settings
from agentic.executors.browser.executable import find_executable


def require_browser() -> None:
    """Skip the test where there is no browser; fail it where everything has to be tested."""
    try:
        find_executable(load_settings().browser_path, Path("/nowhere"))
    except BrowserUnavailableError as exc:
        if os.environ.get("CI"):
            pytest.fail(str(exc))
        pytest.skip(str(exc))
