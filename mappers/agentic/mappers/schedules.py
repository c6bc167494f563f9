"""Schedules: added, found, paused, and fired once for each due time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TypedDict

from sqlalchemy import delete, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session
from typing_extensions import Unpack

from agentic.core.audit import DecisionKind
from agentic.core.types import JSONValue
from agentic.mappers.audit import audit
from agentic.mappers.columns import StoreNow
from agentic.mappers.errors import DataError
from agentic.mappers.models import AgentModel, CatchUp, ExecutionModel, ProjectModel, ScheduleModel


class UnknownScheduleError(DataError, LookupError):
    """The project has no schedule of that name."""

    def __init__(self, schedule: str, project: str, known: Sequence[str]) -> None:
        super().__init__(
            f"the project {project!r} has no schedule {schedule!r} (known: {', '.join(known) or 'none'}); "
            f"see `agentic schedules list`"
        )
        self.schedule = schedule
        self.project = project
        self.known = tuple(known)


class DuplicateScheduleError(DataError, ValueError):
    """The project has a schedule of that name."""

    def __init__(self, schedule: str, project: str) -> None:
        super().__init__(
            f"the project {project!r} has a schedule {schedule!r} already; choose another name, or change "
            f"that one with --replace"
        )
        self.schedule = schedule
        self.project = project


_ACTIVE = (
    ScheduleModel.paused_at.is_(None),
    ScheduleModel.agent_id.not_in(select(AgentModel.id).where(AgentModel.disabled_at.is_not(None))),
)
"""Neither is it paused, nor is its agent disabled."""


class Timing(TypedDict, total=False):
    """What a schedule says; see :class:`ScheduleModel`."""

    cron: str | None
    every_s: int | None
    timezone: str
    jitter_s: int
    catch_up: CatchUp


def add_schedule(session: Session, agent: AgentModel, name: str, **timing: Unpack[Timing]) -> ScheduleModel:
    """Add a schedule of ``agent``, due from now on. Whether its times can be used is not checked here.

    Raises:
        DuplicateScheduleError: The project has a schedule of that name.
    """
    now = store_now(session).replace(microsecond=0)
    schedule = ScheduleModel(
        project_id=agent.project_id, agent_id=agent.id, name=name, anchor=now, settled_until=now, **timing
    )
    try:
        with session.begin_nested():
            session.add(schedule)
    except IntegrityError:
        raise DuplicateScheduleError(name, agent.project.name) from None
    session.refresh(schedule, ["agent"])
    times = f"at {schedule.cron!r}" if schedule.cron else f"every {schedule.every_s} s"
    _note(session, schedule, DecisionKind.SCHEDULE_CREATED, f"runs agent {agent.agent_name} {times}")
    return schedule


def find_schedule(session: Session, project: ProjectModel, name: str) -> ScheduleModel:
    """Return a schedule of that project; those of other projects are not seen.

    Raises:
        UnknownScheduleError: The project has none of that name.
    """
    of_project = ScheduleModel.project_id == project.id
    schedule = session.scalar(select(ScheduleModel).where(of_project, ScheduleModel.name == name))
    if schedule is None:
        known = [known.name for known in list_schedules(session, project.id)]
        raise UnknownScheduleError(name, project.name, known)
    return schedule


def remove_schedule(session: Session, project: ProjectModel, name: str) -> None:
    """Remove the schedule of that project and name, if there is one."""
    found = session.scalar(
        delete(ScheduleModel)
        .where(ScheduleModel.project_id == project.id, ScheduleModel.name == name)
        .returning(ScheduleModel.id)
    )
    if found is not None:
        what = f"schedule {name} is removed"
        audit(session, project.id, DecisionKind.SCHEDULE_REMOVED, name, what)


def list_schedules(session: Session, project_id: str) -> Sequence[ScheduleModel]:
    """Return the schedules of that project by name."""
    query = select(ScheduleModel).where(ScheduleModel.project_id == project_id)
    return session.scalars(query.order_by(ScheduleModel.name)).all()


def active_schedules(session: Session) -> Sequence[ScheduleModel]:
    """Return the schedules of every project that are to fire: what beat looks after."""
    query = select(ScheduleModel).where(*_ACTIVE)
    return session.scalars(query.order_by(ScheduleModel.id)).all()


def pause_schedule(session: Session, schedule: ScheduleModel) -> None:
    """Let nothing be fired until the schedule is resumed."""
    if schedule.paused_at is None:
        schedule.paused_at = store_now(session)
        _note(session, schedule, DecisionKind.SCHEDULE_PAUSED, "fires nothing until it is resumed")


def resume_schedule(session: Session, schedule: ScheduleModel) -> None:
    """Let a paused schedule go on from now; what was due meanwhile was not missed, and is not fired."""
    if schedule.paused_at is not None:
        schedule.paused_at = None
        schedule.settled_until = store_now(session)
        _note(session, schedule, DecisionKind.SCHEDULE_RESUMED, "fires again from now on")


def fire_schedule(session: Session, schedule: ScheduleModel, due: datetime) -> ExecutionModel | None:
    """Add the execution for one due time, and move the schedule on to it; both are kept or neither.

    Of any number that try at once, exactly one succeeds: the schedule must be as it was read, and the
    database keeps one execution for each schedule and due time, even if its clock is turned back.

    Args:
        session: In a transaction.
        schedule: As it was read.
        due: The next of its due times to be fired.

    Returns:
        The queued execution; None when somebody else fired it, or changed, paused or removed the schedule, or
        disabled its agent.
    """
    if not _move_on(session, schedule, settled_until=due, last_due_at=due):
        return None
    execution = ExecutionModel(
        project_id=schedule.project_id,
        agent_id=schedule.agent_id,
        idempotency_key=f"{schedule.id}:{due.isoformat()}",
    )
    try:
        with session.begin_nested():
            session.add(execution)
    except IntegrityError:
        return None
    _note(
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


def give_up_due_times(session: Session, schedule: ScheduleModel, until: datetime) -> bool:
    """Move a schedule past due times that will not be fired; False when it was changed meanwhile."""
    if not _move_on(session, schedule, settled_until=until):
        return False
    _note(
        session,
        schedule,
        DecisionKind.SCHEDULE_SKIPPED,
        f"does not run agent {schedule.agent.agent_name} for due times up to {until.isoformat()}",
        reason=f"nobody fired them in time, and the schedule catches up {schedule.catch_up}",
        who=f"schedule:{schedule.name}",
        due_at=until.isoformat(),
    )
    return True


def store_now(session: Session) -> datetime:
    """Return the time by the clock of the database."""
    return session.scalars(select(StoreNow())).one()


def _note(  # what a decision is made of
    session: Session,
    schedule: ScheduleModel,
    kind: DecisionKind,
    what: str,
    *,
    reason: str = "",
    who: str = "",
    **details: JSONValue,
) -> None:
    said = f"schedule {schedule.name} {what}"
    audit(session, schedule.project_id, kind, schedule.name, said, reason=reason, who=who, **details)


def _move_on(session: Session, schedule: ScheduleModel, **changes: datetime) -> bool:
    moved = session.scalar(
        update(ScheduleModel)
        .where(
            ScheduleModel.id == schedule.id,
            ScheduleModel.settled_until == schedule.settled_until,
            *_ACTIVE,
        )
        .values(**changes)
        .returning(ScheduleModel.id)
    )
    return moved is not None
