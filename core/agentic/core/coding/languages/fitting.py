"""Whether a module of Python and its tests fit together, by names. Runs alone, as a script in a sandbox.

Usage: ``python fitting.py main.py test_main.py``. Prints findings as JSON: file, line, column, code, text.
"""

from __future__ import annotations

import ast
import enum
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

Finding = tuple[str, int, int, str, str]
_PLAIN_BASES = {"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag", "object", "str", "int"}
_INHERITED = {name for kind in (enum.Enum, enum.IntFlag, str, int) for name in dir(kind)}


def find_misfits(
    code: str, tests: str, files: tuple[str, str] = ("main.py", "test_main.py")
) -> list[Finding]:
    """Return the names that the tests use, and that the code does not have.

    These are imports from the module, its attributes, and members of its enums and plain classes. Names that
    only a run could find are not reported.
    """
    trees = []
    for name, text in zip(files, (code, tests), strict=True):
        try:
            trees.append(ast.parse(text, name))
        except (SyntaxError, ValueError, RecursionError) as exc:
            place = (getattr(exc, "lineno", 0) or 0, getattr(exc, "offset", 0) or 0)
            return [(name, *place, type(exc).__name__, getattr(exc, "msg", str(exc)))]
    module = files[0].removesuffix(".py")
    known, is_open = _declared(trees[0].body)
    known |= {name for node in ast.walk(trees[0]) if isinstance(node, ast.Global) for name in node.names}
    if is_open:
        return []
    classes = {node.name: node for node in trees[0].body if isinstance(node, ast.ClassDef)}
    return list(_misfits(trees[1], module, known, classes, files))


def _misfits(
    tree: ast.Module, module: str, known: set[str], classes: dict[str, ast.ClassDef], files: tuple[str, str]
) -> Iterator[Finding]:
    has = ", ".join(sorted(name for name in known if not name.startswith("_"))) or "none"
    imported: dict[str, str] = {}
    modules: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == module and not node.level:
            for alias in node.names:
                imported[alias.asname or alias.name] = alias.name
                if alias.name != "*" and alias.name not in known:
                    text = f"the tests import '{alias.name}', which {files[0]} does not have (it has: {has})"
                    yield files[1], alias.lineno, alias.col_offset + 1, "missing-name", text
        elif isinstance(node, ast.Import):
            modules |= {alias.asname or alias.name for alias in node.names if alias.name == module}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Load):
            continue
        owner, name, place = node.value, node.attr, (node.lineno, node.col_offset + 1)
        if (
            isinstance(owner, ast.Name)
            and owner.id in modules
            and name not in known
            and not name.startswith("__")
        ):
            text = f"the tests use '{module}.{name}', which {files[0]} does not have (it has: {has})"
            yield files[1], *place, "missing-name", text
        class_name = _class_of(owner, imported, modules)
        found = classes.get(class_name)
        if found is not None and not _has_member(found, name):
            text = f"the tests use '{class_name}.{name}', but {class_name} has no {name!r}"
            yield files[1], *place, "missing-member", text


def _class_of(owner: ast.expr, imported: dict[str, str], modules: set[str]) -> str:
    if isinstance(owner, ast.Name):
        return imported.get(owner.id, "")
    if isinstance(owner, ast.Attribute) and isinstance(owner.value, ast.Name) and owner.value.id in modules:
        return owner.attr
    return ""


def _has_member(found: ast.ClassDef, name: str) -> bool:
    bases = {ast.unparse(base).rpartition(".")[2] for base in found.bases}
    if found.keywords or found.decorator_list or not bases <= _PLAIN_BASES:
        return True  # only a run could find out
    known, is_open = _declared(found.body)
    return is_open or name in known or name in _INHERITED


def _declared(body: list[ast.stmt]) -> tuple[set[str], bool]:
    """Return the names that statements declare, and whether there can be others."""
    names: set[str] = set()
    is_open = False
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
            is_open = is_open or node.name == "__getattr__"
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
            is_open = is_open or "*" in names
        else:
            inner = [
                part for part in ast.walk(node) if isinstance(part, ast.Name | ast.stmt) and part is not node
            ]
            names |= {
                part.id for part in inner if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
            }
            more, more_open = _declared([part for part in inner if isinstance(part, _DECLARATIONS)])
            names |= more
            is_open = is_open or more_open or "globals" in ast.dump(node)
    return names, is_open


_DECLARATIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


def main(arguments: list[str]) -> int:
    """Print the findings; return 1 if there are any."""
    warnings.simplefilter("ignore")
    code, tests = (Path(name).read_text(encoding="utf-8") for name in arguments)
    found = find_misfits(code, tests, (arguments[0], arguments[1]))
    json.dump(found, sys.stdout)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
