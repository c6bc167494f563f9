"""What a key of the shared state becomes when something is written to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.graph.parcel import Parcel, pack

if TYPE_CHECKING:
    from agentic.core.graph.edges import Graph


def reduced(graph: Graph, current: Parcel | None, key: str, written: Parcel) -> Parcel:
    """Return a key's new value: what was written, or what its reducer makes of both."""
    reducer = graph.reducers.get(key)
    if reducer is None or current is None:
        return written
    return pack(reducer(current.fresh(), written.fresh()))
