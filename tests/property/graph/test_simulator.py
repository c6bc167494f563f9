"""Whatever happens to a run from outside cannot be seen in what comes of it."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.property.graph.effort import EFFORT
from tests.property.graph.simulator import simulate
from tests.property.graph.troubles import BLOWS

SEEDS_AT_A_TIME = 26  # seed 79 takes as long as all before it: eighty legs of a large state


@pytest.mark.faults
@pytest.mark.requirement("CK09")
@pytest.mark.parametrize(
    "part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, 3 * EFFORT))]
)
def test_kills_cancellations_timeouts_and_store_failures_lose_nothing_and_double_nothing(part: int) -> None:
    hits = Counter[str]()
    for seed in range(part * SEEDS_AT_A_TIME, (part + 1) * SEEDS_AT_A_TIME):
        hits += simulate(seed)[1]
    assert hits.keys() == set(BLOWS)


@pytest.mark.faults
def test_what_a_barrier_refused_in_an_earlier_leg_is_in_no_order() -> None:
    """Message 1 ended, then both were refused; message 0 ended, and again the barrier refused them both."""
    simulate(393757997)
