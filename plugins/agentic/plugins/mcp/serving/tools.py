"""The tools of a project: names, schemas and calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from agentic.core.threads import in_thread
from agentic.core.types import JSONValue
from agentic.plugins.mcp.serving.acting import ProjectActs, RunFacts

MAX_WAIT_S = 60.0

Outcome = JSONValue | RunFacts


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Nothing(_Arguments):
    """No arguments."""


class WaitArguments(_Arguments):
    """Arguments of a tool that waits for a run."""

    wait_s: float = Field(
        default=25.0, ge=0, le=MAX_WAIT_S, description="Seconds to wait for the end, without tasks."
    )


class _RunAgent(WaitArguments):
    agent: str = Field(description="Name of the agent.")


class _RunPipeline(WaitArguments):
    pipeline: str = Field(description="Name of the pipeline; NAME@2 for version 2.")
    inputs: dict[str, JSONValue] = Field(default_factory=dict, description="By the names of its inputs.")


class _RunWorkflow(WaitArguments):
    workflow: str = Field(description="Name of the workflow.")
    message: JSONValue = Field(description="Its input: a text, or an object.")


class _Executions(_Arguments):
    agent: str | None = Field(default=None, description="Only of this agent.")
    limit: int = Field(default=20, ge=1, le=200)


class _Execution(WaitArguments):
    execution: str = Field(description="Id of an execution, or of a workflow's run.")
    wait_s: float = Field(default=0.0, ge=0, le=MAX_WAIT_S, description="Seconds to wait for its end.")


class _Rows(_Arguments):
    execution: str = Field(description="Id of the execution.")
    table: str | None = Field(default=None, description="One table; by default the results.")
    offset: int = Field(default=0, ge=0)
    limit: int = Field(default=50, ge=1, le=500)


class _Requests(_Arguments):
    run: str | None = Field(default=None, description="Only of this execution or run.")


class _Answer(_Arguments):
    request: str = Field(description="Id of the request.")
    run: str = Field(description="The run that asked.")
    answer: JSONValue = Field(
        description='As "expects" says: {"approved": true, "reason": "..."}, a text, a number.'
    )


class _Cancel(_Arguments):
    execution: str = Field(description="Id of the execution, or of a workflow's run.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCall:
    """A call of a client.

    Attributes:
        key: The client's key for all tries of the call; empty without one.
        by: Name of the client, for the record.
        can_wait: Whether to wait here; a client with tasks asks again instead.
    """

    key: str
    by: str
    can_wait: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedTool:
    """A tool of the server.

    Attributes:
        name: Its name.
        description: For the model.
        arguments: The model of its arguments.
        act: Calls it.
        is_read_only: Whether it only reads.
    """

    name: str
    description: str
    arguments: type[BaseModel]
    act: Callable[[ProjectActs, Any, ClientCall], Awaitable[Outcome]]
    is_read_only: bool = True


async def _overview(acts: ProjectActs, _: object, call: ClientCall) -> JSONValue:
    del call
    return {**await in_thread(acts.views.overview), "agent_details": await in_thread(acts.views.agents)}


async def _pipelines(acts: ProjectActs, _: object, call: ClientCall) -> JSONValue:
    del call
    return await in_thread(acts.views.pipelines)


async def _run_agent(acts: ProjectActs, given: _RunAgent, call: ClientCall) -> RunFacts:
    return await _seen(acts, await acts.run_agent(given.agent, call.key), given.wait_s, call)


async def _run_pipeline(acts: ProjectActs, given: _RunPipeline, call: ClientCall) -> RunFacts:
    run_id = await acts.run_pipeline(given.pipeline, given.inputs, call.key)
    return await _seen(acts, run_id, given.wait_s, call)


async def _run_workflow(acts: ProjectActs, given: _RunWorkflow, call: ClientCall) -> RunFacts:
    run_id = await acts.run_workflow(given.workflow, given.message, call.key)
    return await _seen(acts, run_id, given.wait_s, call)


async def _seen(acts: ProjectActs, run_id: str, wait_s: float, call: ClientCall) -> RunFacts:
    return await acts.waited(run_id, wait_s if call.can_wait else 0.0)


async def _executions(acts: ProjectActs, given: _Executions, call: ClientCall) -> JSONValue:
    del call
    return await in_thread(acts.views.executions, given.agent, given.limit)


async def _execution(acts: ProjectActs, given: _Execution, call: ClientCall) -> JSONValue:
    del call
    found = await acts.waited(given.execution, given.wait_s)
    return {**found.facts, "state": found.state}


async def _rows(acts: ProjectActs, given: _Rows, call: ClientCall) -> JSONValue:
    del call
    return await in_thread(
        acts.views.rows, given.execution, table=given.table, offset=given.offset, limit=given.limit
    )


async def _requests(acts: ProjectActs, given: _Requests, call: ClientCall) -> JSONValue:
    del call
    return await in_thread(acts.views.requests, given.run)


async def _answer(acts: ProjectActs, given: _Answer, call: ClientCall) -> JSONValue:
    await acts.answer(given.run, {given.request: given.answer}, call.by)
    found = await acts.progress(given.run)
    return {**found.facts, "state": found.state}


async def _cancel(acts: ProjectActs, given: _Cancel, call: ClientCall) -> JSONValue:
    is_asked = await acts.cancel(given.execution, call.by)
    found = await acts.waited(given.execution, 5.0)
    return {**found.facts, "state": found.state, "was_active": is_asked}


TOOLS: tuple[ServedTool, ...] = (
    ServedTool(
        name="describe_project",
        description="Show the agents, pipelines and workflows of the project.",
        arguments=_Nothing,
        act=_overview,
    ),
    ServedTool(
        name="list_pipelines",
        description="List the stored pipelines with their inputs.",
        arguments=_Nothing,
        act=_pipelines,
    ),
    ServedTool(
        name="run_agent",
        description="Run an agent of the project. The result has the id of its execution, for get_rows.",
        arguments=_RunAgent,
        act=_run_agent,
        is_read_only=False,
    ),
    ServedTool(
        name="run_pipeline",
        description="Run a stored pipeline with inputs. The result has the id of the execution.",
        arguments=_RunPipeline,
        act=_run_pipeline,
        is_read_only=False,
    ),
    ServedTool(
        name="run_workflow",
        description="Run a workflow with a message. The result has the id of the run.",
        arguments=_RunWorkflow,
        act=_run_workflow,
        is_read_only=False,
    ),
    ServedTool(
        name="list_executions",
        description="List the newest executions: status, counts of rows, failures.",
        arguments=_Executions,
        act=_executions,
    ),
    ServedTool(
        name="get_execution",
        description="Show an execution or a run: status, counts, error, open requests.",
        arguments=_Execution,
        act=_execution,
    ),
    ServedTool(
        name="get_rows",
        description="Read the rows of an execution, page by page.",
        arguments=_Rows,
        act=_rows,
    ),
    ServedTool(
        name="list_requests",
        description="List the questions that runs ask people.",
        arguments=_Requests,
        act=_requests,
    ),
    ServedTool(
        name="answer_request",
        description="Answer a question of a run. Ask the user first: the answer is the user's decision.",
        arguments=_Answer,
        act=_answer,
        is_read_only=False,
    ),
    ServedTool(
        name="cancel_execution",
        description="Cancel an execution or a run. Stored rows stay.",
        arguments=_Cancel,
        act=_cancel,
        is_read_only=False,
    ),
)


def served_tools(*, is_read_only: bool) -> Mapping[str, ServedTool]:
    """Return the tools by name; only those that read, if wanted."""
    return {one.name: one for one in TOOLS if one.is_read_only or not is_read_only}
