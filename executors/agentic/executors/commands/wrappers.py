"""``agentic pipelines wrappers``: shows how the fields of a pipeline look, and writes it to a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.cli import print_line, print_rows
from agentic.executors.commands.shared.completing import pipeline_names
from agentic.executors.commands.shared.looks import learnt_wrappers
from agentic.executors.commands.shared.options import AsJson, InProject, write_file

if TYPE_CHECKING:
    from agentic.core.wrappers import Wrapper

_SHOWN = 40


def show_wrappers(
    target: Annotated[
        str,
        typer.Argument(
            metavar="FILE|NAME", help="Pipeline file, NAME or NAME@VERSION.", autocompletion=pipeline_names
        ),
    ],
    *,
    out: Annotated[
        Path | None, typer.Option(help="Write them to this file, for `--wrappers` elsewhere.")
    ] = None,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Show how the fields of a pipeline look, learnt by its crawls, or write it to a file."""
    from agentic.core.wrappers import encode
    from agentic.executors.commands.pipelines import read_pipeline

    spec = read_pipeline(target, project)
    found = learnt_wrappers(spec, project)
    if not found and not as_json:
        print_line(f"nothing is known of the fields of {spec.name} yet; run its crawl once")
        return
    if out is not None:
        write_file(out, b"".join(encode(one) + b"\n" for one in found), "--out")
    rows = [_row(one) for one in found]
    columns = ["field", "pages", "missing", "looked_for", "example"]
    if out is None or as_json:
        print_rows(f"Fields of {spec.name}", columns, rows, as_json=as_json)
    else:
        print_line(f"wrote {out}")


def _row(one: Wrapper) -> dict[str, object]:
    example = [*one.examples.values()][-1] if one.examples else ""
    return {
        "field": one.name,
        "pages": one.pages,
        "missing": one.missing,
        "looked_for": one.locators[0].path if one.locators else "",
        "example": example[:_SHOWN],
    }
