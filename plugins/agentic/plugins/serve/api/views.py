"""The content of requests and answers."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from pydantic import Field

from agentic.core.agents.requests import PendingRequest
from agentic.core.agents.responses import AgentResponse
from agentic.core.llm.messages import ChatMessage
from agentic.core.llm.usage import TokenUsage
from agentic.core.types import JSONValue
from agentic.plugins.serve.api.endpoints import AnswerModel, Body, PageQuery

MAX_TEXT = 200_000

ItemT = TypeVar("ItemT")


class Items(AnswerModel, Generic[ItemT]):
    """A page of a list."""

    items: list[ItemT]
    next: str | None = Field(default=None, description="``cursor`` of the next page, if there is one.")


class AgentView(AnswerModel):
    """An agent."""

    name: str
    platform: str
    state: str = Field(description="``enabled`` or ``disabled``.")
    talks: bool = Field(description="Whether it takes messages.")
    goals: str | None = None


class AgentDetail(AgentView):
    """An agent with its config, secrets masked."""

    config: dict[str, JSONValue]


class AnswerBody(Body):
    """An answer to a request of an agent."""

    request_id: str = Field(max_length=200)
    approved: bool = True
    reason: str = Field(default="", max_length=2_000)
    result: JSONValue = Field(default=None, description="The result that the agent asked for.")


class MessageBody(Body):
    """A message to an agent, or answers to its requests."""

    message: str | None = Field(default=None, min_length=1, max_length=MAX_TEXT)
    answers: list[AnswerBody] = Field(default_factory=list, max_length=100)
    thread_id: str | None = Field(
        default=None, min_length=1, max_length=200, description="A new one if omitted."
    )
    user_id: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="The person; memories belong to them.",
    )
    background: bool = Field(default=False, description="Answer at once with a token.")


class AnswerView(AnswerModel):
    """The answer of an agent."""

    agent: str
    thread_id: str
    turn: str
    status: str = Field(description="``complete``, ``in_progress``, ``needs_input`` or ``stopped``.")
    text: str
    data: JSONValue = Field(default=None, description="The structured output.")
    reason: str = Field(default="", description="Why the agent stopped, if it did.")
    usage: TokenUsage
    pending: list[PendingRequest] = Field(description="The requests that the agent waits for.")
    token: str | None = Field(default=None, description="Asks for the answer again: ``answers/TOKEN``.")

    @classmethod
    def of(cls, response: AgentResponse[Any], token: str | None) -> AnswerView:
        """Return the answer in a response."""
        return cls(
            agent=response.agent,
            thread_id=response.thread_id,
            turn=response.turn,
            status=str(response.status),
            text=response.text,
            data=response.data,
            reason=response.reason,
            usage=response.usage,
            pending=list(response.pending),
            token=token,
        )


class Cancelled(AnswerModel):
    """The result of a cancellation."""

    cancelled: bool = Field(description="False if it had ended before.")


class ThreadQuery(PageQuery):
    """Selects threads."""

    agent: str | None = None
    user_id: str | None = None


class ThreadView(AnswerModel):
    """A conversation."""

    id: str
    agent: str
    user_id: str | None
    title: str
    created_at: float = Field(description="Seconds since the epoch.")


class ThreadDetail(ThreadView):
    """A conversation with its messages."""

    messages: list[ChatMessage]
    pending: list[PendingRequest]


class ExecutionBody(Body):
    """An execution to start: of an agent, or of a stored pipeline."""

    agent: str | None = Field(default=None, max_length=200)
    pipeline: str | None = Field(default=None, max_length=200, description="``NAME`` or ``NAME@VERSION``.")
    inputs: dict[str, JSONValue] = Field(default_factory=dict, description="Of the pipeline.")


class ExecutionQuery(PageQuery):
    """Selects executions."""

    agent: str | None = None
    platform: str | None = None
    status: str | None = None


class ExecutionView(AnswerModel):
    """An execution: one run of an agent."""

    id: str
    agent: str
    status: str
    state: str = Field(description="The status, with the obstacle to its progress.")
    inserted: int
    updated: int
    unchanged: int
    rejected: int
    failed: int
    created_at: str | None
    started_at: str | None
    finished_at: str | None
    reason: str | None
    error: str | None
    warnings: list[str]


class RowQuery(Body):
    """Selects rows."""

    table: str | None = Field(default=None, max_length=200, description="By default the last one with rows.")
    limit: int = Field(default=100, ge=1, le=1_000)
    meta: bool = Field(default=False, description="Add times, execution and source of each row.")


class RowsView(AnswerModel):
    """Rows of an execution."""

    table: str
    rows: list[dict[str, Any]]
    is_cut: bool = Field(description="Whether there are more; ``rows.jsonl`` has all.")


class WorkflowView(AnswerModel):
    """A workflow of a plugin."""

    name: str
    takes: list[str] = Field(description="The types of its input.")
    error: str = Field(default="", description="Why it cannot be used.")


class PipelineView(AnswerModel):
    """A version of a stored pipeline."""

    name: str
    version: int
    description: str
    inputs: dict[str, JSONValue]


class RunBody(Body):
    """A run to start."""

    workflow: str = Field(max_length=300, description="Of a plugin, or ``package.module:factory``.")
    input: JSONValue = Field(default=None, description="Given to every start executor.")


class RunQuery(PageQuery):
    """Selects runs."""

    workflow: str | None = None
    status: str | None = None


class RunSummary(AnswerModel):
    """A durable run."""

    id: str
    workflow: str
    status: str
    superstep: int
    created_at: float
    updated_at: float
    finished_at: float | None
    is_paused: bool
    error: str | None
    note: str | None


class RunDetail(RunSummary):
    """A durable run with its outputs."""

    outputs: list[JSONValue]


class CancelBody(Body):
    """A reason."""

    reason: str = Field(default="cancelled by a client", max_length=500)


class EventQuery(Body):
    """Selects events."""

    after: int = Field(default=0, ge=0, description="Sequence to continue after.")
    limit: int = Field(default=500, ge=1, le=1_000)


class Events(AnswerModel):
    """Events of a run."""

    events: list[dict[str, Any]]
    last: int = Field(description="Sequence of the last one; ``after`` of the next page.")


class RequestQuery(PageQuery):
    """Selects requests."""

    run: str | None = Field(default=None, max_length=300, description="Of this run.")


class RequestView(AnswerModel):
    """A question that a run asks people."""

    id: str
    run_id: str
    workflow: str
    asked_by: str
    question: JSONValue
    text: str = Field(description="The question for people.")
    expects: str = Field(description="The type of the answer.")
    deadline: str | None


class GivenAnswer(Body):
    """An answer to a question."""

    answer: JSONValue
    by: str = Field(default="", max_length=200, description="Name of the person, for the audit.")


class Answered(AnswerModel):
    """An answer was taken."""

    run_id: str
    status: str = Field(description="Of the run.")
