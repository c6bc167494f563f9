"""What every run of pytest pays where this is installed, also of those who test something else."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points

import pytest

import agentic.executors.testing

LOADED = [
    found.value
    for found in entry_points(group="pytest11")
    if found.dist and found.dist.name == "agentic-pipelines"
]


def test_pytest_loads_the_fixtures_and_nothing_that_they_need() -> None:
    code = (
        "import pytest, sys\n"
        "before = set(sys.modules)\n"
        f"import {', '.join(LOADED)}\n"
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before}))\n"
        "print(*sorted(name for name in sys.modules if name.startswith('agentic.core')))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "agentic\nagentic.core agentic.core.lazily\n"


@pytest.mark.parametrize("name", agentic.executors.testing.__all__)
def test_each_public_name_is_found_when_it_is_asked_for(name: str) -> None:
    assert getattr(agentic.executors.testing, name).__name__ == name


def test_a_name_that_is_not_there_is_told_as_by_any_module() -> None:
    with pytest.raises(AttributeError, match=r"'agentic\.executors\.testing' has no attribute 'Runner'"):
        agentic.executors.testing.Runner  # noqa: B018
