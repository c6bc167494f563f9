"""Ids of runs, executions and rows: unique, not guessable, and neighbours if created at the same time."""

from __future__ import annotations

import secrets
import time

SHORT_CHARS = 12
"""Characters of an id that are enough for people: five digits of its time, and 28 random bits."""

PERIOD_S = 256
"""Seconds between two id prefixes."""

TIME_DIGITS = 5

_RANDOM_DIGITS = 32 - TIME_DIGITS
_NUMBER_DIGITS = 8


def new_id(now: float | None = None) -> str:
    """Return a new id: 32 lower-case hex digits, never used before.

    The first five count periods of 256 seconds, and restart after 8.5 years. The others are random.

    So runs of the same time are neighbours in each index. Runs that are pruned together share its pages: with
    random ids each is on its own pages, and removing it writes five times as much.

    Args:
        now: Seconds since the epoch; the clock of this machine if omitted.
    """
    period = int(time.time() if now is None else now) // PERIOD_S % 16**TIME_DIGITS
    return f"{period:0{TIME_DIGITS}x}{secrets.randbits(4 * _RANDOM_DIGITS):0{_RANDOM_DIGITS}x}"


def new_ids(count: int) -> list[str]:
    """Return new ids in order, neighbours in each index: for rows that are written together.

    They differ only in a number at the end, so knowing one of them reveals all.
    """
    begin = new_id()[:-_NUMBER_DIGITS]
    return [f"{begin}{number:0{_NUMBER_DIGITS}x}" for number in range(count)]
