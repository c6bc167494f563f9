"""The outbox of notifications: an event enters it once, and leaves it at most once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update
from tests.databases import only_postgresql

from agentic.mappers import AgentModel, Database, ExecutionModel, ProjectModel, create_execution
from agentic.mappers.audit import DecisionFilter, newest_decisions
from agentic.mappers.notifications.outbox import (
    LOST,
    NewNotification,
    abandon_lost,
    add_notifications,
    claim,
    due_rules,
    end_message,
    list_notifications,
    lock_rule,
    pending_of,
    projects_with_due,
    return_message,
    sent_since,
)
from agentic.mappers.notifications.rules import (
    DuplicateNotificationError,
    RuleFacts,
    UnknownNotificationError,
    find_rule,
    list_rules,
    put_rule,
    remove_rule,
    rules_of_agent,
)
from agentic.mappers.tables.notifications import (
    Channel,
    NotificationEvent,
    NotificationModel,
    NotificationRuleModel,
    NotificationState,
)

NOW = datetime(2026, 5, 1, tzinfo=UTC)
S = NotificationState


def facts(**changed: object) -> RuleFacts:
    given: dict[str, object] = {
        "agent_id": None,
        "events": "failed new",
        "row_filter": None,
        "table_name": None,
        "channel": Channel.WEBHOOK,
        "target": "https://example.org/",
        "credential": None,
        "digest_s": 0,
        "max_per_hour": 20,
        "may_be_private": False,
    }
    return {**given, **changed}  # type: ignore[typeddict-item]  # of the same names


@pytest.fixture
def rule(database: Database, project: ProjectModel) -> NotificationRuleModel:
    with database.writing() as session:
        return put_rule(session, project, "ops", facts())


@pytest.fixture
def execution(database: Database, agent: AgentModel) -> ExecutionModel:
    with database.writing() as session:
        return create_execution(session, agent)


def add(
    database: Database, rule: NotificationRuleModel, execution: ExecutionModel, *events: str, attempt: int = 1
) -> None:
    found = [
        NewNotification(rule_id=rule.id, event=NotificationEvent(event), facts={"n": 1}) for event in events
    ]
    with database.writing() as session:
        add_notifications(session, execution.project_id, execution.id, attempt, found)


def claimed(database: Database, rule: NotificationRuleModel, lease_s: float = 60) -> str:
    with database.writing() as session:
        locked = lock_rule(session, rule.project_id, rule.id)
        assert locked is not None
        return claim(session, pending_of(session, locked), datetime.now(UTC), lease_s)


def rows(database: Database, rule: NotificationRuleModel) -> Sequence[NotificationModel]:
    with database.reading() as session:
        return [row for row, _ in reversed(list_notifications(session, rule.project_id))]


def states(database: Database, rule: NotificationRuleModel) -> list[str]:
    return [str(row.state) for row in rows(database, rule)]


def due(database: Database, rule: NotificationRuleModel) -> Sequence[str]:
    with database.reading() as session:
        return due_rules(session, rule.project_id)


def test_an_event_of_an_attempt_enters_once(
    database: Database, rule: NotificationRuleModel, execution: ExecutionModel
) -> None:
    add(database, rule, execution, "failed", "new")
    add(database, rule, execution, "failed")
    assert states(database, rule) == ["pending", "pending"]
    add(database, rule, execution, "failed", attempt=2)
    assert [(row.event, row.attempt) for row in rows(database, rule)] == [
        ("failed", 1),
        ("new", 1),
        ("failed", 2),
    ]


def test_what_is_claimed_is_not_due_any_longer(
    database: Database, rule: NotificationRuleModel, execution: ExecutionModel
) -> None:
    add(database, rule, execution, "failed", "new")
    assert due(database, rule) == [rule.id]
    message = claimed(database, rule)
    assert due(database, rule) == []
    assert {row.message_id for row in rows(database, rule)} == {message}
    with database.writing() as session:
        end_message(session, rule.project_id, message, S.SENT)
    assert states(database, rule) == ["sent", "sent"]


def test_a_delayed_event_is_not_due(
    database: Database, rule: NotificationRuleModel, execution: ExecutionModel
) -> None:
    event = NewNotification(rule_id=rule.id, event=NotificationEvent.FAILED, facts={}, delay_s=3_600)
    with database.writing() as session:
        add_notifications(session, rule.project_id, execution.id, 1, [event])
        assert projects_with_due(session) == []
    [row] = rows(database, rule)
    assert row.due_at - row.created_at == timedelta(hours=1)
    assert due(database, rule) == []


def test_the_event_of_a_sender_that_is_gone_is_unknown_and_never_sent_again(
    database: Database, rule: NotificationRuleModel, execution: ExecutionModel
) -> None:
    add(database, rule, execution, "failed")
    message = claimed(database, rule, lease_s=-1)
    with database.writing() as session:
        assert projects_with_due(session) == [rule.project_id]
        assert abandon_lost(session, rule.project_id) == 1
        assert abandon_lost(session, rule.project_id) == 0
        assert due_rules(session, rule.project_id) == []
        return_message(session, rule.project_id, message, "late", after_s=0, max_tries=9)
    [row] = rows(database, rule)
    assert (row.state, row.reason) == (S.UNKNOWN, LOST)
    with database.writing() as session:  # it was only slow
        end_message(session, rule.project_id, message, S.SENT)
    assert states(database, rule) == ["sent"]


def test_a_live_sender_keeps_its_message(
    database: Database, rule: NotificationRuleModel, execution: ExecutionModel
) -> None:
    add(database, rule, execution, "failed")
    claimed(database, rule)
    with database.writing() as session:
        assert abandon_lost(session, rule.project_id) == 0
    assert states(database, rule) == ["sending"]


def test_a_message_that_did_not_arrive_is_tried_again_until_it_is_given_up(
    database: Database, rule: NotificationRuleModel, execution: ExecutionModel
) -> None:
    add(database, rule, execution, "failed")
    for tries in (1, 2, 3):
        message = claimed(database, rule)
        with database.writing() as session:
            return_message(session, rule.project_id, message, f"away {tries}", after_s=30, max_tries=3)
        [row] = rows(database, rule)
        assert (row.tries, row.reason) == (tries, f"away {tries}")
        assert row.state is (S.FAILED if tries == 3 else S.PENDING)
        assert due(database, rule) == []


def test_messages_of_the_last_hour_are_counted_once_each(
    database: Database, rule: NotificationRuleModel, execution: ExecutionModel
) -> None:
    add(database, rule, execution, "failed", "new")
    claimed(database, rule)
    add(database, rule, execution, "failed", attempt=2)
    old = claimed(database, rule)
    with database.writing() as session:
        changed = update(NotificationModel).where(NotificationModel.message_id == old)
        session.execute(changed.values(claimed_at=NOW))
        assert len(sent_since(session, rule, 3_600)) == 1


@only_postgresql  # writers of SQLite take turns
def test_two_senders_never_claim_one_rule_at_once(database: Database, rule: NotificationRuleModel) -> None:
    with database.writing() as one, database.writing() as other:
        assert lock_rule(one, rule.project_id, rule.id) is not None
        assert lock_rule(other, rule.project_id, rule.id) is None
        # Who ends an execution does not wait for a sender.
        assert [found.id for found in rules_of_agent(other, rule.project_id, "x")] == [rule.id]


def test_rules_are_of_an_agent_or_of_all(
    database: Database, project: ProjectModel, agent: AgentModel, stranger: AgentModel
) -> None:
    with database.writing() as session:
        put_rule(session, project, "all", facts())
        put_rule(session, project, "one", facts(agent_id=agent.id))
        assert [rule.name for rule in rules_of_agent(session, project.id, agent.id)] == ["all", "one"]
        assert [rule.name for rule in rules_of_agent(session, project.id, "other")] == ["all"]
        assert rules_of_agent(session, stranger.project_id, agent.id) == []


def test_a_rule_is_replaced_on_request_and_removed_with_its_events(
    database: Database, project: ProjectModel, rule: NotificationRuleModel, execution: ExecutionModel
) -> None:
    add(database, rule, execution, "failed")
    with database.writing() as session:
        with pytest.raises(DuplicateNotificationError, match="--replace"):
            put_rule(session, project, "ops", facts())
        put_rule(session, project, "ops", facts(events="fewer"), replace=True)
        assert [(one.id, one.events) for one in list_rules(session, project.id)] == [(rule.id, "fewer")]
        remove_rule(session, project, "ops")
        assert session.scalars(select(NotificationModel)).all() == []
        with pytest.raises(UnknownNotificationError, match=r"known: none"):
            find_rule(session, project, "ops")
        kinds = [str(one.kind) for one in newest_decisions(session, project.id, DecisionFilter(), 10)]
    assert [kind for kind in kinds if kind.startswith("notification")] == [
        "notification.removed",
        "notification.changed",
        "notification.created",
    ]
