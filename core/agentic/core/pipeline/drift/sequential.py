"""Sequential tests: whether something happens on more pages than on healthy ones.

Each page multiplies the evidence by a likelihood ratio, "broken" to "healthy"; the logarithm of the evidence
never falls below 0, so that a long good spell does not count (CUSUM: Page, Continuous Inspection Schemes,
1954).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

ALARM = math.log(1e6)
"""Evidence that is an alarm.

Healthy runs reach it less than once in 1,000 field-runs, spread of the rates between runs included:
``tests/unit/core/pipeline/drift/test_false_alarms.py`` simulates it. At a healthy rate up to 2 %, a field
that is missing on every page reaches it within 10 pages.
"""

SURE_RATE = 0.98
"""The rate on broken pages if all of them are broken."""

CERTAINTY = 1.645
"""Of the upper bound of a rate: 95 %, one-sided."""

LOWEST = 0.02
"""The lowest healthy rate that is believed: three odd pages in sequence may be an accident."""

HIGHEST = 0.8
"""Above this healthy rate, a page says too little."""

SPREAD = 0.05
"""Variance of a rate between runs that is always expected, as a share of its variance within a run."""

WIDTH = 2.0
"""How many such spreads above all that was seen a part of the pages is surely more than in a healthy run."""

FEW_RUNS = 3
"""With fewer runs, faults on a part of the pages look like the spread between runs."""

PART_ABOVE = 0.35
"""How far above the healthy rate a part of the pages is broken."""


class Steps(NamedTuple):
    """What a page adds to the evidence: that all pages are broken, and that a part of them is.

    Attributes:
        all_bad: If it shows the fault, to the evidence that all pages do.
        all_good: If it does not.
        part_bad: Likewise to the evidence that a part of the pages shows the fault.
        part_good: If it does not.
    """

    all_bad: float
    all_good: float
    part_bad: float
    part_good: float


def steps_of(healthy: float, of_parts: float = 1.0) -> Steps:
    """Return the steps of a test.

    Args:
        healthy: The highest healthy rate, below ``HIGHEST``.
        of_parts: The same with the spread between runs; from ``HIGHEST`` on, parts are not tested.
    """
    whole = math.log(SURE_RATE / healthy), math.log((1 - SURE_RATE) / (1 - healthy))
    if of_parts >= HIGHEST:
        return Steps(*whole, 0.0, 0.0)
    part = min(max(of_parts + PART_ABOVE, 0.5), 0.95)
    return Steps(*whole, math.log(part / of_parts), math.log((1 - part) / (1 - of_parts)))


def upper_bound(count: float, total: int) -> float:
    """Return the upper bound of a rate that was seen ``count`` times in ``total`` (Wilson, 1927)."""
    if total <= 0:
        return 1.0
    square, rate = CERTAINTY**2, count / total
    spread = CERTAINTY * math.sqrt(rate * (1 - rate) / total + square / (4 * total * total))
    return min((rate + square / (2 * total) + spread) / (1 + square / total), 1.0)


def healthy_rates(runs: Iterable[tuple[int, int]]) -> tuple[float, float]:
    """Return the highest healthy rates, for faults on all pages and on a part of them.

    The worst run counts, because the rate may differ from run to run.

    Args:
        runs: The pages of each healthy run, and the cases among them.
    """
    known = [(pages, cases) for pages, cases in runs if pages > 0]
    total, cases = sum(pages for pages, _ in known), sum(count for _, count in known)
    worst = max(((count + 0.5) / (pages + 1) for pages, count in known if count), default=0.0)
    mean = cases / total if total else 0.0
    healthy = max(upper_bound(cases, total), worst, LOWEST)
    spread = WIDTH * math.sqrt(mean * (1 - mean) * SPREAD)
    if len(known) < FEW_RUNS:
        # Chance within the runs and between them are independent: their squares add up.
        return max(mean + math.hypot(healthy - mean, spread), LOWEST), 1.0
    return healthy, healthy + spread
