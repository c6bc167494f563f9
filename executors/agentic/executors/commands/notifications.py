"""``agentic notifications``: messages about the ends of executions."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from agentic.core.cli import console, print_rows
from agentic.core.ids import SHORT_CHARS
from agentic.core.settings import Settings, load_settings
from agentic.executors.commands.shared.completing import agent_names, notification_names
from agentic.executors.commands.shared.database import (
    current_database,
    ensured_project,
    opened,
    ready_database,
)
from agentic.executors.commands.shared.options import AsJson, InProject, OptionError, checked_name

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from agentic.executors.notifications.arrival import Sending
    from agentic.executors.notifications.targets import RuleTarget
    from agentic.mappers import ProjectModel
    from agentic.mappers.notifications.rules import RuleFacts
    from agentic.mappers.tables.notifications import NotificationModel, NotificationRuleModel

notifications = typer.Typer(
    help="Manage notifications (e-mail, chat, webhook) about executions.", no_args_is_help=True
)

COLUMNS = ("name", "agent", "events", "filter", "channel", "target", "digest", "per_hour")
DELIVERY_COLUMNS = ("at", "notification", "event", "agent", "execution", "state", "tries", "reason")
TIME = "%Y-%m-%d %H:%M:%SZ"

StateName = Literal["pending", "sending", "sent", "failed", "unknown"]

Name = Annotated[str, typer.Argument(help="Notification name.", autocompletion=notification_names)]


@notifications.command()
def add(  # noqa: PLR0913  # one parameter for each option
    name: Name,
    *,
    on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="EVENT",
            help="failed, partial, succeeded, cancelled, new, changed (rows), fewer (half of the rows "
            "are missing) or held (a crawl holds pages). Repeatable. Default: failed and partial.",
        ),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(help="Only this agent. Default: all agents.", autocompletion=agent_names),
    ] = None,
    email: Annotated[str | None, typer.Option(metavar="ADDRESSES", help="Send e-mail.")] = None,
    webhook: Annotated[str | None, typer.Option(metavar="URL", help="POST JSON.")] = None,
    slack: Annotated[str | None, typer.Option(metavar="URL", help="A Slack webhook.")] = None,
    discord: Annotated[str | None, typer.Option(metavar="URL", help="A Discord webhook.")] = None,
    teams: Annotated[str | None, typer.Option(metavar="URL", help="A Teams webhook.")] = None,
    apprise: Annotated[str | None, typer.Option(metavar="URL", help="Any Apprise URL.")] = None,
    row_filter: Annotated[
        str | None,
        typer.Option("--filter", metavar="JMESPATH", help="Count only rows with a true result."),
    ] = None,
    table: Annotated[str | None, typer.Option(help="Table of the rows. Default: the results.")] = None,
    smtp: Annotated[
        str | None, typer.Option(metavar="SECRET", help="Secret with the SMTP URL. Default: SMTP_URL.")
    ] = None,
    signing_secret: Annotated[
        str | None, typer.Option(metavar="SECRET", help="Secret with the key that signs a webhook.")
    ] = None,
    digest: Annotated[str | None, typer.Option(metavar="TIME", help="Collect events: 15m, 1h, 1d.")] = None,
    per_hour: Annotated[int, typer.Option(min=1, max=1_000, help="Maximum number of messages.")] = 20,
    private: Annotated[bool, typer.Option("--private", help="Allow a private or loopback address.")] = False,
    project: InProject = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace it if it exists.")] = False,
) -> None:
    """Add a notification: send a message when an execution fails, finds new rows, ...

    A URL may be '${secrets.NAME}'; store it with `agentic secrets set NAME`.
    """
    from agentic.executors.notifications.targets import read_events, read_filter, shown_target
    from agentic.executors.schedules.times import read_interval
    from agentic.mappers.notifications.rules import put_rule

    checked_name(name, "a notification")
    targets = {
        "email": email,
        "webhook": webhook,
        "slack": slack,
        "discord": discord,
        "teams": teams,
        "apprise": apprise,
    }
    target = _target(targets, smtp=smtp, signing_secret=signing_secret)
    events = read_events(on or ("failed", "partial"))
    facts: RuleFacts = {
        "agent_id": None,
        "events": events,
        "row_filter": read_filter(row_filter, events),
        "table_name": table,
        "channel": target.channel,
        "target": target.address,
        "credential": target.credential,
        "digest_s": read_interval(digest) if digest else 0,
        "max_per_hour": per_hour,
        "may_be_private": private,
    }
    settings = load_settings()
    with opened(ready_database(settings)) as database, database.writing() as session:
        owner = ensured_project(session, project, settings)
        facts["agent_id"] = _agent_id(session, owner, agent)
        rule = put_rule(session, owner, name, facts, replace=replace)
        missing = _missing(session, rule)
    where = f"{target.channel} {shown_target(target.channel, target.address)}"
    _say(f"notification {name} reports {', '.join(events.split())} to {where}")
    for secret in missing:
        _say(f"the secret {secret} is missing; store it with `agentic secrets set {secret}`")
    _say(f"try it with `agentic notifications test {name}`")


@notifications.command("list")
def list_them(*, project: InProject = None, as_json: AsJson = False) -> None:
    """List the notifications of a project."""
    from agentic.mappers import list_agents
    from agentic.mappers.notifications.rules import list_rules

    settings = load_settings()
    with opened(current_database(settings)) as database, database.reading() as session:
        owner = _owner(session, project, settings)
        agents = {agent.id: agent.agent_name for agent in list_agents(session, owner.id)}
        rows = [_rule_row(rule, agents) for rule in list_rules(session, owner.id)]
    print_rows(f"Notifications of {owner.name}", COLUMNS, rows, as_json=as_json)


@notifications.command()
def remove(name: Name, *, project: InProject = None) -> None:
    """Remove a notification and its deliveries, with all unsent events."""
    from agentic.mappers.notifications.rules import remove_rule

    settings = load_settings()
    with opened(current_database(settings)) as database, database.writing() as session:
        remove_rule(session, _owner(session, project, settings), name)
    _say(f"removed notification {name}")


@notifications.command("test")
def send_test(name: Name, *, project: InProject = None) -> None:
    """Send a test message now."""
    from agentic.executors.notifications.arrival import Arrival
    from agentic.executors.notifications.sending import NotificationSender
    from agentic.executors.notifications.targets import NotSentError
    from agentic.mappers.notifications.rules import find_rule

    settings = load_settings()
    with opened(current_database(settings)) as database:
        with database.reading() as session:
            owner = _owner(session, project, settings)
            rule = find_rule(session, owner, name)
        sender = NotificationSender(database, settings)
        sending: Sending = asyncio.run(sender.test(rule, owner.name))
    if sending.arrival is not Arrival.SENT:
        raise NotSentError(name, sending.reason, may_have_arrived=sending.arrival is Arrival.UNKNOWN)
    _say(f"sent a test message by {rule.channel}{f' ({sending.reason})' if sending.reason else ''}")


@notifications.command()
def deliveries(
    name: Annotated[
        str | None, typer.Argument(help="Only this notification.", autocompletion=notification_names)
    ] = None,
    *,
    state: Annotated[StateName | None, typer.Option(help="Filter by state.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Show the latest N.")] = 50,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """List events with the state of their delivery, the newest first."""
    from agentic.mappers.notifications.outbox import list_notifications
    from agentic.mappers.notifications.rules import find_rule
    from agentic.mappers.tables.notifications import NotificationState

    settings = load_settings()
    with opened(current_database(settings)) as database, database.reading() as session:
        owner = _owner(session, project, settings)
        rule_id = None if name is None else find_rule(session, owner, name).id
        wanted = None if state is None else NotificationState(state)
        found = list_notifications(session, owner.id, rule_id=rule_id, state=wanted, limit=limit)
        rows = [_delivery_row(row, rule, as_json=as_json) for row, rule in found]
    print_rows(f"Deliveries of {owner.name}", DELIVERY_COLUMNS, rows, as_json=as_json)


def _target(given: dict[str, str | None], *, smtp: str | None, signing_secret: str | None) -> RuleTarget:
    """Return the one target that was given.

    Raises:
        OptionError: None or several were given.
    """
    from agentic.executors.notifications.targets import read_target
    from agentic.mappers.tables.notifications import Channel

    chosen = [(Channel(channel), address) for channel, address in given.items() if address is not None]
    if len(chosen) != 1:
        options = ", ".join(f"--{channel}" for channel in given)
        raise OptionError(f"a notification has one target; give one of {options}")
    [(channel, address)] = chosen
    return read_target(channel, address.strip(), smtp=smtp, signing_secret=signing_secret)


def _owner(session: Session, project: str | None, settings: Settings) -> ProjectModel:
    from agentic.mappers import find_project

    return find_project(session, project or settings.project)


def _agent_id(session: Session, owner: ProjectModel, agent: str | None) -> str | None:
    from agentic.mappers import find_agent

    return None if agent is None else find_agent(session, owner.id, agent).id


def _missing(session: Session, rule: NotificationRuleModel) -> list[str]:
    from agentic.executors.notifications.targets import secrets_of
    from agentic.mappers.vault.vault import missing_secrets

    return missing_secrets(session, rule.project_id, secrets_of(rule.target, rule.credential))


def _rule_row(rule: NotificationRuleModel, agents: dict[str, str]) -> dict[str, object]:
    from agentic.executors.notifications.targets import shown_target
    from agentic.executors.schedules.times import shown_interval

    return {
        "name": rule.name,
        "agent": agents.get(rule.agent_id or "", "all") if rule.agent_id else "all",
        "events": rule.events,
        "filter": rule.row_filter,
        "table": rule.table_name,
        "channel": str(rule.channel),
        "target": shown_target(rule.channel, rule.target),
        "credential": rule.credential,
        "digest": shown_interval(rule.digest_s) if rule.digest_s else None,
        "per_hour": rule.max_per_hour,
        "private": rule.may_be_private,
    }


def _delivery_row(row: NotificationModel, rule: str, *, as_json: bool) -> dict[str, object]:
    shown = {
        "at": f"{row.created_at:{TIME}}",
        "notification": rule,
        "event": str(row.event),
        "agent": cast("str", row.facts.get("agent", "")),
        "execution": row.execution_id if as_json else row.execution_id[:SHORT_CHARS],
        "state": str(row.state),
        "tries": row.tries,
        "reason": row.reason,
    }
    details = {
        "attempt": row.facts.get("attempt", row.attempt),
        "message": row.message_id,
        "due_at": f"{row.due_at:{TIME}}",
        "sent_at": f"{row.claimed_at:{TIME}}" if row.claimed_at else None,
    }
    return {**shown, **details} if as_json else shown


def _say(line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)
