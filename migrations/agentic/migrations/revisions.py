"""Names of the migrations in a folder, and the newest of them.

Read from their text: loading Alembic takes a tenth of a second and 7 MiB, and every command needs the names.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

WANTED = ("revision", "down_revision")


@dataclass(frozen=True, slots=True)
class Revisions:
    """The migrations of one history: all, and those without a successor."""

    known: frozenset[str]
    newest: tuple[str, ...]


def read_revisions(folder: Path) -> Revisions:
    """Return the names of the migrations in ``folder`` without running them.

    Raises:
        SyntaxError: One is not Python up to its first function, or its first function is decorated.
        ValueError: One does not state, before its first function and as plain text, its revision or the
            revision before it; or the latter is missing.
        OSError: One cannot be read.
    """
    paths = [path for path in sorted(folder.glob("*.py")) if path.name != "__init__.py"]
    found = [_names(path, path.stat().st_mtime_ns, path.stat().st_size) for path in paths]
    known = frozenset(name for name, _ in found)
    followed = frozenset(earlier for _, all_earlier in found for earlier in all_earlier)
    if missing := sorted(followed - known):
        raise ValueError(f"no migration in {folder} is {', '.join(missing)}")
    return Revisions(known, tuple(sorted(known - followed)))


@lru_cache(maxsize=1024)
def _names(path: Path, _changed_ns: int, _size_bytes: int) -> tuple[str, tuple[str, ...]]:
    """Return the revision of a file, and the revisions before it."""
    # The functions of a migration are ten times as long, and not needed here.
    head, _, _ = path.read_text(encoding="utf-8").partition("\ndef ")
    tree = ast.parse(head, filename=str(path))
    stated = {name: _plain(value) for name, value in _assignments(tree) if name in WANTED}
    name, earlier = stated.get("revision"), stated.get("down_revision", ())
    if not isinstance(name, str):
        raise ValueError(f"{path.name} has no line such as `revision = '0001'`")  # noqa: TRY004 - a bad file
    match earlier:
        case None:
            return name, ()
        case str():
            return name, (earlier,)
        case tuple() | list() if all(isinstance(one, str) for one in earlier):
            return name, tuple(earlier)
        case _:
            raise ValueError(f"{path.name} has no line such as `down_revision = '0001'` or None")


def _assignments(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for line in tree.body:
        if isinstance(line, ast.Assign):
            yield from ((target.id, line.value) for target in line.targets if isinstance(target, ast.Name))
        elif isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and line.value:
            yield line.target.id, line.value


def _plain(value: ast.expr) -> object:
    try:
        return ast.literal_eval(value)
    except ValueError:
        return ...
