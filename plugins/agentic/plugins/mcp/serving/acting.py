"""Starts, answers and cancels the work of a project for clients, and reports its state."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from agentic.core.agents.tools.calling import as_json
from agentic.core.errors import AgenticError
from agentic.core.graph.model.result import RunStatus
from agentic.core.hooks import get_registry
from agentic.core.ledger import RunRow, UnknownRunError
from agentic.core.pipeline import read_inputs, read_spec
from agentic.core.threads import in_thread
from agentic.core.types import JSONValue
from agentic.executors.agents.catalog import AgentFacts, find_named, put_agent
from agentic.executors.agents.runner import take_up
from agentic.executors.durable import AsyncRunHandle, Submission
from agentic.executors.errors import PipelineBusyError
from agentic.executors.serving import ServedProject
from agentic.mappers import (
    AgentModel,
    ExecutionModel,
    ExecutionStatus,
    ProjectModel,
    UnknownExecutionError,
    create_execution,
    find_agent,
    find_project,
)
from agentic.mappers.catalog.pipelines import find_stored
from agentic.mappers.runs.requests import OpenRequest
from agentic.plugins.mcp.serving.views import Facts, ProjectViews, as_data

PIPELINES = "web"
"""The platform that runs pipelines."""

LOOKS_S = (0.05, 1.0)
"""The shortest and the longest pause between two looks at a run."""

State = Literal["working", "input_required", "completed", "failed", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """The state of a run.

    Attributes:
        run_id: The run; of an execution, its id.
        state: As tasks of MCP name it.
        facts: For the client.
        requests: Open ones, if it waits.
    """

    run_id: str
    state: State
    facts: Facts
    requests: tuple[OpenRequest, ...] = ()

    @property
    def has_ended(self) -> bool:
        """Whether it does not continue by itself."""
        return self.state != "working"


class ProjectActs:
    """Acts on a project.

    Args:
        project: The project.
    """

    def __init__(self, project: ServedProject) -> None:
        self.project = project
        self.views = ProjectViews(project)

    async def run_agent(self, name: str, key: str = "") -> str:
        """Start an execution of an agent; return its id. The same key gives the same execution.

        Raises:
            UnknownAgentError: The project has no such agent.
            AgentDisabledError: It is disabled.
            AgentNotRunnableError: It cannot run in its current state.
        """
        agent, execution = await in_thread(self._execution_of, name, _digest("agent", name, key))
        return await self._taken_up(execution, agent)

    async def run_pipeline(self, name: str, inputs: Mapping[str, JSONValue], key: str = "") -> str:
        """Start an execution of a stored pipeline; return its id.

        It belongs to an agent of the pipeline's name, as with ``agentic run NAME@``.

        Raises:
            UnknownPipelineError: The project has no such pipeline.
            PipelineInputError: The inputs do not fit.
            PipelineBusyError: It runs with other inputs.
        """
        agent, execution = await in_thread(
            self._execution_of_pipeline, name, inputs, _digest("pipeline", name, key)
        )
        return await self._taken_up(execution, agent)

    async def run_workflow(self, name: str, message: JSONValue, key: str = "") -> str:
        """Submit a workflow; return the id of its run.

        Raises:
            UnknownWorkflowError: No workflow has this name.
            MessageTypeError: It does not take such a message.
        """
        how = Submission(idempotency_key=_digest("workflow", name, key))
        return (await self.project.runs.submit(name, message, how)).run_id

    async def progress(self, run_id: str) -> RunFacts:
        """Return the state of an execution, or of a workflow's run.

        Raises:
            UnknownExecutionError: The project has neither of this id.
        """
        handle = self.project.runs.handle(run_id)
        try:
            row = await handle.row()
        except UnknownRunError:
            row = None
        try:
            facts = await in_thread(self.views.execution, run_id)
        except UnknownExecutionError:
            if row is None:
                raise
            return await self._progress(run_id, _state_of_run(row.status), await _facts_of(handle, row))
        status = ExecutionStatus(str(facts["status"]))
        waits = row is not None and row.status is RunStatus.WAITING_INPUT
        return await self._progress(run_id, "input_required" if waits else _state_of(status), facts)

    async def waited(self, run_id: str, wait_s: float) -> RunFacts:
        """Return the state of a run once it has ended or waits for people, or after some seconds.

        Raises:
            UnknownExecutionError: The project has no such run.
        """
        loop = asyncio.get_running_loop()
        until, pause_s = loop.time() + wait_s, LOOKS_S[0]
        while True:
            found = await self.progress(run_id)
            if found.has_ended or loop.time() + pause_s > until:
                return found
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 1.5, LOOKS_S[1])

    async def answer(self, run_id: str, answers: Mapping[str, object], by: str) -> None:
        """Answer requests of a run.

        Raises:
            UnknownRunError: The project has no such run.
            UnknownRequestError, LateAnswerError, AnswerError, RunEndedError: Nothing is changed.
        """
        await self.project.runs.handle(run_id).answer(answers, by)

    async def cancel(self, run_id: str, by: str) -> bool:
        """Cancel a run; False if it has ended.

        Raises:
            UnknownRunError: The project has no such run.
        """
        return await self.project.runs.handle(run_id).cancel(f"by {by}")

    async def _progress(self, run_id: str, state: State, facts: Facts) -> RunFacts:
        asked = await in_thread(self.views.open_requests, run_id) if state == "input_required" else []
        return RunFacts(run_id=run_id, state=state, facts=facts, requests=tuple(asked))

    async def _taken_up(self, execution: ExecutionModel, agent: AgentModel) -> str:
        if execution.status in {ExecutionStatus.QUEUED, ExecutionStatus.RUNNING}:
            await take_up(self.project.runs, execution, agent)
        return execution.id

    def _execution_of(self, name: str, key: str | None) -> tuple[AgentModel, ExecutionModel]:
        with self.project.database.reading() as session:
            agent = find_agent(session, self.project.id, name)
        return agent, self._new_execution(agent, key)

    def _execution_of_pipeline(
        self, name: str, inputs: Mapping[str, JSONValue], key: str | None
    ) -> tuple[AgentModel, ExecutionModel]:
        with self.project.database.writing() as session:
            stored = find_stored(session, self.project.id, name)
            spec = read_spec(stored.spec, get_registry().actors)
            read_inputs(spec, inputs)
            pipeline: dict[str, JSONValue] = spec.model_dump(mode="json", exclude_unset=True, by_alias=True)
            config: dict[str, JSONValue] = {"pipeline": pipeline, "inputs": dict(inputs)}
            owner = find_project(session, self.project.name)
            facts = AgentFacts(name=spec.name, platform=PIPELINES, config=config)
            _check_free(session, owner, facts)
            agent = put_agent(session, owner, facts, replace=True)
        return agent, self._new_execution(agent, key)

    def _new_execution(self, agent: AgentModel, key: str | None) -> ExecutionModel:
        try:
            with self.project.database.writing() as session:
                execution = create_execution(session, agent)
                execution.idempotency_key = key
                session.flush()
                return execution
        except IntegrityError:
            if key is None:
                raise
            with self.project.database.reading() as session:
                known = (ExecutionModel.project_id == self.project.id, ExecutionModel.idempotency_key == key)
                return session.scalars(select(ExecutionModel).where(*known)).one()


def _check_free(session: Session, owner: ProjectModel, facts: AgentFacts) -> None:
    """Refuse to change an agent whose execution needs its present config to continue."""
    known = find_named(session, owner, facts.name)
    if known is None or known.config == facts.config:
        return
    if known.agent_platform != facts.platform:
        raise AgenticError(
            f"agent {facts.name!r} belongs to platform {known.agent_platform!r}, so it is not a pipeline; "
            "store the pipeline under another name"
        )
    active = (ExecutionStatus.QUEUED, ExecutionStatus.RUNNING)
    where = (ExecutionModel.agent_id == known.id, ExecutionModel.status.in_(active))
    running = session.scalar(select(ExecutionModel.id).where(ExecutionModel.project_id == owner.id, *where))
    if running is not None:
        raise PipelineBusyError(facts.name, running)


def _state_of(status: ExecutionStatus) -> State:
    match status:
        case ExecutionStatus.SUCCEEDED | ExecutionStatus.PARTIAL:
            return "completed"
        case ExecutionStatus.FAILED:
            return "failed"
        case ExecutionStatus.CANCELLED:
            return "cancelled"
        case _:
            return "working"


async def _facts_of(handle: AsyncRunHandle, row: RunRow) -> Facts:
    """Return a workflow's run; its outputs and its error, once it has ended."""
    facts: Facts = {"run": row.run_id, "workflow": row.workflow, "status": str(row.status)}
    if not row.status.is_final:
        return facts
    found = await handle.result(timeout_s=1)
    facts["outputs"] = as_data([as_json(one) for one in found.outputs])
    if found.error:
        facts["error"] = as_data(str(found.error))
    return facts


def _state_of_run(status: RunStatus) -> State:
    match status:
        case RunStatus.COMPLETED:
            return "completed"
        case RunStatus.FAILED:
            return "failed"
        case RunStatus.CANCELLED:
            return "cancelled"
        case RunStatus.WAITING_INPUT:
            return "input_required"
        case _:
            return "working"


def _digest(kind: str, name: str, key: str) -> str | None:
    """Return a key of a client as one of ours: short, for one thing, and never the key of a schedule."""
    if not key:
        return None
    text = f"{kind}\0{name}\0{key}"
    return f"mcp:{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()}"
