"""Executions: runs of agents and of stored pipelines, and their rows."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from typing import Any, cast

from sqlalchemy.orm import Session
from starlette.responses import Response, StreamingResponse

from agentic.core.hooks import get_registry
from agentic.core.threads import in_thread
from agentic.core.types import RunId
from agentic.executors.agents.catalog import AgentFacts, find_named, put_agent
from agentic.executors.agents.runner import begin_here
from agentic.executors.commands.shared.views import execution_row
from agentic.executors.errors import PipelineBusyError
from agentic.executors.exports.rows import BATCH_ROWS, choose_table, in_groups, read_records
from agentic.executors.serving.answers import json_text
from agentic.executors.serving.project import ServedProject
from agentic.mappers import (
    AgentModel,
    ExecutionModel,
    ExecutionStatus,
    UnknownExecutionError,
    create_execution,
    find_agent,
    find_execution,
    find_project,
    list_agents,
)
from agentic.mappers.catalog.execution_choice import ExecutionFilter, choose_executions
from agentic.mappers.catalog.execution_counts import counts_so_far
from agentic.mappers.catalog.executions import cancel_unbegun
from agentic.mappers.catalog.pipelines import find_stored, list_pipelines
from agentic.mappers.runs.reading import LedgerReader
from agentic.plugins.serve.api.endpoints import PREFIX, BadRequestError, Endpoint, EndpointCall, Group
from agentic.plugins.serve.api.views import (
    CancelBody,
    Cancelled,
    ExecutionBody,
    ExecutionQuery,
    ExecutionView,
    Items,
    PipelineView,
    RowQuery,
    RowsView,
)

PIPELINE_PLATFORM = "web"


def execution_endpoints() -> Sequence[Endpoint]:
    """Return the endpoints of executions and pipelines."""
    stored, executions = Group("pipelines", tag="executions"), Group("executions")
    return [
        stored(
            "GET", pipelines, Items[PipelineView],
            "List the stored pipelines with their inputs, newest versions first.",
        ),
        executions(
            "GET", list_them, Items[ExecutionView], "List executions, the newest first.", query=ExecutionQuery
        ),
        executions(
            "POST", start, ExecutionView,
            "Start an execution of an agent, or of a stored pipeline. `Prefer: wait=SECONDS` waits "
            "for its end.",
            takes=ExecutionBody, status=202,
        ),
        executions("GET /{id}", show, ExecutionView, "Show an execution."),
        executions(
            "POST /{id}/cancel", cancel, Cancelled,
            "Cancel an execution; running steps are notified within seconds.", takes=CancelBody,
        ),
        executions(
            "GET /{id}/rows", rows, RowsView, "Return the first rows that an execution stored.",
            query=RowQuery,
        ),
        executions(
            "GET /{id}/rows.jsonl", all_rows, None, "Return all rows of an execution as JSON lines.",
            query=RowQuery,
        ),
    ]  # fmt: skip


async def pipelines(call: EndpointCall) -> Items[PipelineView]:
    """Return the stored pipelines."""

    def read() -> list[PipelineView]:
        with call.project.database.reading() as session:
            return [
                PipelineView(
                    name=one.name,
                    version=one.version,
                    description=str(one.spec.get("description") or ""),
                    inputs=cast(dict[str, Any], one.spec.get("inputs") or {}),
                )
                for one in list_pipelines(session, call.project.id)
            ]

    return Items[PipelineView](items=await in_thread(read))


async def list_them(call: EndpointCall) -> Items[ExecutionView]:
    """Return a page of executions."""
    query: ExecutionQuery = call.query

    def read() -> Items[ExecutionView]:
        with call.project.database.reading() as session:
            wanted = _filter(session, call.project, query)
            after = None if query.cursor is None else find_execution(session, call.project.id, query.cursor)
            found = choose_executions(session, call.project.id, wanted, query.limit + 1, after=after)
            views = _views(session, call.project, found[: query.limit])
            has_more = len(found) > query.limit
            return Items[ExecutionView](items=views, next=views[-1].id if has_more else None)

    return await in_thread(read)


async def show(call: EndpointCall) -> ExecutionView:
    """Return an execution."""
    return await in_thread(_show, call.project, call.path("id"))


async def start(call: EndpointCall) -> Response:
    """Start an execution."""
    body: ExecutionBody = call.body
    execution, agent = await in_thread(_create, call.project, body, call.key)
    await begin_here(call.project.runs, call.project.database, execution, agent, is_told=True)
    await call.rest(execution.id)
    view = await in_thread(_show, call.project, execution.id)
    return call.started(view, f"{PREFIX}/executions/{{id}}", view.id, is_ended=view.finished_at is not None)


async def cancel(call: EndpointCall) -> Cancelled:
    """Cancel an execution."""
    project, execution_id = call.project, call.path("id")
    body: CancelBody = call.body

    def unbegun() -> bool:
        with project.database.writing() as session:
            find_execution(session, project.id, execution_id)
            return cancel_unbegun(session, project.id, execution_id)

    if await in_thread(unbegun):
        return Cancelled(cancelled=True)
    return Cancelled(cancelled=await project.runs.handle(execution_id).cancel(body.reason))


async def rows(call: EndpointCall) -> RowsView:
    """Return the first rows of an execution."""
    query: RowQuery = call.query

    def read() -> RowsView:
        with call.project.database.reading() as session:
            execution, table = _table(session, call.project, call.path("id"), query.table)
            with closing(read_records(session, table, execution, with_meta=query.meta)) as records:  # type: ignore[type-var]  # a generator
                found = [dict(one) for one in islice(records, query.limit + 1)]
            return RowsView(table=table.name, rows=found[: query.limit], is_cut=len(found) > query.limit)

    return await in_thread(read)


async def all_rows(call: EndpointCall) -> Response:
    """Return all rows of an execution, in batches: any number needs the same memory."""
    query: RowQuery = call.query
    project, execution_id = call.project, call.path("id")

    def check() -> None:
        with project.database.reading() as session:
            _table(session, project, execution_id, query.table)

    def batches() -> Iterator[bytes]:
        with project.database.reading() as session:
            execution, table = _table(session, project, execution_id, query.table)
            for group in in_groups(read_records(session, table, execution, with_meta=query.meta), BATCH_ROWS):
                yield "".join(f"{json_text(dict(one))}\n" for one in group).encode()

    await in_thread(check)
    return StreamingResponse(_from_thread(batches), media_type="application/x-ndjson")


async def _from_thread(make: Callable[[], Iterator[bytes]]) -> AsyncIterator[bytes]:
    """Yield the parts of an iterator that runs in one thread of its own, as sessions need it."""
    loop, parts = asyncio.get_running_loop(), asyncio.Queue[bytes | None](2)
    is_left = False

    def work() -> None:
        for part in make():
            if is_left:
                return
            asyncio.run_coroutine_threadsafe(parts.put(part), loop).result()

    async def run() -> None:
        try:
            await asyncio.to_thread(work)
        finally:
            await parts.put(None)

    task = asyncio.create_task(run(), name="rows")
    try:
        while (part := await parts.get()) is not None:
            yield part
        await task
    finally:
        is_left = True
        while not task.done():  # it may wait for room in the queue
            while not parts.empty():
                parts.get_nowait()
            await asyncio.wait([task], timeout=0.05)


def _filter(session: Session, project: ServedProject, query: ExecutionQuery) -> ExecutionFilter:
    agent_id = None if query.agent is None else find_agent(session, project.id, query.agent).id
    try:
        statuses = [] if query.status is None else [ExecutionStatus(query.status)]
    except ValueError:
        known = ", ".join(ExecutionStatus)
        raise BadRequestError(f"no execution has the status {query.status!r}; known: {known}") from None
    return ExecutionFilter(agent_id=agent_id, platform=query.platform, statuses=statuses)


def _show(project: ServedProject, execution_id: str) -> ExecutionView:
    with project.database.reading() as session:
        return _views(session, project, [find_execution(session, project.id, execution_id)])[0]


def _views(session: Session, project: ServedProject, found: Sequence[ExecutionModel]) -> list[ExecutionView]:
    names = {one.id: one.agent_name for one in list_agents(session, project.id)}
    runs = LedgerReader(session, project.id).named([RunId(one.id) for one in found]) if found else {}
    counts = counts_so_far(session, project.id, found)
    return [
        ExecutionView.model_validate(
            execution_row(one, names.get(one.agent_id, ""), runs.get(RunId(one.id)), counts[one.id])
        )
        for one in found
    ]


def _create(
    project: ServedProject, body: ExecutionBody, key: str | None
) -> tuple[ExecutionModel, AgentModel]:
    if (body.agent is None) == (body.pipeline is None):
        raise BadRequestError("send either 'agent' or 'pipeline'")
    with project.database.writing() as session:
        if body.agent is not None:
            if body.inputs:
                raise BadRequestError("'inputs' are for pipelines; an agent has its config")
            agent = find_agent(session, project.id, body.agent)
        else:
            agent = _pipeline_agent(session, project, body)
        execution_id = None if key is None else _id_of(project, key)
        known = None if execution_id is None else _known(session, project, execution_id)
        if known is not None and known.agent_id != agent.id:
            raise BadRequestError("the Idempotency-Key belongs to an execution of another agent")
        return known or create_execution(session, agent, execution_id), agent


def _known(session: Session, project: ServedProject, execution_id: str) -> ExecutionModel | None:
    try:
        return find_execution(session, project.id, execution_id)
    except UnknownExecutionError:
        return None


def _id_of(project: ServedProject, key: str) -> str:
    """Return the id of the execution that a key names: the same for each call."""
    return hashlib.sha256(f"http-execution:{project.id}:{key}".encode()).hexdigest()[:32]


def _pipeline_agent(session: Session, project: ServedProject, body: ExecutionBody) -> AgentModel:
    """Return the agent of a stored pipeline, with its inputs, as ``agentic run NAME@`` makes it."""
    from agentic.core.pipeline import read_inputs, read_spec

    kept = find_stored(session, project.id, (body.pipeline or "").removesuffix("@"))
    spec = read_spec(kept.spec, get_registry().actors)
    read_inputs(spec, body.inputs)
    owner = find_project(session, project.name)
    pipeline = spec.model_dump(mode="json", exclude_unset=True, by_alias=True)
    config = {"pipeline": pipeline, "inputs": dict(body.inputs)}
    known = find_named(session, owner, spec.name)
    if known is not None and known.agent_platform != PIPELINE_PLATFORM:
        raise BadRequestError(f"agent {spec.name!r} of the project is not a pipeline; rename one of the two")
    if known is not None and known.config != config:
        _check_idle(session, project, known)
    return put_agent(
        session, owner, AgentFacts(name=spec.name, platform=PIPELINE_PLATFORM, config=config), replace=True
    )


def _check_idle(session: Session, project: ServedProject, agent: AgentModel) -> None:
    """Check that no execution would get the inputs of another one: they are the agent's.

    Raises:
        PipelineBusyError: One is active.
    """
    active = ExecutionFilter(agent_id=agent.id, statuses=(ExecutionStatus.QUEUED, ExecutionStatus.RUNNING))
    for execution in choose_executions(session, project.id, active, 1):
        raise PipelineBusyError(agent.agent_name, execution.id)


def _table(
    session: Session, project: ServedProject, execution_id: str, wanted: str | None
) -> tuple[ExecutionModel, Any]:
    execution = find_execution(session, project.id, execution_id)
    agent = find_agent(session, project.id, execution.agent_id)
    platform = get_registry().platform(agent.agent_platform)
    return execution, choose_table(session, platform, execution, wanted)
