"""Due times of a schedule, and the ones to fire now, as pure functions of its definition."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import count, islice, pairwise, takewhile
from typing import assert_never

from agentic.executors.schedules.cron import ScheduleTimesError, cron_times, find_zone
from agentic.mappers import CatchUp, ScheduleModel, utc_now
from agentic.mappers.catalog.schedules import Timing

ON_TIME_S = 60.0
"""A start within this time after the due time is on time."""

BATCH_SIZE = 10
"""Missed due times of a schedule to fire per check."""

PACE_S = 1.0
"""Interval between two such checks."""

MAX_EVERY_S = 366 * 24 * 3600

_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 24 * 3600}


@dataclass(frozen=True, slots=True)
class Firing:
    """A due time, and its moment of firing: up to the schedule's jitter later."""

    due: datetime
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """The due times of a schedule; see :class:`ScheduleModel` for its parts.

    Raises:
        ScheduleTimesError: From its methods, if the times cannot be computed.
    """

    schedule_id: str
    anchor: datetime
    cron: str | None = None
    every_s: int | None = None
    timezone: str = "UTC"
    jitter_s: int = 0

    @classmethod
    def of(cls, schedule: ScheduleModel) -> Calendar:
        """Return the calendar of a stored schedule."""
        return cls(
            schedule_id=schedule.id,
            anchor=schedule.anchor,
            cron=schedule.cron,
            every_s=schedule.every_s,
            timezone=schedule.timezone,
            jitter_s=schedule.jitter_s,
        )

    def due_after(self, moment: datetime) -> Iterator[datetime]:
        """Yield the due times later than ``moment``, in UTC, strictly increasing."""
        if self.cron is not None:
            return cron_times(self.cron, self.timezone, moment)
        if not self.every_s:
            raise ScheduleTimesError("a schedule needs a cron line or an interval of at least 1 s")
        step = timedelta(seconds=self.every_s)
        steps = count(max((moment - self.anchor) // step, 0) + 1)
        return (self.anchor + step * number for number in steps)

    def firings_after(self, moment: datetime) -> Iterator[Firing]:
        """Yield the firings due later than ``moment``; due times and moments of firing are in order.

        The jitter of a due time comes from a hash, so that it is always the same everywhere, and ends before
        the next due time.
        """
        for due, following in pairwise(self.due_after(moment)):
            room = min(timedelta(seconds=self.jitter_s), following - due)
            yield Firing(due, due + room * self._draw(due))

    def _draw(self, due: datetime) -> float:
        digest = hashlib.sha256(f"{self.schedule_id}:{due.isoformat()}".encode()).digest()
        return int.from_bytes(digest[:6]) / 2**48


@dataclass(frozen=True, slots=True, kw_only=True)
class FiringPlan:
    """The actions for a schedule now.

    Attributes:
        due: Due times to fire, the oldest first; times before each are skipped.
        missed: The newest skipped due time, if none is fired.
        next_at: Time of the next action; None means never.
    """

    due: tuple[datetime, ...] = ()
    missed: datetime | None = None
    next_at: datetime | None = None


def plan(calendar: Calendar, catch_up: CatchUp, settled_until: datetime, now: datetime) -> FiringPlan:
    """Return the due times after ``settled_until`` to fire at ``now``.

    Of passed due times, ``last`` fires the newest, ``none`` the newest if it is at most 60 s late, and
    ``all`` each of them, ten per check and the next check a second later.

    Raises:
        ScheduleTimesError: The times of the schedule cannot be computed.
    """
    first = first_firing(calendar, settled_until)
    if first is None or first.at > now:
        return FiringPlan(next_at=first.at if first else None)
    match catch_up:
        case CatchUp.ALL:
            return _all_of(calendar, settled_until, now)
        case CatchUp.LAST | CatchUp.NONE:
            newest = _newest(calendar, settled_until, now)
            following = first_firing(calendar, newest.due)
            is_fired = catch_up is CatchUp.LAST or now - newest.at <= timedelta(seconds=ON_TIME_S)
            return FiringPlan(
                due=(newest.due,) if is_fired else (),
                missed=None if is_fired else newest.due,
                next_at=following.at if following else None,
            )
        case _:
            assert_never(catch_up)


@lru_cache(maxsize=10_000)  # called for each schedule every other second, and takes 0.2 ms for a cron line
def first_firing(calendar: Calendar, after: datetime) -> Firing | None:
    """Return the first of :meth:`Calendar.firings_after`; None when it is never due."""
    return next(calendar.firings_after(after), None)


def read_interval(text: str) -> int:
    """Return the seconds of an interval like ``90s``, ``15m``, ``1h`` or ``1d``.

    Raises:
        ScheduleTimesError: It is invalid, too short or too long.
    """
    advice = "give whole seconds, minutes, hours or days, as 90s, 15m, 1h or 1d"
    parts = re.fullmatch(r"([0-9]{1,9})([smhd])", text.strip())
    if parts is None:
        raise ScheduleTimesError(f"{text!r} is not an interval; {advice}")
    seconds = int(parts[1]) * _UNITS_S[parts[2]]
    if not 1 <= seconds <= MAX_EVERY_S:
        raise ScheduleTimesError(f"the interval {text!r} is not between 1s and 366d; {advice}")
    return seconds


def shown_interval(seconds: int) -> str:
    """Return an interval in the format of :func:`read_interval`, in the largest whole unit."""
    unit, size = max(
        (found for found in _UNITS_S.items() if seconds % found[1] == 0), key=lambda found: found[1]
    )
    return f"{seconds // size}{unit}"


def check_timing(timing: Timing) -> None:
    """Check that a schedule with this timing can be used.

    Raises:
        ScheduleTimesError: The cron line or the time zone cannot be used, or it is never due.
    """
    find_zone(timing.get("timezone", "UTC"))
    now = utc_now()
    calendar = Calendar(
        schedule_id="",
        anchor=now,
        cron=timing.get("cron"),
        every_s=timing.get("every_s"),
        timezone=timing.get("timezone", "UTC"),
    )
    if first_firing(calendar, now) is None:
        raise ScheduleTimesError(f"the cron line {calendar.cron!r} is not due in 50 years; change it")


def _all_of(calendar: Calendar, settled_until: datetime, now: datetime) -> FiringPlan:
    firings = calendar.firings_after(settled_until)
    passed = takewhile(lambda firing: firing.at <= now, firings)
    due = tuple(firing.due for firing in islice(passed, BATCH_SIZE))
    following = first_firing(calendar, due[-1])
    if following is None:
        return FiringPlan(due=due)
    is_behind = following.at <= now
    return FiringPlan(due=due, next_at=now + timedelta(seconds=PACE_S) if is_behind else following.at)


def _newest(calendar: Calendar, settled_until: datetime, now: datetime) -> Firing:
    """Return the newest firing that has passed; there is one.

    The search goes back from now in ever longer spans: a year of minutes would take seconds.
    """
    span = timedelta(hours=1)
    while True:
        start = max(settled_until, now - span)
        passed = takewhile(lambda firing: firing.at <= now, calendar.firings_after(start))
        newest = max(passed, key=lambda firing: firing.due, default=None)
        if newest is not None:
            return newest
        span *= 4
