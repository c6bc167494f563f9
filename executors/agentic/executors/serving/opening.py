"""Opens a project for a server: database, bus, and durable runs on the server's event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from sqlalchemy.exc import SQLAlchemyError

from agentic.core.bus import Bus, open_bus
from agentic.core.errors import AgenticError, line_of
from agentic.core.graph.model.events import WorkflowEvent
from agentic.core.logging import get_logger
from agentic.core.settings import Settings
from agentic.core.threads import in_thread
from agentic.executors.agents.ending import end_cut_off
from agentic.executors.agents.local import send_due
from agentic.executors.agents.observing import Observers
from agentic.executors.agents.runner import begin_waiting
from agentic.executors.agents.workflows import make_catalog
from agentic.executors.commands.shared.database import ensured_project, ready_database
from agentic.executors.durable.publish.live import LiveEvents
from agentic.executors.durable.publish.outbox import Outbox, kept_published
from agentic.executors.durable.runs.catalog import WorkflowCatalog
from agentic.executors.durable.runs.local import SWEEP_S, HostOptions, LocalRuns
from agentic.executors.durable.runs.service import RunService
from agentic.executors.durable.worker.host import RunHost
from agentic.executors.durable.worker.process_names import process_name
from agentic.executors.serving.agents import ServedAgents
from agentic.executors.serving.project import ServedProject
from agentic.executors.serving.sse import EventStreams
from agentic.mappers import Database
from agentic.mappers.ledger.ledger import SqlLedger

log = get_logger(__name__)

GRACE_S = 3.0
"""Time at the end for unpublished events."""


@asynccontextmanager
async def opened_project(
    settings: Settings, name: str | None = None, *, url: str
) -> AsyncIterator[ServedProject]:
    """Open a project; everything is closed at the end of the block.

    With ``AGENTIC_DISPATCHER=local`` this process works on the project's durable runs meanwhile, also on
    those that another process has left; else it hands them to workers.

    Args:
        settings: Name the database, the bus, the dispatcher and the default project.
        name: Of the project; a missing default project is created.
        url: Of the server.

    Raises:
        UnknownProjectError: No project is called ``name``.
        DatabaseNotMigratedError: The database lacks tables.
        DatabaseUnavailableError: It cannot be reached.
    """
    async with AsyncExitStack() as stack:
        database = await in_thread(ready_database, settings)
        stack.push_async_callback(in_thread, database.dispose)
        found, project_id = await in_thread(_project_of, database, name, settings)
        bus = await stack.enter_async_context(open_bus(settings, found))
        tell = await _listener(stack, database, found, bus)
        store = SqlLedger(database, project_id=project_id)
        options = HostOptions(
            lease_s=settings.lease_s, tell=tell, on_cut=partial(end_cut_off, project_id=project_id)
        )
        catalog = make_catalog(settings, database, project_id, process_name())
        runs = await _runs(stack, settings, store, catalog, project_id, options)
        if settings.dispatcher == "local":
            if settings.nats is not None:
                outbox = Outbox(runs.host.ledger_executor, found, bus)
                await stack.enter_async_context(kept_published(outbox, GRACE_S))
            await stack.enter_async_context(_keeping(settings, database, project_id, runs))
        agents = ServedAgents(database, found, project_id, runs, bus)
        stack.push_async_callback(agents.aclose)
        yield ServedProject(
            name=found,
            id=project_id,
            database=database,
            agents=agents,
            runs=runs,
            bus=bus,
            streams=EventStreams(),
            settings=settings,
            url=url.rstrip("/"),
        )


def _project_of(database: Database, name: str | None, settings: Settings) -> tuple[str, str]:
    with database.writing() as session:
        project = ensured_project(session, name, settings)
        return project.name, project.id


async def _listener(stack: AsyncExitStack, database: Database, project: str, bus: Bus) -> partial[None]:
    """Return the function that reports events to plugins, and live ones to the bus."""
    observers = Observers(database)
    stack.push_async_callback(in_thread, observers.close)
    live = LiveEvents(lambda _: bus, GRACE_S)
    stack.push_async_callback(live.aclose)
    return partial(_tell, observers, live, project)


def _tell(observers: Observers, live: LiveEvents, project: str, event: WorkflowEvent) -> None:
    observers.tell(project, event)
    live.tell(project, event)


@asynccontextmanager
async def _keeping(
    settings: Settings, database: Database, project_id: str, runs: RunService
) -> AsyncIterator[None]:
    """Do the work of workers between runs: start lost executions, and send due notifications."""

    async def keep() -> None:
        while True:
            try:
                await begin_waiting(runs, database, project_id)
                await send_due(database, settings, project_id)
            except (AgenticError, SQLAlchemyError) as exc:
                log.warning("serving.delayed", error=line_of(exc))
            await asyncio.sleep(settings.sweep_s or SWEEP_S)

    task = asyncio.create_task(keep(), name="serving-keeper")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _runs(
    stack: AsyncExitStack,
    settings: Settings,
    store: SqlLedger,
    catalog: WorkflowCatalog,
    project_id: str,
    options: HostOptions,
) -> RunService:
    if settings.dispatcher == "local":
        sweep_s = settings.sweep_s or SWEEP_S
        return await stack.enter_async_context(LocalRuns(store, catalog, sweep_s=sweep_s, options=options))
    from agentic.executors.celery import make_app
    from agentic.executors.durable.publish.messages import MessageDispatcher

    dispatcher = MessageDispatcher(make_app(settings), project_id)
    stack.callback(dispatcher.close)
    runs = RunService(RunHost(store=store, catalog=catalog, dispatcher=dispatcher, **options))
    stack.callback(runs.close)
    return runs
