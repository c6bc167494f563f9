"""Due times of a cron line in a time zone, also on days when the clocks change.

A line that names hours (``30 2 * * *``, ``0 */2 * * *``) means times of day. A time in the spring gap is due
when the gap ends; a time that comes twice in autumn is due the first time. A line for every hour
(``*/5 * * * *``) means a rhythm: in autumn it is due in both hours, and the spring gap adds nothing.

Debian's cron and Airflow do the same; Celery (issue 10107) and systemd (issue 8647) skip an hour in autumn.
The calendar is cronsim's, used here without a zone: with one it copies Debian's cron even where that loses a
day (``*/5 2 * * *`` in spring).
"""

from __future__ import annotations

import difflib
import zoneinfo
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from agentic.executors.errors import ExecutionError

if TYPE_CHECKING:
    from cronsim import CronSim

FIELD_COUNT = 5
HOURS_A_DAY = 24
MINUTE = timedelta(minutes=1)


class ScheduleTimesError(ExecutionError, ValueError):
    """The times of a schedule cannot be used."""


def cron_times(cron: str, timezone: str, after: datetime) -> Iterator[datetime]:
    """Yield when ``cron`` is due later than ``after``, in UTC, strictly increasing.

    Args:
        cron: Five fields, in local time.
        timezone: IANA name of the zone.
        after: An aware time.

    Raises:
        ScheduleTimesError: The line or the zone cannot be used.
    """
    zone = find_zone(timezone)
    # When the clock is turned back within a day, repeated times began at an earlier local time.
    ahead = min(_offset(after, zone), _offset(after + timedelta(days=1), zone))
    walls = parse_cron(cron, after.astimezone(UTC).replace(tzinfo=None) + ahead)
    for moment in _moments(walls, zone, is_rhythm=len(walls.hours) == HOURS_A_DAY):
        if moment > after:
            yield moment
            after = moment


def parse_cron(cron: str, start: datetime) -> CronSim:
    """Return the local times of a cron line after ``start``, all naive.

    Raises:
        ScheduleTimesError: It is invalid.
    """
    from cronsim import CronSim, CronSimError

    advice = "give five fields (minute hour day month weekday), as in '*/5 * * * *' or '30 2 * * MON-FRI'"
    fields = cron.split()
    if len(fields) != FIELD_COUNT:
        raise ScheduleTimesError(f"the cron line {cron!r} has {len(fields)} fields; {advice}")
    try:
        return CronSim(cron, start)
    except CronSimError as exc:
        what = str(exc).removeprefix("Bad ")
        raise ScheduleTimesError(f"the {what} of the cron line {cron!r} cannot be used; {advice}") from None


def find_zone(name: str) -> zoneinfo.ZoneInfo:
    """Return the time zone with that IANA name.

    Raises:
        ScheduleTimesError: There is none.
    """
    try:
        return zoneinfo.ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # the last two: a path, a folder of zones
        alike = difflib.get_close_matches(name, zoneinfo.available_timezones(), n=3)
        advice = f"did you mean {' or '.join(alike)}?" if alike else "give one as UTC or Europe/Berlin"
        raise ScheduleTimesError(f"unknown time zone {name!r}; {advice}") from None


def _moments(walls: Iterable[datetime], zone: zoneinfo.ZoneInfo, *, is_rhythm: bool) -> Iterator[datetime]:
    """Yield when the clock shows ``walls``; the same moment may come several times."""
    again: deque[datetime] = deque()  # times that the clock shows a second time
    for wall in walls:
        early, late = _utc(wall, zone, fold=0), _utc(wall, zone, fold=1)
        while again and again[0] < early:
            yield again.popleft()
        if early <= late:
            yield early
            if early < late and is_rhythm:
                again.append(late)
        elif not is_rhythm:
            yield _end_of_gap(wall, zone)


def _end_of_gap(wall: datetime, zone: zoneinfo.ZoneInfo) -> datetime:
    while _utc(wall, zone, fold=0) > _utc(wall, zone, fold=1):
        wall += MINUTE
    return _utc(wall, zone, fold=0)


def _utc(wall: datetime, zone: zoneinfo.ZoneInfo, *, fold: int) -> datetime:
    return wall.replace(tzinfo=zone, fold=fold).astimezone(UTC)


def _offset(moment: datetime, zone: zoneinfo.ZoneInfo) -> timedelta:
    return moment.astimezone(zone).utcoffset() or timedelta()
