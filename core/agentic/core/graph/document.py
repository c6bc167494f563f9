"""A stored run as JSON, for migrations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from agentic.core.types import JSONValue


@dataclass(frozen=True, slots=True)
class Document:
    """A checkpoint as JSON.

    Attributes:
        head: What is due: ``activations`` (each with ``to``, ``from``, ``value``), ``superstep``, ``status``.
        parts: The rest by name: ``shared/KEY`` (a list with the value), ``local/EXECUTOR``, ``fan_ins/EDGE``,
            ``maps/ID`` and ``items/ID``, ``parked/ORIGIN``, ``outputs/NUMBER``.
    """

    head: JSONValue
    parts: Mapping[str, JSONValue]


Migrate = Callable[[Document], Document]
"""Makes a checkpoint of this workflow's version out of one of another version."""
