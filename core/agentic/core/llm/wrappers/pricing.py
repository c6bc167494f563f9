"""The user's own prices for a model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

from agentic.core.llm.adapter import LLMAdapter, opened_stream
from agentic.core.llm.prices import PriceTable, price_of
from agentic.core.llm.requests import ModelDelta, ModelReply, ModelRequest
from agentic.core.llm.usage import TokenUsage
from agentic.core.llm.wrappers.wrapping import ModelWrapper


class PricedModel(ModelWrapper):
    """Computes the cost of each reply by a table; for prices that are agreed or not listed.

    Without it, the cost comes from the provider, or from the library ``genai-prices``; see
    :func:`~agentic.core.llm.price_of`.

    Args:
        model: The model.
        prices: By ``provider:model`` or ``provider:*``. For a model that is not in it, the cost stays.
    """

    def __init__(self, model: LLMAdapter, prices: PriceTable) -> None:
        super().__init__(model)
        self.prices = prices

    async def complete(self, request: ModelRequest) -> ModelReply:
        """See :meth:`LLMAdapter.complete`."""
        return self._priced(await self.model.complete(request))

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        """See :meth:`LLMAdapter.stream`."""
        async with opened_stream(self.model, request) as deltas:
            async for delta in deltas:
                yield delta if delta.reply is None else replace(delta, reply=self._priced(delta.reply))

    def cost_of(self, usage: TokenUsage) -> float | None:
        """See :meth:`LLMAdapter.cost_of`."""
        return price_of(self.name, usage, self.prices) if self._is_listed else self.model.cost_of(usage)

    @property
    def _is_listed(self) -> bool:
        return self.name in self.prices or f"{self.provider}:*" in self.prices

    def _priced(self, reply: ModelReply) -> ModelReply:
        if not self._is_listed:
            return reply
        usage = reply.usage.model_copy(update={"cost_usd": self.cost_of(reply.usage)})
        return reply.model_copy(update={"usage": usage})
