"""``agentic nats``: configures the NATS server for projects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.cli import console, print_rows
from agentic.core.settings import NATS_ACCOUNTS, Settings, load_settings
from agentic.executors.commands.shared.database import current_database, opened
from agentic.executors.commands.shared.options import AsJson

if TYPE_CHECKING:
    from agentic.core.bus.nats.account_files import AccountFolder

nats = typer.Typer(help="Manage the NATS server: one account per project.", no_args_is_help=True)

COLUMNS = ("project", "worker", "observer")


@nats.command()
def accounts(
    projects: Annotated[
        list[str] | None, typer.Argument(metavar="[PROJECT]...", help="Projects. Default: all.")
    ] = None,
    *,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to", metavar="DIR", help="Accounts folder of your own server instead of the embedded one."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Give each project its own account: other projects cannot read, write or subscribe in it.

    Creates missing keys and the file that the server includes. To remove an
    account, delete its two files and run this again.
    """
    from agentic.core.bus.nats.account_files import AccountFolder

    settings = load_settings()
    folder = AccountFolder((to or settings.home / NATS_ACCOUNTS).absolute(), is_shared=to is not None)
    folder.make(projects or _all_projects(settings))
    rows: list[dict[str, object]] = [
        dict(zip(COLUMNS, (name, *map(str, folder.seeds(name))), strict=True)) for name in folder.projects()
    ]
    print_rows("Accounts on NATS", COLUMNS, rows, as_json=as_json)
    if not as_json:
        console.print(_what_next(folder, is_embedded=to is None), markup=False, highlight=False)


def _all_projects(settings: Settings) -> list[str]:
    from agentic.mappers import list_projects

    with opened(current_database(settings)) as database, database.reading() as session:
        names = {project.name for project in list_projects(session)}
    return sorted({settings.project, *names})  # the current one is created on first use


def _what_next(folder: AccountFolder, *, is_embedded: bool) -> str:
    if is_embedded:
        return "Restart `agentic up`: its server loads the accounts, and all other commands find their keys."
    return (
        f"Put `include {str(folder.config)!r}` at the top of the server's configuration, and reload it.\n"
        f"Then set AGENTIC_NATS_SEED_FILE={folder.pattern}"
    )
