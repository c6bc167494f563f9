"""A database that a year has filled: rows as real runs left them, copied under other ids and times.

A few runs of each kind are made for real. The database then copies their rows itself, with the id of another
run wherever that of the first one stands, and its times moved.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Float, Table, create_engine, insert, or_, select, text

from agentic.core.hooks import Platform, PluginRegistry, get_registry
from agentic.core.ids import PERIOD_S, TIME_DIGITS
from agentic.core.types import JSONValue
from agentic.mappers import AgentModel, Base, Database, ResultMapper, add_agent, add_project, create_execution
from agentic.mappers.tables.columns import UTCDateTime
from agentic.migrations import upgrade

if TYPE_CHECKING:
    from agentic.core import Workflow

PROJECT = "large"
PLATFORM = "bench"
AGENTS = 40
FLOWS = 50
SPACING_S = 31
"""From the begin of one run to the next: a million of them take a year."""

SHARES: Mapping[str, range] = {
    "done": range(900),
    "failed": range(900, 950),
    "agent": range(950, 995),
    "waiting": range(995, 999),
    "asking": range(999, 1000),
}
"""Which runs of a thousand are of which kind: ``waiting`` were not begun, ``asking`` wait for a person."""

TABLES = (
    "executions",
    "agent_results",
    "runs",
    "activations",
    "run_checkpoints",
    "run_parts",
    "run_events",
    "effects",
)

KEYS = {"executions": "id", "agent_results": "execution_id"}
"""Where the id of a run is, if not in ``run_id``."""


@dataclass(frozen=True, slots=True)
class TableCopy:
    """The rows that a run left in one table, and which of their columns hold its id."""

    table: Table
    rows: Sequence[Mapping[str, object]]
    naming: frozenset[str]


@dataclass(frozen=True, slots=True)
class Template:
    """A run as it was left."""

    run_id: str
    began_at: float
    tables: Sequence[TableCopy]


def make_templates(folder: Path, *, with_agent: bool = True) -> dict[str, Template]:
    """Run one of each kind for real, and return what it left; an agent adds a platform to this process."""
    url = f"sqlite:///{folder.resolve() / 'templates.db'}"
    upgrade(url, PluginRegistry([]))
    database = Database(url)
    with database.writing() as session:
        agent = add_agent(session, add_project(session, PROJECT), "one", PLATFORM)
    made = asyncio.run(_run_each(database, agent.project_id))
    if with_agent:
        made["agent"] = asyncio.run(_run_agent(database, agent))
    with database.reading() as session:
        found = {kind: _template(session.connection(), run_id) for kind, run_id in made.items()}
    database.dispose()
    return found


def fill(
    url: str, count: int, templates: Mapping[str, Template], shares: Mapping[str, range] = SHARES
) -> None:
    """Make a database, and fill it with so many runs of one project; nobody else may use it meanwhile."""
    upgrade(url, PluginRegistry([]))
    database = Database(url)
    with database.writing() as session:
        project = add_project(session, PROJECT)
        agents = [add_agent(session, project, f"agent-{number:02}", PLATFORM).id for number in range(AGENTS)]
    database.dispose()
    engine = create_engine(url)  # plain: ours begin transactions of their own
    is_sqlite = engine.dialect.name == "sqlite"
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if is_sqlite:
            for pragma in ("journal_mode=OFF", "synchronous=OFF", "cache_size=-4000000"):
                connection.exec_driver_sql(f"PRAGMA {pragma}")
        _number(connection, count, agents, shares, is_sqlite=is_sqlite)
        for kind, template in templates.items():
            for copied in template.tables:
                owner = {"project_id": project.id, "agent_id": agents[0]}
                _add_copies(connection, owner, kind, template, copied, is_sqlite=is_sqlite)
        connection.exec_driver_sql("DROP TABLE copies")
        connection.exec_driver_sql("PRAGMA journal_mode=WAL" if is_sqlite else "VACUUM ANALYZE")
    engine.dispose()


def _number(
    connection: Connection,
    count: int,
    agents: Sequence[str],
    shares: Mapping[str, range],
    *,
    is_sqlite: bool,
) -> None:
    """Draw an id for each run as one of its time would have, and say what it is and when it began."""
    period = f"({int(time.time())} + (number - {count}) * {SPACING_S}) / {PERIOD_S} % {16**TIME_DIGITS}"
    if is_sqlite:
        numbers = (
            "WITH RECURSIVE n (number) AS (SELECT 0 UNION ALL SELECT number + 1 FROM n WHERE number + 1 < "
            f"{count}) SELECT number, printf('%0{TIME_DIGITS}x', {period}) || "
            f"substr(lower(hex(randomblob(16))), {TIME_DIGITS + 1}), number * 7919 % 1000 FROM n"
        )
    else:
        numbers = (
            f"SELECT number, lpad(to_hex({period}), {TIME_DIGITS}, '0') || "
            f"substr(replace(gen_random_uuid()::text, '-', ''), {TIME_DIGITS + 1}), "
            f"number::bigint * 7919 % 1000 FROM generate_series(0, {count - 1}) AS n (number)"
        )
    kinds = " ".join(f"WHEN share < {some.stop} THEN '{kind}'" for kind, some in shares.items())
    owners = " ".join(f"WHEN {number} THEN '{agent}'" for number, agent in enumerate(agents))
    _execute(
        connection,
        f"CREATE TABLE copies AS WITH drawn (number, id, share) AS ({numbers}) "  # constants of ours
        f"SELECT number, id, CASE {kinds} END AS kind, CASE number % {AGENTS} {owners} END AS agent_id, "
        f"'flow-' || (number % {FLOWS}) AS flow, (number - {count}) * {SPACING_S}.0 AS later_s FROM drawn",
    )


def _add_copies(  # what a row is copied with
    connection: Connection,
    owner: Mapping[str, str],
    kind: str,
    template: Template,
    copied: TableCopy,
    *,
    is_sqlite: bool,
) -> None:
    """Copy each row of a run as often as there are runs of its kind."""
    table = copied.table
    of_table = {name: value for name, value in owner.items() if name in table.c}
    for row in copied.rows:
        connection.execute(insert(table), [{**row, **of_table}])
    values = {column.name: f't."{column.name}"' for column in table.c}
    for name in copied.naming:
        values[name] = f"replace({values[name]}, '{template.run_id}', c.id)"
    for column in table.c:
        if isinstance(column.type, Float):
            values[column.name] = f"{values[column.name]} + c.later_s"
        elif isinstance(column.type, UTCDateTime):
            moved = (
                "strftime('%Y-%m-%d %H:%M:%f', julianday({0}) + c.later_s / 86400.0) || '000'"
                if is_sqlite
                else "{0} + make_interval(secs => c.later_s)"
            )
            values[column.name] = moved.format(values[column.name])
    values |= {"agent_id": "c.agent_id"} if "agent_id" in values else {}
    values |= {"workflow": "c.flow"} if table.name == "runs" else {}
    key = KEYS.get(table.name, "run_id")
    names = ", ".join(f'"{name}"' for name in values)
    of_template = ", ".join(sorted({f"'{row[key]}'" for row in copied.rows}))
    _execute(
        connection,
        f"INSERT INTO {table.name} ({names}) SELECT {', '.join(values.values())} "  # constants of ours
        f"FROM {table.name} AS t CROSS JOIN copies AS c WHERE c.kind = '{kind}' "
        f"AND t.project_id = '{owner['project_id']}' AND t.{key} IN ({of_template})",
    )


def _execute(connection: Connection, statement: str) -> None:
    connection.execute(text(statement))


def _template(connection: Connection, run_id: str) -> Template:
    tables = [_copy_of(connection, Base.metadata.tables[name], run_id) for name in TABLES]
    runs = Base.metadata.tables["runs"]
    began_at = connection.scalar(select(runs.c.created_at).where(runs.c.run_id == run_id))
    return Template(run_id, float(began_at or 0), [copied for copied in tables if copied.rows])


def _copy_of(connection: Connection, table: Table, run_id: str) -> TableCopy:
    key = table.c[KEYS.get(table.name, "run_id")]
    found = connection.execute(select(table).where(or_(key == run_id, key.startswith(f"{run_id}/"))))
    rows = [dict(row) for row in found.mappings()]
    if table.name == "agent_results":  # there is one of each execution: it may have its id
        rows = [{**row, "id": run_id} for row in rows]
    naming = {
        name for row in rows for name, value in row.items() if isinstance(value, str) and run_id in value
    }
    return TableCopy(table, rows, frozenset(naming))


async def _run_agent(database: Database, agent: AgentModel) -> str:
    from agentic.executors.agents.runner import run_execution

    _install_platform()
    with database.writing() as session:
        execution = create_execution(session, agent)
    await run_execution(execution.id, agent.id, database=database)
    return execution.id


async def _run_each(database: Database, project_id: str) -> dict[str, str]:
    from agentic.executors.durable import LocalRuns, Submission, WorkflowCatalog
    from agentic.mappers.ledger.ledger import SqlLedger

    ledger = SqlLedger(database, project_id=project_id)
    flows = {"done": _done, "failed": _failing, "asking": _asking}
    async with LocalRuns(ledger, WorkflowCatalog(flows)) as runs:
        handles = {name: await runs.submit(name, 1) for name in flows}
        for handle in handles.values():
            await handle.rest()
    async with LocalRuns(ledger, WorkflowCatalog(flows), concurrency=0) as runs:
        handles["waiting"] = await runs.submit("done", 1, Submission(is_told=False))
    return {name: str(handle.run_id) for name, handle in handles.items()}


def _install_platform() -> None:
    from agentic.executors import BaseAgentExecutor

    class BenchExecutor(BaseAgentExecutor):
        async def execute_agent(self, state: dict[str, object]) -> dict[str, object]:
            return {"state": state}

    class BenchMapper(ResultMapper):
        def save_results(self, results: Mapping[str, object]) -> bool:
            return self.save_agent_result(results)

    if PLATFORM not in get_registry().platforms:
        get_registry().add_platform(Platform(name=PLATFORM, executor=BenchExecutor, mapper=BenchMapper))


def _done() -> Workflow:
    from tests.bench.engine import loop

    return loop(1)


def _failing() -> Workflow:
    from agentic.core import WorkflowBuilder, executor

    async def fail(_number: int) -> int:
        raise ValueError("the source has gone")

    return WorkflowBuilder("failed").set_start(executor(id="fail")(fail)).build()


def _asking() -> Workflow:
    from agentic.core import WorkflowBuilder, WorkflowContext, executor

    async def ask(_number: int, ctx: WorkflowContext[JSONValue, JSONValue]) -> None:
        await ctx.yield_output(await ctx.request_info("May this be published?", bool))

    return WorkflowBuilder("asking").set_start(executor(id="ask")(ask)).build()
