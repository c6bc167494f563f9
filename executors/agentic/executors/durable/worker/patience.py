"""How long, and how often, to retry while the database is unavailable."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

from agentic.core.graph.errors import error_text
from agentic.core.logging import get_logger
from agentic.mappers.database.away import went_away

log = get_logger(__name__)

T = TypeVar("T")

PAUSES_S = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0)
"""Half a minute in all: a server restart, a failover. A longer outage fails the run."""


def pauses() -> Iterator[float]:
    """Return the seconds to wait before each further try; each is drawn on demand."""
    return map(shortened, PAUSES_S)


def shortened(pause_s: float) -> float:
    """Return a pause shortened at random: many wait for one database."""
    return pause_s * random.uniform(0.5, 1.0)  # noqa: S311 - jitter is not a secret


async def patiently(do: Callable[[], Awaitable[T]]) -> T:
    """Do something, and retry while the database is unavailable; it may then be done twice."""
    for pause_s in pauses():
        try:
            return await do()
        except Exception as exc:
            if not went_away(exc):
                raise
            log.warning("database.away", reason=error_text(exc), again_in_s=round(pause_s, 1))
        await asyncio.sleep(pause_s)
    return await do()
