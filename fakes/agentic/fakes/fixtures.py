"""The fixture of the fakes; pytest finds it by an entry point."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from agentic.fakes.server import FakeServer


@pytest.fixture
def agentic_fakes() -> Iterator[FakeServer]:
    """Give the fakes on loopback: sites and APIs to try platforms on, with faults to inject."""
    from agentic.fakes.server import FakeServer

    with FakeServer() as fakes:
        yield fakes
