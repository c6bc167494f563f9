"""The command line as a user has it, in a folder of its own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.commands import run_command

Agentic = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Where the database and the servers of this test live."""
    return tmp_path / "home"


def environment_of(home: Path) -> dict[str, str]:
    """Return an environment in which only ``AGENTIC_HOME`` is set of ours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AGENTIC_")}
    return {**kept, "AGENTIC_HOME": str(home), "COLUMNS": "120"}


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    """An environment in which only ``AGENTIC_HOME`` is set of ours."""
    return environment_of(home)


@pytest.fixture
def agentic(tmp_path: Path, environment: dict[str, str]) -> Agentic:
    """Run ``agentic`` with arguments, in an empty folder."""

    def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return run_command(arguments, {**environment, **variables}, tmp_path)

    return run
