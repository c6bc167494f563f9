"""A million runs: what lists, claims, sweeps and pruning take among them: ``python -m tests.bench.at_size``.

It fills a SQLite file, and the PostgreSQL database that ``--postgresql`` names. That takes some minutes and
6 GB each. It prints the table of "At size" in the documentation. ``--folder`` keeps the file.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median

from sqlalchemy import create_engine, make_url, select, text
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.orm import Session
from tests.bench.ledger import claim, go_on, step
from tests.bench.many_runs import PROJECT, fill, make_templates

from agentic.core.audit import DecisionKind
from agentic.core.garbage import tune_gc
from agentic.core.graph import RunStatus
from agentic.core.ledger import LedgerTransaction, NewRun, RunRow
from agentic.core.types import RunId
from agentic.executors.durable.publish.audit_trail import audit_trail
from agentic.executors.metrics.executions import executions as metrics_of_executions
from agentic.executors.metrics.executions import keep_executions
from agentic.executors.metrics.runs import activations, keep_runs, lags
from agentic.executors.metrics.runs import runs as metrics_of_runs
from agentic.executors.metrics.sql import Scope
from agentic.mappers import Database, ExecutionStatus, find_project, list_agents, waiting_executions
from agentic.mappers.audit import DecisionFilter
from agentic.mappers.catalog.dead_letters import list_dead_letters
from agentic.mappers.catalog.execution_choice import ExecutionFilter, choose_executions
from agentic.mappers.database.engine import sqlite_path
from agentic.mappers.errors import DataError
from agentic.mappers.ledger.ledger import SqlLedger
from agentic.mappers.ledger.sql import RUNS
from agentic.mappers.runs.reading import LedgerReader
from agentic.mappers.runs.requests import open_requests
from agentic.mappers.runs.retention import Retention

ROUNDS = 25
PRUNED = 20_000
FEW = 10
BEGUN = 300

Asked = Callable[[Session, str], object]
ByLedger = Callable[[LedgerTransaction], object]


def main(arguments: Sequence[str] | None = None) -> None:
    """Fill databases, measure, and print a table of each kind."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.at_size", description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="keeps the SQLite file, and measures the one in there")
    parser.add_argument("--postgresql", metavar="URL", help="an empty database, or one that was filled")
    parser.add_argument("--no-prune", action="store_true", help="leave the databases as they are")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        kept: Path = given.folder or Path(folder)
        urls = {"SQLite": f"sqlite:///{kept.resolve() / 'large.db'}"}
        if given.postgresql:
            urls["PostgreSQL"] = given.postgresql
        found: dict[str, dict[str, float]] = {}
        for name, url in urls.items():
            found[f"{name}, {FEW} runs"] = measure(beside(url), FEW, prunes=False)
            found[name] = measure(url, given.runs, prunes=not given.no_prune)
    print_table(found)


def beside(url: str) -> str:
    """Return a database of the same kind for a few runs, which is not there or empty."""
    large = make_url(url)
    if path := sqlite_path(large):
        small = path.with_name("small.db")
        small.unlink(missing_ok=True)
        return f"sqlite:///{small}"
    name = f"{large.database}_small"
    with create_engine(large).connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql(f'DROP DATABASE IF EXISTS "{name}"')
        connection.exec_driver_sql(f'CREATE DATABASE "{name}"')
    return large.set(database=name).render_as_string(hide_password=False)


def measure(url: str, runs: int, *, prunes: bool) -> dict[str, float]:
    """Return the milliseconds that each question takes, and what else is measured."""
    if not _is_filled(url):
        with tempfile.TemporaryDirectory() as folder:
            fill(url, runs, make_templates(Path(folder)))
    database = Database(url)
    with database.reading() as session:
        project_id = find_project(session, PROJECT).id
    for keep in (keep_executions, keep_runs):
        keep(database, project_id)
    with database.reading() as session:
        asked = {**ASKED, **dict(_of_this(session, project_id))}
        found = {name: _least_ms(partial(ask, session, project_id)) for name, ask in asked.items()}
    with closing(SqlLedger(database, project_id=project_id)) as ledger:
        for name, look in SWEPT.items():
            with ledger.transaction() as transaction:
                found[name] = _least_ms(partial(look, transaction))
        found["step of a run: claim, settle, go on"] = _step_ms(ledger)
    found |= dict(_bytes(database, runs))
    if prunes:
        found |= dict(_pruned(database, project_id))
    database.dispose()
    return found


def runs(status: RunStatus | None = None, workflow: str | None = None) -> Asked:
    """Look for the newest runs."""
    return lambda session, project_id: LedgerReader(session, project_id).runs(
        status=status, workflow=workflow, limit=20
    )


def decisions(**wanted: object) -> Asked:
    """Look for the newest decisions."""
    return lambda session, project_id: audit_trail(session, project_id, DecisionFilter(**wanted), 50)  # type: ignore[arg-type]  # as named


ASKED: Mapping[str, Asked] = {
    "runs list": runs(),
    "runs list --status failed": runs(RunStatus.FAILED),
    "runs list --status cancelled: none is": runs(RunStatus.CANCELLED),
    "runs list --workflow": runs(workflow="flow-7"),
    "runs list --workflow --status": runs(RunStatus.WAITING_INPUT, "flow-7"),
    "a run by 6 characters of its id": lambda s, p: LedgerReader(s, p)._begun_so("3f9a1b"),
    "executions list": lambda s, p: choose_executions(s, p, ExecutionFilter(), 20),
    "executions list --status running: none is": lambda s, p: choose_executions(
        s, p, ExecutionFilter(statuses=[ExecutionStatus.RUNNING]), 20
    ),
    "executions list --platform": lambda s, p: choose_executions(s, p, ExecutionFilter(platform="bench"), 20),
    "requests list": lambda s, p: list(islice(open_requests(s, project_id=p), 50)),
    "letters list": lambda s, p: list_dead_letters(s, p, 50),
    "audit": decisions(),
    "audit --kind run.failed": decisions(kinds=[DecisionKind.RUN_FAILED]),
    "audit --kind run.cancelled: none is": decisions(kinds=[DecisionKind.RUN_CANCELLED]),
    "audit --who": decisions(who="anna"),
    "metrics of runs, past weeks kept": lambda s, p: list(metrics_of_runs(Scope(s, p))),
    "metrics of executions, past weeks kept": lambda s, p: list(metrics_of_executions(Scope(s, p))),
    "metrics of activations and lags": lambda s, p: [*activations(Scope(s, p)), *lags(Scope(s, p))],
    "executions that nobody began": lambda s, p: waiting_executions(s, p, 60.0),
}

SWEPT: Mapping[str, ByLedger] = {
    "what can be claimed": lambda ledger: ledger.claimable(["agentic.default"]),
    "sweep: told to nobody": lambda ledger: ledger.undispatched(older_than_s=30.0),
    "sweep: leases that ended": lambda ledger: ledger.expired(),
    "sweep: neglected runs": lambda ledger: ledger.neglected_runs(cancel_grace_s=1.0),
    "outbox: 100 batches": lambda ledger: ledger.unpublished(100),
}


def _of_this(session: Session, project_id: str) -> Iterator[tuple[str, Asked]]:
    """Yield what asks about an agent, or after a run, of this database."""
    agent_id = list_agents(session, project_id)[0].id
    wanted = ExecutionFilter(agent_id=agent_id)
    failed = ExecutionFilter(agent_id=agent_id, statuses=[ExecutionStatus.FAILED])
    last = _middle(session, project_id)
    yield "executions list --agent", lambda s, p: choose_executions(s, p, wanted, 20)
    yield (
        "executions list --agent --status failed: none is",
        lambda s, p: choose_executions(s, p, failed, 20),
    )
    yield (
        "runs list --status completed, a page in the middle",
        lambda s, p: LedgerReader(s, p).runs(status=RunStatus.COMPLETED, workflow=None, limit=20, after=last),
    )


def _middle(session: Session, project_id: str) -> RunRow:
    """Return a run with as many before as after it."""
    of_project = (RUNS.c.project_id == project_id, RUNS.c.parent_run_id.is_(None))
    oldest = session.scalars(
        select(RUNS.c.created_at).where(*of_project).order_by(RUNS.c.created_at).limit(1)
    ).one()
    middle = session.scalars(
        select(RUNS.c.run_id)
        .where(*of_project, RUNS.c.created_at <= (oldest + time.time()) / 2)
        .order_by(RUNS.c.created_at.desc())
        .limit(1)
    ).one()
    return LedgerReader(session, project_id).run(middle)


def _least_ms(ask: Callable[[], object]) -> float:
    """Return the shortest time of some: what else the machine does makes each longer."""
    ask()  # compiles the statement
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        ask()
        times.append(time.perf_counter() - began)
    return min(times) * 1e3


def _step_ms(ledger: SqlLedger) -> float:
    name = RunId(f"bench-{time.time_ns()}")
    with ledger.transaction() as transaction:
        transaction.add_run(NewRun(step=step(name, 0), workflow="flow"))
        claimed = claim(transaction, name, 0)
    times = []
    for number in range(BEGUN):
        began = time.perf_counter()
        with ledger.transaction() as transaction:
            claimed = go_on(transaction, claimed, step(name, number + 1))
        times.append(time.perf_counter() - began)
    return min(times[10:]) * 1e3


def _bytes(database: Database, runs: int) -> Iterator[tuple[str, float]]:
    sizes = {
        "sqlite": "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
        "postgresql": "SELECT pg_database_size(current_database())",
    }
    with database.reading() as session:
        size = session.scalar(text(sizes[session.get_bind().dialect.name])) or 0
    yield "bytes of the database a run", float(size) / runs


def _pruned(database: Database, project_id: str) -> Iterator[tuple[str, float]]:
    tune_gc()  # as the command does
    began, count = time.perf_counter(), 0
    removals: list[float] = []
    retention = Retention(database, project_id, 0.0)
    for page in retention.pages(even_unpublished=True):
        asked = time.perf_counter()
        retention.remove(*page.runs)
        removals.append(time.perf_counter() - asked)
        count += len(page.runs)
        if count >= PRUNED:
            break
    yield "runs pruned a second", count / (time.perf_counter() - began)
    yield "milliseconds to prune 500 runs, the median", median(removals) * 1e3


def _is_filled(url: str) -> bool:
    database = Database(url)
    with suppress(DataError, ProgrammingError), database.reading() as session:
        return bool(find_project(session, PROJECT))
    return False


def print_table(found: Mapping[str, Mapping[str, float]]) -> None:
    """Print a row for each figure, and a column for each database."""
    lines = [f"| | {' | '.join(found)} |", f"|---|{'---:|' * len(found)}"]
    lines += [
        f"| {name} | {' | '.join(f'{of[name]:,.4g}' if name in of else '' for of in found.values())} |"
        for name in list(found.values())[-1]
    ]
    sys.stdout.write("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
