"""Clocks that run apart: times in logs and tables do not fit together, schedules fire at another time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from agentic.core.hooks import Finding, warning

MAX_SKEW_S = 2.0


def clock_findings(
    of_whom: str, ask: Callable[[], float], *, clock: Callable[[], float] = time.time
) -> Iterator[Finding]:
    """Compare this machine's clock with another one.

    Args:
        of_whom: Names the other clock: "the database".
        ask: Asks it for the seconds since 1970.
        clock: This machine's.
    """
    before = clock()
    theirs = ask()
    after = clock()
    # It was asked at some moment in between.
    skew_s = theirs - (before + after) / 2
    if abs(skew_s) - (after - before) / 2 > MAX_SKEW_S:
        direction = "ahead of" if skew_s > 0 else "behind"
        yield warning(
            f"the clock of {of_whom} is {abs(skew_s):.1f} s {direction} this machine's; synchronize both "
            "with NTP"
        )
