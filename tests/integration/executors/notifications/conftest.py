"""A project with an execution that has ended, and real servers to notify."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pytest
from sqlalchemy import update
from tests.receivers import HttpReceiver, MailReceiver

from agentic.core.settings import Settings, load_settings
from agentic.core.types import JSONValue
from agentic.executors.notifications.sending import NotificationSender
from agentic.executors.notifications.targets import RuleTarget, read_target
from agentic.mappers import (
    AgentModel,
    Database,
    ExecutionModel,
    ProjectModel,
    add_agent,
    add_project,
    create_execution,
)
from agentic.mappers.notifications.outbox import NewNotification, add_notifications, list_notifications
from agentic.mappers.notifications.rules import RuleFacts, put_rule
from agentic.mappers.tables.columns import StoreNow
from agentic.mappers.tables.notifications import (
    Channel,
    NotificationEvent,
    NotificationModel,
    NotificationRuleModel,
)
from agentic.mappers.vault.keys import SecretKeys
from agentic.mappers.vault.vault import set_secret

FACTS: Mapping[str, JSONValue] = {
    "project": "ours",
    "agent": "watcher",
    "status": "failed",
    "attempt": 1,
    "counts": {"inserted": 1},
    "reason": "the site is away",
}


@dataclass(frozen=True, kw_only=True)
class World:
    """A project, and what is in its outbox."""

    database: Database
    settings: Settings
    project: ProjectModel
    agent: AgentModel

    @property
    def sender(self) -> NotificationSender:
        return NotificationSender(self.database, self.settings)

    def keep_secret(self, name: str, value: str) -> None:
        keys = SecretKeys.configured(self.settings)
        with self.database.writing() as session:
            set_secret(session, self.project.id, keys, name, value)

    def rule(
        self, target: RuleTarget, name: str = "ops", *, digest_s: int = 0, max_per_hour: int = 20
    ) -> NotificationRuleModel:
        facts: RuleFacts = {
            "agent_id": None,
            "events": "failed partial new changed fewer",
            "row_filter": None,
            "table_name": None,
            "channel": target.channel,
            "target": target.address,
            "credential": target.credential,
            "digest_s": digest_s,
            "max_per_hour": max_per_hour,
            "may_be_private": True,
        }
        with self.database.writing() as session:
            return put_rule(session, self.project, name, facts, replace=True)

    def execution(self) -> ExecutionModel:
        with self.database.writing() as session:
            return create_execution(session, self.agent)

    def add(self, rule: NotificationRuleModel, event: str = "failed", **facts: JSONValue) -> str:
        """Add an event of a new execution to the outbox, and return the execution's id."""
        execution = self.execution()
        found = NewNotification(
            rule_id=rule.id,
            event=NotificationEvent(event),
            facts={**FACTS, **facts},
            delay_s=rule.digest_s,
        )
        with self.database.writing() as session:
            add_notifications(session, self.project.id, execution.id, 1, [found])
        return execution.id

    def rows(self) -> Sequence[NotificationModel]:
        with self.database.reading() as session:
            return [row for row, _ in reversed(list_notifications(session, self.project.id))]

    def states(self) -> list[str]:
        return [str(row.state) for row in self.rows()]

    def make_due(self) -> None:
        """Let the pauses and digests of all events end."""
        with self.database.writing() as session:
            session.execute(update(NotificationModel).values(due_at=StoreNow(-1)))


@pytest.fixture
def world(migrated_database: Database, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("AGENTIC_SECRET_KEYS", SecretKeys.new_key())
    with migrated_database.writing() as session:
        project = add_project(session, "ours")
        agent = add_agent(session, project, "watcher", "web")
    return World(database=migrated_database, settings=load_settings(), project=project, agent=agent)


@pytest.fixture
def receiver() -> Iterator[HttpReceiver]:
    with HttpReceiver() as server:
        yield server


@pytest.fixture
def mailbox() -> Iterator[MailReceiver]:
    with MailReceiver() as server:
        yield server


@pytest.fixture
def hook(receiver: HttpReceiver) -> RuleTarget:
    return read_target(Channel.WEBHOOK, f"{receiver.url}/hook")
