"""What people and workers ask of a large database on PostgreSQL reads few rows, as it says itself."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from sqlalchemy import event
from tests.bench.ledger import claim, go_on, step
from tests.bench.many_runs import PROJECT, fill, make_templates
from tests.unit.executors.test_query_plans import ASKED, GROWING, LOOKS

from agentic.core.hooks import PluginRegistry
from agentic.core.ledger import ActivationStatus, NewRun, Settled
from agentic.core.types import RunId
from agentic.mappers import AgentModel, Database, find_project, list_agents
from agentic.mappers.ledger.ledger import SqlLedger
from agentic.mappers.runs.retention import Retention
from agentic.migrations import upgrade

if TYPE_CHECKING:
    from tests.postgres import PostgresServer

pytestmark = pytest.mark.integration

RUNS = 4_000
SHARES = {
    "done": range(900),
    "failed": range(900, 960),
    "waiting": range(960, 980),
    "asking": range(980, 1000),
}
READ = 500
"""Rows of a table that a statement may read, of 4,000 and more."""

PRUNED = 2_100
"""The same where 500 runs are removed: of most tables each has two rows, which are found and then removed."""

# auto_explain says what a statement did, also one that the driver runs itself.
WATCH = (
    "LOAD 'auto_explain'",
    "SET auto_explain.log_min_duration = 0",
    "SET auto_explain.log_analyze = on",
    "SET auto_explain.log_timing = off",
    "SET auto_explain.log_format = json",
    "SET client_min_messages = log",
    "SET random_page_cost = 1.1",  # as for a disk without moving parts
)

# Of the tables that these runs leave empty, or nearly so.
MORE = (
    """
    INSERT INTO executions (id, project_id, agent_id, status, created_at, superstep_count, event_count,
        counts, warnings, attempts)
    SELECT md5('e' || n), project_id, a.id, CASE WHEN n % 7 = 0 THEN 'failed' ELSE 'succeeded' END,
        now() - n * interval '31 seconds', 3, 20, '{}', '[]', 1
    FROM (SELECT id, project_id, row_number() OVER (ORDER BY id) AS place FROM agents) AS a
    JOIN generate_series(1, 8000) AS n ON n % 40 = place - 1
    """,
    """
    INSERT INTO agent_results (id, project_id, agent_id, execution_id, summary, created_at)
    SELECT id, project_id, agent_id, id, '{}', created_at FROM executions
    """,
    """
    INSERT INTO dead_letters (project_id, execution_id, step, item_key, pipeline, item, failure_class,
        message, tries, created_at)
    SELECT project_id, id, 'crawl', md5(id), 'shop', '{}', 'timeout', 'gone', '[]', created_at FROM executions
    """,
    """
    INSERT INTO audit (project_id, id, time, kind, subject, who, what, reason, details, published_at)
    SELECT project_id, run_id, created_at, 'run.pruned', run_id, 'user-' || length(workflow), 'it was', '',
        '{}', created_at FROM runs
    """,
    """
    INSERT INTO effects (project_id, run_id, origin, key, text)
    SELECT project_id, run_id, 'work', '1', '{}' FROM runs
    """,
    "UPDATE run_events SET published_at = 1 WHERE run_id > '2'",
    "VACUUM ANALYZE",
)

Node = Mapping[str, Any]


@pytest.fixture(scope="module")
def large_url(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A database with thousands of rows in each table that grows."""
    url = postgres.create("large")
    upgrade(url, PluginRegistry([]))
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        # As many pages as ten times the rows would take: it pays to use an index, as in a larger one.
        for table in GROWING:
            connection.execute(f"ALTER TABLE {table} SET (fillfactor = 10)")
    fill(url, RUNS, make_templates(tmp_path_factory.mktemp("templates"), with_agent=False), SHARES)
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        for statement in MORE:
            connection.execute(statement)
    yield url
    postgres.drop("large")


@pytest.fixture
def large(large_url: str) -> Iterator[Database]:
    database = Database(large_url)
    yield database
    database.dispose()


@contextmanager
def explained(database: Database) -> Iterator[list[Node]]:
    """Give the plans that the database carries out meanwhile."""
    plans: list[Node] = []

    def keep(said: psycopg.errors.Diagnostic) -> None:
        words, _, plan = (said.message_primary or "").partition("plan:\n")
        if words.startswith("duration"):
            plans.append(json.loads(plan))

    @event.listens_for(database.engine, "connect")
    def _watch(connection: psycopg.Connection, _: object) -> None:
        for setting in WATCH:
            connection.execute(setting)
        connection.commit()
        connection.add_notice_handler(keep)

    database.engine.dispose()  # so that it connects anew
    yield plans


def rows_read(plan: Node) -> Counter[str]:
    """Return how many rows of each growing table a plan has read, with those it left out again."""
    found: Counter[str] = Counter()
    nodes = [plan["Plan"]]
    while nodes:
        node = nodes.pop()
        nodes += node.get("Plans", ())
        if (table := node.get("Relation Name")) in GROWING and "Scan" in node["Node Type"]:
            left_out = (value for name, value in node.items() if name.startswith("Rows Removed by"))
            found[table] += round((node["Actual Rows"] + sum(left_out)) * node["Actual Loops"])
    return found


def too_long(plans: list[Node], most: int = READ) -> list[tuple[str, int, str]]:
    """Return what has read more of a table than it may: the table, how much, and the statement."""
    found = ((table, count, plan["Query Text"]) for plan in plans for table, count in rows_read(plan).items())
    return [one for one in found if one[1] > most]


def agent_of(database: Database) -> AgentModel:
    with database.reading() as session:
        return list_agents(session, find_project(session, PROJECT).id)[0]


@contextmanager
def working(database: Database) -> Iterator[SqlLedger]:
    with closing(SqlLedger(database, project_id=agent_of(database).project_id)) as ledger:
        yield ledger


@pytest.mark.parametrize("name", LOOKS)
def test_what_people_look_for_is_a_range_of_an_index(large: Database, name: str) -> None:
    agent = agent_of(large)
    with explained(large) as plans, large.writing() as session:
        LOOKS[name](session, agent)
        session.rollback()
    assert plans
    assert too_long(plans) == []


@pytest.mark.parametrize("name", ASKED)
def test_what_workers_look_for_is_a_range_of_an_index(large: Database, name: str) -> None:
    with explained(large) as plans, working(large) as ledger, ledger.transaction() as transaction:
        ASKED[name](transaction)
    assert plans
    assert too_long(plans) == []


def test_what_is_due_is_read_as_far_as_it_is_wanted(large: Database) -> None:
    with explained(large) as plans, working(large) as ledger, ledger.transaction() as transaction:
        assert len(transaction.claimable(["agentic.default"], limit=5)) == 5
        assert len(transaction.undispatched(older_than_s=1.0, limit=5)) == 5
    assert max(count for plan in plans for count in rows_read(plan).values()) <= 10
    # It knows that there are so many. Taken for few, those of a larger queue would all be read, and sorted.
    assert [plan["Plan"]["Plan Rows"] for plan in plans if rows_read(plan)["runs"] == 5] == [5, 5]


def test_a_step_reads_its_own_rows(large: Database) -> None:
    run_id = RunId("f" * 32)
    with explained(large) as plans, working(large) as ledger:
        with ledger.transaction() as transaction:
            transaction.add_run(NewRun(step=step(run_id, 0), workflow="flow"))
            claimed = claim(transaction, run_id, 0)
        with ledger.transaction() as transaction:
            claimed = go_on(transaction, claimed, step(run_id, 1))
        with ledger.transaction() as transaction:
            assert transaction.settle(claimed.lease, Settled(status=ActivationStatus.DONE))
    assert len(plans) > 10
    assert max(count for plan in plans for count in rows_read(plan).values()) <= 5


def test_runs_are_pruned_a_page_at_a_time(large: Database) -> None:
    project_id = agent_of(large).project_id
    with explained(large) as plans:
        retention = Retention(large, project_id, 0.0)
        page = next(iter(retention.pages(even_unpublished=True)))
        assert retention.remove(*page.runs) > len(page.runs) == 500
    assert too_long(plans, PRUNED) == []
    assert not any('"Seq Scan"' in json.dumps(plan) for plan in plans)


def test_a_table_that_is_read_whole_is_noticed(large: Database) -> None:
    with explained(large) as plans, large.reading() as session:
        for table in GROWING:
            session.connection().exec_driver_sql(f"SELECT max(project_id || 'x') FROM {table}")
    assert {table for table, _, _ in too_long(plans)} == {*GROWING}
