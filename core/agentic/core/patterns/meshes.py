"""Handoff: participants pass control to each other, and to people, without a manager."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from datetime import timedelta
from typing import Any, Protocol, Self

from pydantic import BaseModel, ConfigDict

from agentic.core.agents.agent import Agent
from agentic.core.agents.chat_agent import ChatAgent
from agentic.core.agents.executor import AgentExecutor, AgentExecutorResponse
from agentic.core.agents.journal import EffectJournal, ThreadJournal
from agentic.core.agents.options import RunOptions
from agentic.core.agents.requests import AgentInput, PendingRequest, RequestAnswer
from agentic.core.agents.responses import AgentResponse, Emit, SpokenOutput
from agentic.core.agents.specs.spec_agent import SpecAgent
from agentic.core.agents.threads.thread import AgentThread
from agentic.core.agents.tools.tool import ExternalTool
from agentic.core.agents.tools.toolset import check_tools
from agentic.core.graph import (
    ApprovalRequest,
    Executor,
    ExecutorKind,
    RequestExpiredError,
    Workflow,
    WorkflowContext,
    handler,
)
from agentic.core.llm.messages import ChatMessage
from agentic.core.patterns.building import PatternBuilder, checked_limit
from agentic.core.patterns.conversation import (
    ConversationInput,
    Conversing,
    PatternResult,
    conversation_of,
)
from agentic.core.patterns.errors import InvalidPatternError, UnknownParticipantError
from agentic.core.patterns.participants import (
    AgentParticipant,
    ParticipantLike,
    ParticipantRole,
    Reply,
    description_of,
    options_of,
    participant_of,
)
from agentic.core.patterns.terminations import Termination, TerminationFunc, as_termination
from agentic.core.types import JSONValue

MAX_HANDOFFS = 25
"""Handoffs in a run without a limit of its own."""

_PREFIX = "handoff_to_"


class Handoff(BaseModel):
    """The answer of a function, an executor or a workflow that passes control on.

    Attributes:
        target: The participant who continues.
        text: Its words before that.
    """

    __wire_name__ = "agentic.patterns.Handoff"

    model_config = ConfigDict(extra="forbid", frozen=True)

    target: str
    text: str = ""


class HandoffCapable(Protocol):
    """An executor that decides by its answer who continues."""

    def decide_handoff(self, result: Any, /) -> str | None:  # noqa: ANN401  # of the executor
        """Return the participant who continues; None if the answer is final."""
        ...


class HandoffMessage(BaseModel):
    """Control, on its way to a participant. The conversation is in the shared state."""

    __wire_name__ = "agentic.patterns.HandoffMessage"

    model_config = ConfigDict(extra="forbid", frozen=True)

    target: str
    source: str
    message_count: int
    handoff_count: int
    begun: int = 0


class HandoffBuilder(PatternBuilder):
    """Builds a mesh: the participant that has control answers, or passes control to another one.

    A :class:`~agentic.core.agents.ChatAgent` gets a tool ``handoff_to_NAME`` for each participant that it may
    pass control to; the call ends its turn. Functions and workflows return a :class:`Handoff`, executors may
    have ``decide_handoff`` (:class:`HandoffCapable`). An answer without a handoff ends the run. The output is
    a :class:`PatternResult`.
    """

    _start: str | None = None
    _person: str | None = None
    _asks_back: bool = False
    _deadline_s: float | None = None
    _termination: Termination | None = None
    _max_handoffs: int = MAX_HANDOFFS
    _ways: dict[str, list[str]] | None = None

    def with_start(self, name: str) -> Self:
        """Set the participant that gets the input; the first one if omitted."""
        self._start = name
        return self

    def add_handoff(self, source: str, targets: Iterable[str]) -> Self:
        """Allow a participant to pass control to others. Without a call of this, everybody may to everybody.

        Args:
            source: Name of the participant.
            targets: Names of others, or of the person.
        """
        ways = self._ways = self._ways if self._ways is not None else {}
        names = [targets] if isinstance(targets, str) else list(targets)
        ways[source] = list(dict.fromkeys([*ways.get(source, ()), *names]))
        return self

    def with_person(
        self, name: str = "person", *, after_answers: bool = False, deadline_s: float | None = None
    ) -> Self:
        """Add a person, who is asked by a request of the run, and gives control back to the asker.

        Args:
            name: Of the person among the participants.
            after_answers: Ask the person after each answer, too, until one is empty: a conversation.
            deadline_s: How long to wait for an answer.
        """
        self._person, self._asks_back, self._deadline_s = name, after_answers, deadline_s
        return self

    def with_termination_condition(self, condition: TerminationFunc) -> Self:
        """Set the condition that ends the run; combine several with ``|`` and ``&``."""
        self._termination = as_termination(condition)
        return self

    def with_max_handoffs(self, count: int) -> Self:
        """Set the most handoffs of a run."""
        self._max_handoffs = checked_limit(self._name, "max_handoffs", count)
        return self

    def _build(self) -> Workflow:
        plain = [participant_of(node, _UNKNOWN, self._name) for node in self._participants]
        names = [str(node.id) for node in plain]
        everybody = [*names, *([self._person] if self._person is not None else [])]
        self._check_names(names, everybody)
        told = {str(node.id): description_of(node) for node in plain}
        if self._person is not None:
            told[self._person] = "a person: ask a complete question"
        nodes = [self._node(given, name, told) for given, name in zip(self._participants, names, strict=True)]
        by_name = dict(zip(names, nodes, strict=True))
        graph = self._graph(2 * self._max_handoffs + 2).set_start(by_name[self._start or names[0]])
        graph.add_executor(*nodes)
        if self._person is not None:
            person = PersonExecutor(self._person, self._deadline_s)
            graph.add_executor(person).add_fan_out_edge(person, names, select=handoff_target)
        for name in names:
            if targets := self._targets(name, everybody):
                graph.add_fan_out_edge(name, targets, select=handoff_target)
        return graph.build()

    def _targets(self, name: str, everybody: Sequence[str]) -> list[str]:
        if self._ways is None:
            return [one for one in everybody if one != name]
        found = list(self._ways.get(name, ()))
        if self._asks_back and self._person is not None and self._person not in found:
            found.append(self._person)
        return found

    def _check_names(self, names: Sequence[str], everybody: Sequence[str]) -> None:
        ways = self._ways or {}
        used = [
            *([self._start] if self._start is not None else []),
            *ways,
            *(end for ends in ways.values() for end in ends),
        ]
        known = ", ".join(everybody)
        for name in used:
            if name not in everybody:
                raise InvalidPatternError(self._name, f"no participant is called {name!r} (known: {known})")
        if self._start is not None and self._start not in names:
            raise InvalidPatternError(self._name, f"{self._start!r} is a person; start with another")
        if selfish := [name for name, ends in ways.items() if name in ends]:
            raise InvalidPatternError(self._name, f"{selfish[0]!r} cannot hand over to itself")

    def _node(self, given: ParticipantLike, name: str, told: Mapping[str, str]) -> Executor:
        ways = self._targets(name, list(told))
        role = MeshRole(
            {_tool_name(end): end for end in ways},
            decide=getattr(given, "decide_handoff", None),
            asks_back=self._person if self._asks_back else None,
            termination=self._termination,
            max_handoffs=self._max_handoffs,
        )
        if len(role.tools) < len(ways):
            raise InvalidPatternError(
                self._name, f"two of {', '.join(ways)} would be the same tool name; rename one"
            )
        tools = [_handoff_tool(tool, end, told[end]) for tool, end in role.tools.items()]
        return _node_with(given, role, tools, self._name)


class MeshRole(ParticipantRole):
    """Participants that pass control to each other.

    Args:
        tools: Names of tools, with the participants that they pass control to.
        decide: The ``decide_handoff`` of an executor.
        asks_back: The person who is asked after an answer without a handoff.
        termination: Ends the run.
        max_handoffs: The most handoffs.
    """

    takes = (str, ChatMessage, list[ChatMessage], AgentExecutorResponse, SpokenOutput, HandoffMessage)
    gives = (HandoffMessage, PatternResult)

    def __init__(
        self,
        tools: Mapping[str, str],
        *,
        decide: Callable[[Any], str | None] | None = None,
        asks_back: str | None = None,
        termination: Termination | None = None,
        max_handoffs: int = MAX_HANDOFFS,
    ) -> None:
        self.tools = dict(tools)
        self.decide = decide
        self.asks_back = asks_back
        self.termination = termination
        self.max_handoffs = max_handoffs

    def hear(
        self, node: Conversing, message: HandoffMessage | ConversationInput, ctx: WorkflowContext[Any, Any]
    ) -> Sequence[ChatMessage]:
        """Return the messages until now."""
        if isinstance(message, HandoffMessage):
            return node.read_conversation(ctx, message.message_count)
        messages = conversation_of(message)
        node.add_messages(ctx, 0, messages)
        return messages

    async def answer(
        self,
        node: Conversing,
        message: HandoffMessage | ConversationInput,
        heard: Sequence[ChatMessage],
        reply: Reply,
        ctx: WorkflowContext[Any, Any],
    ) -> HandoffMessage | None:
        """Return the handoff; None if the answer ends the run."""
        node.add_usage(ctx, reply.usage)
        target, said = self._decided(node.id, reply)
        conversation = [*heard, *([] if said is None else [said])]
        before = message if isinstance(message, HandoffMessage) else None
        done = 0 if before is None else before.handoff_count
        begun = max(len(heard) - 1, 0) if before is None else before.begun
        count = node.add_messages(ctx, len(heard), conversation[len(heard) :])
        reason = self._reason_to_end(node.id, target, conversation[begun:], done)
        if reason is None and target is not None:
            return HandoffMessage(
                target=target, source=node.id, message_count=count, handoff_count=done + 1, begun=begun
            )
        await ctx.yield_output(_result(node, ctx, conversation, reason or "", done + 1))
        return None

    def _decided(self, name: str, reply: Reply) -> tuple[str | None, ChatMessage | None]:
        """Return who continues, and the message of the answer."""
        said = reply.message
        for call in (one for one in reply.calls if one.name in self.tools):
            target = self.tools[call.name]
            words = said.text if said is not None and said.text else _words(target, call.arguments)
            return target, ChatMessage.assistant(words, author_name=name)
        if isinstance(reply.output, Handoff):
            words = reply.output.text or _words(reply.output.target, {})
            return self._checked(name, reply.output.target), ChatMessage.assistant(words, author_name=name)
        wanted = self.decide(reply.output) if self.decide is not None else None
        if wanted is not None:
            return self._checked(name, wanted), said
        return self.asks_back, said

    def _checked(self, name: str, target: str) -> str:
        known = list(self.tools.values())
        if target not in known:
            raise UnknownParticipantError(f"participant {name!r}", target, known)
        return target

    def _reason_to_end(
        self, name: str, target: str | None, said: Sequence[ChatMessage], done: int
    ) -> str | None:
        if self.termination is not None and (reason := self.termination.reason(said)):
            return reason
        if target is None:
            return f"{name} answered"
        return f"max_handoffs: {done} handoffs" if done >= self.max_handoffs else None


_UNKNOWN = MeshRole({})


class MeshAgent(AgentParticipant):
    """An agent that may pass control on: the call of such a tool ends its turn."""

    def __init__(
        self,
        agent: Agent[Any],
        role: MeshRole,
        **options: Any,  # noqa: ANN401  # of the executor
    ) -> None:
        super().__init__(agent, role, **options)
        self.handoff_tools = frozenset(role.tools)

    async def respond(
        self, given: AgentInput, thread: AgentThread, options: RunOptions, emit: Emit
    ) -> AgentResponse[Any]:
        """Take a turn, and end it at a handoff."""
        journal = _EndAtHandoffs(options.journal or ThreadJournal(), self.handoff_tools)
        return await super().respond(given, thread, replace(options, journal=journal), emit)


class PersonExecutor(Conversing):
    """A person in a mesh: it asks by a request of the run, and gives control back to the asker.

    Args:
        id: Unique in the pattern.
        deadline_s: How long to wait for an answer.
    """

    def __init__(self, id: str, deadline_s: float | None = None) -> None:  # noqa: A002  # as of every executor
        super().__init__(id, kind=ExecutorKind.VALIDATOR)
        self.deadline_s = deadline_s

    @handler
    async def on_handoff(
        self, given: HandoffMessage, ctx: WorkflowContext[HandoffMessage, PatternResult]
    ) -> HandoffMessage | None:
        """Ask the person; an empty answer ends the run."""
        said = self.read_conversation(ctx, given.message_count)
        question = said[-1].text if said else ""
        details: dict[str, JSONValue] = {"asked_by": given.source}
        asked = ApprovalRequest(action=question or "your answer", details=details)
        deadline = None if self.deadline_s is None else timedelta(seconds=self.deadline_s)
        try:
            words = (await ctx.request_info(asked, str, deadline=deadline)).strip()
        except RequestExpiredError:
            words = "(no answer in time)"
        if not words:
            await ctx.yield_output(_result(self, ctx, said, f"{self.id} ended it", given.handoff_count))
            return None
        answer = ChatMessage.user(words, author_name=self.id)
        return given.model_copy(
            update={
                "target": given.source,
                "source": self.id,
                "message_count": self.add_messages(ctx, given.message_count, [answer]),
            }
        )


def handoff(name: str, agents: Iterable[ParticipantLike]) -> Workflow:
    """Return a mesh: all participants may pass control to each other, and the first one gets the input.

    Args:
        name: The workflow's id.
        agents: The participants.
    """
    return HandoffBuilder(name).participants(agents).build()


def handoff_target(message: HandoffMessage, _: Sequence[str]) -> list[str]:
    """Return the participant who continues: the selector of the edges."""
    return [message.target]


class _EndAtHandoffs:
    """A journal that leaves requests for handoffs open: their turn ends with them."""

    def __init__(self, whole: EffectJournal, tools: frozenset[str]) -> None:
        self._whole = whole
        self._tools = tools
        self.once = whole.once
        self.run_workflow = whole.run_workflow

    async def ask(self, requests: Sequence[PendingRequest], part: str = "") -> Sequence[RequestAnswer] | None:
        """Ask, unless the agent passes control on; then it needs no answers."""
        if any(one.call is not None and one.call.name in self._tools for one in requests):
            return None
        return await self._whole.ask(requests, part)


def _node_with(
    given: ParticipantLike, role: MeshRole, tools: Sequence[ExternalTool], pattern: str
) -> Executor:
    if isinstance(given, Agent):
        return MeshAgent(_with_tools(given, tools), role)
    if not isinstance(given, AgentExecutor) or type(given) is not AgentExecutor:
        return participant_of(given, role, pattern)
    if given.remembers:
        raise InvalidPatternError(
            pattern, f"{given.id!r} remembers its threads, but a handoff leaves a thread unfinished"
        )
    made = MeshAgent(_with_tools(given.agent, tools), role, **options_of(given))
    made.queue, made.crash = given.queue, given.crash
    return made


def _with_tools(agent: Agent[Any], tools: Sequence[ExternalTool]) -> Agent[Any]:
    if isinstance(agent, ChatAgent):
        return _chat_with(agent, tools)
    if isinstance(agent, SpecAgent):
        return _BuiltLater(agent, tools)
    return agent  # it cannot call tools: its answer is final


def _chat_with(agent: ChatAgent[Any], tools: Sequence[ExternalTool]) -> ChatAgent[Any]:
    made = copy(agent)
    made.setup = replace(agent.setup, tools=check_tools((*agent.setup.tools, *tools)))
    return made


class _BuiltLater(Agent[Any]):
    """An agent that is data until its turn, with more tools."""

    def __init__(self, agent: SpecAgent, tools: Sequence[ExternalTool]) -> None:
        self.name = agent.name
        self.description = agent.description
        self.agent = agent
        self.handoff_tools = tuple(tools)

    async def respond(
        self, given: AgentInput, thread: AgentThread, options: RunOptions, emit: Emit
    ) -> AgentResponse[Any]:
        """Take a turn."""
        built = _chat_with(await self.agent.built(), self.handoff_tools)
        return await built.respond(given, thread, options, emit)


def _handoff_tool(tool: str, name: str, description: str) -> ExternalTool:
    reason: dict[str, JSONValue] = {
        "type": "string",
        "description": "What the receiver must know or do, complete in itself.",
    }
    words = f"Pass control to {name}{description and f' ({description})'}. Your turn ends with the call."
    return ExternalTool(tool, words, {"type": "object", "properties": {"reason": reason}})


def _tool_name(name: str) -> str:
    kept = "".join(char if char.isascii() and (char.isalnum() or char in "_-") else "_" for char in name)
    return f"{_PREFIX}{kept}"[:64]


def _words(target: str, arguments: Mapping[str, JSONValue]) -> str:
    reason = arguments.get("reason")
    return reason if isinstance(reason, str) and reason.strip() else f"(passes control to {target})"


def _result(
    node: Conversing,
    ctx: WorkflowContext[Any, Any],
    conversation: Sequence[ChatMessage],
    reason: str,
    rounds: int,
) -> PatternResult:
    return PatternResult(
        conversation=tuple(conversation),
        reason=reason,
        round_count=rounds,
        usage=node.usage_so_far(ctx),
    )
