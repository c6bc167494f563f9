"""Platforms of somebody else's: built as wheels, installed with pip, used like ours."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.e2e.machines import REPOSITORY, Machine, installed

EXAMPLES = REPOSITORY / "examples"
NAMES = ("quotes", "mastodon", "arxiv")
Listed = Mapping[str, Mapping[str, object]]
pytestmark = pytest.mark.e2e

QUOTES = [
    {"id": "1", "text": "Simplicity is prerequisite for reliability.", "author": "E. W. Dijkstra"},
    {"text": "has no id"},
]
ADD = ("agents", "add", "daily", "--project", "reading", "--platform", "quotes")


def folder_of(name: str) -> Path:
    return EXAMPLES / f"agentic-plugin-{name}"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install this project and the examples."""
    return installed(tmp_path_factory.mktemp("environment"), *map(folder_of, NAMES))


@pytest.fixture(scope="module")
def listed(environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Listed:
    """What `agentic plugins` says, by name of the plugin."""
    machine = Machine(environment, tmp_path_factory.mktemp("home"))
    return {row["name"]: row for row in json.loads(machine.agentic("plugins", "--json"))}


@pytest.fixture
def machine(environment: Path, tmp_path: Path) -> Machine:
    (tmp_path / "quotes.json").write_text(json.dumps(QUOTES), encoding="utf-8")
    return Machine(environment, tmp_path)


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
        "workflows": [],
        "errors": [],
    }


def test_our_own_platforms_are_loaded_from_the_wheel_in_the_same_way(listed: Listed) -> None:
    assert {name: listed[name]["platforms"] for name in ("hackernews", "web")} == {
        "hackernews": ["hackernews"],
        "web": ["web"],
    }
    assert [row["errors"] for row in listed.values() if row["errors"]] == []


@pytest.mark.requirement("BR03", "BR04", "PL05", "PL07", "PL13")
def test_its_table_is_migrated_and_its_agent_runs_and_stores_each_row_once(machine: Machine) -> None:
    machine.agentic("db", "upgrade")
    machine.agentic("projects", "add", "reading")
    machine.agentic(*ADD, "--config", "path=quotes.json")
    first, second = (
        json.loads(machine.agentic("run", "daily", "--project", "reading", "--json")) for _ in range(2)
    )
    assert (first["status"], first["counts"]["inserted"]) == ("succeeded", 1)
    assert (second["status"], second["counts"]["unchanged"]) == ("succeeded", 1)


def test_an_agent_whose_config_its_settings_refuse_is_not_added(machine: Machine) -> None:
    machine.agentic("projects", "add", "reading")
    said = machine.agentic(*ADD, "--config", "file=quotes.json", code=1)
    assert "file" in said
    assert "Traceback" not in said
    assert json.loads(machine.agentic("agents", "list", "--project", "reading", "--json")) == []


def test_several_of_them_are_there_together(listed: Listed) -> None:
    told = {name: (listed[name]["distribution"], listed[name]["platforms"]) for name in NAMES}
    assert told == {name: (f"agentic-plugin-{name}", [name]) for name in NAMES}


@pytest.mark.parametrize("name", NAMES[1:])  # those of quotes are run by test_guides.py
def test_its_own_tests_pass_in_that_environment(machine: Machine, name: str) -> None:
    passed = machine.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder_of(name)))
    assert " passed" in passed


def test_checkers_have_no_complaint_about_those_that_a_command_began(machine: Machine) -> None:
    begun = [str(folder_of(name)) for name in NAMES[1:]]
    machine.run("python", "-m", "ruff", "check", "--no-cache", *begun)
    machine.run("python", "-m", "ruff", "format", "--no-cache", "--check", *begun)
    packages = [word for name in NAMES[1:] for word in ("-p", f"agentic_plugin_{name}")]
    config = str(folder_of("arxiv") / "pyproject.toml")
    machine.run("python", "-m", "mypy", "--config-file", config, *packages)
