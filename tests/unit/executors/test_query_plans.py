"""What people and workers ask of a large database is found by indexes: no table that grows is read whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import pytest
from sqlalchemy import event, insert
from sqlalchemy.orm import Session
from tests.databases import only_sqlite

from agentic.core.audit import DecisionKind
from agentic.core.graph import RunStatus
from agentic.core.ledger import ActivationStatus, LedgerTransaction, RunRow
from agentic.core.types import RunId
from agentic.executors.commands.shared.views import counts_of_executions
from agentic.executors.durable.publish.audit_trail import audit_trail
from agentic.executors.metrics.executions import count_executions, keep_executions
from agentic.executors.metrics.runs import activations, count_runs, keep_runs, lags, outbox
from agentic.executors.metrics.sql import Scope
from agentic.mappers import (
    AgentModel,
    Database,
    ExecutionModel,
    ExecutionStatus,
    add_agent,
    add_project,
    add_schedule,
    waiting_executions,
)
from agentic.mappers.audit import DecisionFilter, unpublished_decisions
from agentic.mappers.catalog.dead_letters import list_dead_letters
from agentic.mappers.catalog.execution_choice import ExecutionFilter, choose_executions
from agentic.mappers.catalog.schedule_firing import execution_at_work
from agentic.mappers.ledger.ledger import SqlLedger
from agentic.mappers.ledger.sql import RUNS
from agentic.mappers.runs.reading import LedgerReader
from agentic.mappers.runs.requests import open_requests
from agentic.mappers.runs.retention import Retention
from agentic.mappers.runs.totals import Span
from agentic.mappers.tables.core import DeadLetterModel

GROWING = (
    "activations",
    "agent_results",
    "audit",
    "dead_letters",
    "effects",
    "executions",
    "run_checkpoints",
    "run_events",
    "run_parts",
    "runs",
)
ID = "3f" * 16
NOW = datetime(2026, 5, 1, tzinfo=UTC)
LAST_RUN = RunRow(
    run_id=RunId(ID), workflow="flow", status=RunStatus.COMPLETED, superstep=1, revision=2, priority=0,
    created_at=1.0, updated_at=1.0, began_at=1.0,
)  # fmt: skip
LAST_EXECUTION = ExecutionModel(id=ID, created_at=NOW)
LAST_LETTER = DeadLetterModel(execution_id=ID, item_key="00", created_at=NOW)

Look = Callable[[Session, AgentModel], object]


def runs(status: RunStatus | None, workflow: str | None, after: RunRow | None = None) -> Look:
    def look(session: Session, agent: AgentModel) -> object:
        reader = LedgerReader(session, agent.project_id)
        return reader.runs(status=status, workflow=workflow, limit=20, after=after)

    return look


def executions(after: ExecutionModel | None = None, **wanted: Any) -> Look:
    def look(session: Session, agent: AgentModel) -> object:
        given = {**wanted, "agent_id": agent.id} if "agent_id" in wanted else wanted
        return choose_executions(session, agent.project_id, ExecutionFilter(**given), 20, after=after)

    return look


def decisions(**wanted: Any) -> Look:
    return lambda session, agent: audit_trail(session, agent.project_id, DecisionFilter(**wanted), 50)


LOOKS: dict[str, Look] = {
    "runs": runs(None, None),
    "runs, the next page": runs(None, None, LAST_RUN),
    "runs by status": runs(RunStatus.FAILED, None),
    "runs by workflow": runs(None, "flow"),
    "runs by both, the next page": runs(RunStatus.FAILED, "flow", LAST_RUN),
    "a run by how its id begins": lambda s, a: LedgerReader(s, a.project_id)._begun_so("3f"),
    "executions": executions(),
    "executions, the next page": executions(LAST_EXECUTION),
    "executions by status": executions(statuses=[ExecutionStatus.FAILED, ExecutionStatus.RUNNING]),
    "executions by agent": executions(agent_id=""),
    "executions by agent and status": executions(agent_id="", statuses=[ExecutionStatus.FAILED]),
    "executions by platform, since": executions(platform="web", since=NOW),
    "executions since": executions(since=NOW),
    "an execution by how its id begins": lambda s, a: s.scalars(_begun(s, a)).all(),
    "requests": lambda s, a: list(islice(open_requests(s, project_id=a.project_id), 20)),
    "requests, the next page": lambda s, a: list(open_requests(s, project_id=a.project_id, after=LAST_RUN)),
    "requests of a run": lambda s, a: list(open_requests(s, project_id=a.project_id, run_id=RunId(ID))),
    "letters": lambda s, a: list_dead_letters(s, a.project_id, 50),
    "letters, the next page": lambda s, a: list_dead_letters(s, a.project_id, 50, after=LAST_LETTER),
    "letters of an execution": lambda s, a: list_dead_letters(s, a.project_id, execution_id=ID),
    "decisions": decisions(),
    "decisions by kind": decisions(kinds=[DecisionKind.RUN_FAILED]),
    "decisions by who": decisions(who="anna"),
    "decisions since": decisions(since=1.0),
    "decisions about a run": decisions(run_id=ID),
    "events of a run": lambda s, a: LedgerReader(s, a.project_id).events(RunId(ID), after=0, limit=100),
    "decisions to be published": lambda s, a: unpublished_decisions(s.connection(), a.project_id, 100),
    "executions that nobody began": lambda s, a: waiting_executions(s, a.project_id, 60.0),
    "activations, as a metric": lambda s, a: list(activations(Scope(s, a.project_id))),
    "lags, as a metric": lambda s, a: list(lags(Scope(s, a.project_id))),
    "runs of a week, as a metric": lambda s, a: count_runs(s, a.project_id, Span(10, 11)),
    "runs since a week, as a metric": lambda s, a: count_runs(s, a.project_id, Span(4000, None)),
    "executions of a week, as a metric": lambda s, a: count_executions(s, a.project_id, Span(10, 11)),
    "the outbox, as a metric": lambda s, a: list(outbox(Scope(s, a.project_id))),
    "whether a schedule's execution is at work": lambda s, a: execution_at_work(s, _schedule(s, a)),
}

ASKED: dict[str, Callable[[LedgerTransaction], object]] = {
    "what can be claimed": lambda ledger: ledger.claimable(["one", "two"]),
    "what can be claimed of a run": lambda ledger: ledger.claimable(["one"], run_id=RunId(ID)),
    "what workers were not told of": lambda ledger: ledger.undispatched(older_than_s=30.0),
    "leases that ended": lambda ledger: ledger.expired(),
    "what runs": lambda ledger: ledger.list_activations(statuses=[ActivationStatus.RUNNING]),
    "neglected runs": lambda ledger: ledger.neglected_runs(cancel_grace_s=1.0),
    "events to be published": lambda ledger: ledger.unpublished(100),
}


def _begun(session: Session, agent: AgentModel) -> Any:
    from sqlalchemy import select

    from agentic.mappers.database.prefixes import begins_with

    return select(ExecutionModel).where(
        ExecutionModel.project_id == agent.project_id, begins_with(ExecutionModel.id, "3f")
    )


def _schedule(session: Session, agent: AgentModel) -> Any:
    return add_schedule(session, agent, "hourly", every_s=3600)


@pytest.fixture
def agent(migrated_database: Database) -> AgentModel:
    with migrated_database.writing() as session:
        return add_agent(session, add_project(session, "ours"), "watcher", "web")


@contextmanager
def traced(database: Database) -> Iterator[list[str]]:
    """Give the statements that SQLite runs meanwhile, with their values."""
    found: list[str] = []

    @event.listens_for(database.engine, "connect")
    def _connected(connection: Any, _: object) -> None:
        connection.set_trace_callback(found.append)

    database.engine.dispose()  # so that it connects anew
    yield found


def scans(database: Database, statements: list[str]) -> list[tuple[str, str]]:
    """Return what reads a growing table whole, or an index of it, and where."""
    found = []
    asked = list(dict.fromkeys(statements))
    with database.reading() as session:
        for statement in asked:
            if not re.match(r"\s*(SELECT|WITH|UPDATE|DELETE)", statement):
                continue
            plan = session.connection().exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}")
            aliases = re.findall(r"\b(\w+) AS (\w+)\b", statement)
            names = {*GROWING, *(alias for table, alias in aliases if table in GROWING)}
            found += [(str(row[3]), statement) for row in plan if _is_scan(str(row[3]), names)]
    return found


def _is_scan(detail: str, names: set[str]) -> bool:
    """Whether all rows of a table are read, or all of a project in no order that matters."""
    words = detail.split()
    is_all = words[0] == "SCAN" or (detail.endswith("(project_id=?)") and " ix_" not in detail)
    return is_all and words[1] in names


@only_sqlite
@pytest.mark.parametrize("name", LOOKS)
def test_what_people_look_for_is_found_by_an_index(
    migrated_database: Database, agent: AgentModel, name: str
) -> None:
    with traced(migrated_database) as statements, migrated_database.writing() as session:
        LOOKS[name](session, agent)
    assert any("FROM" in one for one in statements)
    assert scans(migrated_database, statements) == []


@only_sqlite
def test_runs_are_pruned_by_indexes(migrated_database: Database, agent: AgentModel) -> None:
    run = {**asdict(LAST_RUN), "project_id": agent.project_id, "finished_at": 1.0}
    with migrated_database.writing() as session:
        session.execute(insert(RUNS).values({name: run[name] for name in run if name in RUNS.c}))
    with traced(migrated_database) as statements:
        retention = Retention(migrated_database, agent.project_id, 60.0)
        (page,) = retention.pages()
        assert retention.remove(*page.runs) == 1
    assert scans(migrated_database, statements) == []


@only_sqlite
def test_totals_of_past_weeks_are_kept_by_indexes(migrated_database: Database, agent: AgentModel) -> None:
    run = {**asdict(LAST_RUN), "project_id": agent.project_id, "finished_at": 1.0}
    with migrated_database.writing() as session:
        session.execute(insert(RUNS).values({name: run[name] for name in run if name in RUNS.c}))
    with traced(migrated_database) as statements:
        keep_runs(migrated_database, agent.project_id)
        keep_executions(migrated_database, agent.project_id)
    assert any("INSERT INTO kept_totals" in one for one in statements)
    assert scans(migrated_database, statements) == []


@only_sqlite
@pytest.mark.parametrize("of_agent", [True, False])
def test_executions_are_counted_in_an_index_alone(
    migrated_database: Database, agent: AgentModel, *, of_agent: bool
) -> None:
    with traced(migrated_database) as statements, migrated_database.writing() as session:
        found = counts_of_executions(session, agent.project_id, agent.id if of_agent else None)
    assert found == {}
    (counted,) = (one for one in statements if "count(*)" in one)
    with migrated_database.reading() as session:
        plan = session.connection().exec_driver_sql(f"EXPLAIN QUERY PLAN {counted}")
        assert any(str(row[3]).startswith("SEARCH executions USING COVERING INDEX") for row in plan)


@only_sqlite
def test_a_table_that_is_read_whole_is_noticed(migrated_database: Database) -> None:
    asked = [
        "SELECT * FROM runs",
        "SELECT 1 FROM audit AS a WHERE a.details = ''",
        "SELECT count(*) FROM agents",
    ]
    assert len(scans(migrated_database, asked)) == 2


@only_sqlite
@pytest.mark.parametrize("name", ASKED)
def test_what_workers_look_for_is_found_by_an_index(
    migrated_database: Database, agent: AgentModel, name: str
) -> None:
    with traced(migrated_database) as statements:
        ledger = SqlLedger(migrated_database, project_id=agent.project_id)
        with ledger.transaction() as transaction:
            ASKED[name](transaction)
        ledger.close()
    assert any("FROM" in one for one in statements)
    assert scans(migrated_database, statements) == []


@only_sqlite
def test_what_a_run_has_to_do_is_found_without_reading_the_whole_run(
    migrated_database: Database, agent: AgentModel
) -> None:
    with traced(migrated_database) as statements:
        ledger = SqlLedger(migrated_database, project_id=agent.project_id)
        with ledger.transaction() as transaction:
            transaction.claimable(["default"], run_id=RunId(ID))
        ledger.close()
    (asked,) = [one for one in statements if one.startswith("WITH")]
    with migrated_database.reading() as session:
        plan = session.connection().exec_driver_sql(f"EXPLAIN QUERY PLAN {asked}")
        (read,) = [str(row[3]) for row in plan if str(row[3]).startswith("SEARCH activations")]
    assert "run_id=? AND superstep=? AND status=?" in read
