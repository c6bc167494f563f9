"""The actors every installation has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from agentic.core.hooks import hookimpl

if TYPE_CHECKING:
    from agentic.core.actors.actor import Actor


@hookimpl
def agentic_actors() -> Iterable[type[Actor]]:
    """Offer the stock actors."""
    from agentic.core.actors.aggregate import AggregateActor

    return [AggregateActor]
