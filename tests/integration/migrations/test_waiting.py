"""Who migrates a PostgreSQL database while another process does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from sqlalchemy import func, select, text
from tests.databases import POSTGRESQL, only_postgresql

from agentic.core.hooks import PluginRegistry
from agentic.mappers import Database
from agentic.migrations import upgrade
from agentic.migrations.runner import LOCK_KEY

Eventually = Callable[[Callable[[], bool]], Awaitable[None]]

pytestmark = [*POSTGRESQL.marks, only_postgresql]


def is_asked_for(database: Database) -> bool:
    asking = text("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_try_advisory%'")
    with database.reading() as session:
        return bool(session.scalar(asking))


async def test_an_upgrade_waits_for_another_one_however_long_that_takes(
    empty_url: str, eventually: Eventually
) -> None:
    database = Database(empty_url)
    with database.writing() as other:
        other.execute(select(func.pg_advisory_xact_lock(LOCK_KEY)))
        impatient = f"{empty_url}&options=-clock_timeout%3D1ms"
        upgrading = asyncio.create_task(asyncio.to_thread(upgrade, impatient, PluginRegistry([])))
        await eventually(lambda: upgrading.done() or is_asked_for(database))
    assert (await upgrading)[0].revision == "0001"
    database.dispose()
