"""A stored run as JSON, for migrations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from agentic.core.types import JSONValue


@dataclass(frozen=True, slots=True)
class CheckpointDocument:
    """A checkpoint as JSON.

    Attributes:
        head: Due work: ``activations`` (each with ``to``, ``from``, ``value``), ``superstep``, ``status``.
        parts: The rest by name: ``shared/KEY`` (a list with the value), ``local/EXECUTOR``,
            ``fan_ins/EDGE/NUMBER`` (messages that wait, by source, each part with later ones; ``NUMBER``
            counts from 0 without gaps), ``maps/ID`` with ``items/ID`` (the list) and ``done/ID/NUMBER``
            (results), ``parked/ORIGIN``, ``outputs/NUMBER``. ``EDGE`` is the position of the edge in the
            workflow's declarations, from 0.
    """

    head: JSONValue
    parts: Mapping[str, JSONValue]


Migrate = Callable[[CheckpointDocument], CheckpointDocument]
"""Converts a checkpoint of another version to this workflow's version."""
