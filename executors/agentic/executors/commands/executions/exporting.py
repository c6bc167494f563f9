"""``agentic executions export``, and the options of every command that writes rows to a file."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from agentic.core.cli import err_console, print_json
from agentic.executors.commands.executions.choice import (
    All,
    ExecutionSelection,
    Ids,
    OfAgent,
    OfPlatform,
    Since,
    WithStatus,
)
from agentic.executors.commands.runs.steering import opened_desk
from agentic.executors.commands.shared.bulk import BulkOptions
from agentic.executors.commands.shared.options import AsJson, DryRun, InProject, OptionError, Yes

if TYPE_CHECKING:
    from agentic.executors.commands.executions.choice import Pair
    from agentic.executors.commands.runs.steering import Desk
    from agentic.executors.exports.exporting import Export, Exported
    from agentic.executors.exports.sql_tables import SqlTarget
    from agentic.executors.exports.targets import ExportTarget
    from agentic.mappers import AgentModel, ExecutionModel

STDOUT = "-"

Out = Annotated[
    str | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        help="Write rows to FILE.jsonl, .json, .csv (.gz too), .parquet or .xlsx; to a URL (s3://...); "
        "to a table (postgresql://...#TABLE); `-`: JSON lines on stdout.",
    ),
]
Table = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Table to export. Default for pipelines: items, or else pages."),
]
ExcelSafe = Annotated[
    bool,
    typer.Option("--excel-safe", help="CSV for spreadsheets: mark text that looks like a formula with a '."),
]


def export(  # noqa: PLR0913  # one parameter for each option
    ids: Ids = None,
    *,
    agent: OfAgent = None,
    platform: OfPlatform = None,
    status: WithStatus = None,
    since: Since = None,
    everything: All = False,
    out: Out = None,
    to: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Folder or URL for one file per execution.")
    ] = None,
    ending: Annotated[
        Literal["jsonl", "json", "csv", "jsonl.gz", "json.gz", "csv.gz", "parquet", "xlsx"],
        typer.Option("--format", help="Format of the files in --to."),
    ] = "jsonl",
    table: Table = None,
    excel_safe: ExcelSafe = False,
    meta: Annotated[
        bool, typer.Option("--meta", help="Add columns: time, execution and source of each row.")
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Export the rows of an execution to a file or standard output, or of several to a folder.

    A row that a later execution stored again belongs to the later one. Executions
    chosen by filters must have succeeded.
    """
    choice = ExecutionSelection(
        ids=ids, agent=agent, platform=platform, statuses=status, since=since, everything=everything
    )
    choice.check()
    options = _Rows(table=table, excel_safe=excel_safe, with_meta=meta)
    if to is None and choice.is_one and not dry_run:
        _export_one(choice, options, out, project, as_json=as_json)
        return
    if to is None or out is not None:
        raise OptionError("several executions are written to a folder: use --to FOLDER instead of --out")
    with opened_desk(project) as desk:

        def act(pair: Pair) -> str:
            target = _in_folder(to, _file_name(*pair, ending))
            return _line(*_export_to(desk, options.export(target), *pair))

        bulk_options = BulkOptions(yes=yes, dry_run=dry_run, as_json=as_json)
        choice.each("export", choice.found(desk, ("succeeded", "partial")), act, bulk_options)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """The rows to write, and the format."""

    table: str | None
    excel_safe: bool
    with_meta: bool

    def export(self, out: str) -> Export:
        wanted = read_export(out, self.table, excel_safe=self.excel_safe, with_meta=self.with_meta)
        if wanted is None:
            raise OptionError("--out has no name; give a file, or - for standard output")
        return wanted


def _export_one(
    choice: ExecutionSelection, options: _Rows, out: str | None, project: str | None, *, as_json: bool
) -> None:
    wanted = options.export(STDOUT if out is None else out)
    if as_json and wanted.target.is_stdout:
        raise OptionError("rows and --json both use standard output; name a file with --out")
    with opened_desk(project) as desk:
        (pair,) = choice.found(desk)
        target, exported = _export_to(desk, wanted, *pair)
    if exported is None:
        return
    if as_json:
        print_json({"execution_id": pair[0].id, "file": str(target), **asdict(exported)})
    else:
        err_console.print(_line(target, exported), markup=False, highlight=False, soft_wrap=True)


def _export_to(
    desk: Desk, wanted: Export, execution: ExecutionModel, agent: AgentModel
) -> tuple[ExportTarget | SqlTarget, Exported | None]:
    """Write rows; return where to and how many, or None once standard output has no reader."""
    from agentic.executors.exports.exporting import check_export, export_rows
    from agentic.executors.exports.targets import while_read

    check_export(wanted, agent.agent_platform)
    return wanted.target, while_read(partial(export_rows, wanted, desk.database, execution, agent))


def _line(target: ExportTarget | SqlTarget, exported: Exported | None) -> str:
    if exported is None:
        return "not read"
    warnings = "".join(f"\nwarning: {one}" for one in exported.warnings)
    return f"wrote {exported.row_count:,} rows of {exported.table} to {target}{warnings}"


def _in_folder(folder: str, name: str) -> str:
    """Return the target of a file in a folder, which is made if it is missing."""
    if "://" in folder:
        return f"{folder.rstrip('/')}/{name}"
    Path(folder).mkdir(parents=True, exist_ok=True)
    return str(Path(folder) / name)


def _file_name(execution: ExecutionModel, agent: AgentModel, ending: str) -> str:
    """Name a file after the agent, if possible, and the execution."""
    plain = re.sub(r"[^\w.-]+", "_", agent.agent_name).strip("._") or "agent"
    return f"{plain[:100]}-{execution.id}.{ending}"


def read_export(
    out: str | None, table: str | None, *, excel_safe: bool = False, with_meta: bool = False
) -> Export | None:
    """Return the export that options describe; None if they describe none.

    Raises:
        ExportError: The name of the file does not show the format.
        OptionError: The options contradict each other.
    """
    if not out:
        if table is not None or excel_safe:
            raise OptionError(
                "--table and --excel-safe choose how rows are written; choose the file with --out"
            )
        return None
    from agentic.executors.exports.exporting import Export
    from agentic.executors.exports.formats import ExportFormat
    from agentic.executors.exports.sql_tables import SqlTarget, is_database
    from agentic.executors.exports.targets import ExportTarget

    target = SqlTarget.parse(out) if is_database(out) else ExportTarget.parse(out)
    if excel_safe and not (isinstance(target, ExportTarget) and target.format is ExportFormat.CSV):
        raise OptionError(f"--excel-safe needs CSV, and {target} is not CSV; use a name that ends in .csv")
    return Export(target=target, table=table, with_meta=with_meta, excel_safe=excel_safe)
