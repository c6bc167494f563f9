"""Totals of past weeks are kept, and forgotten when a row of the week changes, on each database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete, insert, select, update
from sqlalchemy.orm import Session
from tests.databases import only_postgresql

from agentic.core.graph import RunStatus
from agentic.core.http.exits.uses import ProxyUse, dump_uses
from agentic.core.types import JSONValue, RunId
from agentic.executors.metrics.executions import count_executions, keep_executions
from agentic.executors.metrics.metrics import SqlCollector, as_text
from agentic.executors.metrics.runs import count_runs, keep_runs
from agentic.mappers import (
    AgentModel,
    Database,
    ExecutionModel,
    ExecutionStatus,
    add_agent,
    add_project,
    utc_now,
)
from agentic.mappers.catalog.projects import remove_agent, remove_project
from agentic.mappers.ledger.sql import RUNS
from agentic.mappers.runs.retention import OldRun, Retention
from agentic.mappers.runs.totals import WEEK_S, Count, Span, TotalsKind, keep_totals, totals_of
from agentic.mappers.tables.core import KeptTotalsModel

WEEKS = (3, 5, 8)
COUNTS: Mapping[TotalsKind, Count] = {"runs": count_runs, "executions": count_executions}
ALL = Span(None, None)

Change = Callable[[Session], object]


@dataclass(frozen=True)
class Past:
    """A project whose runs and executions were made some weeks ago, and today."""

    database: Database
    agent: AgentModel

    def add(self, weeks: int, number: int, status: str = "succeeded") -> None:
        ago = timedelta(weeks=weeks)
        made = utc_now() - ago
        with self.database.writing() as session:
            values = {"attempts": 1, "started_at": made, "finished_at": made + timedelta(seconds=number)}
            execution = ExecutionModel(
                id=f"{weeks}-{number}", project_id=self.project_id, agent_id=self.agent.id, created_at=made,
                status=ExecutionStatus(status), counts={"inserted": number}, **values,
                proxies=dump_uses([ProxyUse(id="7c9e6679a1b2c3d4", number=1, requests=number)]),
            )  # fmt: skip
            session.add(execution)
            session.execute(insert(RUNS).values(**self.run(weeks, number)))

    def run(self, weeks: int, number: int) -> dict[str, Any]:
        made = utc_now().timestamp() - weeks * WEEK_S
        return {
            "project_id": self.project_id, "run_id": f"{weeks}-{number}", "status": RunStatus.COMPLETED,
            "superstep": 1, "revision": 2, "priority": 0, "is_paused": False, "created_at": made,
            "began_at": made, "updated_at": made, "finished_at": made, "workflow": "flow",
        }  # fmt: skip

    @property
    def project_id(self) -> str:
        return self.agent.project_id

    def keep(self) -> None:
        keep_executions(self.database, self.project_id)
        keep_runs(self.database, self.project_id)

    def change(self, change: Change) -> None:
        with self.database.writing() as session:
            change(session)

    def kept(self, kind: TotalsKind) -> set[int]:
        """Return of how many weeks ago totals are kept."""
        now = int(utc_now().timestamp()) // WEEK_S
        query = select(KeptTotalsModel).where(KeptTotalsModel.kind == kind)
        with self.database.reading() as session:
            return {now - kept.week for kept in session.scalars(query) if kept.totals is not None}

    def summed(self, kind: TotalsKind) -> Counter[tuple[object, ...]]:
        """Return the totals of all weeks, of which those that are kept are not counted."""
        found: Counter[tuple[object, ...]] = Counter()
        with self.database.reading() as session:
            for totals in totals_of(session, self.project_id, kind, COUNTS[kind]):
                found.update(facts(totals))
        return found

    def counted(self, kind: TotalsKind) -> Counter[tuple[object, ...]]:
        with self.database.reading() as session:
            return facts(COUNTS[kind](session, self.project_id, ALL))


def facts(totals: JSONValue) -> Counter[tuple[object, ...]]:
    """Return the numbers of totals, by what they are of."""
    assert isinstance(totals, dict)
    if "standing" not in totals:
        return Counter({(status,): count for status, count in totals.items()})
    found: Counter[tuple[object, ...]] = Counter()
    rows: Any = totals
    for agent, status, *counts, _ in rows["standing"]:
        found.update({("standing", agent, status, place): count for place, count in enumerate(counts)})
    for agent, limit, count, sum_s in rows["durations"]:
        found.update({("durations", agent, limit): count, ("seconds", agent, limit): round(sum_s)})
    for agent, counts in rows["rows"]:
        found.update({("rows", agent, place): count or 0 for place, count in enumerate(counts)})
    for agent, uses in rows["proxies"]:
        found.update({("proxies", agent, use["id"]): use["requests"] for use in uses})
    return +found


@pytest.fixture
def past(migrated_database: Database) -> Past:
    with migrated_database.writing() as session:
        found = Past(migrated_database, add_agent(session, add_project(session, "ours"), "watcher", "web"))
    for weeks in (*WEEKS, 0):
        for number in (1, 2, 40):
            found.add(weeks, number)
    found.keep()
    return found


KINDS: tuple[TotalsKind, ...] = ("runs", "executions")


@pytest.mark.parametrize("kind", KINDS)
def test_past_weeks_are_kept_and_come_to_the_same_as_all_that_is_there(past: Past, kind: TotalsKind) -> None:
    assert past.kept(kind) == set(WEEKS)
    assert past.summed(kind) == past.counted(kind) != Counter()


def test_kept_weeks_are_not_counted_again(past: Past) -> None:
    asked: list[Span] = []

    def count(_session: Session, _project_id: str, span: Span) -> JSONValue:
        asked.append(span)
        return {}

    keep_totals(past.database, past.project_id, "runs", count)
    assert asked == []

    with past.database.reading() as session:
        assert len(list(totals_of(session, past.project_id, "runs", count))) == len(WEEKS) + len(asked)
    weeks = sorted(past.kept("runs"))
    now = int(utc_now().timestamp()) // WEEK_S
    assert asked == [
        Span(None, now - weeks[2]),
        Span(now - weeks[2] + 1, now - weeks[1]),
        Span(now - weeks[1] + 1, now - weeks[0]),
        Span(now - weeks[0] + 1, None),
    ]


def changes(past: Past) -> dict[str, Change]:
    executions, of = ExecutionModel, ExecutionModel.id == "5-1"
    is_run = RUNS.c.run_id == "5-1"
    return {
        "an execution that is tried again": lambda s: s.execute(
            update(executions).where(of).values(status="running", attempts=2)
        ),
        "rows that were stored": lambda s: s.execute(
            update(executions).where(of).values(counts={"inserted": 9})
        ),
        "an execution that goes": lambda s: s.execute(delete(executions).where(of)),
        "an execution that comes late": lambda s: s.add(
            ExecutionModel(
                project_id=past.project_id,
                agent_id=past.agent.id,
                created_at=utc_now() - timedelta(weeks=5),
                status=ExecutionStatus.FAILED,
            )
        ),
        "a run that goes on": lambda s: s.execute(
            update(RUNS).where(is_run).values(status=RunStatus.RUNNING, finished_at=None)
        ),
        "a run that goes": lambda s: s.execute(delete(RUNS).where(is_run)),
        "a run that comes late": lambda s: s.execute(insert(RUNS).values(past.run(5, 77))),
        "another time": lambda s: s.execute(
            update(RUNS).where(is_run).values(created_at=RUNS.c.created_at + 5 * WEEK_S)
        ),
        "a time of then": lambda s: s.execute(
            update(RUNS).where(RUNS.c.run_id == "0-1").values(created_at=RUNS.c.created_at - 5 * WEEK_S)
        ),
    }


CHANGES = (
    "an execution that is tried again",
    "rows that were stored",
    "an execution that goes",
    "an execution that comes late",
    "a run that goes on",
    "a run that goes",
    "a run that comes late",
    "another time",
    "a time of then",
)


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_in_a_past_week_forgets_the_totals_of_that_week_alone(past: Past, name: str) -> None:
    kind: TotalsKind = "executions" if "execution" in name or "rows" in name else "runs"
    before = past.counted(kind)

    past.change(changes(past)[name])

    assert past.summed(kind) == past.counted(kind)
    assert (past.counted(kind) == before) == ("time" in name)
    assert past.kept(kind) == {3, 8}
    past.keep()
    assert past.summed(kind) == past.counted(kind)
    assert past.kept(kind) == ({3, 8} if "again" in name else set(WEEKS))


def test_what_changes_this_week_or_says_nothing_of_where_a_run_stands_forgets_nothing(past: Past) -> None:
    past.change(lambda s: s.execute(update(RUNS).where(RUNS.c.run_id == "0-1").values(status="failed")))
    past.change(lambda s: s.execute(delete(ExecutionModel).where(ExecutionModel.id == "0-1")))
    past.change(lambda s: s.execute(update(RUNS).where(RUNS.c.run_id == "5-1").values(superstep=9)))

    for kind in KINDS:
        assert past.kept(kind) == set(WEEKS)
        assert past.summed(kind) == past.counted(kind)


def test_what_is_pruned_is_not_told_any_longer(past: Past) -> None:
    Retention(past.database, past.project_id, 1.0).remove(OldRun(run_id=RunId("8-2")))
    assert past.kept("runs") == {3, 5}
    assert past.summed("runs") == past.counted("runs") == Counter({("completed",): 11})


def test_an_agent_and_a_project_take_their_totals_with_them(past: Past) -> None:
    past.change(lambda s: remove_agent(s, s.get_one(AgentModel, past.agent.id)))
    assert past.kept("executions") == set()
    assert past.summed("executions") == past.counted("executions") == Counter()
    assert 'agentic_runs{project="ours",status="completed"} 12.0' in as_text(SqlCollector(past.database))

    past.change(lambda s: remove_project(s, past.agent.project, {}))
    with past.database.reading() as session:
        assert session.scalars(select(KeptTotalsModel)).all() == []


def test_a_week_with_an_execution_that_goes_on_is_not_kept(past: Past) -> None:
    past.add(12, 1, status="running")
    past.keep()
    assert past.kept("executions") == set(WEEKS)
    assert past.kept("runs") == {*WEEKS, 12}
    assert past.summed("executions") == past.counted("executions")


def test_totals_of_a_version_that_did_not_count_proxies_are_read(past: Past) -> None:
    def forget(session: Session) -> None:
        for kept in session.scalars(select(KeptTotalsModel).where(KeptTotalsModel.kind == "executions")):
            totals: Any = kept.totals
            kept.totals = {name: part for name, part in totals.items() if name != "proxies"}

    past.change(forget)
    text = as_text(SqlCollector(past.database))
    assert 'agentic_executions{platform="web",project="ours",state="succeeded"} 12.0' in text
    assert 'agentic_proxy_requests_total{platform="web",project="ours",proxy="7c9e6679a1b2c3d4"} 43.0' in text


def test_what_changes_while_it_is_counted_is_not_kept(past: Past) -> None:
    past.add(20, 1)

    def count(session: Session, project_id: str, span: Span) -> JSONValue:
        found = count_runs(session, project_id, span)
        session.rollback()  # SQLite: another transaction may write
        past.change(lambda s: s.execute(update(RUNS).where(RUNS.c.run_id == "20-1").values(status="failed")))
        return found

    keep_totals(past.database, past.project_id, "runs", count)

    assert past.kept("runs") == set(WEEKS)
    assert past.summed("runs") == past.counted("runs")


@only_postgresql
def test_nobody_waits_for_one_that_is_changing_a_past_week(past: Past) -> None:
    past.add(20, 1)
    with past.database.writing() as session:
        session.execute(update(RUNS).where(RUNS.c.run_id == "20-1").values(status="failed"))
        past.keep()
        assert past.kept("runs") == set(WEEKS)
    past.keep()
    assert past.kept("runs") == {*WEEKS, 20}
    assert past.summed("runs") == past.counted("runs")


def test_metrics_are_the_same_with_totals_kept_and_counted_anew(past: Past) -> None:
    def told() -> list[str]:
        text = as_text(SqlCollector(past.database))
        return [line for line in text.splitlines() if "read_seconds" not in line and "_sum" not in line]

    with_kept = told()
    past.change(lambda s: s.execute(delete(KeptTotalsModel)))
    assert told() == with_kept
    assert any(
        'agentic_executions{platform="web",project="ours",state="succeeded"} 12.0' in line
        for line in with_kept
    )
