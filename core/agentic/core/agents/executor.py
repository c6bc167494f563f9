"""Agents as executors of a graph: their replies and results are effects of the run."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any, Literal, Never

from pydantic import BaseModel, ConfigDict

from agentic.core.agents.agent import Agent
from agentic.core.agents.options import RunOptions
from agentic.core.agents.outer import outer_turn
from agentic.core.agents.requests import AgentInput, PendingRequest, RequestAnswer, RequestKind
from agentic.core.agents.responses import (
    AgentChunk,
    AgentResponse,
    AgentStoppedError,
    ChunkKind,
    Emit,
    ResponseStatus,
    SpokenOutput,
)
from agentic.core.agents.threads.entries import ThreadEntry, ThreadMetadata
from agentic.core.agents.threads.thread import AgentThread
from agentic.core.graph import (
    ApprovalRequest,
    ApprovalResponse,
    CustomEvent,
    Executor,
    RequestExpiredError,
    RunResult,
    Workflow,
    WorkflowContext,
    handler,
)
from agentic.core.graph.definition.context import ParkedSignal
from agentic.core.graph.model.policies import ONCE, RetryPolicy
from agentic.core.llm.messages import ChatMessage
from agentic.core.types import JSONValue

UPDATE = "agent.response_update"
"""Type of the live event with a piece of an answer: ``{"agent", "path", "kind", "text"}``."""

COMPLETED = "agent.run_completed"
"""Type of the live event with a whole answer: ``{"agent", "path", "text", "usage"}``."""

MESSAGE, TOOL_CALL, RESPONSE = "agent.message", "agent.tool_call", "agent.response"
"""Types of live events for readers of a bus: the input ``{"agent", "text"}``, a call of a tool
``{"agent", "path", "tool", "call", "arguments"}``, and the answer ``{"agent", "text", "status"}``."""

WORKFLOW_STARTED, WORKFLOW_COMPLETED = "agent.workflow.started", "agent.workflow.completed"
"""Types of the live events of an agent that gives its task to a workflow: ``{"agent", "path", "workflow"}``;
at the end also ``"status"``, which is ``complete`` or ``failed``."""

_ENTRIES = "entries"


class AgentExecutorResponse(BaseModel):
    """The message that an agent sends on in a graph."""

    __wire_name__ = "agentic.agents.AgentExecutorResponse"
    __stored_lean__ = True

    model_config = ConfigDict(extra="forbid", frozen=True)

    executor_id: str
    agent_response: AgentResponse[Any]
    full_conversation: tuple[ChatMessage, ...] = ()

    @property
    def text(self) -> str:
        """The text of the answer."""
        return self.agent_response.text


class AgentExecutor(Executor):
    """An agent as a node of a graph. ``WorkflowBuilder`` makes one of each agent that it is given.

    Each reply of the model, and each result of a tool, is stored as it comes (``ctx.once``). With a ledger, a
    worker that dies loses none of them: the next one asks the model, and calls tools, only for the rest.
    Approvals and questions are requests of the run, as by ``ctx.request_info``.

    Args:
        agent: The agent.
        id: Of the node; the agent's name if omitted.
        context: The messages that the agent gets from the agent before it: ``full`` for the whole
            conversation, ``last`` for the last message.
        remembers: Keep one thread for all messages of a run, instead of one for each.
        approval_s: Seconds after which an unanswered request counts as rejected.
        retry: How often a failing activation is tried; the effects of earlier tries are kept.
        timeout_s: Seconds one try may take.
    """

    def __init__(  # noqa: PLR0913  # options of a node, all optional
        self,
        agent: Agent[Any],
        *,
        id: str | None = None,  # noqa: A002  # as of every executor
        context: Literal["full", "last"] = "full",
        remembers: bool = False,
        approval_s: float | None = None,
        retry: RetryPolicy | None = None,
        timeout_s: float | None = None,
    ) -> None:
        super().__init__(id or agent.name, retry=retry or ONCE, timeout_s=timeout_s)
        if context not in ("full", "last"):
            raise ValueError(f"context of executor {self.id!r} is {context!r}; use 'full' or 'last'")
        self.agent = agent
        self.context = context
        self.remembers = remembers
        self.approval_s = approval_s

    @property
    def called_workflows(self) -> tuple[Workflow, ...]:
        """The workflows of the agent."""
        return tuple(self.agent.workflows)

    @handler
    async def on_text(self, text: str, ctx: WorkflowContext[Never, Never]) -> AgentExecutorResponse:
        """Answer a text."""
        return await self._answer((ChatMessage.user(text),), ctx)

    @handler
    async def on_message(
        self, message: ChatMessage, ctx: WorkflowContext[Never, Never]
    ) -> AgentExecutorResponse:
        """Answer a message."""
        return await self._answer((message,), ctx)

    @handler
    async def on_messages(
        self, messages: list[ChatMessage], ctx: WorkflowContext[Never, Never]
    ) -> AgentExecutorResponse:
        """Answer a conversation."""
        return await self._answer(tuple(messages), ctx)

    @handler
    async def on_response(
        self, response: AgentExecutorResponse, ctx: WorkflowContext[Never, Never]
    ) -> AgentExecutorResponse:
        """Continue the conversation of another agent."""
        said = response.full_conversation
        return await self._answer(said if self.context == "full" else said[-1:], ctx)

    @handler
    async def on_output(
        self, output: SpokenOutput, ctx: WorkflowContext[Never, Never]
    ) -> AgentExecutorResponse:
        """Continue the conversation of a pattern."""
        said = output.full_conversation
        return await self._answer(said if self.context == "full" else said[-1:], ctx)

    async def _answer(
        self, messages: tuple[ChatMessage, ...], ctx: WorkflowContext[Any, Any]
    ) -> AgentExecutorResponse:
        thread = await self.open_thread(ctx)
        outer = outer_turn()
        options = RunOptions(
            idempotency_key=ctx.idempotency_key,
            approval_s=self.approval_s,
            journal=ContextJournal(ctx),
            outer_limit=None if outer is None else outer.limit_reached,
        )
        if outer is not None:
            outer.watch(thread, ctx.idempotency_key)

        async def emit(piece: AgentChunk) -> None:
            if ctx.has_listener:
                for event in events_of(piece):
                    await ctx.add_event(event)

        if thread.find_turn(ctx.idempotency_key) is None:
            await ctx.add_event(input_event(self.agent.name, self.news_in(messages)))
        response = await self.respond(messages, thread, options, emit)
        if outer is not None:
            await outer.settle(ctx.idempotency_key, response.usage)
        response = self.accept(response)
        if self.remembers:
            ctx.local[_ENTRIES] = [
                one.model_dump(mode="json", exclude_defaults=True) for one in thread.entries
            ]
        for event in answer_events(response):
            await ctx.add_event(event)
        said = tuple(one for one in response.messages if one.text and not one.tool_calls)[-1:]
        if not said and response.text:  # an earlier try has added the answer
            said = (ChatMessage.assistant(response.text, author_name=self.agent.name),)
        return AgentExecutorResponse(
            executor_id=self.id, agent_response=response.stored(), full_conversation=(*messages, *said)
        )

    async def respond(
        self, given: AgentInput, thread: AgentThread, options: RunOptions, emit: Emit
    ) -> AgentResponse[Any]:
        """Take a turn, or continue one; for subclasses that react to its errors."""
        return await self.agent.respond(given, thread, options, emit)

    def news_in(self, messages: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
        """Return the part of an input that its event has; for subclasses whose input repeats itself."""
        return messages

    def accept(self, response: AgentResponse[Any]) -> AgentResponse[Any]:
        """Return the response that is sent on; for subclasses.

        Raises:
            AgentStoppedError: The turn stopped before its answer; the activation fails.
        """
        if response.status is ResponseStatus.STOPPED:
            raise AgentStoppedError(self.agent.name, response)
        return response

    async def open_thread(self, ctx: WorkflowContext[Any, Any]) -> AgentThread:
        """Return the thread that a message is answered in; for subclasses, whose threads may be in a store.

        The turn has the id ``ctx.idempotency_key``. It is the same in every try and entry of an activation,
        which therefore continues its turn.
        """
        # Nothing here may differ from try to try: the effects of an earlier one are found by their keys.
        stored = ctx.local.get(_ENTRIES) if self.remembers else None
        entries = [ThreadEntry.model_validate(one) for one in stored] if isinstance(stored, list) else []
        name = f"{ctx.run_id}:{self.id}" if self.remembers else ctx.idempotency_key
        return AgentThread(
            ThreadMetadata(agent=self.agent.name, created_at=0.0), thread_id=name, entries=entries
        )


class ContextJournal:
    """The effects of an agent as effects of an activation.

    Args:
        ctx: Of the activation.

    Attributes:
        takes_text: It keeps a ``JSONText`` as it is.
    """

    takes_text = True

    def __init__(self, ctx: WorkflowContext[Any, Any]) -> None:
        self._ctx = ctx
        self._numbers: dict[str, int] = {}

    async def once(self, key: str, effect: Callable[[], Awaitable[JSONValue]]) -> JSONValue:
        """Run an effect once; see :class:`~agentic.core.agents.journal.EffectJournal`."""
        return await self._ctx.once(f"agent.{key}", effect)

    async def ask(self, requests: Sequence[PendingRequest], part: str = "") -> Sequence[RequestAnswer]:
        """Return the answers; without them, the activation waits."""
        found: list[RequestAnswer] = []
        parked: ParkedSignal | None = None
        for request in requests:
            try:
                found.append(await self._ask(request, part))
            except ParkedSignal as signal:  # the others are asked, too
                parked = signal
        if parked is not None:
            raise parked
        return found

    async def run_workflow(
        self, key: str, workflow: Workflow, message: object, *, is_kept: bool = True
    ) -> RunResult:
        """Run a workflow as a sub-run of the activation, which continues in a later try or entry."""
        # By the key, because agents that run at a time call in any order, and not in each entry.
        number = int.from_bytes(hashlib.sha256(key.encode()).digest()[:6], "big") + 1
        return await self._ctx.run_workflow(workflow, message, is_kept=is_kept, number=number)

    async def _number_of(self, key: str) -> int:
        """Return the number of a request: by its key, because agents ask in any order.

        Nested agents ask at a time. A thread in a store has the answers of earlier entries, and
        asks only for the rest.
        """
        while key not in self._numbers:
            number = len(self._numbers) + 1
            owner = await self._ctx.once(f"agent.request.{number}", lambda: key)
            self._numbers[owner] = number
        return self._numbers[key]

    async def _ask(self, request: PendingRequest, part: str) -> RequestAnswer:
        if request.call is None:
            raise ValueError("the workflow of an agent in a graph asks by itself")
        key = f"{part}{request.call.id}"
        if request.asked_by and request.kind is RequestKind.INFO:  # a call may ask several times
            key = f"{key}:{request.id}"
        number = await self._number_of(key)
        asked_for = await self._ctx.once(f"agent.asked.{number}", lambda: request.id)
        if asked_for != request.id:
            return RequestAnswer(
                request_id=request.id,
                approved=False,
                reason="the tool has changed since the approval was asked for",
            )
        ends = request.expires_at
        deadline = None if ends is None else timedelta(seconds=max(ends - request.raised_at, 0.0))
        call: dict[str, JSONValue] = {
            "request": request.id,
            "tool": request.call.name,
            "arguments": request.call.arguments,
            "call": request.call.id,
        }
        if request.data is not None:
            call["data"] = request.data
        try:
            if request.kind is not RequestKind.APPROVAL:
                asked = ApprovalRequest(action=request.question or request.call.name, details=call)
                result = await self._ctx.request_info(asked, str, deadline=deadline, number=number)
                is_given = bool(result) or request.kind is RequestKind.RESULT  # no text declines a question
                return RequestAnswer(request_id=request.id, approved=is_given, result=result)
            asked = ApprovalRequest(action=f"call {request.call.name}", details=call)
            response = await self._ctx.request_info(asked, ApprovalResponse, deadline=deadline, number=number)
        except RequestExpiredError:
            return RequestAnswer(request_id=request.id, approved=False, reason="no person answered in time")
        return RequestAnswer(request_id=request.id, approved=response.approved, reason=response.reason)


def input_event(agent: str, messages: Sequence[ChatMessage]) -> CustomEvent:
    """Return the event of the input of a turn."""
    text = "\n\n".join(message.text for message in messages)
    return CustomEvent(type=MESSAGE, data={"agent": agent, "text": text})


def answer_events(response: AgentResponse[Any]) -> Iterator[CustomEvent]:
    """Yield the events of an answer."""
    facts: dict[str, JSONValue] = {
        "agent": response.agent,
        "path": [],
        "text": response.text,
        "usage": response.usage.model_dump(mode="json", exclude_defaults=True),
    }
    yield CustomEvent(type=COMPLETED, data=facts)
    told: dict[str, JSONValue] = {
        "agent": response.agent,
        "text": response.text,
        "status": str(response.status),
    }
    yield CustomEvent(type=RESPONSE, data=told)


def events_of(piece: AgentChunk) -> Iterator[CustomEvent]:
    """Yield the live events of a piece."""
    if (update := _update(piece)) is not None:
        yield update
    if piece.kind is ChunkKind.TOOL_STARTED and (call := piece.tool_call) is not None:
        facts: dict[str, JSONValue] = {
            "agent": piece.author_name,
            "path": list(piece.path),
            "tool": call.name,
            "call": call.id,
            "arguments": call.arguments,
        }
        yield CustomEvent(type=TOOL_CALL, data=facts)
    if piece.kind in (ChunkKind.WORKFLOW_STARTED, ChunkKind.WORKFLOW_FINISHED):
        yield _workflow_event(piece)


def _workflow_event(piece: AgentChunk) -> CustomEvent:
    facts: dict[str, JSONValue] = {
        "agent": piece.author_name,
        "path": list(piece.path),
        "workflow": piece.workflow,
    }
    if piece.kind is ChunkKind.WORKFLOW_STARTED:
        return CustomEvent(type=WORKFLOW_STARTED, data=facts)
    return CustomEvent(type=WORKFLOW_COMPLETED, data={**facts, "status": piece.status})


def _update(piece: AgentChunk) -> CustomEvent | None:
    facts: dict[str, JSONValue] = {
        "agent": piece.author_name,
        "path": list(piece.path),
        "kind": str(piece.kind),
    }
    match piece.kind:
        case ChunkKind.TEXT | ChunkKind.THINKING:
            facts["text"] = piece.text
        case ChunkKind.RESTARTED:
            pass
        case ChunkKind.TOOL_STARTED if piece.tool_call:
            facts |= {"tool": piece.tool_call.name, "call": piece.tool_call.id}
        case ChunkKind.TOOL_FINISHED if piece.tool_result:
            result = piece.tool_result
            facts |= {"tool": result.name, "call": result.call_id, "is_error": result.is_error}
        case _:
            return None
    return CustomEvent(type=UPDATE, data=facts)
