"""Where the events of runs are looked for; a source is loaded when a run is replayed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from agentic.core.cli.later import load_place

if TYPE_CHECKING:
    from agentic.core.cli.replay.sources import EventSource

_PLACES = {"the stream": "agentic.core.cli.replay.sources:in_stream"}


def add_source(name: str, place: str) -> None:
    """Add another source, which is asked if the sources before it have not all events of a run.

    Args:
        name: In words, as ``the ledger``.
        place: Module and name of an :class:`~agentic.core.cli.replay.sources.EventSource`, with a colon
            between.
    """
    _PLACES[name] = place


def known_sources() -> Mapping[str, EventSource]:
    """Return where runs are looked for, in that order."""
    return {name: cast("EventSource", load_place(place)) for name, place in _PLACES.items()}
