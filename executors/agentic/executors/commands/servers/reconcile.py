"""``agentic reconcile``: recovers orphaned durable runs, and publishes events."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Sequence
from contextlib import aclosing
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.cli import console, print_json
from agentic.core.settings import Settings, load_settings
from agentic.executors.commands.shared.database import current_database, opened
from agentic.executors.commands.shared.options import AsJson

if TYPE_CHECKING:
    from agentic.mappers import Database


def reconcile(
    *,
    every: Annotated[
        float | None, typer.Option(min=0.1, metavar="SECONDS", help="Repeat at this interval until stopped.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Recover orphaned runs: take over from lost workers, repeat wake-ups, publish
    events, send notifications.

    With --every, also request wake-ups on NATS. Every worker does all of this by
    itself every five seconds; several processes may do it at once.
    """
    settings = load_settings()
    with opened(current_database(settings)) as database:
        found = asyncio.run(_reconcile(settings, database, every))
    if as_json:
        print_json(found)
    else:
        console.print(
            f"{found['expired']} activations recovered from lost workers ({found['dead']} failed for good, "
            f"{found['reviews']} wait for a person), {found['dispatched']} dispatched again, "
            f"{found['tended']} runs advanced, {found['published']} events published, "
            f"{found['notified']} notifications sent"
        )


async def _reconcile(settings: Settings, database: Database, every_s: float | None) -> dict[str, int]:
    from agentic.core.bus import open_buses
    from agentic.executors.celery import make_app
    from agentic.executors.durable.publish.asking import Asker
    from agentic.executors.durable.publish.projecting import keep_projecting
    from agentic.executors.durable.publish.publishing import Courier
    from agentic.executors.durable.reconcile.sweeping import Sweeper
    from agentic.executors.durable.worker.process import RunProcess
    from agentic.executors.notifications.sending import NotificationSender
    from agentic.executors.workers.config import QUEUES
    from agentic.executors.workers.pulse import folder
    from agentic.executors.workers.stalling import StallWatch

    runs = RunProcess(settings, database, make_app(settings), QUEUES)
    sweeper, sender = Sweeper(database, runs), NotificationSender(database, settings)
    try:
        async with open_buses(settings) as buses, aclosing(runs):
            courier = None if settings.nats is None else Courier(database, runs, buses.of)
            if every_s is not None:
                work = [sweeper.keep_sweeping(every_s), sender.keep_sending(every_s)]
                if settings.stall_s and (where := folder()) is not None:
                    watch = StallWatch(
                        where, os.getppid(), settings.stall_s, settings.lease_s, sweeper.take_from
                    )
                    work.append(watch.keep_watching())
                if courier is not None:
                    work += [
                        courier.keep_publishing(),
                        Asker(database, runs, buses.of).keep_asking(),
                        keep_projecting(database, buses),
                    ]
                await _keep_on(work)
            found = asdict(await sweeper.sweep())
            published = 0 if courier is None else await courier.publish_all()
            return {**found, "published": published, "notified": await sender.send_due()}
    finally:
        runs.close()


async def _keep_on(work: Sequence[Coroutine[object, object, None]]) -> None:
    """Continue until cancelled."""
    async with asyncio.TaskGroup() as group:
        for one in work:
            group.create_task(one)
