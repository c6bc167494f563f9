"""Participants of patterns: executors that hear and answer a conversation, made of anything."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field

from agentic.core.agents.agent import Agent
from agentic.core.agents.executor import AgentExecutor
from agentic.core.agents.workflow_agents import total_usage
from agentic.core.graph import (
    Executor,
    FunctionExecutor,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    executor,
)
from agentic.core.graph.build.builder import ExecutorSource, Function
from agentic.core.graph.codec.annotations import type_name
from agentic.core.graph.definition.function import name_of
from agentic.core.graph.definition.handler_types import Types
from agentic.core.graph.definition.subgraph import WorkflowExecutor
from agentic.core.graph.model.messages import ExecutorFailure
from agentic.core.llm.messages import ChatMessage, ToolCall
from agentic.core.llm.usage import TokenUsage
from agentic.core.patterns.conversation import Conversing, by_author, is_conversation, message_of
from agentic.core.patterns.errors import InvalidPatternError
from agentic.core.records import record
from agentic.core.types import JSONValue

ParticipantLike = Agent[Any] | Workflow | Executor | ExecutorSource | Function
"""An agent, a workflow, a pattern, an executor or a function."""

_HEARD = "heard"


class BroadcastMessage(BaseModel):
    """A turn to speak. The conversation is in the shared state: each participant hears all of it.

    Attributes:
        target: Who speaks; empty for all.
        message_count: How many messages have been said.
        round: The number of this turn, from 0.
    """

    __wire_name__ = "agentic.patterns.BroadcastMessage"

    model_config = ConfigDict(extra="forbid", frozen=True)

    target: str = ""
    message_count: int
    round: int = 0


class ParticipantResult(BaseModel):
    """The answer of a participant, or its failure."""

    __wire_name__ = "agentic.patterns.ParticipantResult"

    model_config = ConfigDict(extra="forbid", frozen=True)

    executor_id: str = Field(description="The participant.")
    message: ChatMessage | None = Field(default=None, description="None if it failed, or said nothing.")
    data: JSONValue = Field(default=None, description="The structured output of an agent, as JSON.")
    usage: TokenUsage = TokenUsage()
    error: ExecutorFailure | None = None

    @property
    def ok(self) -> bool:
        """Whether it did not fail."""
        return self.error is None

    @property
    def text(self) -> str:
        """The text of the answer."""
        return self.message.text if self.message is not None else ""


@record(kw_only=True)
class Reply:
    """What a participant answered.

    Attributes:
        message: Its message; None for nothing.
        conversation: The new conversation, if it changed the whole.
        output: The value behind the message.
        data: The structured output of an agent.
        usage: Its use of models.
        calls: The calls of tools that ended its turn.
    """

    message: ChatMessage | None = None
    conversation: tuple[ChatMessage, ...] | None = None
    output: object = None
    data: JSONValue = None
    usage: TokenUsage = TokenUsage()
    calls: tuple[ToolCall, ...] = ()


class ParticipantRole(ABC):
    """How a pattern asks its participants, and takes their answers.

    Attributes:
        takes: The types of its messages to participants.
        gives: The types of their answers.
    """

    takes: tuple[object, ...] = ()
    gives: tuple[object, ...] = ()

    @property
    def kinds(self) -> tuple[type, ...]:
        """The classes among ``takes``."""
        return tuple(one for one in self.takes if isinstance(one, type))

    @property
    def takes_lists(self) -> bool:
        """Whether it takes lists of messages."""
        return list[ChatMessage] in self.takes

    @abstractmethod
    def hear(
        self,
        node: Conversing,
        message: Any,  # noqa: ANN401  # of its own types
        ctx: WorkflowContext[Any, Any],
    ) -> Sequence[ChatMessage]:
        """Return the conversation that a message brings."""

    @abstractmethod
    async def answer(
        self,
        node: Conversing,
        message: Any,  # noqa: ANN401  # of its own types
        heard: Sequence[ChatMessage],
        reply: Reply,
        ctx: WorkflowContext[Any, Any],
    ) -> object:
        """Return the answer for the pattern."""

    def is_native(self, node: Executor) -> bool:  # noqa: ARG002  # for subclasses
        """Whether an executor takes and gives these messages by itself."""
        return False


class StarRole(ParticipantRole):
    """Participants around a hub: they get a turn to speak, and the hub gets their result."""

    takes = (BroadcastMessage,)
    gives = (ParticipantResult,)

    def hear(
        self, node: Conversing, message: BroadcastMessage, ctx: WorkflowContext[Any, Any]
    ) -> Sequence[ChatMessage]:
        """Return the messages until now."""
        return node.read_conversation(ctx, message.message_count)

    async def answer(
        self,
        node: Conversing,
        message: BroadcastMessage,  # noqa: ARG002  # as of every role
        heard: Sequence[ChatMessage],  # noqa: ARG002
        reply: Reply,
        ctx: WorkflowContext[Any, Any],
    ) -> ParticipantResult:
        """Return the result."""
        node.add_usage(ctx, reply.usage)
        return ParticipantResult(
            executor_id=node.id, message=reply.message, data=reply.data, usage=reply.usage
        )

    def is_native(self, node: Executor) -> bool:
        """Whether it takes turns to speak."""
        return node.accepts(BroadcastMessage(message_count=0)) and ParticipantResult in (
            *(node.return_types or ()),
            *(node.send_types or ()),
        )


class Participant(Conversing):
    """Base of participants: they take and give the messages of their role."""

    role: ParticipantRole

    @property
    def input_types(self) -> tuple[object, ...]:
        """The messages of its role."""
        return self.role.takes

    @property
    def return_types(self) -> Types:
        """The answers of its role."""
        return self.role.gives

    @property
    def send_types(self) -> Types:
        """Unknown: a participant may have its own context."""
        return None

    @property
    def output_types(self) -> Types:
        """Unknown: a participant may have its own context."""
        return None

    def accepts(self, message: object) -> bool:
        """Whether it is a message of its role."""
        return isinstance(message, self.role.kinds) or (self.role.takes_lists and is_conversation(message))

    async def handle(self, message: object, ctx: WorkflowContext) -> object:
        """Hear the conversation, and answer."""
        heard = self.role.hear(self, message, ctx)
        reply = await self.speak(heard, ctx)
        return await self.role.answer(self, message, heard, reply, ctx)

    async def speak(self, heard: Sequence[ChatMessage], ctx: WorkflowContext[Any, Any]) -> Reply:
        """Return the answer to a conversation; for subclasses."""
        raise NotImplementedError


class AgentParticipant(Participant, AgentExecutor):
    """An agent as a participant. Each of its turns is a thread of its own, unless it ``remembers``."""

    def __init__(
        self,
        agent: Agent[Any],
        role: ParticipantRole,
        **options: Any,  # noqa: ANN401  # of the executor
    ) -> None:
        super().__init__(agent, **options)
        self.role = role

    async def speak(self, heard: Sequence[ChatMessage], ctx: WorkflowContext[Any, Any]) -> Reply:
        """Return the agent's answer."""
        given = [self._as_its_own(one) for one in self._unheard(heard, ctx)]
        response = await self.on_messages(given, ctx)
        if self.remembers:
            ctx.local[_HEARD] = len(heard)
        said = response.full_conversation[len(given) :]
        pending = response.agent_response.pending
        return Reply(
            message=by_author(said[-1], self.id) if said else None,
            output=response.agent_response.text,
            data=response.agent_response.data,
            usage=response.agent_response.usage,
            calls=tuple(one.call for one in pending if one.call is not None),
        )

    def news_in(self, messages: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
        """Return the messages since its last turn: the events of a long chat have each of them once."""
        own = [index for index, one in enumerate(messages) if one.author_name == self.agent.name]
        return messages[own[-1] + 1 :] if own else messages

    def _unheard(self, heard: Sequence[ChatMessage], ctx: WorkflowContext[Any, Any]) -> Sequence[ChatMessage]:
        """Return the messages for its thread: all, or the messages of others since its last turn."""
        since = ctx.local.get(_HEARD) if self.remembers else None
        if self.context == "last":
            return heard[-1:]
        if not isinstance(since, int):
            return heard
        return [one for one in heard[since:] if one.author_name != self.id] or heard[-1:]

    def _as_its_own(self, message: ChatMessage) -> ChatMessage:
        """Return a message with the name that the agent knows itself by, if the message is its own."""
        if message.author_name != self.id or self.id == self.agent.name:
            return message
        return message.model_copy(update={"author_name": self.agent.name})


class WorkflowParticipant(Participant, WorkflowExecutor):
    """A workflow as a participant: its last output is its answer."""

    def __init__(self, workflow: Workflow, name: str, role: ParticipantRole) -> None:
        super().__init__(workflow, name)
        self.role = role

    async def speak(self, heard: Sequence[ChatMessage], ctx: WorkflowContext[Any, Any]) -> Reply:
        """Return the workflow's answer."""
        graph = self.workflow.graph
        starts = [graph.executors[name] for name in graph.starts]
        form = _form(heard, lambda given: all(start.accepts(given) for start in starts))
        result = await ctx.run_workflow(self.workflow, form)
        output = result.outputs[-1] if result.outputs else None
        return _reply(output, self.id, total_usage(result))


class FunctionParticipant(Participant, FunctionExecutor):
    """A function as a participant: it takes the conversation, its last message, or the text of that."""

    def __init__(self, made: FunctionExecutor, role: ParticipantRole) -> None:
        super().__init__(
            made.function,
            made.id,
            kind=made.kind,
            max_parallel=made.max_parallel,
            retry=made.retry,
            timeout_s=made.timeout_s,
        )
        self.role = role

    async def speak(self, heard: Sequence[ChatMessage], ctx: WorkflowContext[Any, Any]) -> Reply:
        """Return the function's answer."""
        form = _form(heard, lambda given: Executor.accepts(self, given))
        return _reply(await FunctionExecutor.handle(self, form, ctx), self.id)


def participant_of(node: ParticipantLike, role: ParticipantRole, pattern: str) -> Executor:
    """Return a node as a participant with this role.

    Raises:
        InvalidPatternError: It takes no form of a conversation.
    """
    if isinstance(node, str):
        raise InvalidPatternError(
            pattern, f"the participant {node!r} is a name; give the agent or executor itself"
        )
    if isinstance(node, Agent):
        return AgentParticipant(node, role)
    if isinstance(node, Workflow):
        return _workflow_participant(node, str(node.id), role, pattern)
    if not isinstance(node, Executor):
        node = _made(node)
    if isinstance(node, Participant):
        raise InvalidPatternError(
            pattern, f"{node.id!r} takes part in another pattern already; give the agent or executor itself"
        )
    return _executor_participant(node, role, pattern)


def options_of(node: AgentExecutor) -> dict[str, Any]:
    """Return the options of an agent's node."""
    return {
        "id": node.id,
        "context": node.context,
        "remembers": node.remembers,
        "approval_s": node.approval_s,
        "retry": node.retry,
        "timeout_s": node.timeout_s,
    }


def description_of(node: Executor) -> str:
    """Return the description of a participant, for selectors and managers: of a function, its first line."""
    if isinstance(node, FunctionExecutor):
        return (inspect.getdoc(node.function) or "").partition("\n")[0]
    return node.agent.description if isinstance(node, AgentExecutor) else ""


def next_speaker(message: BroadcastMessage, _: Sequence[str]) -> list[str]:
    """Return the participant whose turn it is: the selector of the edges of a hub."""
    return [message.target]


def _made(node: ExecutorSource | Function) -> Executor:
    source = getattr(node, "as_executor", None)
    return (
        cast(Executor, source())
        if source is not None
        else FunctionExecutor(cast(Function, node), name_of(node))
    )


def _executor_participant(node: Executor, role: ParticipantRole, pattern: str) -> Executor:
    made: Executor
    if type(node) is AgentExecutor:
        made = AgentParticipant(node.agent, role, **options_of(node))
    elif type(node) is WorkflowExecutor:
        made = _workflow_participant(cast(Workflow, node.workflow), node.id, role, pattern)
    elif type(node) is FunctionExecutor:
        _check_takes(node, node.id, pattern)
        made = FunctionParticipant(node, role)
    elif role.is_native(node):
        return node
    else:
        _check_takes(node, node.id, pattern)
        made = WorkflowParticipant(_alone(node), node.id, role)
    made.queue, made.crash = node.queue, node.crash
    return made


def _workflow_participant(
    workflow: Workflow, name: str, role: ParticipantRole, pattern: str
) -> WorkflowParticipant:
    _check_takes(WorkflowExecutor(workflow, name), name, pattern)
    return WorkflowParticipant(workflow, name, role)


def _alone(node: Executor) -> Workflow:
    """Return a workflow that is one executor, whose answer is the value that it returns, sends or yields."""
    builder = WorkflowBuilder(node.id).set_start(node)
    if node.send_types != () or node.return_types != ():
        builder.add_edge(node, executor(id="answer")(_answer))
    return builder.build()


def _answer(message: object) -> object:
    return message


_SAMPLES: tuple[Any, ...] = ([ChatMessage.user("")], ChatMessage.user(""), "")


def _check_takes(node: Executor, name: str, pattern: str) -> None:
    if not any(node.accepts(sample) for sample in _SAMPLES):
        kinds = " or ".join(map(type_name, node.input_types))
        raise InvalidPatternError(
            pattern,
            f"the participant {name!r} takes {kinds}; a participant takes list[ChatMessage], ChatMessage "
            "or str",
        )


def _form(heard: Sequence[ChatMessage], accepts: Callable[[object], bool]) -> object:
    """Return the conversation in the first form that is accepted: all, the last message, or its text."""
    last = heard[-1] if heard else ChatMessage.user("")
    for form in (list(heard), last):
        if accepts(form):
            return form
    return last.text


def _reply(output: object, author: str, usage: TokenUsage = TokenUsage()) -> Reply:  # noqa: B008  # immutable
    conversation = tuple(cast(list[ChatMessage], output)) if is_conversation(output) else None
    return Reply(message=message_of(output, author), conversation=conversation, output=output, usage=usage)
