"""The guide to agents as data: its files are those of the example, and what it shows is what happens."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from tests.e2e.guides import File, Shell, steps_of
from tests.e2e.machines import REPOSITORY

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(120)]

GUIDE = (REPOSITORY / "docs" / "how-to" / "run-an-agent.md").read_text(encoding="utf-8")
EXAMPLE = REPOSITORY / "examples" / "support_agent"
LINES = ((re.compile("─+"), "─"),)  # as wide as the cells


def test_the_files_of_the_guide_are_the_files_of_the_example() -> None:
    files = {step.path: step.text for step in steps_of(GUIDE) if isinstance(step, File)}
    assert files == {path.name: path.read_text("utf-8") for path in EXAMPLE.iterdir() if path.suffix != ".md"}


def test_the_guide_is_followed_from_the_first_message_to_the_cost(tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AGENTIC_", "PYTEST_"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with Shell(tmp_path, {**kept, "PATH": path, "COLUMNS": "80"}, varying=LINES) as shell:
        shell.follow(GUIDE)
