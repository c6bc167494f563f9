"""``agentic secrets``: credentials of pipelines. No command shows a value, or takes one as an argument."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.cli import console, print_rows
from agentic.core.settings import load_settings
from agentic.executors.commands.shared.database import (
    current_database,
    ensured_project,
    opened,
    ready_database,
)
from agentic.executors.commands.shared.options import AsJson, InProject, OptionError

if TYPE_CHECKING:
    from agentic.mappers.tables.vault import SealedModel

secrets = typer.Typer(help="Manage secrets (encrypted, used by pipelines).", no_args_is_help=True)

TIME = "%Y-%m-%d %H:%M:%SZ"
COLUMNS = ("name", "kind", "created_at", "updated_at")

Name = Annotated[str, typer.Argument(help="Secret name, as in ${secrets.NAME}.")]


@secrets.command("set")
def set_it(
    name: Name,
    *,
    from_file: Annotated[
        Path | None, typer.Option("--from-file", metavar="PATH", help="Read the value from a file.")
    ] = None,
    project: InProject = None,
) -> None:
    """Store a secret from a file, standard input or a hidden prompt.

    A line end after the value is removed.
    """
    from agentic.mappers.vault.keys import SecretKeys
    from agentic.mappers.vault.vault import check_name, set_secret

    settings = load_settings()
    keys = SecretKeys.configured(settings)
    check_name(name)  # before the user types
    value = _read_value(name, from_file)
    with opened(ready_database(settings)) as database, database.writing() as session:
        owner = ensured_project(session, project, settings)
        kind = set_secret(session, owner.id, keys, name, value)
    console.print(f"stored {name} ({kind}) in project {owner.name}", markup=False, highlight=False)


@secrets.command("list")
def list_them(*, project: InProject = None, as_json: AsJson = False) -> None:
    """List the secrets of a project and its stored login sessions."""
    from agentic.mappers import find_project
    from agentic.mappers.vault.vault import list_secrets, list_sessions

    settings = load_settings()
    with opened(current_database(settings)) as database, database.reading() as session:
        owner = find_project(session, project or settings.project)
        rows = [_row(secret, secret.kind) for secret in list_secrets(session, owner.id)]
        rows += [_row(kept, "session") for kept in list_sessions(session, owner.id)]
    print_rows(f"Secrets of {owner.name}", COLUMNS, rows, as_json=as_json)


@secrets.command()
def remove(name: Name, *, project: InProject = None) -> None:
    """Remove a secret, and the login session stored under its name."""
    from agentic.mappers import find_project
    from agentic.mappers.vault.vault import remove_secret

    settings = load_settings()
    with opened(current_database(settings)) as database, database.writing() as session:
        owner = find_project(session, project or settings.project)
        remove_secret(session, owner.id, name)
    console.print(f"removed {name} from project {owner.name}", markup=False, highlight=False)


@secrets.command()
def rotate() -> None:
    """Encrypt all secrets and sessions of all projects with the first key; may be repeated."""
    from agentic.mappers.vault.errors import VaultError
    from agentic.mappers.vault.keys import SecretKeys
    from agentic.mappers.vault.rotation import rotate as rotate_all

    settings = load_settings()
    with opened(current_database(settings)) as database:
        done = rotate_all(database, SecretKeys.configured(settings))
    counts = f"secrets: {done.counts['secret']}, sessions: {done.counts['session']}"
    said = f"encrypted with the first key: {counts}"
    console.print(said, markup=False, highlight=False)
    if done.unreadable:
        raise VaultError("; ".join(done.unreadable))


@secrets.command("new-key")
def new_key() -> None:
    """Print a new key for AGENTIC_SECRET_KEYS; it is not stored."""
    from agentic.mappers.vault.keys import SecretKeys

    sys.stdout.write(f"{SecretKeys.new_key()}\n")


def _read_value(name: str, path: Path | None) -> str:
    if path is not None:
        value = _text_of(path)
    elif sys.stdin.isatty():
        value = typer.prompt(f"Value of {name}", hide_input=True, confirmation_prompt=True)
    else:
        value = sys.stdin.read()
    value = value.removesuffix("\n").removesuffix("\r")
    if not value:
        raise OptionError(f"the value of {name} is empty; give one on standard input or with --from-file")
    return value


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as exc:
        raise OptionError(f"--from-file: {path} cannot be read ({exc.strerror}); check the path") from None
    except UnicodeDecodeError:
        raise OptionError(f"--from-file: {path} is not UTF-8 text; convert it") from None


def _row(row: SealedModel, kind: str) -> dict[str, object]:
    times = {"created_at": row.created_at, "updated_at": row.updated_at}
    return {"name": row.name, "kind": kind, **{name: f"{time:{TIME}}" for name, time in times.items()}}
