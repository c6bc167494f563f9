"""Shared code for the options of commands."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from agentic.core.errors import AgenticError
from agentic.core.types import JSONValue
from agentic.executors.commands.shared.completing import project_names

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
InProject = Annotated[
    str | None,
    typer.Option(
        "--project",
        metavar="NAME",
        help="Project. Default: AGENTIC_PROJECT.",
        autocompletion=project_names,
    ),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
Unpublished = Annotated[bool, typer.Option("--unpublished", help="Include those with unpublished events.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Change nothing, only show the changes.")]


class DispatcherKind(StrEnum):
    """Who runs an agent."""

    LOCAL = "local"
    CELERY = "celery"


By = Annotated[
    DispatcherKind,
    typer.Option("--dispatcher", help="Run in this process (local) or on a Celery worker (celery)."),
]

MAX_NAME_CHARS = 200
"""Same length as database name columns."""


class OptionError(AgenticError, ValueError):
    """The value of an option cannot be used."""


def read_values(given: Iterable[str], option: str) -> dict[str, JSONValue]:
    """Read ``name=value`` pairs and ``@file`` references to YAML or JSON mappings; later ones win.

    A JSON value is read as JSON (``5``, ``true``, ``["a"]``), any other as text.

    Args:
        given: As on the command line.
        option: Name of the option for errors, which never show a value, because it may be a secret.

    Raises:
        OptionError: An item is neither, or a file cannot be read.
    """
    values: dict[str, JSONValue] = {}
    for text in given:
        if text.startswith("@"):
            values |= _read_file(Path(text[1:]), option)
        else:
            name, value = _read_pair(text, option)
            values[name] = value
    return values


def write_file(path: Path, content: bytes, option: str) -> None:
    """Write the file of an option.

    Raises:
        OptionError: It cannot be written.
    """
    try:
        path.write_bytes(content)
    except OSError as exc:
        raise OptionError(f"{option}: {path} cannot be written ({exc.strerror}); check the path") from None


def checked_name(name: str, what: str) -> str:
    """Return the name for a new object.

    Raises:
        OptionError: It does not fit the database, or a listing.
    """
    if not name.strip() or len(name) > MAX_NAME_CHARS or not name.isprintable():
        shown = name if len(name) <= MAX_NAME_CHARS else f"{name[:20]}..."
        raise OptionError(
            f"{shown!r} is not a valid name for {what}; use 1 to {MAX_NAME_CHARS} characters without line "
            "breaks"
        )
    return name


def confirm(question: str) -> None:
    """Ask the user to confirm an action that cannot be undone.

    Raises:
        Abort: The user declined.
        OptionError: There is no standard input to ask on.
    """
    if sys.stdin is None:
        raise OptionError(
            f"{question} Standard input is closed, so the question cannot be answered; add --yes"
        )
    typer.confirm(question, abort=True, err=True)


def read_file(file: Path) -> str:
    """Return the text of a file option; ``-`` is standard input.

    Raises:
        OptionError: It cannot be read.
    """
    if str(file) == "-" and sys.stdin is None:
        raise OptionError("standard input is closed, so it cannot be read; name a file")
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it is not text"
        raise OptionError(f"{file} cannot be read ({reason}); check the path") from None


def _read_file(path: Path, option: str) -> dict[str, JSONValue]:
    from pydantic import TypeAdapter, ValidationError

    from agentic.core.reading.data_text import DataTextError, read_data

    mapping: TypeAdapter[dict[str, JSONValue]] = TypeAdapter(dict[str, JSONValue])
    try:
        return mapping.validate_python(read_data(path.read_text(encoding="utf-8")).data)
    except OSError as exc:
        raise OptionError(f"{option}: {path} cannot be read ({exc.strerror}); check the path") from None
    except UnicodeDecodeError:
        raise OptionError(f"{option}: {path} is neither YAML nor JSON; correct it") from None
    except DataTextError as exc:
        raise OptionError(f"{option}: {path} cannot be read as YAML or JSON: {exc}") from None
    except ValidationError:
        raise OptionError(f"{option}: {path} is not a mapping of names to JSON values; correct it") from None


def _read_pair(pair: str, option: str) -> tuple[str, JSONValue]:
    from agentic.core.reading.data_text import DataTextError, read_json

    name, mark, value = pair.partition("=")
    if not mark:
        raise OptionError(f"{option} takes NAME=VALUE or @FILE; one of its values has no '='")
    if not name:
        raise OptionError(f"{option} takes NAME=VALUE or @FILE; one of its values has no name")
    try:
        return name, read_json(value)
    except DataTextError as exc:
        raise OptionError(f"{option}: the value of {name!r} cannot be read: {exc}") from None
    except ValueError:
        return name, value
