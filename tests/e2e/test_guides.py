"""Guides followed by somebody who has nothing but pip: our wheel, and what it asks for."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.guides import Shell
from tests.e2e.machines import CONSTRAINTS, REPOSITORY, UNCOMPILED, resolved

from agentic.core.services import free_port

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

SETTINGS = """\
[pytest]
asyncio_mode = auto
asyncio_default_fixture_loop_scope = function
filterwarnings = error
"""
OUTSIDE = """
```console
$ pip install 'agentic-pipelines[testing]'
$ pytest -q
...[100%]
... passed in ...
```
"""
DOCS = REPOSITORY / "docs"
QUOTES = REPOSITORY / "examples" / "agentic-plugin-quotes"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the first command of the guides installs, of wheels that are on no index yet."""
    return resolved(tmp_path_factory.mktemp("guides"), QUOTES, extras="local,kit")


@pytest.fixture
def shell(environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A shell in a folder that stays: what is installed from there in one guide is imported in the next."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AGENTIC_", "PYTEST_"))}
    path = f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}"
    ours = {
        "PATH": path,
        "COLUMNS": "120",
        "PIP_CONSTRAINT": str(CONSTRAINTS),
        "PIP_QUIET": "1",
        **UNCOMPILED,
    }
    with Shell(tmp_path_factory.mktemp("guide"), {**kept, **ours}) as opened:
        yield opened


@pytest.mark.requirement("BR03", "BR04", "PL13")
def test_first_platform_is_made_tested_changed_and_run_as_the_tutorial_says(shell: Shell) -> None:
    page = (DOCS / "tutorial" / "first-platform.md").read_text(encoding="utf-8")
    shell.follow(page.replace("8765", str(free_port())))


@pytest.mark.requirement("BR03", "BR04", "PL05", "PL07", "PL13")
def test_plugin_is_installed_and_run_on_a_worker_as_the_guide_says(shell: Shell) -> None:
    shell.follow((DOCS / "how-to" / "install-a-plugin.md").read_text(encoding="utf-8"))


def test_tests_of_others_use_every_fixture_and_contract_of_the_wheel(shell: Shell) -> None:
    shutil.copy(Path(__file__).with_name("outside.py"), shell.folder / "test_outside.py")
    shutil.copy(QUOTES / "tests" / "test_quotes.py", shell.folder)
    (shell.folder / "pytest.ini").write_text(SETTINGS, encoding="utf-8")
    shell.follow(OUTSIDE)
