"""Fires schedules once per due time, or holds them: a policy decides while an execution runs."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from agentic.core.audit import DecisionKind
from agentic.mappers.catalog.schedules import ACTIVE, note
from agentic.mappers.tables.core import ExecutionModel, ExecutionStatus, Overlap, ScheduleModel


class HoldReason(StrEnum):
    """Why a due time started no execution: it waits for the running one, or is skipped."""

    WAITING = "waiting"
    SKIPPED = "skipped"


def fire_schedule(
    session: Session, schedule: ScheduleModel, due: datetime
) -> ExecutionModel | HoldReason | None:
    """Decide about one due time, and advance the schedule to it; both are stored or neither.

    If several processes try at once, exactly one succeeds: the schedule must be unchanged since it was read,
    and the database keeps one execution per schedule and due time, even if its clock is turned back.

    Args:
        session: In a transaction.
        schedule: As read before.
        due: Its next due time to fire.

    Returns:
        The queued execution, or how the due time is held while another one runs; None if another beat fired
        it, or the schedule was changed, paused or removed, or its agent disabled.
    """
    moved = session.execute(
        update(ScheduleModel)
        .where(
            ScheduleModel.project_id == schedule.project_id,
            ScheduleModel.id == schedule.id,
            ScheduleModel.settled_until == schedule.settled_until,
            *ACTIVE,
        )
        .values(settled_until=due)
        .returning(ScheduleModel.overlap, ScheduleModel.waiting_due_at)
    ).one_or_none()
    if moved is None or _was_fired(session, schedule, due):
        return None
    # The row is locked from here on, so that a second due time sees the execution of the first.
    overlap, waiting_due_at = moved
    busy_id = None if overlap is Overlap.ALLOW else execution_at_work(session, schedule)
    if overlap is Overlap.QUEUE and waiting_due_at is None and busy_id is not None:
        return _wait(session, schedule, due, busy_id)
    if busy_id is not None or (overlap is Overlap.QUEUE and waiting_due_at is not None):
        return _skip(session, schedule, due, busy_id, overlap)
    return _start(session, schedule, due)


def fire_waiting(session: Session, schedule: ScheduleModel) -> ExecutionModel | None:
    """Fire the waiting due time, unless an execution still runs.

    Args:
        session: In a transaction.
        schedule: As read before.

    Returns:
        The queued execution; None if the due time still waits, or does not exist.
    """
    due = schedule.waiting_due_at
    found = select(ScheduleModel.id).where(
        ScheduleModel.project_id == schedule.project_id,
        ScheduleModel.id == schedule.id,
        ScheduleModel.waiting_due_at == due,
        *ACTIVE,
    )
    if due is None or session.scalar(found.with_for_update()) is None:
        return None
    if execution_at_work(session, schedule) is not None:
        return None
    _set(session, schedule, waiting_due_at=None)
    return _start(session, schedule, due)


def give_up_due_times(session: Session, schedule: ScheduleModel, until: datetime) -> bool:
    """Move a schedule past due times that will not fire; False if it was changed meanwhile."""
    moved = session.scalar(
        update(ScheduleModel)
        .where(
            ScheduleModel.project_id == schedule.project_id,
            ScheduleModel.id == schedule.id,
            ScheduleModel.settled_until == schedule.settled_until,
            *ACTIVE,
        )
        .values(settled_until=until)
        .returning(ScheduleModel.id)
    )
    if moved is None:
        return False
    note(
        session,
        schedule,
        DecisionKind.SCHEDULE_SKIPPED,
        f"does not run agent {schedule.agent.agent_name} for due times up to {until.isoformat()}",
        reason=f"they were missed, and the schedule catches up {schedule.catch_up}",
        who=f"schedule:{schedule.name}",
        due_at=until.isoformat(),
    )
    return True


def execution_at_work(session: Session, schedule: ScheduleModel) -> str | None:
    """Return the id of an open execution of this schedule; None if all have ended."""
    of = ExecutionModel
    unended = (ExecutionStatus.QUEUED, ExecutionStatus.RUNNING)
    query = select(of.id).where(
        of.project_id == schedule.project_id,
        of.status.in_(unended),
        of.agent_id == schedule.agent_id,
        of.idempotency_key.startswith(f"{schedule.id}:", autoescape=True),
    )
    return session.scalar(query.limit(1))


def _was_fired(session: Session, schedule: ScheduleModel, due: datetime) -> bool:
    """Whether a due time recurs because the clock of the database was turned back."""
    of = ExecutionModel
    found = select(of.id).where(
        of.project_id == schedule.project_id, of.idempotency_key == _key(schedule, due)
    )
    return session.scalar(found) is not None


def _key(schedule: ScheduleModel, due: datetime) -> str:
    return f"{schedule.id}:{due.isoformat()}"


def _start(session: Session, schedule: ScheduleModel, due: datetime) -> ExecutionModel | None:
    execution = ExecutionModel(
        project_id=schedule.project_id,
        agent_id=schedule.agent_id,
        idempotency_key=_key(schedule, due),
    )
    try:
        with session.begin_nested():
            session.add(execution)
    except IntegrityError:
        return None
    _set(session, schedule, last_due_at=due)
    note(
        session,
        schedule,
        DecisionKind.SCHEDULE_FIRED,
        f"runs agent {schedule.agent.agent_name}",
        reason=f"it was due at {due.isoformat()}",
        who=f"schedule:{schedule.name}",
        execution_id=execution.id,
        due_at=due.isoformat(),
    )
    return execution


def _wait(session: Session, schedule: ScheduleModel, due: datetime, busy_id: str) -> HoldReason:
    _set(session, schedule, waiting_due_at=due)
    note(
        session,
        schedule,
        DecisionKind.SCHEDULE_QUEUED,
        f"runs agent {schedule.agent.agent_name} for {due.isoformat()} after execution {busy_id}",
        reason="that one is still running, and the schedule says overlap queue",
        who=f"schedule:{schedule.name}",
        execution_id=busy_id,
        due_at=due.isoformat(),
    )
    return HoldReason.WAITING


def _skip(
    session: Session, schedule: ScheduleModel, due: datetime, busy_id: str | None, overlap: Overlap
) -> HoldReason:
    _set(session, schedule, skipped_count=ScheduleModel.skipped_count + 1)
    at_work = f"execution {busy_id} is still running" if busy_id else "an earlier due time"
    waits = " waits already" if busy_id is None else " and an earlier due time waits already"
    reason = f"{at_work}{waits if overlap is Overlap.QUEUE else ''}; the schedule says overlap {overlap}"
    note(
        session,
        schedule,
        DecisionKind.SCHEDULE_SKIPPED,
        f"does not run agent {schedule.agent.agent_name} for {due.isoformat()}",
        reason=reason,
        who=f"schedule:{schedule.name}",
        execution_id=busy_id,
        due_at=due.isoformat(),
    )
    return HoldReason.SKIPPED


def _set(session: Session, schedule: ScheduleModel, **values: object) -> None:
    of_project = ScheduleModel.project_id == schedule.project_id
    session.execute(update(ScheduleModel).where(of_project, ScheduleModel.id == schedule.id).values(**values))
