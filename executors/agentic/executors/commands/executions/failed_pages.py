"""``agentic executions pages`` and ``failures``: lists pages of a crawl; retries of failed pages."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.cli import print_json
from agentic.core.http.errors import reason_in
from agentic.core.terminal import harmless
from agentic.core.types import JSONValue, RunId
from agentic.executors.commands.runs.steering import Desk, opened_desk, say
from agentic.executors.commands.shared.finding import ExecutionId, find_with_agent
from agentic.executors.commands.shared.options import AsJson, InProject

if TYPE_CHECKING:
    from agentic.executors.reports.masking import Shown
    from agentic.mappers import AgentModel, Database, ExecutionModel
    from agentic.mappers.crawl.failures import GivenUpPage, KnownPage
    from agentic.mappers.tables.core import FrontierState


def failures(
    execution_id: ExecutionId,
    *,
    failure_class: Annotated[
        str | None, typer.Option("--class", metavar="NAME", help="Filter by failure class.")
    ] = None,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """List all failed pages of an execution by failure class, with the reason."""
    from agentic.executors.reports.masking import Shown

    with opened_desk(project) as desk:
        execution, agent = find_with_agent(desk, execution_id)
        found = _failures(desk, execution, failure_class)
    shown = Shown.of(agent)
    if as_json:
        print_json([_as_data(name, page, shown) for name, pages in found.items() for page in pages])
        return
    for name, pages in found.items():
        say(f"{name} ({len(pages):,})")
        for page in pages:
            say(harmless(f"  {shown.text(page.url)}  {shown.text(reason_in(page.message, page.url))}"))
    if not found:
        say("no failed pages" if failure_class is None else f"no failed pages with {failure_class}")


class PageState(StrEnum):
    """The state of a page of a crawl."""

    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"


def pages(
    execution_id: ExecutionId,
    *,
    state: Annotated[list[PageState] | None, typer.Option(help="Filter by state. Repeatable.")] = None,
    failure_class: Annotated[
        str | None, typer.Option("--class", metavar="NAME", help="Filter by failure class.")
    ] = None,
    limit: Annotated[int, typer.Option(min=0, help="Show the first N; 0 for all.")] = 100,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """List the pages that the crawl of an execution knows: waiting, done or failed."""
    from agentic.executors.reports.masking import Shown
    from agentic.mappers.crawl.failures import known_pages

    with opened_desk(project) as desk:
        execution, agent = find_with_agent(desk, execution_id)
        states = [one for wanted in state or () for one in _states(wanted)]
        with desk.database.reading() as session:
            found = known_pages(
                session,
                desk.project_id,
                execution.id,
                states=states,
                failure_class=failure_class,
                limit=limit + 1 if limit else None,
            )
    shown = Shown.of(agent)
    is_cut = bool(limit) and len(found) > limit
    rows = [_page_row(page, shown) for page in (found[:limit] if limit else found)]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        facts = [str(row[name]) for name in ("state", "url", "failure_class", "message") if row[name]]
        say(harmless("  ".join(facts)))
    if is_cut:
        say("... and more; --limit 0 shows all")
    if not rows:
        say("no such page")


def _states(wanted: PageState) -> Sequence[FrontierState]:
    from agentic.mappers.tables.core import FrontierState

    match wanted:
        case PageState.WAITING:
            return [FrontierState.NEW, FrontierState.TAKEN, FrontierState.HELD]
        case PageState.DONE:
            return [FrontierState.DONE]
        case PageState.FAILED:
            return [FrontierState.FAILED]


def _page_row(page: KnownPage, shown: Shown) -> dict[str, JSONValue]:
    is_waiting = page.state not in ("done", "failed")
    return {
        "url": shown.text(page.url),
        "state": "waiting" if is_waiting else page.state.value,
        "depth": page.depth,
        "failure_class": page.failure_class,
        "message": None if page.message is None else shown.text(reason_in(page.message, page.url)),
    }


def retry_failed(desk: Desk, execution: ExecutionModel, agent: AgentModel) -> ExecutionModel:
    """Make an execution that fetches the failed pages of another one again.

    Raises:
        ExecutionNotRunnableError: It has no failed page.
    """
    from agentic.executors.errors import ExecutionNotRunnableError
    from agentic.mappers import find_agent
    from agentic.mappers.catalog.dead_letter_retries import retry_failed_pages

    with desk.database.writing() as session:
        owner = find_agent(session, desk.project_id, agent.id)
        made, count = retry_failed_pages(session, execution, owner)
        if not count:
            raise ExecutionNotRunnableError(
                execution.id,
                f"it is {execution.status} without failed pages; start a new one with `agentic run "
                f"{agent.agent_name}`",
            )
    return made


def failed_pages_again(database: Database, agent: AgentModel) -> ExecutionModel | None:
    """Make an execution for the failed pages of the newest one of an agent; None without failed pages."""
    from agentic.mappers import find_agent, list_executions
    from agentic.mappers.catalog.dead_letter_retries import count_failed_pages, retry_failed_pages

    with database.writing() as session:
        newest = list_executions(session, agent.project_id, 1, agent_id=agent.id)
        if not newest or newest[0].status == "succeeded" or not newest[0].has_all_results:
            return None
        if not count_failed_pages(session, newest[0]):
            return None
        owner = find_agent(session, agent.project_id, agent.id)
        return retry_failed_pages(session, newest[0], owner)[0]


def crawl_as_changed(desk: Desk, agent: AgentModel) -> ExecutionModel:
    """Make an execution that continues the newest crawl of a changed agent; end the old one.

    It knows all pages of that crawl, and fetches the failed and the remaining ones.
    """
    from agentic.executors.commands.executions.rereads import say_plan
    from agentic.executors.commands.runs.command import cancel_run
    from agentic.mappers import find_agent, list_executions
    from agentic.mappers.catalog.dead_letter_retries import retry_failed_pages

    with desk.database.reading() as session:
        newest = list_executions(session, desk.project_id, 1, agent_id=agent.id)[0]
    if newest.status in {"queued", "running"}:
        cancel_run(desk, RunId(newest.id), "continued with the changed agent")
    with desk.database.writing() as session:
        owner = find_agent(session, desk.project_id, agent.id)
        made = retry_failed_pages(session, newest, owner)[0]
    say_plan(desk, made, newest)
    return made


def _failures(
    desk: Desk, execution: ExecutionModel, failure_class: str | None
) -> dict[str, list[GivenUpPage]]:
    from agentic.mappers.crawl.failures import failed_pages, failure_tallies

    of = (desk.project_id, execution.id)
    with desk.database.reading() as session:
        names = [tally.failure_class for tally in failure_tallies(session, *of, examples=0)]
        wanted = [name for name in names if failure_class in (None, name)]
        return {name: list(failed_pages(session, *of, name)) for name in wanted}


def _as_data(failure_class: str, page: GivenUpPage, shown: Shown) -> dict[str, str]:
    return {"failure_class": failure_class, "url": shown.text(page.url), "message": shown.text(page.message)}
