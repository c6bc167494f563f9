"""Notification rules in the file of a project: without URLs that are secrets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from agentic.core.http.policy import SECRET
from agentic.core.pipeline import Fault
from agentic.core.types import JSONValue
from agentic.executors.agents.redaction import MASK
from agentic.executors.notifications.targets import (
    NotificationRuleError,
    read_events,
    read_filter,
    read_target,
)
from agentic.executors.projects.parts import FaultyPartError
from agentic.executors.schedules.cron import ScheduleTimesError
from agentic.executors.schedules.times import read_interval, shown_interval
from agentic.mappers.notifications.rules import RuleFacts
from agentic.mappers.tables.notifications import Channel, NotificationRuleModel

if TYPE_CHECKING:
    from agentic.executors.projects.files import NotificationPart

PER_HOUR = 20
"""Limit of messages of a rule that names none."""


def told_rule(rule: NotificationRuleModel, agents: Mapping[str, str]) -> dict[str, JSONValue]:
    """Return a rule for the file; ``agents`` are names by id. A URL that is not a secret's name is masked."""
    is_shown = rule.channel is Channel.EMAIL or SECRET.fullmatch(rule.target)
    facts: Mapping[str, JSONValue] = {
        "agent": agents.get(rule.agent_id or ""),
        "filter": rule.row_filter,
        "table": rule.table_name,
        "channel": str(rule.channel),
        "target": rule.target if is_shown else MASK,
        "smtp" if rule.channel is Channel.EMAIL else "signing_secret": rule.credential,
        "digest": shown_interval(rule.digest_s) if rule.digest_s else None,
        "per_hour": rule.max_per_hour if rule.max_per_hour != PER_HOUR else None,
        "private": rule.may_be_private or None,
    }
    given = {name: value for name, value in facts.items() if value is not None}
    return {"name": rule.name, "events": [*rule.events.split()], **given}


def facts_of(
    wanted: NotificationPart, agent_id: str | None, known: NotificationRuleModel | None
) -> RuleFacts:
    """Return the values of a rule in the file.

    Raises:
        FaultyPartError: They cannot be used, or the target is masked and not stored.
    """
    target = wanted.target
    if target == MASK:
        if known is None or known.channel is not wanted.channel:
            message = (
                f"{MASK} stands for a URL that this project does not have; write it, or ${{secrets.NAME}}"
            )
            raise FaultyPartError(Fault(message=message, place=("target",)))
        target = known.target
    try:
        events = read_events(wanted.events)
        found = read_target(wanted.channel, target, smtp=wanted.smtp, signing_secret=wanted.signing_secret)
        return {
            "agent_id": agent_id,
            "events": events,
            "row_filter": read_filter(wanted.filter, events),
            "table_name": wanted.table,
            "channel": found.channel,
            "target": found.address,
            "credential": found.credential,
            "digest_s": read_interval(wanted.digest) if wanted.digest else 0,
            "max_per_hour": wanted.per_hour,
            "may_be_private": wanted.private,
        }
    except (NotificationRuleError, ScheduleTimesError) as exc:
        raise FaultyPartError(Fault(message=str(exc))) from None


def stored_facts(rule: NotificationRuleModel) -> RuleFacts:
    """Return the values of a stored rule."""
    return {
        "agent_id": rule.agent_id,
        "events": rule.events,
        "row_filter": rule.row_filter,
        "table_name": rule.table_name,
        "channel": rule.channel,
        "target": rule.target,
        "credential": rule.credential,
        "digest_s": rule.digest_s,
        "max_per_hour": rule.max_per_hour,
        "may_be_private": rule.may_be_private,
    }
