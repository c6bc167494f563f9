"""The command group ``agentic db``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from agentic.core.cli.output import console, print_rows
from agentic.core.hooks import get_registry
from agentic.core.settings import load_settings

db = typer.Typer(help="Upgrade and check the tables of the database.", no_args_is_help=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@db.command()
def upgrade(*, as_json: AsJson = False) -> None:
    """Apply missing migrations to the database; a missing SQLite file is created."""
    from agentic.mappers import Database
    from agentic.migrations.runner import upgrade as apply_missing

    url = load_settings().database
    applied = [asdict(revision) for revision in apply_missing(url, get_registry())]
    if applied or as_json:
        print_rows("Applied", ["history", "revision", "description"], applied, as_json=as_json)
    else:
        console.print(f"Nothing to do: {Database(url).url} is up to date.", markup=False, highlight=False)


@db.command()
def check(*, as_json: AsJson = False) -> None:
    """Check the database; exit code 1 if it does not match this installation."""
    from agentic.mappers import Database
    from agentic.mappers.errors import SchemaDriftError
    from agentic.migrations.drift import differences
    from agentic.migrations.status import refuse_other_than_current, schema_status

    registry, database = get_registry(), Database.configured(load_settings())
    statuses = schema_status(database, registry)
    print_rows(
        "Schema", ["history", "state", "database", "newest"], [asdict(s) for s in statuses], as_json=as_json
    )
    refuse_other_than_current(database.url, statuses)
    if found := differences(database, registry):
        raise SchemaDriftError(database.url, found)
