"""Two projects in one database, with one of each thing there is; each project has a word of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from functools import cache
from typing import Any

from sqlalchemy import JSON, Column, Enum, Select, Table, bindparam, func, insert, select
from sqlalchemy.orm import Session
from sqlalchemy.types import Boolean, Float, Integer, LargeBinary, String
from tests.integration.executors.durable.steered import Floor

from agentic.core.agents import AgentThread, ThreadEntry, ThreadMetadata
from agentic.core.audit import DecisionKind
from agentic.core.bus import MemoryBus
from agentic.core.hooks import get_registry
from agentic.core.http import HttpSession
from agentic.core.llm import ChatMessage
from agentic.core.pipeline import read_spec
from agentic.core.pipeline.crawl.store import PageWarning
from agentic.core.pipeline.repairs.proposals import RepairProposal, SpecChange
from agentic.core.pipeline.repairs.requests import RepairRequest
from agentic.core.types import JSONValue, RunId
from agentic.core.wrappers import Wrapper
from agentic.executors.agents.runner import run_execution
from agentic.mappers import (
    AgentModel,
    Base,
    Database,
    ExecutionModel,
    ExecutionStatus,
    ProjectModel,
    SqlMemoryStore,
    SqlThreadStore,
    UTCDateTime,
    add_agent,
    add_project,
    add_schedule,
    create_execution,
    finish_execution,
)
from agentic.mappers.audit import audit
from agentic.mappers.catalog.dead_letters import CRAWL, dead_letter_id
from agentic.mappers.catalog.pipelines import store_pipeline
from agentic.mappers.catalog.repairs import store_repair
from agentic.mappers.crawl.warnings import dump_warnings
from agentic.mappers.crawl.wrappers import save_wrappers
from agentic.mappers.ledger.ledger import SqlLedger
from agentic.mappers.notifications.outbox import NewNotification, add_notifications, claim, pending_of
from agentic.mappers.notifications.rules import put_rule
from agentic.mappers.runs.requests import open_requests
from agentic.mappers.tables.core import (
    CrawlModel,
    CrawlProfileModel,
    DeadLetterModel,
    FrontierModel,
    FrontierState,
)
from agentic.mappers.tables.notifications import Channel, NotificationEvent, RowNoteModel
from agentic.mappers.vault.keys import SecretKeys
from agentic.mappers.vault.sessions import SqlSessions
from agentic.mappers.vault.vault import set_secret
from agentic.plugins.evals.models import EvalCaseModel

ONE, OTHER = "one", "other"
WORDS = {ONE: "apple", OTHER: "zebra"}
"""Stands in all that belongs to a project, and in nothing else."""

KEY = SecretKeys.new_key()
KEYS = SecretKeys(KEY)

MINUTE = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What the things of a project are called. Both have some more that are called ``twin``."""

    agent: str
    agent_id: str
    execution: str
    failed: str
    fresh: str
    held: str
    waiting: str
    evaluation: str
    letter: str
    notification: str
    pipeline: str
    repair: str
    run: str
    request: str
    schedule: str
    secret: str
    session: str
    thread: str

    @classmethod
    def of_nothing(cls) -> Names:
        """Return names that nothing has."""
        words = {one.name: f"mouse-{one.name}" for one in fields(cls)}
        ids = dict.fromkeys(("agent_id", "execution", "failed", "waiting"), "0" * 32)
        return cls(**{**words, **ids, "letter": "00000000-mouse", "request": "mouse-run:talk.0.0/ask.0.0.1"})

    def in_place(self, template: str) -> list[str]:
        """Return a command line with the names put in."""
        return [part.format(**asdict(self)) for part in template.split()]


@dataclass(frozen=True)
class World:
    """The projects of a database."""

    database: Database
    ids: Mapping[str, str]
    names: Mapping[str, Names]

    def rows(self, project: str) -> dict[str, list[dict[str, object]]]:
        """Return all that belongs to a project: table -> rows."""
        with self.database.reading() as session:
            return {table.name: _rows(session, table, self.ids[project]) for table in tables()}


def tables() -> list[Table]:
    """Return every table of the core and of all installed plugins; other tests may have made some, too."""
    for platform in get_registry().platforms.values():
        assert platform.models is not None  # to look is to load what it maps
    assert SqlMemoryStore.__module__  # to look is to load its table, which belongs to no platform
    tests = {one.local_table for one in Base.registry.mappers if one.class_.__module__.startswith("tests.")}
    return sorted(set(Base.metadata.tables.values()) - tests, key=lambda table: table.name)


def make_world(database: Database) -> World:
    """Fill a migrated database."""
    with database.writing() as session:
        ids = {name: add_project(session, name).id for name in (ONE, OTHER)}
    names = {name: _fill(database, name, ids[name]) for name in ids}
    return World(database, ids, names)


def spec_of(name: str, word: str) -> dict[str, JSONValue]:
    """Return a pipeline that asks nobody."""
    return {
        "name": name,
        "item_key": "word",
        "steps": [{"id": "all", "actor": "aggregate", "config": {"items": [{"word": word}]}}],
    }


def _fill(database: Database, project: str, project_id: str) -> Names:
    word = WORDS[project]
    with database.writing() as session:
        owner = session.get_one(ProjectModel, project_id)
        for name in (f"{word}-line", "twin"):
            spec = read_spec(spec_of(name, word), get_registry().actors)
            store_pipeline(session, project_id, spec)
            set_secret(session, project_id, KEYS, name.replace("-", "_"), f"{word}-hidden")
        agents = [
            add_agent(session, owner, name, "web", {"pipeline": spec_of(name, word)}, f"{word} goals")
            for name in (f"{word}-agent", "twin")
        ]
        for name in (f"{word}-times", "twin"):
            add_schedule(session, agents[0], name, every_s=3600)
        done, failed, waiting = (create_execution(session, agents[0]) for _ in range(3))
        for name in (f"{word}-rule", "twin"):
            _notify(session, owner, name, agents[0], failed)
    sessions = SqlSessions(database, project_id, KEYS)
    asyncio.run(sessions.keep(HttpSession(name=f"{word}_line/login", storage=f"{word}-kept")))
    asyncio.run(_talk(SqlThreadStore(database, project_id=project_id), word))
    asyncio.run(run_execution(done.id, agents[0].id, database=database, bus=MemoryBus()))
    _fail(database, project_id, agents[0], failed)
    run_id = RunId(f"{word}-run")
    _run(database, project_id, word, run_id)
    with database.writing() as session:
        letter = _crawl(session, project_id, done.id, word)
        _hold(session, project_id, waiting.id, word)
        change = SpecChange(place=("steps",), old=None, new=word)
        found = RepairProposal(kind="field", subject=word, changes=(change,))
        request = RepairRequest(kind="k", repairs=(found,))
        store_repair(session, agents[0], f"{word}-repair", request, run=waiting.id)
        session.add(CrawlProfileModel(project_id=project_id, agent_id=agents[0].id, kind="k", profile="{}"))
        save_wrappers(session, project_id, f"{word}-line", {"k": Wrapper("title", words=(word,))})
        for name, execution in ((f"{word}-labels", done), ("twin", failed)):
            _evaluate(session, project_id, name, execution.id, agents[0].id, word)
        known = tables()
        for table in (
            one for one in Base.metadata.sorted_tables if one in known
        ):  # those referred to come first
            _add_what_is_missing(session, table, _owned(project_id, agents[0].id, done.id, run_id), word)
        # Later than what the run above has published.
        audit(session, project_id, DecisionKind.AGENT_CHANGED, agents[0].agent_name, word)
        (asked,) = open_requests(session, project_id=project_id, run_id=run_id)
    return Names(
        agent=agents[0].agent_name,
        agent_id=agents[0].id,
        execution=done.id,
        failed=failed.id,
        fresh=f"{word}-fresh",
        held=f"{word}-held",
        waiting=waiting.id,
        evaluation=f"{word}-labels",
        letter=letter,
        notification=f"{word}-rule",
        pipeline=f"{word}-line",
        repair=f"{word}-repair",
        run=run_id,
        request=asked.id,
        schedule=f"{word}-times",
        secret=f"{word}_line",
        session=f"{word}_line/login",
        thread=f"{word}-thread",
    )


async def _talk(store: SqlThreadStore, word: str) -> None:
    """Keep two threads with a message, one of a person and an agent that both projects have."""
    for name, agent, user in (
        (f"{word}-thread", f"{word}-agent", f"{word}-person"),
        (f"{word}-2", *2 * ["twin"]),
    ):
        facts = ThreadMetadata(agent=agent, user_id=user, created_at=1.0)
        thread = AgentThread(facts, thread_id=name, store=store)
        await thread.append(ThreadEntry(turn="1", messages=(ChatMessage.user(word),), is_input=True))


def _fail(database: Database, project_id: str, agent: AgentModel, execution: ExecutionModel) -> None:
    with database.writing() as session:
        finish_execution(
            session, project_id, execution.id, ExecutionStatus.FAILED, error=f"no {agent.agent_name}"
        )


def _notify(
    session: Session, owner: ProjectModel, name: str, agent: AgentModel, execution: ExecutionModel
) -> None:
    """Have a rule, an event of it that waits, and a note about rows."""
    rule = put_rule(session, owner, name, {
        "agent_id": agent.id, "events": "failed new", "row_filter": None, "table_name": None,
        "channel": Channel.EMAIL, "target": "ops@example.org", "credential": "${secrets.NO_SERVER}",
        "digest_s": 0, "max_per_hour": 20, "may_be_private": False,
    })  # fmt: skip
    facts: dict[str, JSONValue] = {"agent": agent.agent_name}
    event = NewNotification(rule_id=rule.id, event=NotificationEvent.PARTIAL, facts=facts)
    add_notifications(session, owner.id, execution.id, 1, [event])
    claim(session, pending_of(session, rule), MINUTE, lease_s=0)
    session.add(
        RowNoteModel(
            project_id=owner.id, rule_id=rule.id, execution_id=execution.id, table_name="web_items",
            new_count=1, changed_count=0, samples=[],
        )
    )  # fmt: skip


def _run(database: Database, project_id: str, word: str, run_id: RunId) -> None:
    """Have a run wait for an answer, under a name of its own and under one that is also the other's.

    Of another one somebody has an activation in hand, and one more nobody has begun.
    """
    with closing(SqlLedger(database, project_id=project_id)) as store:
        floor = Floor(store)
        for name in (run_id, "twin"):
            floor.submit("asking", word, name)
        floor.work()
        floor.submit("adding", 1, f"{word}-held")
        floor.claim(3600.0)
        floor.submit("adding", 1, f"{word}-fresh")


def _hold(session: Session, project_id: str, execution_id: str, word: str) -> None:
    """Let an execution hold a page."""
    session.add(CrawlModel(project_id=project_id, run=execution_id, total=1, held=1, holds="k"))
    url = f"https://{word}.example/held"
    page = FrontierModel(project_id=project_id, run=execution_id, depth=0, url_key=f"{word}held", url=url)
    page.state = FrontierState.HELD
    session.add(page)


def _crawl(session: Session, project_id: str, execution_id: str, word: str) -> str:
    """Let an execution have crawled two pages, and given one of them up; return the letter's id."""
    own = {"project_id": project_id, "run": execution_id, "depth": 0}
    session.add(CrawlModel(project_id=project_id, run=execution_id, total=2, done=1, failed=1))
    for state in (FrontierState.DONE, FrontierState.FAILED):
        url = f"https://{word}.example/{state}"
        warnings = dump_warnings([PageWarning("price", word)]) if state is FrontierState.DONE else None
        session.add(
            FrontierModel(
                **own,
                url_key=f"{word}{state}",
                url=url,
                state=state,
                content_hash="0",
                message=warnings,
            )
        )
    letter = DeadLetterModel(
        project_id=project_id, execution_id=execution_id, step=CRAWL, item_key=f"{word}-00000000",
        pipeline=word, item=f"https://{word}.example/failed", failure_class="timeout", message=word, tries=[],
    )  # fmt: skip
    session.add(letter)
    session.flush()
    return dead_letter_id(letter)


def _evaluate(session: Session, project_id: str, name: str, run_id: str, agent_id: str, word: str) -> None:
    """Let an execution have tried a case of an evaluation."""
    counted = ("requests", "tool_calls", "input_tokens", "output_tokens", "cached_tokens", "judge_tokens")
    tried: dict[str, object] = {"duration_s": 1.0, "score": 1.0, **dict.fromkeys(counted, 0)}
    session.add(
        EvalCaseModel(
            **tried, project_id=project_id, run_id=run_id, execution_id=run_id, agent_id=agent_id,
            content_hash="0", first_seen_at=MINUTE, last_seen_at=MINUTE, case_id=name, repeat=1,
            evaluation=name, task="actor classify", model="fake:words", status="passed", scores={},
            input=word, answer=word,
        )
    )  # fmt: skip


def _owned(project_id: str, agent_id: str, execution_id: str, run_id: str) -> dict[str, str]:
    return {
        "project_id": project_id,
        "agent_id": agent_id,
        "execution_id": execution_id,
        "run_id": run_id,
        "run": execution_id,
    }


def _add_what_is_missing(session: Session, table: Table, owned: Mapping[str, str], word: str) -> None:
    """Give a table a row of the project, if it has none yet: so a new one is seen to, too."""
    if "project_id" not in table.c or _count(session, table, owned["project_id"]):
        return
    row: dict[str, object] = {}
    for column in table.c:
        if column.name in owned:
            row[column.name] = owned[column.name]
        elif column.foreign_keys and not column.nullable:
            row[column.name] = _referred(session, column, owned["project_id"])
        elif not (column.primary_key and isinstance(column.type, Integer) and len(table.primary_key) == 1):
            row[column.name] = _value(column, word)
    session.execute(insert(table).values(row))


def _referred(session: Session, column: Column[Any], project_id: str) -> object:
    """Return the value of a row that a foreign key refers to."""
    target = next(key.column for key in column.foreign_keys if key.column.name != "project_id")
    query = select(target).where(target.table.c.project_id == project_id).limit(1)
    return session.scalar(query)


def _count(session: Session, table: Table, project_id: str) -> int:
    query = select(func.count()).select_from(table).where(table.c.project_id == project_id)
    return session.scalar(query) or 0


def _value(column: Column[Any], word: str) -> object:  # noqa: PLR0911  # one for each type
    match column.type:
        case Enum():
            return column.type.enum_class and next(iter(column.type.enum_class))
        case UTCDateTime():
            return MINUTE
        case JSON():
            return {"said": word}
        case Boolean():
            return False
        case Integer():
            return 1
        case Float():
            return 1.0
        case LargeBinary():
            return word.encode()
        case String():
            return f"{word}-{column.name}"[: column.type.length]
    raise AssertionError(f"no value for {column}, a {column.type!r}: say here what one is")


def _rows(session: Session, table: Table, project_id: str) -> list[dict[str, object]]:
    query = _query(table)
    if query is None:
        return []
    return [dict(row) for row in session.execute(query, {"project_id": project_id}).mappings()]


@cache
def _query(table: Table) -> Select[Any] | None:
    """Return what selects the rows of a project, made once: to make it takes longer than to run it."""
    mine = table.c.id if table.name == "projects" else table.c.get("project_id")
    if mine is None:
        return None
    return select(table).where(mine == bindparam("project_id")).order_by(*table.primary_key)
