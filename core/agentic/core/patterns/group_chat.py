"""Group chat: a manager gives turns to participants, who all hear everything."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self, cast

from pydantic import BaseModel, ConfigDict, Field

from agentic.core.agents.agent import Agent
from agentic.core.graph import ExecutorKind, Workflow, WorkflowContext, handler
from agentic.core.llm.messages import ChatMessage
from agentic.core.patterns.asking import ask
from agentic.core.patterns.building import PatternBuilder, checked_limit
from agentic.core.patterns.conversation import (
    ConversationInput,
    Conversing,
    PatternResult,
    conversation_of,
)
from agentic.core.patterns.errors import InvalidPatternError, UnknownParticipantError
from agentic.core.patterns.participants import (
    BroadcastMessage,
    ParticipantResult,
    StarRole,
    description_of,
    next_speaker,
    participant_of,
)
from agentic.core.patterns.selectors import (
    GroupChatState,
    SelectionFunc,
    name_after,
    name_in,
    round_robin_selector,
    selection_prompt,
)
from agentic.core.patterns.terminations import Termination, TerminationFunc, as_termination

MAX_ITERATIONS = 50
"""Turns of a chat without a limit of its own."""


class ManagerSelection(BaseModel):
    """The decision of an agent that manages a chat."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    next_speaker: str = Field(default="", description="Name of the participant who speaks next.")
    is_finished: bool = Field(default=False, description="Whether the conversation has reached its goal.")
    final_message: str = Field(default="", description="If it is finished: the answer to the request.")


class GroupChatBuilder(PatternBuilder):
    """Builds a chat: a manager in the middle gives each turn, and everybody hears every answer.

    It ends when the termination condition holds, when the selector or the managing agent ends it, or after
    ``max_iterations`` turns. The output is a :class:`PatternResult`.
    """

    _selector: SelectionFunc | None = None
    _manager: Agent[Any] | None = None
    _termination: Termination | None = None
    _max_iterations: int = MAX_ITERATIONS

    def with_orchestrator_func(self, selector: SelectionFunc) -> Self:
        """Set the function that chooses the next speaker; they speak in turn if omitted."""
        self._selector = selector
        return self

    def with_orchestrator_agent(self, agent: Agent[Any]) -> Self:
        """Set an agent that chooses the next speaker, and may end the chat with an answer of its own."""
        self._manager = agent
        return self

    def with_termination_condition(self, condition: TerminationFunc) -> Self:
        """Set the condition that ends the chat; combine several with ``|`` and ``&``."""
        self._termination = as_termination(condition)
        return self

    def with_max_iterations(self, count: int) -> Self:
        """Set the most turns of the chat."""
        self._max_iterations = checked_limit(self._name, "max_iterations", count)
        return self

    def _build(self) -> Workflow:
        if self._selector is not None and self._manager is not None:
            raise InvalidPatternError(
                self._name, "it has an orchestrator function and an orchestrator agent; keep one"
            )
        nodes = [participant_of(node, StarRole(), self._name) for node in self._participants]
        hub = GroupChatOrchestrator(
            "orchestrator",
            {str(node.id): description_of(node) for node in nodes},
            selector=self._selector or round_robin_selector,
            manager=self._manager,
            termination=self._termination,
            max_iterations=self._max_iterations,
        )
        graph = self._graph(2 * self._max_iterations + 2).set_start(hub)
        graph.add_fan_out_edge(hub, nodes, select=next_speaker)
        for node in nodes:
            graph.add_edge(node, hub)
        return graph.build()


class GroupChatOrchestrator(Conversing):
    """The manager of a chat.

    Args:
        id: Unique in the pattern.
        participants: Their names, with descriptions.
        selector: Chooses the next speaker.
        manager: Chooses in its place, if there is one.
        termination: Ends the chat.
        max_iterations: The most turns.
    """

    def __init__(
        self,
        id: str,  # noqa: A002  # as of every executor
        participants: Mapping[str, str],
        *,
        selector: SelectionFunc = round_robin_selector,
        manager: Agent[Any] | None = None,
        termination: Termination | None = None,
        max_iterations: int = MAX_ITERATIONS,
    ) -> None:
        super().__init__(id, kind=ExecutorKind.ORCHESTRATOR)
        self.participants = dict(participants)
        self.selector = selector
        self.manager = manager
        self.termination = termination
        self.max_iterations = max_iterations

    @property
    def called_workflows(self) -> tuple[Workflow, ...]:
        """The workflows of the manager."""
        return () if self.manager is None else tuple(self.manager.workflows)

    @handler
    async def on_input(
        self, given: ConversationInput, ctx: WorkflowContext[BroadcastMessage, PatternResult]
    ) -> BroadcastMessage | None:
        """Begin the chat."""
        messages = conversation_of(given)
        ctx.local["begun"] = max(len(messages) - 1, 0)
        ctx.local["count"] = 0
        ctx.local["round"] = 0
        self.broadcast_to_all(messages, ctx)
        return await self._next(ctx)

    @handler
    async def on_result(
        self, result: ParticipantResult, ctx: WorkflowContext[BroadcastMessage, PatternResult]
    ) -> BroadcastMessage | None:
        """Take an answer, and give the next turn."""
        self.broadcast_to_all([result.message] if result.message is not None else [], ctx)
        return await self._next(ctx)

    def broadcast_to_all(self, messages: Iterable[ChatMessage], ctx: WorkflowContext[Any, Any]) -> None:
        """Add messages to the conversation, which every participant hears at its next turn."""
        ctx.local["count"] = self.add_messages(ctx, _number(ctx, "count"), messages)

    async def _next(self, ctx: WorkflowContext[BroadcastMessage, PatternResult]) -> BroadcastMessage | None:
        count, turn = _number(ctx, "count"), _number(ctx, "round")
        said = self.read_conversation(ctx, count)
        if (reason := self._reason_to_end(said[_number(ctx, "begun") :], turn)) is not None:
            await self._end(said, reason, ctx)
            return None
        last = ctx.local.get("last")
        state = GroupChatState(
            participants=self.participants,
            conversation=tuple(said),
            current_round=turn,
            last_speaker=last if isinstance(last, str) else None,
        )
        name = await self._chosen(state, ctx)
        if name is None:
            ended = self.read_conversation(ctx, _number(ctx, "count"))
            await self._end(ended, "the orchestrator ended it", ctx)
            return None
        if name not in self.participants:
            raise UnknownParticipantError(f"the selector of {self.id!r}", str(name), list(self.participants))
        ctx.local["round"], ctx.local["last"] = turn + 1, name
        return BroadcastMessage(target=name, message_count=count, round=turn)

    def _reason_to_end(self, said: Sequence[ChatMessage], turn: int) -> str | None:
        if self.termination is not None and (reason := self.termination.reason(said)):
            return reason
        return f"max_iterations: {turn} turns" if turn >= self.max_iterations else None

    async def _chosen(self, state: GroupChatState, ctx: WorkflowContext[Any, Any]) -> str | None:
        if self.manager is not None:
            return await self._chosen_by_manager(self.manager, state, ctx)
        found: Any = self.selector(state)
        if not inspect.isawaitable(found):
            return cast("str | None", found)
        try:
            # It may ask a model: a worker that dies afterwards must not ask again.
            return cast("str | None", await ctx.once("speaker", lambda: found))
        finally:
            if inspect.iscoroutine(found):
                found.close()  # it has not begun if its result is known

    async def _chosen_by_manager(
        self, manager: Agent[Any], state: GroupChatState, ctx: WorkflowContext[Any, Any]
    ) -> str | None:
        answer = await ask(
            manager, [ChatMessage.user(selection_prompt(state))], ctx, output_type=ManagerSelection
        )
        self.add_usage(ctx, answer.usage)
        decided = ManagerSelection.model_validate(answer.data)
        if decided.is_finished:
            if decided.final_message:
                words = ChatMessage.assistant(decided.final_message, author_name=manager.name)
                self.broadcast_to_all([words], ctx)
            return None
        names = list(self.participants)
        # An error would come again in each resumed run, because the reply is kept.
        return name_in(decided.next_speaker, names) or name_after(names, state.last_speaker)

    async def _end(
        self,
        said: Sequence[ChatMessage],
        reason: str,
        ctx: WorkflowContext[BroadcastMessage, PatternResult],
    ) -> None:
        result = PatternResult(
            conversation=tuple(said),
            reason=reason,
            round_count=_number(ctx, "round"),
            usage=self.usage_so_far(ctx),
        )
        await ctx.yield_output(result)


def _number(ctx: WorkflowContext[Any, Any], name: str) -> int:
    found = ctx.local.get(name, 0)
    return found if isinstance(found, int) else 0
