"""Asks the model, and passes its words on as they come, unless a guard must see the whole answer first."""

from __future__ import annotations

from collections.abc import Callable

from agentic.core.agents.guards import Guard, reason_of
from agentic.core.agents.responses import AgentChunk, ChunkKind, Emit
from agentic.core.agents.setup import AgentSetup
from agentic.core.agents.structured import is_output_call
from agentic.core.agents.tracing.observing import current_observer
from agentic.core.llm.adapter import LLMAdapter, opened_stream
from agentic.core.llm.errors import CutReplyError
from agentic.core.llm.messages import ChatMessage, ChatRole
from agentic.core.llm.requests import ModelDelta, ModelReply, ModelRequest, StopReason
from agentic.core.records import unchecked

CHECKED = "checked"
"""Key of ``ChatMessage.meta``: the guards have accepted this answer."""

REFUSED = "refused"
"""Key of ``ChatMessage.meta``: why a guard has refused the answer, whose words are left out."""


class ModelAsker:
    """Asks the model of one turn.

    Args:
        agent: The parts of the agent.
        thread_id: The conversation.
        emit: Takes the pieces.
        chunk: Makes a piece of a kind with a text.
        has_output: Whether the answer has a type, so that the output tool may give it.
    """

    def __init__(
        self,
        agent: AgentSetup,
        thread_id: str,
        emit: Emit,
        chunk: Callable[[ChunkKind, str], AgentChunk],
        *,
        has_output: bool,
    ) -> None:
        self._agent = agent
        self._thread_id = thread_id
        self._emit = emit
        self._chunk = chunk
        self._has_output = has_output
        self._guards = () if agent.keeps_refused else answer_guards(agent)
        self._held: list[AgentChunk] = []

    async def ask(self, request: ModelRequest) -> ModelReply:
        """Return the reply; of one that a guard refuses, only the reason and the use."""
        observer = current_observer()
        if observer is None:
            reply = await self._reply_to(request)
        else:
            with observer.chat(self._agent.name, self._thread_id, self._agent.model.name, request) as work:
                reply = await self._reply_to(request)
                work.replied(reply)
        usage = reply.usage.of_model(reply.replied_by or self._agent.model.name)
        if usage is not reply.usage:
            reply = unchecked(ModelReply, {**vars(reply), "usage": usage}, reply.model_fields_set | {"usage"})
        return await self._checked(reply) if self._guards else reply

    async def _reply_to(self, request: ModelRequest) -> ModelReply:
        self._held.clear()
        model = self._agent.model
        if type(model).stream is LLMAdapter.stream:  # it gives whole replies
            reply = await model.complete(request)
            await self._pass_on_words(reply.message.text, reply.message.thinking)
            return reply
        async with opened_stream(model, request) as deltas:
            async for delta in deltas:
                await self._pass_on(delta)
                if delta.reply is not None:
                    return delta.reply
        raise CutReplyError(model.name, "its stream ended without a whole reply")

    async def _pass_on(self, delta: ModelDelta) -> None:
        if delta.restarted:
            self._held.clear()
            if not self._guards:
                await self._emit(self._chunk(ChunkKind.RESTARTED, ""))
        await self._pass_on_words(delta.text, delta.thinking)

    async def _pass_on_words(self, text: str, thinking: str) -> None:
        if thinking:
            await self._say(self._chunk(ChunkKind.THINKING, thinking))
        if text:
            await self._say(self._chunk(ChunkKind.TEXT, text))

    async def _say(self, piece: AgentChunk) -> None:
        if self._guards:
            self._held.append(piece)
        else:
            await self._emit(piece)

    async def _checked(self, reply: ModelReply) -> ModelReply:
        """Return a reply after the guards have seen it, and say it now."""
        message = reply.message
        if not message.tool_calls or (self._has_output and is_output_call(message)):
            for guard in self._guards:
                if (reason := await reason_of(guard.check_answer(message))) is not None:
                    return _without_words(reply, reason)
            checked = message.model_copy(update={"meta": {**message.meta, CHECKED: True}})
            reply = reply.model_copy(update={"message": checked})
        for piece in self._held:
            await self._emit(piece)
        return reply


def answer_guards(agent: AgentSetup) -> tuple[Guard, ...]:
    """Return the guards that check answers."""
    return tuple(guard for guard in agent.guards if type(guard).check_answer is not Guard.check_answer)


def _without_words(reply: ModelReply, reason: str) -> ModelReply:
    message = ChatMessage(role=ChatRole.ASSISTANT, meta={REFUSED: reason})
    return ModelReply(
        message=message,
        usage=reply.usage,
        stop_reason=StopReason.REFUSED,
        model=reply.model,
        id=reply.id,
        replied_by=reply.replied_by,
    )
