"""Exports the rows of an execution."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from agentic.core.hooks import get_registry
from agentic.executors.exports.columns import columns_of
from agentic.executors.exports.formats import ExportFormat, write_csv, write_json_array, write_jsonl
from agentic.executors.exports.rows import (
    META,
    ExportTable,
    Record,
    check_table,
    choose_table,
    read_fields,
    read_keyed,
    read_records,
)
from agentic.executors.exports.sql_tables import KEY, SOURCE, SqlTarget
from agentic.executors.exports.targets import ExportTarget
from agentic.executors.exports.typed_files import write_parquet, write_xlsx
from agentic.mappers import AgentModel, Database, ExecutionModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """Which rows to export, where to and how.

    Attributes:
        target: The target.
        table: A table of the platform; by default the last one that has rows.
        with_meta: Add when and in which executions a row was first and last seen, and the source's raw data.
        excel_safe: See :func:`agentic.executors.exports.formats.write_csv`.
    """

    target: ExportTarget | SqlTarget
    table: str | None = None
    with_meta: bool = False
    excel_safe: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """The result of an export: the number of rows, their table, the target as text, and warnings."""

    table: str
    row_count: int
    target: str
    warnings: Sequence[str] = ()


def export_rows(export: Export, database: Database, execution: ExecutionModel, agent: AgentModel) -> Exported:
    """Write the rows that an execution was the last to store, all from one moment.

    Raises:
        UnknownPlatformError: No plugin provides the agent's platform.
        UnknownTableError: The platform has no such table.
        ExportError: The target cannot be written.
        BrokenPipeError: The reader of the stream is gone.
    """
    platform = get_registry().platform(agent.agent_platform)
    with database.reading() as session:
        table = choose_table(session, platform, execution, export.table)

        def records() -> Iterator[Record]:
            return read_records(session, table, execution, with_meta=export.with_meta)

        target = export.target
        if isinstance(target, SqlTarget):
            keyed = read_keyed(session, table, execution, with_meta=export.with_meta)
            columns = columns_of(records(), taken=(SOURCE, KEY))
            return Exported(table=table.name, row_count=target.write(columns, keyed), target=str(target))
        if not target.format.is_text:
            return _typed(target, table, records)
        with target.opened() as file:
            if target.format is ExportFormat.JSONL:
                count = write_jsonl(file, records())
            elif target.format is ExportFormat.JSON:
                count = write_json_array(file, records())
            else:
                fields = [*read_fields(session, table, execution), *([META] if export.with_meta else [])]
                count = write_csv(file, fields, records(), excel_safe=export.excel_safe)
    return Exported(table=table.name, row_count=count, target=str(target))


def _typed(target: ExportTarget, table: ExportTable, records: Callable[[], Iterator[Record]]) -> Exported:
    columns = columns_of(records())
    warnings: Sequence[str] = ()
    with target.raw() as file:
        if target.format is ExportFormat.PARQUET:
            count = write_parquet(file, columns, records())
        else:
            count, warnings = write_xlsx(file, columns, records(), table.name)
    return Exported(table=table.name, row_count=count, target=str(target), warnings=warnings)


def check_export(export: Export, platform_name: str) -> None:
    """Check whether the rows of a platform can be exported, before there are any.

    Raises:
        UnknownPlatformError: The platform does not exist.
        UnknownTableError: It has no such table.
        ExportError: The target cannot be written.
    """
    check_table(get_registry().platform(platform_name), export.table)
    export.target.check()
