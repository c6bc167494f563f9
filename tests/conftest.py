"""What every kind of test relies on."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import structlog

# The tests start hundreds of Python processes; without compiled files each takes twice as long.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.fixture(autouse=True)
def unconfigured_logging() -> Iterator[None]:
    """Leave no test's log set-up to the next one."""
    yield
    structlog.reset_defaults()
