"""``agentic demo``: the main job with every package, from nothing, on this machine alone."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.cli import console, err_console, print_rows
from agentic.core.hooks import get_registry
from agentic.core.ids import SHORT_CHARS
from agentic.core.logging import configure_logging
from agentic.core.private import make_private_folder
from agentic.core.services import Service, ServiceSupervisor, free_port, nats_service, valkey_service
from agentic.core.services.errors import MissingServerError
from agentic.core.services.ports import first_answer
from agentic.core.settings import Settings, load_settings
from agentic.core.types import JSONValue
from agentic.executors.commands.servers.up import shown_urls
from agentic.executors.commands.shared.database import current_database, opened
from agentic.executors.commands.shared.options import OptionError
from agentic.executors.commands.shared.views import execution_row
from agentic.executors.errors import ExecutionFailedError

if TYPE_CHECKING:
    from agentic.core.bus import EventBus
    from agentic.executors.agents.catalog import AgentFacts
    from agentic.executors.commands.executions.stored import StoredRows
    from agentic.executors.commands.run.progress import ProgressLines
    from agentic.mappers import AgentModel, Database, ExecutionModel

PROJECT = "demo"
FAKES_PORT = 28480
SHOWN_ROWS = 6
STORIES = 60
_SERVERS = ("database_url", "broker_url", "nats_url")
PATIENCE_S = 120.0
EXECUTION_COLUMNS = ("agent", "state", "supersteps", "events", "rows")
COUNTS = ("inserted", "updated", "unchanged", "rejected")


LABELS: dict[str, JSONValue] = {
    "nature": "meadow river canyon summit garden winter summer harbor",
    "computing": "queue graph worker retry cursor kernel packet index socket buffer thread",
    "things": "lantern copper anchor ribbon timber mirror beacon compass window",
}
"""The words of the fake shop; the fake model compares them with the texts."""


def demo(
    live: Annotated[bool, typer.Option("--live", help="Use the real Hacker News instead of a fake.")] = False,
    with_model: Annotated[
        bool, typer.Option("--agents", help="A third agent labels the products with a fake language model.")
    ] = False,
    drift: Annotated[
        bool, typer.Option("--drift", help="A shop is redesigned in mid-crawl, and its pipeline is repaired.")
    ] = False,
) -> None:
    """Start all services, run two agents on a Celery worker, show the stored rows, stop all.

    Uses its own folder, `demo` in AGENTIC_HOME, and its own servers. The
    database stays: in a second demo the same rows are unchanged. --drift shows
    another demo, in the folder `demo-drift`, which starts empty each time.
    """
    if drift:
        if live or with_model:
            raise OptionError("--drift is a demo of its own: leave --live and --agents out")
        _demo_drift(own_settings(load_settings().home / "demo-drift"))
        return
    settings = own_settings(load_settings().home / "demo")
    # The items' keys are shop URLs: on the same port the next demo finds the same items.
    port = free_port(FAKES_PORT)
    wanted = services(settings, port)
    migrate(settings)
    failed = asyncio.run(_demo(settings, wanted, agents(port, live=live, with_model=with_model)))
    where = settings.home.absolute() / "agentic.db"
    console.print(f"database   {where} (kept for inspection)", markup=False, highlight=False, soft_wrap=True)
    if failed:
        raise ExecutionFailedError(f"{failed} of the demo's executions failed; see the table above")


def _demo_drift(settings: Settings) -> None:
    """Tell the story of a redesign, with a database of its own that begins empty."""
    from agentic.executors.commands.servers.drift_demo import PRODUCTS, tell_story

    if settings.log_level != "debug":
        configure_logging("critical", settings.log_format)  # the story tells what the log would
    for leftover in settings.home.glob("agentic.db*"):
        leftover.unlink()
    migrate(settings)
    port = free_port(FAKES_PORT)

    async def with_fakes() -> None:
        shop = _fakes_service(port, "--products", str(PRODUCTS))
        async with ServiceSupervisor(settings.home, [shop]) as supervisor:
            with opened(current_database(settings)) as database:
                await asyncio.to_thread(tell_story, settings, database, supervisor.urls["fakes"])

    asyncio.run(with_fakes())
    where = settings.home.absolute() / "agentic.db"
    console.print(
        f"\ndatabase   {where} (kept for inspection)", markup=False, highlight=False, soft_wrap=True
    )


def own_settings(home: Path) -> Settings:
    """Return settings for ``home`` alone, ignoring servers in the environment."""
    return load_settings(home=home, project=PROJECT, **dict.fromkeys(_SERVERS, ""))


def migrate(settings: Settings) -> None:
    """Bring the demo's own database up to date; create it if missing."""
    from agentic.migrations import upgrade

    make_private_folder(settings.home.parent)
    make_private_folder(settings.home)
    applied = upgrade(settings.database, get_registry())
    console.print(f"database   {len(applied)} migrations applied", highlight=False)


async def _demo(settings: Settings, wanted: Sequence[Service], agents: Sequence[AgentFacts]) -> int:
    """Return how many executions failed."""
    from agentic.core.bus import open_bus

    console.print(f"starting   {', '.join(service.name for service in wanted)}", highlight=False)
    async with ServiceSupervisor(settings.home, wanted) as supervisor:
        for name, url in shown_urls(supervisor.urls).items():
            console.print(f"{name:<10} {url}", markup=False, highlight=False)
        running = own_settings(settings.home)  # now with the URLs of the started servers
        with opened(current_database(running)) as database:
            async with open_bus(running, PROJECT) as bus:
                before = (await bus.state()).count
                jobs = await asyncio.to_thread(submit, running, database, agents)
                await watch(bus, database, jobs)
                event_count = (await bus.state()).count - before
            return show(database, jobs, event_count)


def services(settings: Settings, port: int) -> list[Service]:
    """Return the services of the demo: both servers, the fakes on ``port`` and a worker.

    Raises:
        MissingServerError: A server or the fakes are not installed.
    """
    from agentic.executors.workers.services import worker_service

    fakes = _fakes_service(port)
    alone = {f"AGENTIC_{name.upper()}": "" for name in _SERVERS}
    worker = worker_service(settings.home)
    worker = replace(worker, env={**worker.env, **alone, "AGENTIC_PROJECT": PROJECT})
    return [nats_service(settings.home), valkey_service(settings.home), fakes, worker]


def _fakes_service(port: int, *options: str) -> Service:
    """Return the fakes as a service.

    Raises:
        MissingServerError: The fakes are not installed.
    """
    if find_spec("agentic.fakes") is None:
        raise MissingServerError("`agentic fakes`", "agentic-fakes", alternative="")

    async def fakes_answer() -> bool:
        return bool(await first_answer(port, b"GET /shop/ HTTP/1.0\r\n\r\n"))

    return Service(
        "fakes",
        [sys.executable, "-m", "agentic.core.cli", "fakes", "serve", "--port", str(port), *options],
        urls={"fakes": f"http://127.0.0.1:{port}"},
        ready=fakes_answer,
    )


def agents(port: int, *, live: bool, with_model: bool = False) -> list[AgentFacts]:
    """Return the demo's two agents, or three with the one that uses a model."""
    from agentic.executors.agents.catalog import AgentFacts

    loopback: JSONValue = ["127.0.0.1"]
    news: dict[str, JSONValue] = {"limit": STORIES}
    if not live:
        news |= {"base_url": f"http://127.0.0.1:{port}/hackernews/v0", "allow_private_hosts": loopback}
    shop: dict[str, JSONValue] = {
        "pipeline": "site",
        "inputs": {"start_url": f"http://127.0.0.1:{port}/shop/"},
        "http": {"allow_private_hosts": loopback},
    }
    found = [
        AgentFacts(name="top-stories", platform="hackernews", config=news),
        AgentFacts(name="shop", platform="web", config=shop),
    ]
    if with_model:
        labels: dict[str, JSONValue] = {
            "pipeline": "labels",
            "inputs": {
                "start_url": f"http://127.0.0.1:{port}/shop/",
                "model": "fake:words",
                "labels": LABELS,
            },
            "http": {"allow_private_hosts": loopback},
        }
        found.append(AgentFacts(name="labels", platform="web", config=labels))
    return found


@dataclass(frozen=True, slots=True)
class DemoJob:
    """An execution the demo waits for."""

    agent: AgentModel
    execution: ExecutionModel


def submit(settings: Settings, database: Database, wanted: Sequence[AgentFacts]) -> list[DemoJob]:
    """Register project and agents, and queue an execution of each for the Celery worker."""
    from agentic.executors.agents.catalog import put_agent
    from agentic.executors.commands.run.running import checked_dispatcher
    from agentic.executors.commands.shared.database import ensured_project

    dispatcher = checked_dispatcher(settings)
    with database.writing() as session:
        project = ensured_project(session, None, settings)
        known = [put_agent(session, project, facts, replace=True) for facts in wanted]
    return [DemoJob(agent, dispatcher.submit(database, agent)) for agent in known]


async def watch(bus: EventBus, database: Database, jobs: Sequence[DemoJob]) -> None:
    """Show the events of ``jobs`` from the bus, until all have ended in the database."""
    from agentic.executors.commands.run.progress import ProgressLines, progress_bars

    with progress_bars() as bars:
        lines = {job.execution.id: ProgressLines(bars, job.agent.agent_name) for job in jobs}
        following = asyncio.create_task(_follow(bus, lines))
        try:
            async with asyncio.timeout(PATIENCE_S):
                # The database is reliable; events may be late or lost.
                while not await asyncio.to_thread(_all_ended, database, jobs):  # noqa: ASYNC110 - other processes set it
                    await asyncio.sleep(0.2)
        except TimeoutError:
            err_console.print(f"no result after {PATIENCE_S:g} s; see the worker's log", highlight=False)
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)


async def _follow(bus: EventBus, lines: Mapping[str, ProgressLines]) -> None:
    from agentic.core.bus import EventFilter, read_events

    async for published in read_events(bus, EventFilter(project=PROJECT)):
        for execution_id, line in lines.items():
            if published.event.run_id.startswith(execution_id):
                line.tell(published.event)


def _all_ended(database: Database, jobs: Sequence[DemoJob]) -> bool:
    """Whether all executions have ended, and their runs' events are on the stream."""
    from sqlalchemy import exists, select

    from agentic.mappers.tables.ledger import RunEventModel

    if not all(execution.finished_at for _, execution in _reloaded(database, jobs)):
        return False
    with database.reading() as session:
        return not session.scalar(select(exists().where(RunEventModel.published_at.is_(None))))


def _reloaded(database: Database, jobs: Sequence[DemoJob]) -> list[tuple[AgentModel, ExecutionModel]]:
    from agentic.mappers import find_execution

    with database.reading() as session:
        return [(job.agent, find_execution(session, job.agent.project_id, job.execution.id)) for job in jobs]


def show(database: Database, jobs: Sequence[DemoJob], event_count: int) -> int:
    """Print rows, executions and the number of events; return how many executions failed."""
    from agentic.executors.commands.run.outcome import print_tables
    from agentic.mappers import ExecutionStatus

    ended = _reloaded(database, jobs)
    for tables in _stored(database, ended):
        print_tables(tables)
    rows = [execution_row(execution, agent.agent_name) for agent, execution in ended]
    for row in rows:
        row["rows"] = ", ".join(f"{row[name]} {name}" for name in COUNTS if row[name]) or "none"
    print_rows("executions", EXECUTION_COLUMNS, rows)
    for _, execution in ended:
        if execution.error:
            err_console.print(f"error: {execution.error}", style="red", markup=False, highlight=False)
    console.print(f"{event_count} events on the stream AGENTIC_EVENTS", highlight=False)
    _print_next(ended[-1][1])
    return sum(execution.status is not ExecutionStatus.SUCCEEDED for _, execution in ended)


def _print_next(execution: ExecutionModel) -> None:
    """Print the commands for the rows; the demo has a database of its own."""
    home = shlex.quote(str(load_settings().home / "demo"))
    for verb in ("report {} --open", "export {} --out rows.csv"):
        words = f"executions {verb.format(execution.id[:SHORT_CHARS])} --project {PROJECT}"
        line = f"{verb.partition(' ')[0]:<10} AGENTIC_HOME={home} agentic {words}"
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _stored(database: Database, ended: Sequence[tuple[AgentModel, ExecutionModel]]) -> list[list[StoredRows]]:
    """Return some rows of each execution, by table."""
    from agentic.executors.commands.executions.stored import stored_rows

    platforms = get_registry().platforms
    with database.reading() as session:
        return [
            stored_rows(session, platforms[agent.agent_platform], execution, SHOWN_ROWS)
            for agent, execution in ended
        ]
