"""Workflows as agents, and agents that choose between a workflow and plain conversation."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, cast

from pydantic import BaseModel, ConfigDict

from agentic.core.agents.agent import Agent
from agentic.core.agents.chat_agent import ChatAgent
from agentic.core.agents.errors import AnswerMismatchError, ThreadBusyError, ThreadMisfitError
from agentic.core.agents.executor import UPDATE, AgentExecutorResponse
from agentic.core.agents.journal import EffectJournal, ThreadJournal
from agentic.core.agents.options import RunOptions
from agentic.core.agents.outer import OuterTurn
from agentic.core.agents.requests import AgentInput, PendingRequest, RequestAnswer, RequestKind
from agentic.core.agents.responses import (
    AgentChunk,
    AgentResponse,
    ChunkKind,
    Emit,
    ResponseStatus,
    SpokenOutput,
)
from agentic.core.agents.threads.entries import ThreadEntry, ThreadTurn
from agentic.core.agents.threads.store import ThreadStore
from agentic.core.agents.threads.thread import AgentThread
from agentic.core.agents.tools.calling import as_json
from agentic.core.agents.turns.account import TurnAccount
from agentic.core.agents.turns.inputs import parted
from agentic.core.graph import (
    Checkpoint,
    CheckpointMetadata,
    InfoRequest,
    MemoryCheckpointStore,
    RunResult,
    RunStatus,
    Workflow,
    WorkflowEvent,
)
from agentic.core.graph.build.workflow import RunStream
from agentic.core.ids import new_id
from agentic.core.llm.adapter import LLMAdapter
from agentic.core.llm.messages import ChatMessage
from agentic.core.llm.usage import TokenUsage
from agentic.core.types import JSONValue, RunId

ToInput = Callable[[Sequence[ChatMessage]], object]
ToReply = Callable[[RunResult], str | ChatMessage | BaseModel | JSONValue]
Needs = Callable[[Sequence[ChatMessage]], bool | Awaitable[bool]]

TASK_WORDS = (
    "build", "code", "create", "generate", "implement", "make", "write",
    "code", "crée", "écris", "génère", "implémente",
)  # fmt: skip
"""Words of a task, in English and French: the default of :class:`WorkflowAgent`."""


class WorkflowAsAgent(Agent[Any]):
    """A workflow as an agent: one input is one run. Made by ``workflow.as_agent(name)``.

    A workflow that asks is an agent that waits: its requests are the response's ``pending``, and its state is
    in the thread, also when the thread is restored in another process. In a graph it is a sub-run.

    Args:
        workflow: The workflow.
        name: The agent's name.
        description: Its use; for models that choose among agents.
        to_input: Makes the workflow's input from the conversation. Without it, a start executor that takes
            a list of messages gets the conversation, any other the text of the last message.
        to_reply: Makes the answer from the result; the last output if omitted.
        store: Where new threads are kept.
    """

    def __init__(
        self,
        workflow: Workflow,
        name: str,
        *,
        description: str = "",
        to_input: ToInput | None = None,
        to_reply: ToReply | None = None,
        store: ThreadStore | None = None,
    ) -> None:
        self.workflow = workflow
        self.name = name
        self.description = description
        self.store = store
        self._to_input = to_input or self._default_input
        self._to_reply = to_reply or last_output

    @property
    def workflows(self) -> Sequence[Workflow]:
        """The workflow."""
        return (self.workflow,)

    async def respond(
        self, given: AgentInput, thread: AgentThread, options: RunOptions, emit: Emit
    ) -> AgentResponse[Any]:
        """Run the workflow, or resume it with answers; see :class:`Agent`."""
        return await _WorkflowTurn(self, thread, options, emit).run(given)

    def input_of(self, messages: Sequence[ChatMessage]) -> object:
        """Return the workflow's input for a conversation."""
        return self._to_input(messages)

    def reply_of(self, result: RunResult) -> tuple[str, JSONValue]:
        """Return the text of the answer to a result, and its data, if it has any."""
        reply = self._to_reply(result)
        if isinstance(reply, ChatMessage):
            return reply.text, None
        if isinstance(reply, str):
            return reply, None
        data = as_json(reply)
        return json.dumps(data, ensure_ascii=False), data

    def _default_input(self, messages: Sequence[ChatMessage]) -> object:
        starts = [self.workflow.graph.executors[name] for name in self.workflow.graph.starts]
        conversation = list(messages)
        if all(start.accepts(conversation) for start in starts):
            return conversation
        last = messages[-1] if messages else ChatMessage.user("")
        if not all(start.accepts(last.text) for start in starts) and all(
            start.accepts(last) for start in starts
        ):
            return last
        return last.text


class WorkflowAgent(Agent[Any]):
    """An agent that gives tasks to a workflow, and answers everything else itself.

    Args:
        model: For plain conversation.
        workflow: For tasks.
        name: Its name.
        instructions: Of the conversation.
        needs_workflow: Decides by the conversation, sync or async; by :data:`TASK_WORDS` if omitted.
        extract_task: Makes the workflow's input; see :class:`WorkflowAsAgent`.
        format_result: Makes the answer from the workflow's result; see :class:`WorkflowAsAgent`.
        description: Its use; for models that choose among agents.
        store: Where new threads are kept.
    """

    def __init__(  # noqa: PLR0913  # the parts of an agent, most optional
        self,
        model: LLMAdapter | str,
        workflow: Workflow,
        *,
        name: str = "agent",
        instructions: str = "You are a helpful assistant.",
        needs_workflow: Needs | None = None,
        extract_task: ToInput | None = None,
        format_result: ToReply | None = None,
        description: str = "",
        store: ThreadStore | None = None,
    ) -> None:
        self.name = name
        self.description = description
        self.store = store
        self._needs = needs_workflow or has_task_words
        self._chat = ChatAgent(model, instructions, name=name, store=store)
        self._work = WorkflowAsAgent(
            workflow, name, to_input=extract_task, to_reply=format_result, store=store
        )

    @property
    def workflows(self) -> Sequence[Workflow]:
        """The workflow for tasks."""
        return self._work.workflows

    async def needs_workflow(self, messages: Sequence[ChatMessage]) -> bool:
        """Whether the workflow must answer this conversation."""
        found = self._needs(messages)
        return found if isinstance(found, bool) else await found

    async def respond(
        self, given: AgentInput, thread: AgentThread, options: RunOptions, emit: Emit
    ) -> AgentResponse[Any]:
        """Run the workflow, or talk; see :class:`Agent`."""
        turn = thread.turn
        is_open = turn is not None and turn.ended is None
        chosen: Agent[Any]
        if turn is not None and is_open and turn.state is not None:
            chosen = self._work
        elif turn is not None and is_open and turn.reply_count:
            chosen = self._chat
        else:
            messages, _ = parted(given)
            chosen = self._work if await self.needs_workflow((*thread.messages, *messages)) else self._chat
        return await chosen.respond(given, thread, options, emit)


def has_task_words(messages: Sequence[ChatMessage]) -> bool:
    """Whether the last message asks for a task, by its words."""
    words = messages[-1].text.lower().split() if messages else []
    return any(word.strip(".,:;!?\"'()").startswith(TASK_WORDS) for word in words)


def last_output(result: RunResult) -> str | JSONValue:
    """Return the last output of a result: the text of an agent's answer, or JSON."""
    if not result.outputs:
        return ""
    output = result.outputs[-1]
    if isinstance(output, AgentExecutorResponse):
        response = output.agent_response
        return response.text if response.data is None else response.data
    return output.text if isinstance(output, (ChatMessage, SpokenOutput)) else as_json(output)


def total_usage(result: RunResult) -> TokenUsage:
    """Return the use of models by the agents whose answers a run gave."""
    used = TokenUsage()
    for output in result.outputs:
        if isinstance(output, AgentExecutorResponse):
            used += output.agent_response.usage
        elif isinstance(output, SpokenOutput):
            used += output.usage
    return used


def chat_messages(result: RunResult) -> tuple[ChatMessage, ...]:
    """Return the outputs of a run as messages of its agents."""
    found: list[ChatMessage] = []
    for output in result.outputs:
        if isinstance(output, AgentExecutorResponse):
            found.append(ChatMessage.assistant(output.text, author_name=output.agent_response.agent))
        elif isinstance(output, ChatMessage):
            found.append(output)
        elif isinstance(output, SpokenOutput):
            found += output.full_conversation
        else:
            text = output if isinstance(output, str) else json.dumps(as_json(output), ensure_ascii=False)
            found.append(ChatMessage.assistant(text))
    return tuple(found)


_WORK = "workflow"


class _Paused(BaseModel):
    """A run that waits, with the last checkpoint of it."""

    model_config = ConfigDict(extra="forbid")

    run_id: str
    metadata: dict[str, JSONValue]
    head: str
    parts: dict[str, str]


class _WorkflowTurn:
    def __init__(self, agent: WorkflowAsAgent, thread: AgentThread, options: RunOptions, emit: Emit) -> None:
        self.agent = agent
        self.thread = thread
        self.options = options
        self.emit = emit
        self.turn_id = ""
        self.first_entry = len(thread.entries)
        self.journal = options.journal or ThreadJournal()
        self.account = TurnAccount(options.limits, lambda: self._turn.usage, options.outer_limit)

    async def run(self, given: AgentInput) -> AgentResponse[Any]:
        if self.thread.metadata.agent != self.agent.name:
            raise ThreadMisfitError(
                self.thread.id, self.agent.name, f"it belongs to agent {self.thread.metadata.agent!r}"
            )
        self.account.follow(self.thread)
        try:
            answers = await self._take_in(given)
            await self.emit(self._chunk(ChunkKind.STARTED))
            if self._turn.ended is None:
                await self._work(self._turn, answers)
        finally:
            self.account.leave(self.thread)
        return self._response()

    async def _work(self, turn: ThreadTurn, answers: Sequence[RequestAnswer]) -> None:
        message = self.agent.input_of(self.thread.messages)
        await self._tell_start(self.journal, turn)
        add_usage = partial(self.account.spend, _WORK)
        outer = await OuterTurn.begin(self.journal, _WORK, self.account.reached, add_usage)
        try:
            with outer.around():
                result = await self.journal.run_workflow(_WORK, self.agent.workflow, message)
                if result is None:
                    result = await self._run_alone(turn, message, answers, outer)
        except Exception:
            await self._tell_end("failed")
            raise
        if result is not None:
            await self._tell_end("complete")
            text, data = self.agent.reply_of(result)
            reply = ChatMessage.assistant(text, author_name=self.agent.name)
            if text:
                await self.emit(self._chunk(ChunkKind.TEXT, text=text))
            await self.emit(self._chunk(ChunkKind.MESSAGE, message=reply))
            self.account.enter(_WORK)
            await self._add(messages=(reply,), usage=outer.settled, ended="complete", state={"data": data})

    async def _tell_start(self, journal: EffectJournal, turn: ThreadTurn) -> None:
        """Tell that the workflow starts: once, however often the turn is continued."""
        is_new = False

        async def note() -> JSONValue:
            nonlocal is_new
            is_new = turn.state is None
            return True

        await journal.once("workflow.started", note)
        if is_new:
            await self.emit(self._chunk(ChunkKind.WORKFLOW_STARTED, workflow=self.agent.workflow.id))

    async def _tell_end(self, status: str) -> None:
        workflow = self.agent.workflow.id
        await self.emit(self._chunk(ChunkKind.WORKFLOW_FINISHED, workflow=workflow, status=status))

    @property
    def _turn(self) -> ThreadTurn:
        return self.thread.find_turn(self.turn_id) or ThreadTurn(self.turn_id)

    async def _take_in(self, given: AgentInput) -> tuple[RequestAnswer, ...]:
        messages, answers = parted(given)
        key, last = self.options.idempotency_key, self.thread.turn
        if key is not None and (known := self.thread.find_turn(key)):
            last, messages = known, ()
        is_open = last is not None and last.ended is None
        self.turn_id = last.id if last and (is_open or last.id == key) else key or new_id()
        open_ids = [request.id for request in last.pending] if last is not None and is_open else []
        left = list(open_ids)
        for answer in answers:
            if answer.request_id not in left:
                raise AnswerMismatchError(answer.request_id, left)
            left.remove(answer.request_id)
        if messages and open_ids:
            raise ThreadBusyError(self.thread.id, open_ids)
        if messages or answers:
            await self._add(messages=messages, answers=answers, is_input=True)
        return tuple((self._turn.answers or {}).values())

    async def _run_alone(
        self, turn: ThreadTurn, message: object, answers: Sequence[RequestAnswer], outer: OuterTurn
    ) -> RunResult | None:
        """Run the workflow in this process; None if it waits."""
        store = MemoryCheckpointStore()
        run_id = RunId(f"{self.agent.name}-{turn.id}")
        if turn.state is None:
            stream = self.agent.workflow.run_stream(message, run_id=run_id, checkpoints=store)
        else:
            await _restore(_Paused.model_validate(turn.state), store)
            responses = {
                request.id: _response_to(request, answer)
                for request in (turn.asked or {}).values()
                for answer in answers
                if answer.request_id == request.id and request.id not in self._used
            }
            stream = self.agent.workflow.resume_stream(run_id, checkpoints=store, responses=responses)
        result = await self._follow(stream)
        if result.status is not RunStatus.WAITING_INPUT:
            return result
        self.account.enter(_WORK)
        await self._pause(await store.latest(run_id), result.pending_requests, outer.settled)
        return None

    @property
    def _used(self) -> frozenset[str]:
        """Requests whose answers an earlier part of the turn has used."""
        used: set[str] = set()
        answered: set[str] = set()
        for entry in self.thread.entries:
            if entry.turn == self.turn_id:
                if entry.state is not None:
                    used |= answered
                answered |= {answer.request_id for answer in entry.answers}
        return frozenset(used)

    async def _follow(self, stream: RunStream) -> RunResult:
        async for event in stream:
            if event.kind == "custom":
                await self._pass_on(event)
        return await stream.result()

    async def _pass_on(self, event: WorkflowEvent) -> None:
        facts = cast(dict[str, Any], event.data.get("data") or {})
        if event.data.get("type") == UPDATE and facts["kind"] in (ChunkKind.TEXT, ChunkKind.THINKING):
            path = (*self.options.path, self.agent.name, *facts["path"])
            await self.emit(
                AgentChunk(
                    kind=ChunkKind(facts["kind"]), author_name=facts["agent"], path=path, text=facts["text"]
                )
            )

    async def _pause(
        self,
        checkpoint: Any,  # noqa: ANN401
        pending: Sequence[InfoRequest],
        usage: TokenUsage,
    ) -> None:
        facts = checkpoint.metadata
        state = _Paused(
            run_id=facts.run_id,
            metadata={name: as_json(getattr(facts, name)) for name in _FACTS},
            head=checkpoint.head,
            parts=dict(checkpoint.parts),
        )
        known = self._turn.asked or {}
        asked = tuple(pending_request(request) for request in pending if request.id not in known)
        await self._add(asked=asked, state=state.model_dump(mode="json"), usage=usage)
        for request in asked:
            await self.emit(self._chunk(ChunkKind.REQUEST, request=request))

    async def _add(self, **facts: Any) -> None:  # noqa: ANN401  # the fields of an entry
        await self.thread.append(ThreadEntry(turn=self.turn_id, **facts))

    def _response(self) -> AgentResponse[Any]:
        turn = self._turn
        added = self.thread.entries[self.first_entry :]
        is_complete = turn.ended is not None
        response: AgentResponse[Any] = AgentResponse(
            agent=self.agent.name,
            thread_id=self.thread.id,
            turn=turn.id,
            status=ResponseStatus.COMPLETE if is_complete else ResponseStatus.NEEDS_INPUT,
            messages=tuple(one for entry in added if not entry.is_input for one in entry.messages),
            text=turn.reply.text if turn.reply else "",
            data=turn.state.get("data") if is_complete and isinstance(turn.state, dict) else None,
            usage=turn.usage,
            pending=() if is_complete else turn.pending,
        )
        return response if response.data is None else response.with_output(response.data)

    def _chunk(self, kind: ChunkKind, **facts: Any) -> AgentChunk:  # noqa: ANN401  # fields of the chunk
        return AgentChunk(kind=kind, author_name=self.agent.name, path=self.options.path, **facts)


_FACTS = ("run_id", "superstep", "status", "saved_at", "workflow_id", "version", "schema_version")


async def _restore(paused: _Paused, store: MemoryCheckpointStore) -> None:
    facts: dict[str, Any] = {**paused.metadata, "revision": 1}
    facts["status"] = RunStatus(facts["status"])
    await store.save(Checkpoint(CheckpointMetadata(**facts), paused.head, paused.parts))


def pending_request(request: InfoRequest) -> PendingRequest:
    """Return a request of a run as agents show it."""
    is_approval = request.response_type.endswith(".ApprovalResponse")
    data = as_json(request.data)
    question = data.get("action") if isinstance(data, dict) else data
    return PendingRequest(
        id=request.id,
        kind=RequestKind.APPROVAL if is_approval else RequestKind.INFO,
        data=data,
        response_type=request.response_type,
        question=question if isinstance(question, str) else "",
        raised_at=request.raised_at,
        expires_at=request.deadline,
    )


def _response_to(request: PendingRequest, answer: RequestAnswer) -> object:
    if request.kind is RequestKind.APPROVAL:
        return {"approved": answer.approved, "reason": answer.reason}
    return answer.result
