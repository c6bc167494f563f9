"""The simulator finds faults: those that are put into durable runs on purpose."""

from __future__ import annotations

import pytest
from tests.property.durable.mutants import FAULTS, runs_until_found


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_simulator_finds_out_that(name: str) -> None:
    assert runs_until_found(name, 100) is not None
