"""The syntax tree of a function that already exists.

Two functions have the same tree exactly if they differ only in comments, docstrings, formatting and place.
"""

from __future__ import annotations

import ast
import json
import linecache
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import CodeType, FunctionType

from agentic.core.types import JSONValue

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Place = tuple[int, int]  # line, and column in bytes

_WITH_DOCSTRING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SILENT = frozenset({"ctx", "type_comment", "kind"})
_PARSING = threading.Lock()
_PARSE_TRIES = 5


def source_tree(function: FunctionType) -> str | None:
    """Return the tree of the source of a function or lambda, as text.

    None if its source is not available, or has changed since.
    """
    code = function.__code__
    # Code compares equal without its file's name.
    return _source_tree(code, code.co_filename, str(function.__globals__.get("__name__")))


@lru_cache(maxsize=1024)
def _source_tree(code: CodeType, filename: str, module_name: str) -> str | None:
    try:
        functions = _functions_by_line("".join(_lines_of(filename, module_name)))
    except SyntaxError:
        return None
    found = [node for node in functions.get(code.co_firstlineno, ()) if _could_be(node, code)]
    if len(found) > 1:
        found = _around(found, code)
    return json.dumps(_plain(found[0])) if found else None


def _lines_of(filename: str, module_name: str) -> Sequence[str]:
    """Return the lines of a file, or none; the loader of a module in an archive has them.

    ``inspect.findsource`` would search all loaded modules and resolve the paths of their files: in a new
    process that takes 100 ms.
    """
    module = sys.modules.get(module_name)
    is_its_file = getattr(module, "__file__", None) == filename
    linecache.checkcache(filename)
    if not (is_its_file or filename in linecache.cache or Path(filename).exists()):
        return ()  # else linecache would search sys.path for a relative name
    return linecache.getlines(filename, vars(module) if is_its_file else None)


def _parsed(source: str) -> ast.Module:
    """Return the tree of a module.

    In CPython 3.11 two threads that parse at once disturb each other: one gets a SystemError. The lock keeps
    ours apart; a library may still parse meanwhile.
    """
    with _PARSING:
        for _ in range(_PARSE_TRIES - 1):
            with suppress(SystemError):
                return ast.parse(source)
        return ast.parse(source)


@lru_cache(maxsize=4)  # a thousand lines take a megabyte
def _functions_by_line(source: str) -> Mapping[int, Sequence[_Function]]:
    found: dict[int, list[_Function]] = {}
    for node in ast.walk(_parsed(source)):
        if isinstance(node, _Function):
            decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
            found.setdefault([*decorators, node][0].lineno, []).append(node)
    return found


def _could_be(node: _Function, code: CodeType) -> bool:
    name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
    args = node.args
    count = len(args.posonlyargs) + len(args.args) + len(args.kwonlyargs)
    return name == code.co_name and count == code.co_argcount + code.co_kwonlyargcount


def _around(candidates: Sequence[_Function], code: CodeType) -> list[_Function]:
    """Return the lambdas of one line with the innermost body around all instructions of ``code``."""
    start, end = _extent(code)
    found = []
    for node in candidates:
        if isinstance(node, ast.Lambda):
            body = node.body
            first = (body.lineno, body.col_offset)
            if first <= start and end <= (body.end_lineno or 0, body.end_col_offset or 0):
                found.append((first, node))
    found.sort(key=lambda one: one[0])
    return [node for _, node in found[-1:]]


def _extent(code: CodeType) -> tuple[_Place, _Place]:
    """Return the places of the first and the last instruction; empty places if they were not recorded."""
    starts: list[_Place] = []
    ends: list[_Place] = []
    for line, end_line, column, end_column in code.co_positions():
        # The first instructions of every function are recorded at column 0, without width.
        if line is not None and end_line is not None and column is not None and end_column:
            starts.append((line, column))
            ends.append((end_line, end_column))
    return min(starts, default=(0, 0)), max(ends, default=(0, 0))


def _plain(value: object) -> JSONValue:
    """Return a tree as lists, without empty fields: Python versions have different ones."""
    if isinstance(value, ast.AST):
        fields: list[JSONValue] = []
        for name, part in ast.iter_fields(value):
            shown = part[1:] if name == "body" and _has_docstring(value) else part
            if shown not in (None, []) and name not in _SILENT:
                fields.append([name, _plain(shown)])
        return [type(value).__name__, *fields]
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return repr(value)


def _has_docstring(node: ast.AST) -> bool:
    if not isinstance(node, _WITH_DOCSTRING):
        return False
    first = node.body[0]
    return (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )
