"""Rules of notifications: add, replace, find and remove."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from sqlalchemy import delete, or_, select
from sqlalchemy.orm import Session

from agentic.core.audit import DecisionKind
from agentic.core.types import JSONValue
from agentic.mappers.audit import audit
from agentic.mappers.errors import DataError
from agentic.mappers.tables.core import ProjectModel
from agentic.mappers.tables.notifications import Channel, NotificationRuleModel


class UnknownNotificationError(DataError, LookupError):
    """The project has no notification rule of that name."""

    def __init__(self, name: str, project: str, known: Sequence[str]) -> None:
        super().__init__(
            f"the project {project!r} has no notification {name!r} (known: {', '.join(known) or 'none'}); "
            "see `agentic notifications list`"
        )
        self.name = name
        self.project = project
        self.known = tuple(known)


class DuplicateNotificationError(DataError, ValueError):
    """The project has a notification rule of that name."""

    def __init__(self, name: str, project: str) -> None:
        super().__init__(
            f"the project {project!r} has a notification {name!r} already; choose another name, or change "
            "that one with --replace"
        )
        self.name = name
        self.project = project


class RuleFacts(TypedDict):
    """The values of a rule; see :class:`NotificationRuleModel`."""

    agent_id: str | None
    events: str
    row_filter: str | None
    table_name: str | None
    channel: Channel
    target: str
    credential: str | None
    digest_s: int
    max_per_hour: int
    may_be_private: bool


def put_rule(
    session: Session, project: ProjectModel, name: str, facts: RuleFacts, *, replace: bool = False
) -> NotificationRuleModel:
    """Add a rule, or change the one with that name.

    Raises:
        DuplicateNotificationError: The name is in use, and ``replace`` is false.
    """
    rule = _find(session, project.id, name)
    if rule is not None and not replace:
        raise DuplicateNotificationError(name, project.name)
    kind = DecisionKind.NOTIFICATION_CREATED if rule is None else DecisionKind.NOTIFICATION_CHANGED
    if rule is None:
        rule = NotificationRuleModel(project_id=project.id, name=name)
        session.add(rule)
    for fact, value in facts.items():
        setattr(rule, fact, value)
    session.flush()
    what = f"notification {name} reports {', '.join(facts['events'].split())} by {facts['channel']}"
    events: list[JSONValue] = [*facts["events"].split()]
    audit(session, project.id, kind, name, what, channel=str(facts["channel"]), events=events)
    return rule


def find_rule(session: Session, project: ProjectModel, name: str) -> NotificationRuleModel:
    """Return a rule of that project.

    Raises:
        UnknownNotificationError: The project has none with that name.
    """
    rule = _find(session, project.id, name)
    if rule is None:
        known = [known.name for known in list_rules(session, project.id)]
        raise UnknownNotificationError(name, project.name, known)
    return rule


def list_rules(session: Session, project_id: str) -> Sequence[NotificationRuleModel]:
    """Return the rules of that project by name."""
    of_project = NotificationRuleModel.project_id == project_id
    query = select(NotificationRuleModel).where(of_project).order_by(NotificationRuleModel.name)
    return session.scalars(query).all()


def rules_of_agent(session: Session, project_id: str, agent_id: str) -> Sequence[NotificationRuleModel]:
    """Return the rules for executions of an agent, by name.

    They cannot be removed before the transaction ends, so that it can refer to them.
    """
    rule = NotificationRuleModel
    is_for = or_(rule.agent_id.is_(None), rule.agent_id == agent_id)
    query = select(rule).where(rule.project_id == project_id, is_for).order_by(rule.name)
    return session.scalars(query.with_for_update(read=True, key_share=True)).all()


def remove_rule(session: Session, project: ProjectModel, name: str) -> None:
    """Remove a rule with its notifications, sent or not.

    Raises:
        UnknownNotificationError: The project has none with that name.
    """
    rule = find_rule(session, project, name)
    session.execute(
        delete(NotificationRuleModel).where(
            NotificationRuleModel.project_id == project.id, NotificationRuleModel.id == rule.id
        )
    )
    audit(session, project.id, DecisionKind.NOTIFICATION_REMOVED, name, f"notification {name} is removed")


def _find(session: Session, project_id: str, name: str) -> NotificationRuleModel | None:
    rule = NotificationRuleModel
    return session.scalar(select(rule).where(rule.project_id == project_id, rule.name == name))
