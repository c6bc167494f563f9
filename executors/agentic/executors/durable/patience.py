"""How long, and how often, something is tried again because the database went away."""

from __future__ import annotations

import random
from collections.abc import Iterator

PAUSES_S = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0)
"""Half a minute in all: a server that restarts, a fail-over. What is away for longer is the run's failure."""


def pauses() -> Iterator[float]:
    """Yield the seconds to wait before each further try, shortened at random: many wait for one database."""
    for pause_s in PAUSES_S:
        yield pause_s * random.uniform(0.5, 1.0)  # noqa: S311 - jitter is no secret
