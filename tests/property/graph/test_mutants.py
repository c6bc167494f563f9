"""The simulator finds faults: those that are put into the planner on purpose."""

from __future__ import annotations

import pytest
from tests.property.graph.mutants import MUTANTS, runs_until_caught


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_simulator_finds_out_that(name: str) -> None:
    assert runs_until_caught(name) is not None
