"""``agentic executions export``, and the options of every command that writes rows to a file."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.cli import err_console
from agentic.executors.commands.finding import ExecutionId, find_with_agent
from agentic.executors.commands.options import InProject, OptionError
from agentic.executors.commands.steering import opened_desk

if TYPE_CHECKING:
    from agentic.executors.exports.exporting import Export

Out = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Write the rows to FILE.jsonl or FILE.csv, also with .gz; `-`: JSON lines on standard output.",
    ),
]
Table = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Rows of this table; of a pipeline its items, or else its pages."),
]
ExcelSafe = Annotated[
    bool,
    typer.Option("--excel-safe", help="CSV for spreadsheets: text that they would run is marked by a '."),
]


def export(
    execution_id: ExecutionId,
    *,
    out: Out = "-",
    table: Table = None,
    excel_safe: ExcelSafe = False,
    meta: Annotated[
        bool, typer.Option("--meta", help="Add when each row was seen, by which execution, and its source.")
    ] = False,
    project: InProject = None,
) -> None:
    """Write the rows an execution gave to a file.

    A row that a later execution gave again is that one's.
    """
    from agentic.executors.exports.exporting import check_export, export_rows
    from agentic.executors.exports.targets import while_read

    wanted = read_export(out, table, excel_safe=excel_safe, with_meta=meta)
    if wanted is None:
        raise OptionError("--out has no name; give a file, or - for standard output")
    with opened_desk(project) as desk:
        execution, agent = find_with_agent(desk, execution_id)
        check_export(wanted, agent.agent_platform)
        exported = while_read(partial(export_rows, wanted, desk.database, execution, agent))
    if exported is not None:
        line = f"wrote {exported.row_count:,} rows of {exported.table} to {wanted.target}"
        err_console.print(line, markup=False, highlight=False, soft_wrap=True)


def read_export(
    out: str | None, table: str | None, *, excel_safe: bool = False, with_meta: bool = False
) -> Export | None:
    """Return what options say about writing rows out; None if they say nothing.

    Raises:
        ExportError: The name of the file does not say how to write.
        OptionError: The options contradict each other.
    """
    from agentic.executors.exports.exporting import Export
    from agentic.executors.exports.formats import ExportFormat
    from agentic.executors.exports.targets import Target

    if not out:
        if table is not None or excel_safe:
            raise OptionError("--table and --excel-safe say how rows are written; say where to with --out")
        return None
    target = Target.parse(out)
    if excel_safe and target.format is not ExportFormat.CSV:
        raise OptionError(f"--excel-safe is for CSV, and {target} gets JSON lines; end the name in .csv")
    return Export(target=target, table=table, with_meta=with_meta, excel_safe=excel_safe)
