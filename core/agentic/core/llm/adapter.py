"""The port to language models: an adapter speaks a provider's API, a wrapper adds a policy to an adapter."""

from __future__ import annotations

from abc import ABC
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any, Literal, Self

from agentic.core.llm.errors import CutReplyError
from agentic.core.llm.messages import ChatMessage, as_messages
from agentic.core.llm.prices import price_of
from agentic.core.llm.requests import ModelDelta, ModelReply, ModelRequest, ToolCallChunk, ToolDefinition
from agentic.core.llm.usage import TokenUsage
from agentic.core.records import record

StructuredMode = Literal["native", "tool", "prompt"]
"""How a model is bound to a schema: by its API, by a tool that it must call, or by words in its prompt."""


@record(kw_only=True)
class ModelCapabilities:
    """The abilities of a model.

    Attributes:
        structured: The best way to bind it to a schema.
        has_tools: Whether it calls tools.
        context_tokens: Size of its window; None if not known.
    """

    structured: StructuredMode = "native"
    has_tools: bool = True
    context_tokens: int | None = None


class LLMAdapter(ABC):
    """A language model. Subclasses override :meth:`stream`, :meth:`complete` or both.

    An adapter never retries: :class:`~agentic.core.llm.RetryingModel` does, in one place. It raises
    :class:`~agentic.core.llm.ModelError` for each failure of the model, with no key or header in its text.
    Instances hold configuration and connections only; they serve any number of conversations at a time.

    Attributes:
        name: ``provider:model``.
        capabilities: The abilities of the model.
    """

    name: str
    capabilities: ModelCapabilities = ModelCapabilities()

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if cls.stream is LLMAdapter.stream and cls.complete is LLMAdapter.complete:
            raise TypeError(f"{cls.__name__} must define stream(), complete() or both")

    @property
    def provider(self) -> str:
        """The provider: the name's part before the colon."""
        return self.name.partition(":")[0]

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Return the whole reply to ``request``.

        Raises:
            ModelError: The model did not reply.
        """
        async with opened_stream(self, request) as deltas:
            async for delta in deltas:
                if delta.reply is not None:
                    return delta.reply
        raise CutReplyError(self.name, "its stream ended without a whole reply")

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        """Yield the reply in pieces; the last one holds the whole reply.

        Raises:
            ModelError: The model did not reply, or not to the end.
        """
        reply = await self.complete(request)
        for delta in pieces_of(reply):
            yield delta

    async def chat(
        self,
        instructions: str,
        messages: str | ChatMessage | Iterable[ChatMessage],
        tools: Iterable[ToolDefinition] = (),
    ) -> ModelReply:
        """Return the reply to a conversation; see :meth:`complete`."""
        return await self.complete(
            ModelRequest(instructions=instructions, messages=as_messages(messages), tools=tuple(tools))
        )

    async def generate(self, system: str, prompt: str) -> str:
        """Return the text of the reply to one prompt; see :meth:`complete`."""
        return (await self.chat(system, prompt)).text

    def as_agent(self, instructions: str = "", name: str = "agent", **options: Any) -> Any:  # noqa: ANN401
        """Return a :class:`~agentic.core.agents.ChatAgent` that speaks through this model.

        Args:
            instructions: Its system prompt.
            name: Its name.
            options: Further arguments of :class:`~agentic.core.agents.ChatAgent`.
        """
        # By name, also for type checkers, because agents are a room above this one.
        return import_module("agentic.core.agents").ChatAgent(self, instructions, name=name, **options)

    def cost_of(self, usage: TokenUsage) -> float | None:
        """Return the cost of such a use in US dollars; None if the price is not known."""
        return price_of(self.name, usage)

    async def aclose(self) -> None:  # noqa: B027  # most have nothing to close
        """Close connections; the adapter can be used again afterwards."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


@asynccontextmanager
async def opened_stream(
    model: LLMAdapter, request: ModelRequest
) -> AsyncGenerator[AsyncIterator[ModelDelta], None]:
    """Begin a stream, and close it at the end of the block: its connection must not wait for the garbage."""
    deltas = model.stream(request)
    try:
        yield deltas
    finally:
        if isinstance(deltas, AsyncGenerator):
            await deltas.aclose()


def pieces_of(reply: ModelReply) -> list[ModelDelta]:
    """Return a whole reply as a stream of few pieces would bring it."""
    found = []
    if reply.message.thinking:
        found.append(ModelDelta(thinking=reply.message.thinking))
    if reply.text:
        found.append(ModelDelta(text=reply.text))
    for index, call in enumerate(reply.tool_calls):
        found.append(ModelDelta(tool_call=ToolCallChunk(index=index, id=call.id, name=call.name)))
    return [*found, ModelDelta(reply=reply)]
