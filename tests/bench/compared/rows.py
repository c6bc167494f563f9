"""Runs the rows of a library, and prints each with its result."""

from __future__ import annotations

import ast
import asyncio
import inspect
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

SERVER = [sys.executable, str(Path(__file__).parent / "mcp_server.py")]
"""Command of a server of MCP that has one tool, ``add``."""


def show(module: Mapping[str, object], *packages: str) -> None:
    """Print the versions of packages, then every row of a module and its result.

    Args:
        module: Its public functions are rows: each returns a line, or fails.
        packages: Names of distributions.
    """
    sys.stdout.write(", ".join(f"{name} {version(name)}" for name in packages) + "\n")
    for name, row in module.items():
        if inspect.isfunction(row) and row.__module__ == "__main__" and not name.startswith("_"):
            found = row()
            line = asyncio.run(found) if inspect.iscoroutine(found) else found
            sys.stdout.write(f"{name}: {line}\n")
            sys.stdout.flush()


def names_in(package: str, *words: str) -> list[str]:
    """Return the public names that a package's modules define and that contain all words, in any case."""
    found = {
        name
        for path in _modules(package)
        for name in _names(path)
        if all(word in name.lower() for word in words)
    }
    return sorted(found)


def _modules(package: str) -> Iterator[Path]:
    spec = find_spec(package)
    assert spec is not None
    for folder in spec.submodule_search_locations or ():
        yield from Path(folder).rglob("*.py")


def _names(path: Path) -> Iterator[str]:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name[0] != "_":
            yield node.name
