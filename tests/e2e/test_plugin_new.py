"""A plugin of one's own: made by a command, built as a wheel, installed with pip, and right at once."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.e2e.machines import Machine, installed
from typer.testing import CliRunner

from agentic.core.cli.main import build_app
from agentic.core.cli.plugin_new import PluginNameError
from agentic.executors.testing import Site

pytestmark = pytest.mark.e2e

NAME = "my-shop"


def make(name: str, to: Path) -> BaseException | None:
    """Run the command; return why it was refused."""
    return CliRunner().invoke(build_app(), ["plugin", "new", name, "--to", str(to)]).exception


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The new distribution."""
    folder = tmp_path_factory.mktemp("made")
    assert make(NAME, folder) is None
    return folder / f"agentic-plugin-{NAME}"


@pytest.fixture(scope="module")
def environment(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install this project and the new plugin."""
    return installed(tmp_path_factory.mktemp("environment"), made)


@pytest.fixture
def machine(environment: Path, tmp_path: Path) -> Machine:
    return Machine(environment, tmp_path)


def test_its_own_tests_pass_and_checkers_have_no_complaint(machine: Machine, made: Path) -> None:
    passed = machine.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", str(made))
    assert re.search(r"^\d\d passed in ", passed, re.MULTILINE)  # nothing was skipped, nobody was warned
    machine.run("python", "-m", "ruff", "check", "--no-cache", str(made))
    machine.run("python", "-m", "ruff", "format", "--no-cache", "--check", str(made))
    config = str(made / "pyproject.toml")
    machine.run("python", "-m", "mypy", "--config-file", config, "-p", "agentic_plugin_my_shop")


BROKEN = """
import pytest
from agentic.executors.testing import PlatformContract


class Nowhere(PlatformContract):
    platform = "nowhere"


def test_what_was_found_is_shown():
    with pytest.raises(AssertionError, match="'nowhere' in {"):
        Nowhere().test_it_is_found_with_nothing_wrong()
"""


def test_a_contract_that_is_broken_shows_what_it_found(machine: Machine) -> None:
    (machine.home / "test_broken.py").write_text(BROKEN, encoding="utf-8")
    machine.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_broken.py")


@pytest.mark.requirement("BR03", "BR04", "PL13")
def test_it_is_listed_migrated_and_run_and_stores_each_row_once(machine: Machine, agentic_site: Site) -> None:
    agentic_site.serve("/items.json", [{"id": "1", "title": "First"}, {"id": "2", "title": "Second"}])
    (found,) = [row for row in json.loads(machine.agentic("plugins", "--json")) if row["name"] == NAME]
    assert (found["platforms"], found["errors"]) == ([NAME], [])
    machine.agentic("db", "upgrade")
    config = [f"base_url={agentic_site.url}", f'allow_private_hosts=["{agentic_site.host}"]']
    options = [word for pair in config for word in ("--config", pair)]
    machine.agentic("agents", "add", "mine", "--platform", NAME, *options)

    first, second = (json.loads(machine.agentic("run", "mine", "--json")) for _ in range(2))

    assert (first["status"], first["counts"]["inserted"]) == ("succeeded", 2)
    assert (second["status"], second["counts"]["unchanged"]) == ("succeeded", 2)


@pytest.mark.parametrize("name", ["My-Shop", "2shop", "shop-", "a--b", "shop_x", "", "../x", "x" * 41])
def test_what_is_no_name_is_refused_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    assert isinstance(make(name, tmp_path), PluginNameError)
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_taken_and_a_folder_that_is_there_are_refused(tmp_path: Path) -> None:
    (tmp_path / "agentic-plugin-new").mkdir()

    assert "there is a platform 'hackernews' already" in str(make("hackernews", tmp_path))
    assert "is there already" in str(make("new", tmp_path))
    assert [place.name for place in tmp_path.iterdir()] == ["agentic-plugin-new"]
