"""What the migrations in a folder are called, and which of them are the newest.

Told from their text: to load Alembic takes a tenth of a second and 7 MiB, and every command wants to know.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

WANTED = ("revision", "down_revision")


@dataclass(frozen=True, slots=True)
class Revisions:
    """The migrations of one history: all of them, and those that no other one follows."""

    known: frozenset[str]
    newest: tuple[str, ...]


def read_revisions(folder: Path) -> Revisions:
    """Return what the migrations in ``folder`` are called; nothing in it is run.

    Raises:
        SyntaxError: One is no Python up to its first function, or its first function is decorated.
        ValueError: One does not say, before its first function and as plain text, which revision it is or
            which one it follows; or that one is not there.
        OSError: One cannot be read.
    """
    found = [_names(path) for path in sorted(folder.glob("*.py")) if path.name != "__init__.py"]
    known = frozenset(name for name, _ in found)
    followed = frozenset(earlier for _, all_earlier in found for earlier in all_earlier)
    if missing := sorted(followed - known):
        raise ValueError(f"no migration in {folder} is {', '.join(missing)}")
    return Revisions(known, tuple(sorted(known - followed)))


def _names(path: Path) -> tuple[str, tuple[str, ...]]:
    """Return the revision a file is, and those it follows."""
    # What a migration does is ten times as long, and nothing of it is asked for here.
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
