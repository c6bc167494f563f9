"""The words signatures are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NewType

from pydantic import JsonValue

JSONValue = JsonValue
"""Anything ``json.dumps`` takes and ``json.loads`` gives back."""

ExecutorId = NewType("ExecutorId", str)
"""Name of a node, unique in its graph."""

RunId = NewType("RunId", str)
"""Name of one run of a workflow. A sub-workflow's run is named ``parent/executor.superstep.shard``."""

ExecutionId = NewType("ExecutionId", str)


@dataclass(frozen=True, slots=True)
class SaveCounts:
    """What saving rows did to the tables, in rows."""

    inserted: int = 0
    updated: int = 0
    unchanged: int = 0
    rejected: int = 0

    def __add__(self, other: SaveCounts) -> SaveCounts:
        return SaveCounts(
            inserted=self.inserted + other.inserted,
            updated=self.updated + other.updated,
            unchanged=self.unchanged + other.unchanged,
            rejected=self.rejected + other.rejected,
        )
