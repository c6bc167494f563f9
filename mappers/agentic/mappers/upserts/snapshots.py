"""History of a source's numbers: a row each time that one of them changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import cast

from sqlalchemy import JSON, BigInteger, String, Table, Text, bindparam
from sqlalchemy.orm import Mapped, mapped_column

from agentic.core.types import JSONValue
from agentic.mappers.database.driver import CompiledStatement, DriverCursor, binders
from agentic.mappers.database.inserts import insert_into
from agentic.mappers.tables.columns import ID_LENGTH, Base, UTCDateTime
from agentic.mappers.tables.core import owner

Row = Mapping[str, object]


class MetricSnapshotModel(Base):
    """The numbers of one row of a platform's table at one time.

    A snapshot exists for the creation of the row, and for each time that a source returned another number;
    numbers stay valid until the next snapshot. ``last_seen_at`` of the row says until when this is known.

    Attributes:
        platform: Platform of the agent that found it: ``"hackernews"``.
        table_name: Table of the row.
        natural_key: Its key there without the project; a space joins the parts of a longer key.
        observed_at: When it was found.
        score: The source's score, points, stars or likes.
        comments: Number of answers.
        others: Other numbers, by name.
    """

    __tablename__ = "metric_snapshots"

    project_id: Mapped[str] = owner()
    table_name: Mapped[str] = mapped_column(String(63), primary_key=True)
    natural_key: Mapped[str] = mapped_column(Text, primary_key=True)
    observed_at: Mapped[datetime] = mapped_column(UTCDateTime, primary_key=True)
    platform: Mapped[str] = mapped_column(String(100))
    execution_id: Mapped[str] = mapped_column(String(ID_LENGTH))
    score: Mapped[int | None] = mapped_column(BigInteger)
    comments: Mapped[int | None] = mapped_column(BigInteger)
    others: Mapped[dict[str, JSONValue] | None] = mapped_column(JSON(none_as_null=True))


SNAPSHOTS = cast("Table", MetricSnapshotModel.__table__)
NAMED = ("score", "comments")


@lru_cache(maxsize=2)
def _adding(*, is_postgresql: bool) -> CompiledStatement:
    insert = insert_into(SNAPSHOTS, is_postgresql=is_postgresql)
    values = {column.key: bindparam(column.key, type_=column.type) for column in SNAPSHOTS.c}
    # Two writers that store one row in the same microsecond found the same numbers.
    return CompiledStatement(insert.values(values).on_conflict_do_nothing())


@dataclass(frozen=True, slots=True)
class Counters:
    """Which columns of a table are numbers to record.

    Attributes:
        platform: Of the agent.
        columns: Name in the snapshot -> column of the table: ``{"score": "points", "shares": "shares"}``.
            Names other than ``score`` and ``comments`` go to ``others``.
    """

    platform: str
    columns: Mapping[str, str]

    def moved(self, before: Row | None, after: Row) -> bool:
        """Whether a number differs between ``before`` and ``after``; None stands for no row."""
        if before is None:
            return any(after[column] is not None for column in self.columns.values())
        return any(after[column] != before[column] for column in self.columns.values())

    def snapshot(self, table: Table, key: Sequence[str], record: Row) -> dict[str, object]:
        """Return the snapshot of a just stored row.

        Args:
            table: Its table.
            key: Its key columns.
            record: All its values.
        """
        numbers = {name: record[column] for name, column in self.columns.items()}
        others = {name: n for name, n in numbers.items() if name not in NAMED and n is not None}
        return {
            "project_id": record["project_id"],
            "table_name": table.name,
            "natural_key": " ".join(str(record[name]) for name in key if name != "project_id"),
            "observed_at": record["last_seen_at"],
            "platform": self.platform,
            "execution_id": record["execution_id"],
            "score": numbers.get("score"),
            "comments": numbers.get("comments"),
            "others": others or None,
        }


def add_snapshots(cursor: DriverCursor, snapshots: Iterable[Row]) -> None:
    """Store snapshots in the transaction of ``cursor``."""
    convert = binders(SNAPSHOTS.c, cursor.dialect)
    bound = [{**row, **{name: made(row[name]) for name, made in convert.items()}} for row in snapshots]
    if bound:
        cursor.run_each(_adding(is_postgresql=cursor.is_postgresql), bound)
