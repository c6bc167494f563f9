"""The command group ``agentic db``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from agentic.core.cli.output import console, print_rows
from agentic.core.hooks import get_registry
from agentic.core.settings import load_settings

db = typer.Typer(help="Tables: bring them up to date, check them.", no_args_is_help=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]


@db.command()
def upgrade(*, as_json: AsJson = False) -> None:
    """Apply the migrations the database lacks; make the SQLite file when there is none."""
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
    """Tell how far the database is; end with 1 when it is not as this installation needs it."""
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
