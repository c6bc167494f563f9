"""Times in command options: how long ago, or when."""

from __future__ import annotations

from datetime import UTC, datetime

from agentic.executors.commands.runs.steering import Desk
from agentic.executors.commands.shared.options import OptionError


def moment_of(desk: Desk, text: str, option: str = "--since") -> float:
    """Return a time in seconds since the epoch: relative to the database's clock, or as given.

    Raises:
        OptionError: It is neither.
    """
    from agentic.executors.schedules.cron import ScheduleTimesError
    from agentic.executors.schedules.times import read_interval
    from agentic.mappers.runs.reading import LedgerReader

    try:
        ago_s = read_interval(text)
    except ScheduleTimesError:
        return _given_time(text, option)
    with desk.database.reading() as session:
        return LedgerReader(session, desk.project_id).now() - ago_s


def _given_time(text: str, option: str) -> float:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise OptionError(
            f"{option} takes an age such as 90s, 15m, 2h or 1d, or a time such as 2026-05-01T12:00, not "
            f"{text!r}"
        ) from None
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
