"""``agentic reconcile``: sees to the durable runs that nobody works on any more."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.cli import console, print_json
from agentic.core.settings import Settings, load_settings
from agentic.executors.commands.database import current_database, opened
from agentic.executors.commands.options import AsJson

if TYPE_CHECKING:
    from agentic.executors.durable.reconciler import Swept
    from agentic.mappers import Database


def reconcile(
    *,
    every: Annotated[
        float | None, typer.Option(min=0.1, metavar="SECONDS", help="Go on looking until told to stop.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Take over from workers that are gone, and tell workers of what they were not told of.

    Every worker does this by itself, every five seconds; any number may do it at once.
    """
    settings = load_settings()
    with opened(current_database(settings)) as database:
        found = asyncio.run(_sweep(settings, database, every))
    if as_json:
        print_json(asdict(found))
    else:
        console.print(
            f"{found.expired} activations taken back from workers that are gone "
            f"({found.dead} given up, {found.reviews} wait for a person), "
            f"{found.dispatched} told of anew, {found.tended} runs moved on"
        )


async def _sweep(settings: Settings, database: Database, every_s: float | None) -> Swept:
    from agentic.executors.celery import make_app
    from agentic.executors.config import QUEUES
    from agentic.executors.durable.process import RunProcess
    from agentic.executors.durable.sweeping import Sweeper

    runs = RunProcess(settings, database, make_app(settings), QUEUES)
    sweeper = Sweeper(database, runs)
    try:
        if every_s is not None:
            await sweeper.keep_sweeping(every_s)
        return await sweeper.sweep()
    finally:
        runs.close()
