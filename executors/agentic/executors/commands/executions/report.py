"""``agentic executions export``, ``report`` and ``changes``: the results of an execution as files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.cli import console, print_json
from agentic.executors.commands.runs.steering import opened_desk, say
from agentic.executors.commands.shared.finding import ExecutionId, find_with_agent
from agentic.executors.commands.shared.options import AsJson, InProject

if TYPE_CHECKING:
    from agentic.executors.commands.runs.steering import Desk
    from agentic.executors.reports.changes import ChangeReport
    from agentic.mappers import ExecutionModel


def report(
    execution_id: ExecutionId,
    *,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="HTML file to write; an existing one is replaced.")
    ] = Path("report.html"),
    opens: Annotated[bool, typer.Option("--open", help="Open it in a browser.")] = False,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Write an HTML report of an execution: figures, plots, failures, changes, sample rows.

    The page needs no network and runs no script, so you can mail it or archive
    it.
    """
    from agentic.executors.exports.targets import written
    from agentic.executors.reports.gathering import gather_report
    from agentic.executors.reports.page import render

    with opened_desk(project) as desk:
        execution, agent = find_with_agent(desk, execution_id)
        with written(out) as file:
            file.write(render(gather_report(desk.database, execution, agent)))
    if as_json:
        print_json({"execution_id": execution.id, "file": str(out)})
    else:
        say(f"wrote {out}")
    if opens:
        typer.launch(out.resolve().as_uri())


def changes(
    execution_id: ExecutionId,
    *,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="Earlier execution to compare with. Default: the previous one of the agent."
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=0, help="Pages to list per kind; all are counted.")] = 20,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Show which pages of a crawl are new, changed or gone since the previous crawl."""
    from agentic.executors.reports.changes import compare_crawls
    from agentic.executors.reports.masking import Shown, masked_changes

    with opened_desk(project) as desk:
        execution, agent = find_with_agent(desk, execution_id)
        earlier = _earlier(desk, execution, agent.agent_name, against)
        with desk.database.reading() as session:
            compared = compare_crawls(session, execution, earlier, listed=limit)
        found = masked_changes(compared, Shown.of(agent))
    if as_json:
        print_json(_as_data(found))
    else:
        for line in _lines(found):
            console.print(line, markup=False, highlight=False, soft_wrap=True)


def _earlier(desk: Desk, execution: ExecutionModel, agent: str, against: str | None) -> ExecutionModel:
    from agentic.executors.reports.changes import NoEarlierCrawlError, earlier_crawl

    if against is not None:
        return find_with_agent(desk, against)[0]
    with desk.database.reading() as session:
        found = earlier_crawl(session, execution)
    if found is None:
        raise NoEarlierCrawlError(execution.id, agent)
    return found


def _as_data(found: ChangeReport) -> dict[str, object]:
    return {
        "execution_id": found.execution_id,
        "against_id": found.against_id,
        "is_whole": found.is_whole,
        "counts": {str(change): count for change, count in found.counts.items()},
        "pages": {
            str(change): [{"url": page.url, "reason": page.reason} for page in pages]
            for change, pages in found.pages.items()
        },
    }


def _lines(found: ChangeReport) -> Iterator[str]:
    counts = ", ".join(f"{count:,} {change}" for change, count in found.counts.items())
    yield f"{counts}; against execution {found.against_id}"
    if not found.is_whole:
        yield "not every known page was fetched, so missing pages do not count as gone"
    for change, pages in found.pages.items():
        for page in pages:
            yield f"{change:>10}  {page.url}" + (f"  ({page.reason})" if page.reason else "")
        if (more := found.counts[change] - len(pages)) > 0:
            yield f"{change:>10}  ... and {more:,} more; see --limit"
