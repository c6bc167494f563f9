"""``agentic crawls``: crawls that hold pages, and their release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.audit import acting_user
from agentic.core.cli import print_json
from agentic.core.masking import masked_data
from agentic.core.terminal import harmless
from agentic.core.types import JSONValue
from agentic.executors.commands.runs.steering import Desk, opened_desk, say
from agentic.executors.commands.runs.views import shown_id
from agentic.executors.commands.shared.options import AsJson, InProject, OptionError

if TYPE_CHECKING:
    from agentic.mappers.crawl.held import HeldCrawl
    from agentic.mappers.runs.requests import OpenRequest

crawls = typer.Typer(help="Show and release crawls that hold pages.", no_args_is_help=True)

ASKED_WITH = frozenset(
    f"agentic.core.pipeline.drift.incidents.{name}" for name in ("DriftAnswer", "RepairAnswer")
)


@crawls.command()
def held(*, project: InProject = None, as_json: AsJson = False) -> None:
    """Show the crawls that hold pages, with the reason and examples."""
    from agentic.mappers.catalog.repairs import proposed_repairs
    from agentic.mappers.crawl.held import held_crawls

    with opened_desk(project) as desk:
        with desk.database.reading() as session:
            found = held_crawls(session, desk.project_id)
            repairs = {
                one.execution_id: proposed_repairs(session, desk.project_id, one.execution_id)
                for one in found
            }
        if as_json:
            print_json([_data(one, repairs[one.execution_id]) for one in found])
            return
        for one in found:
            _show(one, repairs[one.execution_id])
        if not found:
            say("no crawl holds pages")


@crawls.command()
def release(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run or execution id, or unique prefix.")],
    *,
    accept: Annotated[
        bool, typer.Option("--accept", help="The new pages are right: learn them as healthy, and read them.")
    ] = False,
    stop: Annotated[bool, typer.Option("--stop", help="Leave the held pages and end the crawl.")] = False,
    by: Annotated[
        str, typer.Option(metavar="NAME", help="Name for the record. Default: your user name.")
    ] = "",
    project: InProject = None,
) -> None:
    """Continue a crawl that holds pages; those that raised the alarm are read again.

    A proposed repair is not applied: see `agentic repairs accept`.
    """
    if accept and stop:
        raise OptionError("--accept and --stop exclude each other: give one, or none to continue")
    answer = "accept" if accept else "stop" if stop else "resume"
    with opened_desk(project) as desk:
        run_id = desk.find(run).run_id
        asked = _questions(desk, run_id)
        if not asked:
            raise OptionError(
                f"run {run_id} does not wait with held pages; see `agentic crawls held`. A crawl asks once "
                "it has no other page to fetch"
            )
        if advice := answer_held(desk, run_id, {one.id: answer for one in asked}, by or acting_user()):
            raise OptionError(advice)
        status = desk.find(run_id).status
    say(f"answered {answer!r}; run {run_id} is {status}")
    say(f"without a worker, continue with: agentic executions retry {shown_id(run_id)}")


def answer_held(desk: Desk, run_id: str, answers: Mapping[str, JSONValue], who: str) -> str:
    """Answer questions about held pages; return "", or what to do where the run cannot continue."""
    from agentic.core.graph.errors import CheckpointVersionError, UnknownRequestError

    try:
        desk.decide(lambda service: service.handle(run_id).answer(answers, who))
    except CheckpointVersionError:
        short = shown_id(run_id)
        return (
            f"run {short} began before its agent or this program was changed, and cannot continue; "
            f"end it with `agentic executions cancel {short}`, and fetch its pages with "
            f"`agentic executions retry {short} --failed`"
        )
    except UnknownRequestError:
        return f"run {shown_id(run_id)} was answered meanwhile; see `agentic audit`"
    return ""


def _questions(desk: Desk, run_id: str) -> Sequence[OpenRequest]:
    from agentic.core.types import RunId
    from agentic.mappers.runs.requests import open_requests

    with desk.database.reading() as session:
        found = open_requests(session, project_id=desk.project_id, run_id=RunId(run_id))
        return [one for one in found if one.response_type in ASKED_WITH]


def _show(one: HeldCrawl, repairs: Sequence[str]) -> None:
    pages = "page is" if one.held == 1 else "pages are"
    say(f"{shown_id(one.execution_id)}  {one.agent}: {one.held:,} of {one.total:,} {pages} held")
    for incident in one.incidents:
        say(harmless(f"  {incident.headline}"))
        for fault in incident.faults:
            say(harmless(f"    {fault.words}"))
        for url in incident.urls[:1]:
            say(harmless(f"    such as {url}"))
        if not (repairs and incident.cause.is_drift):
            say(f"    {incident.advice}")
    for repair in repairs:
        say(f"  a repair is proposed: agentic repairs show {shown_id(repair)}")
    say(f"  agentic crawls release {shown_id(one.execution_id)}")


def _data(one: HeldCrawl, repairs: Sequence[str]) -> object:
    return masked_data(
        {
            "run_id": one.execution_id,
            "agent": one.agent,
            "held": one.held,
            "known": one.total,
            "done": one.done,
            "repairs": [*repairs],
            "incidents": [
                {**incident.model_dump(mode="json"), "words": incident.words} for incident in one.incidents
            ],
        }
    )
