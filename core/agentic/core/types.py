"""Common types for signatures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, NewType

from typing_extensions import TypeAliasType

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, JsonValue
    from pydantic_core import CoreSchema

    JSONValue = JsonValue
else:

    class _AsPydanticDoes:
        """Makes pydantic check a JSON value like its own ``JsonValue``, whose module is slow to import."""

        @classmethod
        def __get_pydantic_core_schema__(cls, _: object, handler: GetCoreSchemaHandler) -> CoreSchema:
            from pydantic import JsonValue

            return handler.generate_schema(JsonValue)

    JSONValue = TypeAliasType(
        "JSONValue",
        Annotated[
            list["JSONValue"] | dict[str, "JSONValue"] | str | bool | int | float | None,
            _AsPydanticDoes,
        ],
    )
"""Any value that ``json.dumps`` accepts and ``json.loads`` returns."""

ExecutorId = NewType("ExecutorId", str)
"""Name of a node, unique in its graph."""

WorkflowId = NewType("WorkflowId", str)
"""Name of a workflow."""

EdgeId = NewType("EdgeId", str)
"""Name of an edge, unique in its graph: its ends, such as ``a->b+c``."""

TaskId = NewType("TaskId", str)
"""Name of a task in the background."""

RunId = NewType("RunId", str)
"""Name of one run of a workflow. A sub-workflow's run is named ``parent/executor.superstep.shard``."""

ExecutionId = NewType("ExecutionId", str)


EXCLUDED_CLASSES = frozenset({"robots_denied"})
"""Failure classes of pages that a site excludes: a crawl skips them, and they do not count as failed."""


@dataclass(frozen=True, slots=True)
class SaveCounts:
    """The effect of a save on the tables, in rows."""

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
