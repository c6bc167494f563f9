"""Fills the outbox in the transaction that ends an execution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sqlalchemy import select

from agentic.core.errors import line_of
from agentic.core.hooks import get_registry
from agentic.core.logging import get_logger
from agentic.core.masking import mask_known, masked_data
from agentic.executors.exports.rows import choose_table, export_tables
from agentic.executors.notifications.deciding import (
    COMPARED,
    COMPLETED,
    FewerRows,
    RowChanges,
    events_for,
    find_fewer,
    row_total,
)
from agentic.mappers import AgentModel, ExecutionModel, FrontierModel, FrontierState
from agentic.mappers.database.away import went_away
from agentic.mappers.notifications.outbox import NewNotification, add_notifications
from agentic.mappers.notifications.row_watch import MAX_SAMPLES, take_notes
from agentic.mappers.notifications.rules import rules_of_agent
from agentic.mappers.tables.core import DeadLetterModel
from agentic.mappers.tables.notifications import NotificationEvent

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from agentic.core.pipeline.drift.incidents import Incident
    from agentic.core.types import JSONValue
    from agentic.mappers import EndedExecution
    from agentic.mappers.tables.notifications import NotificationRuleModel, RowNoteModel

log = get_logger(__name__)

MAX_TEXT = 500


def notice_end(
    session: Session, project_id: str, ended: EndedExecution, error: str | None, failure_class: str
) -> None:
    """Add the events that rules want of the end of an execution to the outbox.

    A fault of a rule, or of the tables of a platform, is logged, and the execution ends without the events.

    Args:
        session: In the transaction that ends the run.
        project_id: Owns the execution.
        ended: The execution.
        error: Why it failed or was cancelled, without secrets.
        failure_class: Class of the error.
    """
    rules = rules_of_agent(session, project_id, ended.agent_id)
    if not rules:
        return
    try:
        with session.begin_nested():
            _notice(session, project_id, ended, rules, error, failure_class)
    except Exception as exc:
        if went_away(exc):
            raise
        log.warning("notifications.dropped", execution_id=ended.execution_id, reason=line_of(exc))


def notice_held(
    session: Session, incidents: Sequence[Incident], *, agent: AgentModel, execution_id: str
) -> None:
    """Add the event that pages of a crawl are held to the outbox, for the rules that want it.

    Each time is an event of its own: another kind of pages, or the same one after a release.

    Args:
        session: In the transaction from which on they are held.
        incidents: Why they are.
        agent: The agent that crawls.
        execution_id: Its execution.
    """
    rules = rules_of_agent(session, agent.project_id, agent.id)
    wanted = [rule for rule in rules if NotificationEvent.HELD in rule.events.split()]
    execution = session.get(ExecutionModel, execution_id)
    if not wanted or execution is None:
        return
    facts = masked_data(
        {
            "project": agent.project.name,
            "agent": agent.agent_name,
            "platform": agent.agent_platform,
            "status": str(NotificationEvent.HELD),
            "attempt": execution.attempts,
            "counts": {},
            "reason": _short("; ".join(incident.words for incident in incidents)),
            "failure_class": None,
            "first_failure": None,
            "incidents": [incident.model_dump(mode="json") for incident in incidents],
        }
    )
    found = [
        NewNotification(rule_id=rule.id, event=NotificationEvent.HELD, facts=facts, delay_s=rule.digest_s)
        for rule in wanted
    ]
    add_notifications(session, agent.project_id, execution_id, None, found)


def _notice(
    session: Session,
    project_id: str,
    ended: EndedExecution,
    rules: Sequence[NotificationRuleModel],
    error: str | None,
    failure_class: str,
) -> None:
    notes = take_notes(session, project_id, ended.execution_id)
    facts = _facts(session, project_id, ended, error, failure_class)
    wanted = {event for rule in rules for event in rule.events.split()}
    fewer = _fewer(session, project_id, ended) if NotificationEvent.FEWER in wanted else None
    results = _results_table(session, project_id, ended) if notes else ""
    found = []
    for rule in rules:
        changes = changes_of(rule, notes, results)
        for event in events_for(rule.events.split(), ended.status, changes, fewer):
            # Here, because the process that sends it may not know the secrets of this one.
            shown = masked_data({**facts, **_facts_of(event, changes, fewer)})
            found.append(NewNotification(rule_id=rule.id, event=event, facts=shown, delay_s=rule.digest_s))
    add_notifications(session, project_id, ended.execution_id, ended.attempts, found)


def changes_of(rule: NotificationRuleModel, notes: Sequence[RowNoteModel], results: str) -> RowChanges:
    """Return the rows that a rule counts: of its table, else of the table with the results."""
    table = rule.table_name or results
    mine = [note for note in notes if note.rule_id == rule.id and note.table_name == table]
    samples = [sample for note in mine for sample in note.samples]
    return RowChanges(
        table=table,
        new=sum(note.new_count for note in mine),
        changed=sum(note.changed_count for note in mine),
        samples=tuple(samples[:MAX_SAMPLES]),
    )


def _facts(
    session: Session, project_id: str, ended: EndedExecution, error: str | None, failure_class: str
) -> dict[str, JSONValue]:
    agent = session.get(AgentModel, ended.agent_id)
    reason = ended.reason or error
    return {
        "project": "" if agent is None or agent.project_id != project_id else agent.project.name,
        "agent": "" if agent is None or agent.project_id != project_id else agent.agent_name,
        "platform": ended.platform,
        "status": str(ended.status),
        "attempt": ended.attempts,
        "duration_s": round(ended.duration_s, 3),
        "counts": dict(ended.counts),
        "warning_count": ended.warning_count,
        "reason": _short(reason),
        "failure_class": failure_class if reason else None,
        "first_failure": _first_failure(session, project_id, ended),
    }


def _facts_of(
    event: NotificationEvent, changes: RowChanges, fewer: FewerRows | None
) -> Mapping[str, JSONValue]:
    if event in (NotificationEvent.NEW, NotificationEvent.CHANGED):
        samples = [each for each in changes.samples if isinstance(each, dict) and each["kind"] == event]
        count = changes.new if event is NotificationEvent.NEW else changes.changed
        return {"table": changes.table, "row_count": count, "rows": [*samples]}
    if event is NotificationEvent.FEWER and fewer is not None:
        return {"row_count": fewer.rows, "usual_count": fewer.usual, "compared": fewer.compared}
    return {}


def _fewer(session: Session, project_id: str, ended: EndedExecution) -> FewerRows | None:
    if ended.status not in COMPLETED:
        return None
    query = (
        select(ExecutionModel.counts)
        .where(
            ExecutionModel.project_id == project_id,
            ExecutionModel.agent_id == ended.agent_id,
            ExecutionModel.id != ended.execution_id,
            ExecutionModel.status.in_(COMPLETED),
        )
        .order_by(ExecutionModel.created_at.desc(), ExecutionModel.id.desc())
        .limit(COMPARED)
    )
    return find_fewer(row_total(ended.counts), [row_total(counts) for counts in session.scalars(query)])


def _results_table(session: Session, project_id: str, ended: EndedExecution) -> str:
    """Return the table with the results, as an export chooses it; "" if its platform is not installed."""
    platform = get_registry().platforms.get(ended.platform)
    execution = session.get(ExecutionModel, ended.execution_id)
    if platform is None or execution is None or execution.project_id != project_id:
        return ""
    if not export_tables(platform):
        return ""
    return choose_table(session, platform, execution, None).name


def _first_failure(session: Session, project_id: str, ended: EndedExecution) -> JSONValue:
    """Return the first page or item that failed; None if all are well."""
    page = session.execute(
        select(FrontierModel.url, FrontierModel.failure_class, FrontierModel.message)
        .where(
            FrontierModel.project_id == project_id,
            FrontierModel.run == ended.execution_id,
            FrontierModel.state == FrontierState.FAILED,
        )
        .order_by(FrontierModel.id)
        .limit(1)
    ).first()
    letter = page or (
        session.execute(
            select(DeadLetterModel.step, DeadLetterModel.failure_class, DeadLetterModel.message)
            .where(
                DeadLetterModel.project_id == project_id,
                DeadLetterModel.execution_id == ended.execution_id,
            )
            .order_by(DeadLetterModel.created_at)
            .limit(1)
        ).first()
    )
    if letter is None:
        return None
    where, word, message = letter
    return {"where": _short(where), "failure_class": word or "error", "message": _short(message)}


def _short(text: str | None) -> str | None:
    if text is None:
        return None
    masked = mask_known(text)
    return masked if len(masked) <= MAX_TEXT else f"{masked[:MAX_TEXT]}…"
