"""Checks for clocks that differ: then times in logs and tables disagree, and schedules fire off time."""

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
        of_whom: Name of the other clock's owner: "the database".
        ask: Returns its seconds since 1970.
        clock: This machine's clock.
    """
    before = clock()
    theirs = ask()
    after = clock()
    # The call happened at some moment in between.
    skew_s = theirs - (before + after) / 2
    if abs(skew_s) - (after - before) / 2 > MAX_SKEW_S:
        direction = "ahead of" if skew_s > 0 else "behind"
        yield warning(
            f"the clock of {of_whom} is {abs(skew_s):.1f} s {direction} this machine's; synchronize both "
            "with NTP"
        )
