"""Whatever happens to processes, messages, the ledger and the bus cannot be seen in what comes of a run."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.property.durable.simulator import simulate
from tests.property.durable.troubles import BLOWS
from tests.property.graph.effort import EFFORT

SEEDS_AT_A_TIME = 60


@pytest.mark.faults
@pytest.mark.requirement("CK09", "BR05")
@pytest.mark.parametrize("part", range(EFFORT))
def test_processes_that_die_stall_or_are_cut_off_lose_nothing_and_double_nothing(part: int) -> None:
    hits = Counter[str]()
    for seed in range(part * SEEDS_AT_A_TIME, (part + 1) * SEEDS_AT_A_TIME):
        hits += simulate(seed)
    assert hits.keys() == set(BLOWS)
