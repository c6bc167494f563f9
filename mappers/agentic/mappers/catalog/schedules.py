"""Schedules: add, change, find and pause."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TypedDict

from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session
from typing_extensions import Unpack

from agentic.core.audit import DecisionKind
from agentic.core.types import JSONValue
from agentic.mappers.audit import audit
from agentic.mappers.errors import DataError
from agentic.mappers.tables.columns import StoreNow
from agentic.mappers.tables.core import AgentModel, CatchUp, Overlap, ProjectModel, ScheduleModel


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


ACTIVE = (
    ScheduleModel.paused_at.is_(None),
    ScheduleModel.agent_id.not_in(select(AgentModel.id).where(AgentModel.disabled_at.is_not(None))),
)
"""Neither paused nor of a disabled agent."""


class Timing(TypedDict, total=False):
    """The values of a schedule; see :class:`ScheduleModel`."""

    cron: str | None
    every_s: int | None
    timezone: str
    jitter_s: int
    catch_up: CatchUp
    overlap: Overlap


def add_schedule(session: Session, agent: AgentModel, name: str, **timing: Unpack[Timing]) -> ScheduleModel:
    """Add a schedule of ``agent``, due from now on. Its times are not checked here.

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
    note(session, schedule, DecisionKind.SCHEDULE_CREATED, f"runs agent {agent.agent_name} {times}")
    return schedule


def change_schedule(
    session: Session, schedule: ScheduleModel, agent: AgentModel, **timing: Unpack[Timing]
) -> None:
    """Change the values of a schedule; it still knows its running execution.

    Changed times count from now. They are not checked here.
    """
    changes = {name: value for name, value in timing.items() if getattr(schedule, name) != value} | (
        {"agent": agent} if schedule.agent_id != agent.id else {}
    )
    if not changes:
        return
    for name, value in changes.items():
        setattr(schedule, name, value)
    if changes.keys() & {"cron", "every_s", "timezone", "agent"}:
        schedule.anchor = schedule.settled_until = store_now(session).replace(microsecond=0)
        schedule.waiting_due_at = None
    session.flush()
    changed: list[JSONValue] = [*sorted(changes)]
    note(
        session,
        schedule,
        DecisionKind.SCHEDULE_CHANGED,
        f"changes {', '.join(sorted(changes))}",
        changed=changed,
    )


def find_schedule(session: Session, project: ProjectModel, name: str) -> ScheduleModel:
    """Return a schedule of that project; schedules of other projects are invisible.

    Raises:
        UnknownScheduleError: The project has none with that name.
    """
    of_project = ScheduleModel.project_id == project.id
    schedule = session.scalar(select(ScheduleModel).where(of_project, ScheduleModel.name == name))
    if schedule is None:
        known = [known.name for known in list_schedules(session, project.id)]
        raise UnknownScheduleError(name, project.name, known)
    return schedule


def remove_schedule(session: Session, project: ProjectModel, name: str) -> None:
    """Remove the project's schedule with that name, if it exists."""
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
    """Return the active schedules of all projects, for beat."""
    query = select(ScheduleModel).where(*ACTIVE)
    return session.scalars(query.order_by(ScheduleModel.id)).all()


def pause_schedule(session: Session, schedule: ScheduleModel) -> None:
    """Pause a schedule: it does not fire until it is resumed."""
    if schedule.paused_at is None:
        schedule.paused_at = store_now(session)
        schedule.waiting_due_at = None
        note(session, schedule, DecisionKind.SCHEDULE_PAUSED, "starts nothing until it is resumed")


def resume_schedule(session: Session, schedule: ScheduleModel) -> None:
    """Resume a paused schedule from now; due times during the pause are not missed and do not fire."""
    if schedule.paused_at is not None:
        schedule.paused_at = None
        schedule.settled_until = store_now(session)
        note(session, schedule, DecisionKind.SCHEDULE_RESUMED, "starts executions again from now on")


def store_now(session: Session) -> datetime:
    """Return the time of the database's clock."""
    return session.scalars(select(StoreNow())).one()


def note(  # the parts of a decision
    session: Session,
    schedule: ScheduleModel,
    kind: DecisionKind,
    what: str,
    *,
    reason: str = "",
    who: str = "",
    **details: JSONValue,
) -> None:
    """Record a decision about a schedule."""
    said = f"schedule {schedule.name} {what}"
    audit(session, schedule.project_id, kind, schedule.name, said, reason=reason, who=who, **details)
