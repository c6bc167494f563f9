"""``agentic requests``: questions from runs to people, and the answers."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Annotated

import typer

from agentic.core.audit import acting_user
from agentic.core.cli import print_rows
from agentic.core.types import JSONValue
from agentic.executors.commands.runs.steering import opened_desk, say
from agentic.executors.commands.runs.views import minute, shown_id
from agentic.executors.commands.shared.options import AsJson, InProject, OptionError

requests = typer.Typer(help="Show and answer questions that runs ask people.", no_args_is_help=True)

COLUMNS = ("run", "request", "question", "expects", "deadline")


@requests.command("list")
def list_them(
    *,
    run: Annotated[str | None, typer.Option(metavar="ID", help="Filter by run.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Show N, oldest runs first.")] = 50,
    after: Annotated[
        str | None, typer.Option(metavar="RUN", help="Last run id of the previous page.")
    ] = None,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """List the requests that wait for an answer, oldest run first."""
    from agentic.executors.commands.runs.views import request_row
    from agentic.mappers.runs.requests import open_requests

    with opened_desk(project) as desk:
        run_id = None if run is None else desk.find(run).run_id
        last = None if after is None else desk.find(after)
        with desk.database.reading() as session:
            found = open_requests(session, project_id=desk.project_id, run_id=run_id, after=last)
            rows = [request_row(request) for request in islice(found, limit)]
    shown = rows if as_json else list(map(_for_people, rows))
    print_rows(f"Requests of {desk.project}", COLUMNS, shown, as_json=as_json)


def _for_people(row: Mapping[str, object]) -> dict[str, object]:
    """Return a request as a table row: `agentic requests answer` takes its RUN and REQUEST."""
    run_id = str(row["run_id"])
    return {
        "run": shown_id(run_id),
        "request": str(row["request"]).removeprefix(f"{run_id}:"),
        "question": row["question_text"],
        "expects": row["expects"],
        "deadline": minute(row["deadline"]),
    }


@requests.command("answer")
def answer_one(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run id or unique prefix.")],
    request_id: Annotated[str, typer.Argument(help="Id from `agentic requests list`.")],
    answer: Annotated[str, typer.Argument(metavar="JSON", help="""'{"approved": true}', '"yes"', '5'.""")],
    *,
    by: Annotated[
        str, typer.Option(metavar="NAME", help="Name for the record. Default: your user name.")
    ] = "",
    project: InProject = None,
) -> None:
    """Answer a request; the run continues if no other request is open."""
    value = _read(answer)
    with opened_desk(project) as desk:
        run_id = desk.find(run).run_id
        request = request_id if request_id.startswith(f"{run_id}:") else f"{run_id}:{request_id}"
        desk.decide(lambda service: service.handle(run_id).answer({request: value}, by or acting_user()))
        status = desk.find(run_id).status
    say(f"answered {request}; run {run_id} is {status}")


def _read(answer: str) -> JSONValue:
    from agentic.core.reading.data_text import DataTextError, read_json

    try:
        return read_json(answer)
    except DataTextError as exc:
        raise OptionError(f"the answer cannot be read: {exc}") from None
    except ValueError as exc:
        raise OptionError(f"the answer is not valid JSON ({exc}); quote a text: '\"yes\"'") from None
