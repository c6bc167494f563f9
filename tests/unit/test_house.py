"""The layout keeps its promises: one namespace, several roots."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections import Counter, defaultdict
from graphlib import TopologicalSorter
from pathlib import Path
from typing import get_origin

import grimp
import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("core", "executors", "fakes", "mappers", "migrations", "plugins")


def test_namespace_has_no_file_of_its_own() -> None:
    namespace = importlib.import_module("agentic")
    assert namespace.__file__ is None, f"{namespace.__file__} hides parts of the project"


@pytest.mark.requirement("BR02")
@pytest.mark.parametrize("room", ROOMS)
def test_folder_holds_the_package_of_its_name_and_nothing_else(room: str) -> None:
    package = ROOT / room / "agentic"
    assert [p.name for p in package.iterdir() if p.name != "__pycache__"] == [room]
    assert (package / room / "py.typed").is_file()
    assert (package / room / "__init__.py").is_file()


@pytest.mark.requirement("BR02")
@pytest.mark.parametrize("name", ["pyproject.toml", "celeryconfig.py", "README.md", "tests"])
def test_top_level_is_what_the_user_asked_for(name: str) -> None:
    assert (ROOT / name).exists()


# The files of the first layout, and their homes since: packages in place of prefixes (docs/adr/0046).
@pytest.mark.requirement("PL18")
@pytest.mark.parametrize(
    ("file", "home", "names"),
    [
        ("base_executor", "executors.base", ["BaseAgentExecutor"]),
        ("executor_factory", "executors.agents.factory", ["ExecutorFactory"]),
        ("executor", "executors.tasks", ["run_agent"]),
        ("result_mappers", "mappers.upserts.mapper", ["ResultMapper", "get_result_mapper"]),
        ("reddit_executor", "plugins.reddit.executor", ["RedditAgentExecutor"]),
        ("hackernews_executor", "plugins.hackernews.executor", ["HackerNewsAgentExecutor"]),
    ],
)
def test_each_file_of_the_first_layout_has_a_home(file: str, home: str, names: list[str]) -> None:
    module = importlib.import_module(f"agentic.{home}")
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    defined = {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    assert set(names) <= defined, file


def test_no_folder_holds_more_than_18_modules() -> None:
    held = Counter(
        path.parent.relative_to(ROOT)
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        if path.name != "__init__.py" and "versions" not in path.parts
    )
    assert {folder: count for folder, count in held.items() if count > 18} == {}


def test_no_public_type_name_stands_for_two_things() -> None:
    defined: defaultdict[str, list[str]] = defaultdict(list)
    servers = [f"plugins/agentic/plugins/{name}" for name in ("a2a", "mcp", "serve")]
    # Platforms may repeat names such as Item.
    for room in ("core", "executors", "mappers", "migrations", *servers):
        for path in (ROOT / room).rglob("*.py"):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    defined[node.name].append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in defined.items() if len(paths) > 1} == {}


def test_no_modules_import_each_other_in_a_circle_annotations_counted() -> None:
    rooms = [f"agentic.{room}" for room in ROOMS]
    graph = grimp.build_graph(*rooms, exclude_type_checking_imports=False, cache_dir=None)
    imported = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    TopologicalSorter(imported).prepare()  # raises CycleError, which names the circle


@pytest.mark.parametrize(
    "library",
    [
        "celery",
        "sqlalchemy",
        "alembic",
        "aiohttp",
        "nats",
        "redis",
        "langgraph",
        "playwright",
        "httpx2",
        "curl_cffi",
    ],
)
def test_importing_the_core_loads_no_heavy_library(library: str) -> None:
    code = f"import agentic.core, sys; sys.exit({library!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "package",
    [
        "agentic.core",
        "agentic.core.coding",
        "agentic.core.graph",
        "agentic.core.http",
        "agentic.core.llm",
        "agentic.core.patterns",
        "agentic.core.sandbox",
        "agentic.executors",
        "agentic.mappers",
    ],
)
def test_public_names_exist_are_sorted_and_documented(package: str) -> None:
    module = importlib.import_module(package)
    names = module.__all__
    assert list(names) == sorted(names, key=lambda name: (not name.isupper(), name)), "constants first"
    for name in names:
        thing = getattr(module, name)
        is_alias = get_origin(thing) is not None  # its docstring is below it, where Python does not keep it
        documented = is_alias or not callable(thing) or getattr(thing, "__doc__", None)
        assert documented, f"{package}.{name} has no docstring"


LAZY = (
    "agentic.core",
    "agentic.core.actors",
    "agentic.core.bus",
    "agentic.core.coding",
    "agentic.core.graph",
    "agentic.core.http",
    "agentic.core.ledger",
    "agentic.core.llm",
    "agentic.core.patterns",
    "agentic.core.pipeline",
    "agentic.core.sandbox",
    "agentic.core.services",
    "agentic.executors",
    "agentic.executors.testing",
    "agentic.migrations",
)


@pytest.mark.parametrize("package", LAZY)
def test_names_that_are_loaded_later_are_found_whatever_was_loaded_before(package: str) -> None:
    module = importlib.import_module(package)
    assert sorted(module._HOMES) == sorted(module.__all__)
    for name, home in module._HOMES.items():
        assert getattr(module, name) is getattr(importlib.import_module(f".{home}", package), name)
    files = {path.stem for path in Path(str(module.__file__)).parent.iterdir()}
    assert not files & set(module.__all__), "a module would be taken for the name"


def test_constraints_pin_versions_and_name_no_host() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert all("==" in line and "://" not in line for line in lines)
