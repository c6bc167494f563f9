"""What Python offers to those who have ids and names: called in one project, with names of any."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session
from tests.integration.executors.access.worlds import KEYS, ONE, Names, World

from agentic.core.graph import RunStatus
from agentic.core.graph.checkpoints.store import Checkpoint, CheckpointMetadata, StoredCheckpoint
from agentic.core.http import HttpPolicy
from agentic.core.http.politeness.budget import ProcessBudget
from agentic.core.ledger import ActivationId, ActivationStatus, EventBatch, Lease, LedgerStep, RunRow, Settled
from agentic.core.secret_names import project_variable
from agentic.core.settings import load_settings
from agentic.core.types import ExecutorId, RunId
from agentic.executors.agents.catalog import find_by_prefix, find_named
from agentic.executors.agents.ending import ExecutionEnd, end_cut_off, record_execution_end
from agentic.executors.agents.repository import AgentRepository
from agentic.executors.agents.talking import talk_builder
from agentic.executors.agents.workflows import flow_builder
from agentic.executors.durable.publish.audit_trail import audit_trail, find_subject
from agentic.executors.project_http import own_turns
from agentic.executors.runs import RunClient
from agentic.mappers import (
    ExecutionStatus,
    ProjectModel,
    SqlCheckpointStore,
    StoredResults,
    begin_execution,
    find_agent,
    find_execution,
    find_schedule,
    finish_execution,
    list_executions,
    queue_execution,
    save_outcome,
)
from agentic.mappers.audit import AUDIT, DecisionFilter, newest_decisions
from agentic.mappers.catalog.dead_letters import drop_dead_letters, find_dead_letter, list_dead_letters
from agentic.mappers.catalog.execution_choice import ExecutionFilter, choose_executions
from agentic.mappers.catalog.execution_counts import counts_so_far, crawl_counts
from agentic.mappers.catalog.executions import add_warnings, cancel_unbegun
from agentic.mappers.catalog.pipelines import find_stored
from agentic.mappers.catalog.repairs import find_repair, proposed_repairs
from agentic.mappers.catalog.schedules import remove_schedule
from agentic.mappers.crawl.failures import failed_pages, failure_tallies, known_pages
from agentic.mappers.crawl.held import drifted_pages, held_crawls
from agentic.mappers.crawl.profiles import load_profiles
from agentic.mappers.crawl.warnings import counted_warnings
from agentic.mappers.crawl.wrappers import load_wrappers
from agentic.mappers.ledger.ledger import SqlLedger
from agentic.mappers.ledger.sql import EVENTS
from agentic.mappers.notifications.outbox import (
    end_message,
    list_notifications,
    lock_rule,
    return_message,
)
from agentic.mappers.notifications.row_watch import take_notes, watching_rules
from agentic.mappers.notifications.rules import find_rule, remove_rule, rules_of_agent
from agentic.mappers.runs.reading import LedgerReader
from agentic.mappers.runs.requests import open_requests
from agentic.mappers.tables.notifications import (
    NotificationModel,
    NotificationRuleModel,
    NotificationState,
)
from agentic.mappers.vault.environment import given_secret
from agentic.mappers.vault.sessions import SqlSessions
from agentic.mappers.vault.vault import SqlSecrets, missing_secrets, remove_secret


@dataclass(frozen=True)
class Place:
    """The first project of a world."""

    world: World

    @property
    def id(self) -> str:
        """Its id."""
        return self.world.ids[ONE]

    def read(self, ask: Callable[[Session], object]) -> object:
        """Return what is read."""
        with self.world.database.writing() as session:
            return ask(session)

    def owned(self, ask: Callable[[Session, ProjectModel], object]) -> object:
        """Return what is read, when it is the row of the project that is asked with."""
        return self.read(lambda session: ask(session, session.get_one(ProjectModel, self.id)))

    def ledger(self, ask: Callable[[Any], object]) -> object:
        """Return what the ledger says."""
        store = SqlLedger(self.world.database, project_id=self.id)
        with closing(store), store.transaction() as ledger:
            return ask(ledger)

    def reader(self, ask: Callable[[LedgerReader], object]) -> object:
        """Return what the ledger says to people."""
        return self.read(lambda session: ask(LedgerReader(session, self.id)))

    def checkpoints(self, ask: Callable[[SqlCheckpointStore], Any]) -> object:
        """Return what the checkpoints say."""
        return asyncio.run(ask(SqlCheckpointStore(self.world.database, project_id=self.id)))

    def client(self, ask: Callable[[RunClient], object]) -> object:
        """Return what a client of runs says."""
        with RunClient(load_settings(project=ONE)) as client:
            return ask(client)

    def records(self, agent_id: str) -> AgentRepository:
        """Return the records of an agent."""
        return AgentRepository(self.world.database, self.id, agent_id, "tests")


Call = Callable[[Place, Names], object]
DONE = Settled(status=ActivationStatus.DONE, result="null")


def first_of(run: str) -> ActivationId:
    """Return the activation that a run began with."""
    return ActivationId(RunId(run), 0, ExecutorId("first"), 0)


def lease_of(names: Names) -> Lease:
    """Return the lease of who has an activation in hand."""
    return Lease(first_of(names.held), 1)


def step_of(run: str) -> LedgerStep:
    """Return a step that ends a run."""
    metadata = CheckpointMetadata(
        run_id=RunId(run), revision=2, superstep=1, status=RunStatus.COMPLETED, workflow_id="adding",
        version="1", schema_version=1, saved_at=1.0, size_bytes=2,
    )  # fmt: skip
    return LedgerStep(checkpoint=Checkpoint(metadata=metadata, head="{}", changes={}))


SUCCEEDED = ExecutionStatus.SUCCEEDED
ENDING = ExecutionEnd(status=SUCCEEDED)
PREFIX_CHARS = 16
"""So much of an id is asked for where its beginning is enough: the ids of all of this world begin alike."""

OUTCOME: dict[str, Any] = {"counts": {}, "warnings": ["gone"]}

CALLS: dict[str, Call] = {
    "find_agent": lambda at, of: at.read(lambda s: find_agent(s, at.id, of.agent_id).id),
    "find_execution": lambda at, of: at.read(lambda s: find_execution(s, at.id, of.execution).id),
    "find_by_prefix": lambda at, of: at.owned(
        lambda s, p: find_by_prefix(s, p, of.execution[:PREFIX_CHARS]).id
    ),
    "find_named": lambda at, of: at.owned(lambda s, p: find_named(s, p, of.agent) is not None),
    "find_schedule": lambda at, of: at.owned(lambda s, p: find_schedule(s, p, of.schedule).id),
    "remove_schedule": lambda at, of: at.owned(lambda s, p: remove_schedule(s, p, of.schedule)),
    "find_stored": lambda at, of: at.read(lambda s: find_stored(s, at.id, of.pipeline).digest),
    "find_dead_letter": lambda at, of: at.read(lambda s: find_dead_letter(s, at.id, of.letter).message),
    "find_subject": lambda at, of: at.read(lambda s: find_subject(s, at.id, of.run)),
    "list_dead_letters": lambda at, of: at.read(
        lambda s: len(list_dead_letters(s, at.id, execution_id=of.execution))
    ),
    "drop_dead_letters": lambda at, of: at.read(lambda s: drop_dead_letters(s, at.id, of.execution)),
    "list_executions": lambda at, of: at.read(lambda s: len(list_executions(s, at.id, agent_id=of.agent_id))),
    "choose_executions": lambda at, of: at.read(
        lambda s: len(choose_executions(s, at.id, ExecutionFilter(agent_id=of.agent_id)))
    ),
    "missing_secrets": lambda at, of: at.read(lambda s: len(missing_secrets(s, at.id, [of.secret]))),
    "queue_execution": lambda at, of: at.read(lambda s: queue_execution(s, at.id, of.failed)),
    "begin_execution": lambda at, of: at.read(lambda s: begin_execution(s, at.id, of.waiting, "thief")),
    "save_outcome": lambda at, of: at.read(
        lambda s: save_outcome(s, at.id, of.execution, StoredResults(**OUTCOME))
    ),
    "add_warnings": lambda at, of: at.read(lambda s: add_warnings(s, at.id, of.execution, ["thief"])),
    "cancel_unbegun": lambda at, of: at.read(lambda s: cancel_unbegun(s, at.id, of.waiting)),
    "crawl_counts": lambda at, of: at.read(lambda s: len(crawl_counts(s, at.id, [of.execution]))),
    "counts_so_far": lambda at, of: at.read(
        lambda s: len(counts_so_far(s, at.id, list_executions(s, at.id, agent_id=of.agent_id)))
    ),
    "failure_tallies": lambda at, of: at.read(lambda s: len(failure_tallies(s, at.id, of.execution, 1))),
    "counted_warnings": lambda at, of: at.read(lambda s: len(counted_warnings(s, at.id, of.execution))),
    "held_crawls": lambda at, of: at.read(lambda s: len(held_crawls(s, at.id, of.waiting))),
    "drifted_pages": lambda at, of: at.read(lambda s: len(drifted_pages(s, at.id, of.waiting, 9).held)),
    "find_repair": lambda at, of: at.read(lambda s: find_repair(s, at.id, of.repair)[1].agent_name),
    "proposed_repairs": lambda at, of: at.read(lambda s: len(proposed_repairs(s, at.id, of.waiting))),
    "load_profiles": lambda at, of: at.read(lambda s: len(load_profiles(s, at.id, of.agent_id))),
    "load_wrappers": lambda at, of: at.read(
        lambda s: len(load_wrappers(s, at.id, of.pipeline, {"title": "k"}))
    ),
    "known_pages": lambda at, of: at.read(lambda s: len(known_pages(s, at.id, of.execution))),
    "failed_pages": lambda at, of: at.read(lambda s: len(failed_pages(s, at.id, of.execution, None))),
    "finish_execution": lambda at, of: at.read(lambda s: finish_execution(s, at.id, of.failed, SUCCEEDED)),
    "end_cut_off": lambda at, of: at.read(lambda s: end_cut_off(s, of.waiting, project_id=at.id)),
    "record_execution_end": lambda at, of: at.read(
        lambda s: record_execution_end(s, at.id, of.failed, ENDING)()
    ),
    "newest_decisions": lambda at, of: at.read(
        lambda s: newest_decisions(s, at.id, DecisionFilter(run_id=of.agent), 9)
    ),
    "audit_trail": lambda at, of: at.read(
        lambda s: len(audit_trail(s, at.id, DecisionFilter(run_id=of.run), 9))
    ),
    "open_requests": lambda at, of: at.read(
        lambda s: len(list(open_requests(s, project_id=at.id, run_id=RunId(of.run))))
    ),
    "remove_secret": lambda at, of: at.read(lambda s: remove_secret(s, at.id, of.secret)),
    "own_turns": lambda at, of: asyncio.run(turn_after_those_of_all(at, of)),
    "given_secret": lambda at, of: at.read(lambda s: given_secret(s, at.id, of.secret, environment_of(at))),
    "flow_builder": lambda at, of: (
        flow_builder(at.world.database, at.id, "tests")(f"web:{of.agent_id}:0").close
    ),
    "talk_builder": lambda at, of: (
        talk_builder(at.world.database, at.id, "tests")(f"web:{of.agent_id}:0").close
    ),
    "find_rule": lambda at, of: at.owned(lambda s, p: find_rule(s, p, of.notification).id),
    "remove_rule": lambda at, of: at.owned(lambda s, p: remove_rule(s, p, of.notification)),
    "rules_of_agent": lambda at, of: at.read(lambda s: len(rules_of_agent(s, at.id, of.agent_id))),
    "watching_rules": lambda at, of: at.read(lambda s: len(watching_rules(s, at.id, of.agent_id))),
    "take_notes": lambda at, of: at.read(lambda s: len(take_notes(s, at.id, of.failed))),
    "lock_rule": lambda at, of: at.read(lambda s: lock_rule(s, at.id, rule_id_of(at, of)) is None),
    "list_notifications": lambda at, of: at.read(
        lambda s: len(list_notifications(s, at.id, rule_id=rule_id_of(at, of)))
    ),
    "end_message": lambda at, of: at.read(
        lambda s: end_message(s, at.id, message_of(s, rule_id_of(at, of)), NotificationState.SENT)
    ),
    "return_message": lambda at, of: at.read(
        lambda s: return_message(
            s, at.id, message_of(s, rule_id_of(at, of)), "stolen", after_s=0, max_tries=9
        )
    ),
    "AgentRepository.route": lambda at, of: at.records(of.agent_id).route(),
    "AgentRepository.prepare": lambda at, of: at.records(of.agent_id).prepare(of.waiting),
    "SqlSecrets.secret": lambda at, of: asyncio.run(
        SqlSecrets(at.world.database, at.id, KEYS).secret(of.secret)
    ),
    "SqlSessions.load": lambda at, of: asyncio.run(
        SqlSessions(at.world.database, at.id, KEYS).load(of.session)
    ),
}
"""Name -> the call. Those of the stores are below."""

LEDGER: dict[str, Call] = {
    "run": lambda at, of: at.ledger(lambda ledger: ledger.run(of.run) is not None),
    "advance": lambda at, of: at.ledger(lambda ledger: ledger.advance(of.fresh, 0, 1, step_of(of.fresh))),
    "request_cancel": lambda at, of: at.ledger(lambda ledger: ledger.request_cancel(of.run, "stolen")),
    "pause": lambda at, of: at.ledger(lambda ledger: ledger.pause(of.run, is_paused=True)),
    "note": lambda at, of: at.ledger(lambda ledger: ledger.note(of.run, "stolen")),
    "children": lambda at, of: at.ledger(lambda ledger: len(ledger.children(of.execution))),
    "claim": lambda at, of: at.ledger(lambda ledger: ledger.claim(first_of(of.fresh), "thief", 9.0) is None),
    "claimable": lambda at, of: at.ledger(
        lambda ledger: len(ledger.claimable({"agentic.default"}, run_id=RunId(of.fresh)))
    ),
    "extend": lambda at, of: at.ledger(lambda ledger: [str(s) for s in ledger.extend([lease_of(of)], 9.0)]),
    "settle": lambda at, of: at.ledger(lambda ledger: ledger.settle(lease_of(of), DONE)),
    "keep_effect": lambda at, of: at.ledger(lambda ledger: ledger.keep_effect(lease_of(of), "o", "k", "1")),
    "effects": lambda at, of: at.ledger(lambda ledger: len(ledger.effects(of.run, f"{word_of(of)}-origin"))),
    "has_open": lambda at, of: at.ledger(lambda ledger: ledger.has_open(of.fresh, 0)),
    "outcomes": lambda at, of: at.ledger(lambda ledger: len(ledger.outcomes(of.execution, 0))),
    "activation": lambda at, of: at.ledger(lambda ledger: ledger.activation(first_of(of.fresh)) is None),
    "list_activations": lambda at, of: at.ledger(lambda ledger: len(ledger.list_activations(run_id=of.run))),
    "retry": lambda at, of: at.ledger(lambda ledger: ledger.retry(first_of(of.fresh))),
    "mark_dispatched": lambda at, of: at.ledger(lambda ledger: ledger.mark_dispatched([first_of(of.fresh)])),
    "load": lambda at, of: at.ledger(lambda ledger: len(ledger.load(of.run).parts)),
    "changes_since": lambda at, of: at.ledger(lambda ledger: len(ledger.changes_since(of.run, 0).changes)),
    "events": lambda at, of: at.ledger(lambda ledger: len(ledger.events(of.run))),
    "mark_published": lambda at, of: at.ledger(lambda ledger: ledger.mark_published(batches_of(at, of))),
    "mark_decisions": lambda at, of: at.ledger(lambda ledger: ledger.mark_decisions(decisions_of(at, of))),
}
"""Methods of a ledger's transaction that take a name."""

LEDGER_LISTS: dict[str, Callable[[Place], object]] = {
    "list_runs": lambda at: at.ledger(lambda ledger: ledger.list_runs()),
    "neglected_runs": lambda at: at.ledger(lambda ledger: ledger.neglected_runs(cancel_grace_s=0.0)),
    "expired": lambda at: at.ledger(lambda ledger: ledger.expired()),
    "first_in_line": lambda at: at.ledger(lambda ledger: ledger.first_in_line("agentic.default", 9)),
    "undispatched": lambda at: at.ledger(lambda ledger: ledger.undispatched(older_than_s=0.0)),
    "unpublished": lambda at: at.ledger(lambda ledger: ledger.unpublished()),
    "decisions": lambda at: at.ledger(lambda ledger: ledger.decisions()),
}
"""Methods of a ledger's transaction that show what a project has."""

LEDGER_ELSE = {"now", "add_run", "add_decisions", "savepoint", "apply"}
"""Methods of a ledger's transaction that find nothing."""

READER: dict[str, Call] = {
    "run": lambda at, of: at.reader(lambda reader: reader.run(of.run[:PREFIX_CHARS]).run_id),
    "named": lambda at, of: at.reader(lambda reader: len(reader.named([RunId(of.run)]))),
    "family": lambda at, of: at.reader(lambda reader: len(reader.family(RunId(of.run), 9))),
    "counts": lambda at, of: at.reader(lambda reader: len(reader.counts([RunId(of.run)]))),
    "crash_count": lambda at, of: at.reader(lambda reader: reader.crash_count([RunId(of.run)])),
    "activations": lambda at, of: at.reader(
        lambda reader: len(reader.activations([RunId(of.run)], [*ActivationStatus], 9))
    ),
    "backlog": lambda at, of: at.reader(lambda reader: reader.backlog(row_of(at, of.fresh)) is None),
    "event_count": lambda at, of: at.reader(lambda reader: reader.event_count(RunId(of.run))),
    "events": lambda at, of: at.reader(lambda reader: len(reader.events(RunId(of.run), after=0, limit=9))),
}
"""Methods of a reader of the ledger."""

CHECKPOINTS: dict[str, Call] = {
    "load": lambda at, of: at.checkpoints(lambda store: _parts(store.load(RunId(of.run), 1))),
    "latest": lambda at, of: at.checkpoints(lambda store: _parts(store.latest(RunId(of.run)))),
    "list_metadata": lambda at, of: at.checkpoints(
        lambda store: _count(store.list_metadata(run_id=RunId(of.run)))
    ),
    "keep_last": lambda at, of: at.checkpoints(lambda store: store.keep_last(RunId(of.execution), 1)),
    "delete_all": lambda at, of: at.checkpoints(lambda store: store.delete_all(RunId(of.run))),
    "fork": lambda at, of: at.checkpoints(
        lambda store: _revision(store.fork(RunId(of.run), 1, RunId("forked")))
    ),
}
"""Methods of a checkpoint store that take a name."""

HANDLE: dict[str, Call] = {
    "row": lambda at, of: at.client(lambda client: client.handle(of.run).row().status),
    "status": lambda at, of: at.client(lambda client: client.handle(of.run).status()),
    "result": lambda at, of: at.client(lambda client: client.handle(of.run).result(5.0).status),
    "events": lambda at, of: at.client(lambda client: len(client.handle(of.run).events())),
    "answer": lambda at, of: at.client(lambda client: client.handle(of.run).answer({of.request: "mine"})),
    "resume": lambda at, of: at.client(lambda client: client.handle(of.run).resume()),
    "cancel": lambda at, of: at.client(lambda client: client.handle(of.run).cancel()),
    "pause": lambda at, of: at.client(lambda client: client.handle(of.run).pause()),
}
"""Methods of the handle of a run."""


def row_of(at: Place, run: str) -> RunRow:
    """Return the row of a run, whosever it is; where there is none, one that is called so."""
    for project_id in at.world.ids.values():
        with at.world.database.reading() as session:
            if found := LedgerReader(session, project_id).named([RunId(run)]):
                return found[RunId(run)]
    with at.world.database.reading() as session:
        own = at.world.names[ONE].fresh
        return replace(LedgerReader(session, at.id).run(own), run_id=RunId(run))


def batches_of(at: Place, names: Names) -> list[EventBatch]:
    """Return the events of a run, whosever it is."""
    query = select(EVENTS.c.run_id, EVENTS.c.first, EVENTS.c.last).where(EVENTS.c.run_id == names.run)
    with at.world.database.reading() as session:
        found = session.execute(query).all()
    return [
        EventBatch(run_id=RunId(run_id), first=first, last=last, text="[]") for run_id, first, last in found
    ]


def decisions_of(at: Place, names: Names) -> list[str]:
    """Return the ids of the decisions about an agent, whosever it is."""
    with at.world.database.reading() as session:
        return list(session.scalars(select(AUDIT.c.id).where(AUDIT.c.subject == names.agent)))


def rule_id_of(at: Place, names: Names) -> str:
    """Return the id of a rule of notifications, whosever it is."""
    rule = NotificationRuleModel
    with at.world.database.reading() as session:
        return session.scalar(select(rule.id).where(rule.name == names.notification)) or "none"


def message_of(session: Session, rule_id: str) -> str:
    """Return the message that is sent for a rule, whosever it is."""
    row = NotificationModel
    is_sent = row.message_id.is_not(None)
    return session.scalar(select(row.message_id).where(row.rule_id == rule_id, is_sent)) or "none"


def environment_of(at: Place) -> dict[str, str]:
    """Return variables that give each project a secret."""
    return {
        project_variable(project, names.secret): word_of(names) for project, names in at.world.names.items()
    }


async def turn_after_those_of_all(at: Place, names: Names) -> float:
    """Return how many minutes the project waits as an account, once each has asked a host as its own."""
    budget, policy = ProcessBudget(), HttpPolicy()
    for project, own in at.world.names.items():
        turns = own_turns(budget, at.world.ids[project], policy, own.secret)
        await turns.take("service.example:443", 3600.0)
    turn = await own_turns(budget, at.id, policy, names.secret).take("service.example:443", 3600.0)
    return round(turn.wait_s / 60)


def word_of(names: Names) -> str:
    """Return the word that the names have in common."""
    return names.run.partition("-")[0]


async def _parts(stored: Awaitable[StoredCheckpoint]) -> int:
    return len((await stored).parts)


async def _count(found: Awaitable[Sequence[object]]) -> int:
    return len(await found)


async def _revision(made: Awaitable[CheckpointMetadata]) -> int:
    return (await made).revision
