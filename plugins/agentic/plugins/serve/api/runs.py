"""Durable runs of workflows, their events, and the questions that they ask people."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from itertools import islice
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError
from starlette.responses import Response

from agentic.core.agents.tools.calling import as_json as jsonable
from agentic.core.errors import text_of
from agentic.core.graph.build.workflow import Workflow
from agentic.core.graph.definition.workflow import WorkflowDefinition
from agentic.core.graph.model.result import RunStatus
from agentic.core.hooks import get_registry
from agentic.core.ledger import RunRow, UnknownRunError
from agentic.core.ledger.batches import read_batch
from agentic.core.masking import mask_known
from agentic.core.threads import in_thread
from agentic.core.types import JSONValue, RunId
from agentic.executors.commands.runs.views import question_text, shown_time
from agentic.executors.durable.runs.service import Submission
from agentic.executors.serving.answers import json_text
from agentic.executors.serving.project import ServedProject
from agentic.executors.serving.sse import Frame
from agentic.mappers.runs.reading import LedgerReader
from agentic.mappers.runs.requests import OpenRequest, open_requests
from agentic.plugins.serve.api.endpoints import PREFIX, BadRequestError, Endpoint, EndpointCall, Group
from agentic.plugins.serve.api.views import (
    Answered,
    CancelBody,
    Cancelled,
    EventQuery,
    Events,
    GivenAnswer,
    Items,
    RequestQuery,
    RequestView,
    RunBody,
    RunDetail,
    RunQuery,
    RunSummary,
    WorkflowView,
)

BY = "http"
"""The author of an answer that names none: a holder of the token."""

OF_AGENTS = frozenset({"agent", "talk"})
"""The names of workflows of agents begin with these."""

FIRST_LOOK_S = 0.05
LAST_LOOK_S = 1.0


def run_endpoints() -> Sequence[Endpoint]:
    """Return the endpoints of workflows, runs and requests."""
    return [*_of_runs(), *_of_requests()]


def _of_runs() -> Sequence[Endpoint]:
    offered, runs = Group("workflows", tag="runs"), Group("runs")
    return [
        offered("GET", workflows, Items[WorkflowView], "List the workflows of the installed plugins."),
        runs(
            "GET", list_them, Items[RunSummary], "List runs, also runs of agents, the newest first.",
            query=RunQuery,
        ),
        runs(
            "POST", start, RunDetail,
            "Start a run of a workflow. `Prefer: wait=SECONDS` waits for its end.", takes=RunBody, status=202,
        ),
        runs("GET /{id}", show, RunDetail, "Show a run with its outputs."),
        runs("POST /{id}/cancel", cancel, Cancelled, "Cancel a run.", takes=CancelBody),
        runs(
            "GET /{id}/events", events, Events,
            "Return the durable events of a run; as a stream, also the coming ones until its end.",
            query=EventQuery, streams=True,
        ),
    ]  # fmt: skip


def _of_requests() -> Sequence[Endpoint]:
    requests = Group("requests")
    return [
        requests(
            "GET", list_requests, Items[RequestView],
            "List the questions that runs ask people, oldest runs first. A page has all "
            "questions of its runs.", query=RequestQuery,
        ),
        requests(
            "POST /{id}/answer", answer, Answered,
            "Answer a question; its run continues if no other is open. A second answer is refused.",
            takes=GivenAnswer,
        ),
    ]  # fmt: skip


async def workflows(call: EndpointCall) -> Items[WorkflowView]:
    """Return the workflows of plugins."""
    del call
    return Items[WorkflowView](items=await in_thread(_workflows))


def _workflows() -> list[WorkflowView]:
    found = []
    offers = get_registry().workflows
    for name in sorted(offers):
        try:
            takes = _kinds_of(offers[name]())
            found.append(WorkflowView(name=name, takes=[getattr(one, "__name__", str(one)) for one in takes]))
        except Exception as exc:  # of a plugin
            found.append(WorkflowView(name=name, takes=[], error=mask_known(text_of(exc))))
    return found


def _kinds_of(workflow: Workflow | WorkflowDefinition) -> list[Any]:
    starts = (workflow.graph.executors[name] for name in workflow.graph.starts)
    return [kind for start in starts for kind in start.input_types]


async def list_them(call: EndpointCall) -> Items[RunSummary]:
    """Return a page of runs."""
    query: RunQuery = call.query
    try:
        status = None if query.status is None else RunStatus(query.status)
    except ValueError:
        known = ", ".join(RunStatus)
        raise BadRequestError(f"no run has the status {query.status!r}; known: {known}") from None

    def read() -> Items[RunSummary]:
        with call.project.database.reading() as session:
            reader = LedgerReader(session, call.project.id)
            after = None if query.cursor is None else _named(reader, query.cursor)
            found = reader.runs(status=status, workflow=query.workflow, limit=query.limit + 1, after=after)
        items = [RunSummary(**_facts(row)) for row in found[: query.limit]]
        return Items[RunSummary](items=items, next=items[-1].id if len(found) > query.limit else None)

    return await in_thread(read)


async def start(call: EndpointCall) -> Response:
    """Start a run."""
    body: RunBody = call.body
    if body.workflow.partition(":")[0] in OF_AGENTS:
        raise BadRequestError("runs of agents are executions, or messages to them; start those")
    registered = await in_thread(call.project.runs.host.catalog.get, body.workflow)
    key = None if call.key is None else f"http:{call.key}"
    message = _message(registered.workflow, body.input)
    handle = await call.project.runs.submit(body.workflow, message, Submission(idempotency_key=key))
    await call.rest(handle.run_id)
    detail = await _detail(call.project, handle.run_id)
    is_ended = detail.status != RunStatus.RUNNING
    return call.started(detail, f"{PREFIX}/runs/{{id}}", handle.run_id, is_ended=is_ended)


def _message(workflow: Workflow | WorkflowDefinition, given: JSONValue) -> object:
    """Return the input of a run, in the type that its start executors take."""
    for kind in _kinds_of(workflow):
        try:
            return TypeAdapter(kind).validate_python(given, strict=isinstance(given, str) or None)
        except (ValidationError, TypeError):
            continue
    return given  # refused with the types that it could have


async def show(call: EndpointCall) -> RunDetail:
    """Return a run."""
    return await _detail(call.project, await _known(call))


async def cancel(call: EndpointCall) -> Cancelled:
    """Cancel a run."""
    body: CancelBody = call.body
    return Cancelled(cancelled=await call.project.runs.handle(await _known(call)).cancel(body.reason))


async def events(call: EndpointCall) -> Response | Events:
    """Return events of a run, once or as a stream."""
    query: EventQuery = call.query
    run_id = await _known(call)
    if call.wants_stream:
        last = call.request.headers.get("last-event-id", "")
        after = int(last) if last.isdecimal() and len(last) < 16 else query.after
        return call.project.streams.response(_event_frames(call.project, run_id, after))
    found = await in_thread(_events, call.project, run_id, query.after, query.limit)
    return Events(events=found, last=found[-1]["sequence"] if found else query.after)


async def _event_frames(project: ServedProject, run_id: RunId, after: int) -> AsyncGenerator[Frame, None]:
    pause_s = FIRST_LOOK_S
    while True:
        row = await project.runs.handle(run_id).row()  # first: an ended run has written all its events
        found = await in_thread(_events, project, run_id, after, 200)
        for event in found:
            after, pause_s = event["sequence"], FIRST_LOOK_S
            yield Frame(event=event["kind"], data=json_text(event), id=str(after))
        if not found and row.status is not RunStatus.RUNNING:
            yield Frame(event="rest", data=json_text({"status": str(row.status)}))
            return
        if not found:
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 1.5, LAST_LOOK_S)


def _events(project: ServedProject, run_id: RunId, after: int, limit: int) -> list[dict[str, Any]]:
    with project.database.reading() as session:
        batches = LedgerReader(session, project.id).events(run_id, after=after, limit=limit)
    found = (event.to_dict() for batch in batches for event in read_batch(batch))
    return list(islice((one for one in found if cast(int, one["sequence"]) > after), limit))


async def list_requests(call: EndpointCall) -> Items[RequestView]:
    """Return a page of open questions."""
    query: RequestQuery = call.query

    def read() -> Items[RequestView]:
        with call.project.database.reading() as session:
            reader = LedgerReader(session, call.project.id)
            after = None if query.cursor is None else _named(reader, query.cursor)
            run_id = None if query.run is None else _named(reader, query.run).run_id
            found = open_requests(session, project_id=call.project.id, run_id=run_id, after=after)
            items, has_more = _whole_runs(found, query.limit)
        shown = [_question(one) for one in items]
        return Items[RequestView](items=shown, next=items[-1].run_id if has_more else None)

    return await in_thread(read)


async def answer(call: EndpointCall) -> Answered:
    """Answer a question."""
    body: GivenAnswer = call.body
    request_id = call.path("id")
    outermost = request_id.rpartition(":")[0].partition("/")[0]
    run_id = await in_thread(_run_id, call.project, outermost)
    await call.project.runs.handle(run_id).answer({request_id: body.answer}, body.by or BY)
    return Answered(run_id=run_id, status=str(await call.project.runs.handle(run_id).status()))


def _whole_runs(found: Iterator[OpenRequest], least: int) -> tuple[list[OpenRequest], bool]:
    """Return the first requests, with all of the last one's run, and whether runs with others follow."""
    items = list(islice(found, least))
    for one in found:
        if one.run_id != items[-1].run_id:
            return items, True
        items.append(one)
    return items, False


def _question(request: OpenRequest) -> RequestView:
    return RequestView(
        id=request.id,
        run_id=request.run_id,
        workflow=request.workflow,
        asked_by=request.path,
        question=request.question,
        text=question_text(request.question),
        expects=request.response_type.rpartition(".")[2],
        deadline=shown_time(request.deadline),
    )


async def _known(call: EndpointCall) -> RunId:
    return await in_thread(_run_id, call.project, call.path("id"))


def _run_id(project: ServedProject, name: str) -> RunId:
    with project.database.reading() as session:
        return _named(LedgerReader(session, project.id), name).run_id


def _named(reader: LedgerReader, name: str) -> RunRow:
    found = reader.named([RunId(name)]).get(RunId(name))
    if found is None:
        raise UnknownRunError(RunId(name))
    return found


async def _detail(project: ServedProject, run_id: str) -> RunDetail:
    handle = project.runs.handle(run_id)
    row = await handle.row()
    outputs = []
    if row.status is RunStatus.COMPLETED:
        outputs = [jsonable(one) for one in (await handle.result()).outputs]
    return RunDetail(**_facts(row), outputs=outputs)


def _facts(row: RunRow) -> dict[str, Any]:
    return {
        "id": row.run_id,
        "workflow": row.workflow,
        "status": str(row.status),
        "superstep": row.superstep,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "finished_at": row.finished_at,
        "is_paused": row.is_paused,
        "error": None if row.error is None else mask_known(row.error),
        "note": row.note,
    }
