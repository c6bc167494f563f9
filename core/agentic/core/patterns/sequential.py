"""Sequential: participants one after the other, each with the whole conversation so far."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise
from typing import Any

from agentic.core.agents.chat_agent import ChatAgent
from agentic.core.agents.executor import AgentExecutorResponse
from agentic.core.agents.responses import SpokenOutput
from agentic.core.graph import Executor, ExecutorKind, Workflow, WorkflowContext, handler
from agentic.core.llm.adapter import LLMAdapter
from agentic.core.llm.messages import ChatMessage
from agentic.core.patterns.asking import ask
from agentic.core.patterns.building import PatternBuilder
from agentic.core.patterns.conversation import (
    ConversationInput,
    Conversing,
    PatternResult,
    conversation_of,
    transcript,
)
from agentic.core.patterns.participants import ParticipantRole, Reply, participant_of

GateCondition = Callable[[Sequence[ChatMessage]], bool | Awaitable[bool]]
"""Whether a sequence ends here: it gets the conversation."""

_ROUNDS = "rounds"

SUMMARIZE = (
    "Summarize the conversation for the people who continue it. Keep every fact, decision and open question; "
    "leave out greetings. Answer with the summary alone."
)


class SequenceRole(ParticipantRole):
    """Participants in a row: each gets the conversation, and passes it on with its answer.

    Args:
        is_last: Whether the answer is the output of the sequence.
    """

    takes = (str, ChatMessage, list[ChatMessage], AgentExecutorResponse, SpokenOutput)

    def __init__(self, *, is_last: bool) -> None:
        self.is_last = is_last
        self.gives = (PatternResult,) if is_last else (list[ChatMessage],)

    def hear(
        self,
        node: Conversing,  # noqa: ARG002  # as of every role
        message: ConversationInput,
        ctx: WorkflowContext[Any, Any],  # noqa: ARG002
    ) -> Sequence[ChatMessage]:
        """Return the messages."""
        return conversation_of(message)

    async def answer(
        self,
        node: Conversing,
        message: object,  # noqa: ARG002
        heard: Sequence[ChatMessage],
        reply: Reply,
        ctx: WorkflowContext[Any, Any],
    ) -> object:
        """Return the conversation with the answer; nothing without an answer, which ends the sequence."""
        node.add_usage(ctx, reply.usage)
        if reply.message is None:
            return None
        rounds = ctx.get_state(_ROUNDS, 0) + 1
        ctx.set_state(_ROUNDS, rounds)
        conversation = reply.conversation or (*heard, reply.message)
        if not self.is_last:
            return list(conversation)
        return PatternResult(
            conversation=conversation,
            reason="the last participant has answered",
            round_count=rounds,
            usage=node.usage_so_far(ctx),
        )

    def is_native(self, node: Executor) -> bool:
        """Whether it takes a conversation and passes one on, as transformers and gates do."""
        given = (*(node.return_types or ()), *(node.send_types or ()))
        return not self.is_last and list[ChatMessage] in given and node.accepts([ChatMessage.user("")])


class SequentialBuilder(PatternBuilder):
    """Builds a sequence: every participant gets the whole conversation so far, and adds its answer.

    An executor that takes ``list[ChatMessage]`` and sends one is a transformer: its message is the
    conversation from then on. One that yields an output ends the sequence early, as :class:`ConditionalGate`
    does. The output is a :class:`PatternResult`.
    """

    def _build(self) -> Workflow:
        last = len(self._participants) - 1
        nodes = [
            participant_of(node, SequenceRole(is_last=number == last), self._name)
            for number, node in enumerate(self._participants)
        ]
        graph = self._graph().set_start(nodes[0])
        for before, after in pairwise(nodes):
            graph.add_edge(before, after)
        return graph.build()


class ConditionalGate(Conversing):
    """A gate in a sequence: if its condition holds, the conversation is the output, and the rest is left out.

    Args:
        id: Unique in the sequence.
        condition: Gets the conversation; sync or async.
    """

    def __init__(self, id: str, condition: GateCondition) -> None:  # noqa: A002  # as of every executor
        super().__init__(id, kind=ExecutorKind.VALIDATOR)
        self.condition = condition

    @handler
    async def on_conversation(
        self, given: ConversationInput, ctx: WorkflowContext[list[ChatMessage], PatternResult]
    ) -> None:
        """Pass the conversation on, or end the sequence."""
        conversation = conversation_of(given)
        found = self.condition(conversation)
        if not (await found if inspect.isawaitable(found) else found):
            await ctx.send_message(list(conversation))
            return
        result = PatternResult(
            conversation=conversation,
            reason=f"the gate {self.id!r} ended the sequence",
            round_count=ctx.get_state(_ROUNDS, 0),
            usage=self.usage_so_far(ctx),
        )
        await ctx.yield_output(result)


class Summarizer(Conversing):
    """A transformer in a sequence: the conversation from then on is its first message, and a summary.

    Args:
        id: Unique in the sequence.
        model: The model, or its name.
        instructions: For the model.
    """

    def __init__(
        self,
        id: str,  # noqa: A002  # as of every executor
        model: LLMAdapter | str,
        instructions: str = SUMMARIZE,
    ) -> None:
        super().__init__(id)
        self.agent = ChatAgent(model, instructions, name="summarizer")

    @handler
    async def on_conversation(
        self, given: ConversationInput, ctx: WorkflowContext[list[ChatMessage]]
    ) -> list[ChatMessage]:
        """Summarize the conversation."""
        conversation = conversation_of(given)
        words = transcript(conversation)
        answer = await ask(self.agent, [ChatMessage.user(words)], ctx)
        self.add_usage(ctx, answer.usage)
        return [*conversation[:1], ChatMessage.assistant(answer.text, author_name=self.id)]
