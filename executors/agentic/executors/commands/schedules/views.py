"""Schedules as rows to print; times are in the zone of the schedule."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from itertools import islice

from agentic.executors.schedules.cron import ScheduleTimesError, find_zone
from agentic.executors.schedules.times import ON_TIME_S, Calendar, first_firing, shown_interval
from agentic.mappers import ScheduleModel


def schedule_row(schedule: ScheduleModel, now: datetime) -> dict[str, object]:
    """Return a schedule with its state, the next due time and the last one fired."""
    next_due, state = _standing(schedule, now)
    if schedule.waiting_due_at is not None:
        state += ", 1 waits"
    interval = f"every {shown_interval(schedule.every_s)}" if schedule.every_s else None
    return {
        "name": schedule.name,
        "agent": schedule.agent.agent_name,
        "times": interval or f"{schedule.cron} {schedule.timezone}",
        "overlap": str(schedule.overlap),
        "skipped": schedule.skipped_count,
        "state": state,
        "next_due": next_due,
        "last_due": _shown(schedule.last_due_at, schedule) if schedule.last_due_at else None,
        "waiting_due": _shown(schedule.waiting_due_at, schedule) if schedule.waiting_due_at else None,
        "cron": schedule.cron,
        "every_s": schedule.every_s,
        "timezone": schedule.timezone,
        "jitter_s": schedule.jitter_s,
        "catch_up": str(schedule.catch_up),
        "id": schedule.id,
    }


def firing_rows(schedule: ScheduleModel, now: datetime, count: int) -> list[dict[str, object]]:
    """Return the next ``count`` due times after ``now``, and when jitter lets each start.

    Raises:
        ScheduleTimesError: The schedule was changed by hand and is invalid.
    """
    return [
        {
            "due_at": _shown(firing.due, schedule),
            "due_at_utc": f"{firing.due:%Y-%m-%d %H:%M:%SZ}",
            "starts_at": _shown(firing.at, schedule),
        }
        for firing in islice(Calendar.of(schedule).firings_after(now), count)
    ]


def _standing(schedule: ScheduleModel, now: datetime) -> tuple[str | None, str]:
    """Return the next due time, and the schedule's state as text: ``late by 90 s, is beat running?``."""
    if schedule.paused_at is not None:
        return None, "paused"
    try:
        first = first_firing(Calendar.of(schedule), schedule.settled_until)
        if first is None:
            return None, "no further due time"
        late = now - first.at
        is_late = late > timedelta(seconds=ON_TIME_S)
        state = f"late by {late.total_seconds():.0f} s; check that beat is running" if is_late else "active"
        return _shown(first.due, schedule), state
    except ScheduleTimesError as exc:
        return None, str(exc)


def _shown(moment: datetime, schedule: ScheduleModel) -> str:
    with suppress(ScheduleTimesError):  # changed by hand: its state shows it, and times are in UTC
        moment = moment.astimezone(find_zone(schedule.timezone))
    return moment.isoformat(sep=" ", timespec="seconds")
