"""The base of all wrappers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace

from agentic.core.llm.adapter import LLMAdapter, ModelCapabilities, StructuredMode, opened_stream
from agentic.core.llm.registry import as_model
from agentic.core.llm.requests import ModelDelta, ModelReply, ModelRequest
from agentic.core.llm.usage import TokenUsage

_MODES: tuple[StructuredMode, ...] = ("prompt", "tool", "native")
"""The ways to bind a model to a schema, those that need least first."""


class ModelWrapper(LLMAdapter):
    """A policy around other models, or their names. Subclasses override :meth:`complete` and :meth:`stream`.

    It has the name of the first model, and the capabilities that all of them have. Closing it closes them.

    Attributes:
        models: The wrapped models.
    """

    def __init__(self, *models: LLMAdapter | str) -> None:
        self.models = tuple(map(as_model, models))
        self.name = self.models[0].name
        self.capabilities = common_capabilities([model.capabilities for model in self.models])

    @property
    def model(self) -> LLMAdapter:
        """The wrapped model, or the first one."""
        return self.models[0]

    async def complete(self, request: ModelRequest) -> ModelReply:
        """See :meth:`LLMAdapter.complete`."""
        return await self.model.complete(request)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        """See :meth:`LLMAdapter.stream`."""
        async with opened_stream(self.model, request) as deltas:
            async for delta in deltas:
                yield delta

    def cost_of(self, usage: TokenUsage) -> float | None:
        """Return the cost of such a use; None if a price is not known.

        If several models are wrapped, and ``usage`` does not name the one that replied, the highest cost.
        """
        costs = [model.cost_of(usage) for model in self._models_of(usage)]
        known = [cost for cost in costs if cost is not None]
        return max(known) if len(known) == len(costs) else None

    def _models_of(self, usage: TokenUsage) -> Sequence[LLMAdapter]:
        if len(self.models) == 1 or not usage.model:
            return self.models
        return [model for model in self.models if usage.model in names_in(model)] or self.models

    async def aclose(self) -> None:
        """Close all models, even if one fails to close."""
        async with AsyncExitStack() as stack:
            for model in self.models:
                stack.push_async_callback(model.aclose)


def common_capabilities(found: Sequence[ModelCapabilities]) -> ModelCapabilities:
    """Return the capabilities that all of several models have."""
    windows = [one.context_tokens for one in found if one.context_tokens is not None]
    return ModelCapabilities(
        structured=next(mode for mode in _MODES if any(one.structured == mode for one in found)),
        has_tools=all(one.has_tools for one in found),
        context_tokens=min(windows, default=None),
    )


def names_in(model: LLMAdapter) -> set[str]:
    """Return the names of the models that a reply of this one can be by."""
    if isinstance(model, ModelWrapper):
        return {name for inner in model.models for name in names_in(inner)}
    return {model.name}


def naming(reply: ModelReply, model: LLMAdapter) -> ModelReply:
    """Return the reply with the model that a wrapper chose, unless a wrapper inside has named it."""
    if reply.replied_by:
        return reply
    return reply.model_copy(update={"replied_by": model.name, "usage": reply.usage.of_model(model.name)})


def naming_delta(delta: ModelDelta, model: LLMAdapter) -> ModelDelta:
    """Return the piece of a stream; in the last one the reply names its model."""
    return delta if delta.reply is None else replace(delta, reply=naming(delta.reply, model))
