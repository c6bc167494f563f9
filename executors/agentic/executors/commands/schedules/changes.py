"""Adds and changes schedules for the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentic.core.settings import load_settings
from agentic.executors.commands.schedules.views import schedule_row
from agentic.executors.commands.shared.database import current_database, opened
from agentic.executors.schedules.times import check_timing
from agentic.mappers import (
    CatchUp,
    Overlap,
    UnknownScheduleError,
    add_schedule,
    find_agent,
    find_project,
    find_schedule,
)
from agentic.mappers.catalog.schedules import Timing, change_schedule, store_now

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from agentic.mappers import ProjectModel, ScheduleModel


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedSchedule:
    """The options of ``agentic schedules add``."""

    name: str
    agent: str
    times: Timing
    timezone: str
    jitter_s: int
    catch_up: str
    overlap: str


def put_schedule(added: AddedSchedule, project: str | None, *, replace: bool) -> dict[str, object]:
    """Add a schedule, or change the one with that name, and return it as a row."""
    timing: Timing = {
        "cron": None,
        "every_s": None,
        **added.times,
        "timezone": added.timezone,
        "jitter_s": added.jitter_s,
        "catch_up": CatchUp(added.catch_up),
        "overlap": Overlap(added.overlap),
    }
    check_timing(timing)
    settings = load_settings()
    with opened(current_database(settings)) as database, database.writing() as session:
        owner = find_project(session, project or settings.project)
        agent = find_agent(session, owner.id, added.agent)
        schedule = _found(session, owner, added.name) if replace else None
        if schedule is None:
            schedule = add_schedule(session, agent, added.name, **timing)
        else:
            change_schedule(session, schedule, agent, **timing)
        return schedule_row(schedule, store_now(session))


def edit_schedule(name: str, project: str | None, changes: Timing) -> dict[str, object]:
    """Change part of a schedule, and return it as a row."""
    settings = load_settings()
    with opened(current_database(settings)) as database, database.writing() as session:
        schedule = find_schedule(session, find_project(session, project or settings.project), name)
        timing = _as_it_is(schedule)
        if "cron" in changes or "every_s" in changes:
            timing.update({"cron": None, "every_s": None})
        timing.update(changes)
        check_timing(timing)
        change_schedule(session, schedule, schedule.agent, **timing)
        return schedule_row(schedule, store_now(session))


def _found(session: Session, owner: ProjectModel, name: str) -> ScheduleModel | None:
    try:
        return find_schedule(session, owner, name)
    except UnknownScheduleError:
        return None


def _as_it_is(schedule: ScheduleModel) -> Timing:
    return {
        "cron": schedule.cron,
        "every_s": schedule.every_s,
        "timezone": schedule.timezone,
        "jitter_s": schedule.jitter_s,
        "catch_up": schedule.catch_up,
        "overlap": schedule.overlap,
    }
