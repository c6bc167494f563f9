"""Modules at their old paths and public names by their old names are found, with a warning."""

from __future__ import annotations

import importlib
import subprocess
import sys
import warnings

import pytest

from agentic.core.moved import MOVED, RENAMED, TAKEN

OLD_IMPORTS = """
import warnings
warnings.simplefilter("ignore")
from agentic.core.graph import Document
from agentic.mappers.schedules import add_schedule
from agentic.mappers.vault import SqlSecrets
from agentic.core.http.budget import ProcessBudget
from agentic.core.pipeline.expressions import parse_expression
from agentic.executors import runner
from agentic.plugins.fakes.server import FakeServer
from agentic.plugins.fakes.shop import Shop
import agentic.core.graph.letters as letters
import agentic.mappers.catalog.projects
from agentic.mappers.catalog import find_agent
assert find_agent is agentic.mappers.catalog.projects.find_agent
assert letters.__name__ == "agentic.core.graph.planning.routed"
"""


@pytest.mark.parametrize("old", MOVED)
def test_an_old_path_is_the_module_at_the_new_one(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    new = importlib.import_module(MOVED[old])
    with warnings.catch_warnings(action="ignore"):  # the package may have moved too
        importlib.import_module(old.rpartition(".")[0])
    monkeypatch.delitem(sys.modules, old, raising=False)
    with pytest.warns(DeprecationWarning, match=f"{old} moved to {MOVED[old]}") as caught:
        assert importlib.import_module(old) is new
    assert [warning.filename for warning in caught] == [importlib.__file__]
    assert new.__spec__ is not None
    assert new.__spec__.name == MOVED[old]


@pytest.mark.parametrize("package", TAKEN)
def test_a_package_has_the_names_of_the_module_that_it_replaced(package: str) -> None:
    home = importlib.import_module(TAKEN[package])
    name = next(
        name for name, value in vars(home).items() if getattr(value, "__module__", "") == home.__name__
    )
    with pytest.warns(DeprecationWarning, match=f"{package}.{name} moved to") as caught:
        assert getattr(importlib.import_module(package), name) is getattr(home, name)
    assert [warning.filename for warning in caught] == [__file__]


def test_a_package_that_moved_keeps_its_names_and_loads_no_module_twice() -> None:
    with pytest.warns(DeprecationWarning, match="moved to agentic.fakes"):
        old = importlib.import_module("agentic.plugins.fakes.server")
    assert old is importlib.import_module("agentic.fakes.server")
    assert importlib.import_module("agentic.plugins.fakes").__getattr__("__doc__").startswith("Fake servers")


@pytest.mark.parametrize(
    ("package", "old", "new"),
    [(package, *names) for package, table in RENAMED.items() for names in table.items()],
)
def test_an_old_public_name_is_the_new_one(package: str, old: str, new: str) -> None:
    module = importlib.import_module(package)
    assert new in module.__all__
    assert old not in module.__all__
    with pytest.warns(DeprecationWarning, match=f"{package}.{old} is now {package}.{new};") as caught:
        assert getattr(module, old) is getattr(module, new)
    assert [warning.filename for warning in caught] == [__file__]


def test_old_imports_work_in_a_new_process() -> None:
    subprocess.run([sys.executable, "-c", OLD_IMPORTS], check=True)


@pytest.mark.parametrize("name", ["agentic.core.graph.nothing", "agentic.mappers.nothing"])
def test_a_module_that_never_was_is_not_found(name: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=name):
        importlib.import_module(name)


def test_a_name_that_never_was_is_not_found() -> None:
    with pytest.raises(AttributeError, match=r"'agentic.mappers.vault' has no attribute 'nothing'"):
        _ = importlib.import_module("agentic.mappers.vault").nothing
