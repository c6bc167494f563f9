"""The user's own prices for a model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

from agentic.core.llm.adapter import LLMAdapter, opened_stream
from agentic.core.llm.prices import PriceTable, price_of
from agentic.core.llm.requests import ModelDelta, ModelReply, ModelRequest
from agentic.core.llm.usage import TokenUsage
from agentic.core.llm.wrappers.wrapping import ModelWrapper, names_in


class PricedModel(ModelWrapper):
    """Computes the cost of each reply by a table; for prices that are agreed or not listed.

    Without it, the cost comes from the provider, or from the library ``genai-prices``; see
    :func:`~agentic.core.llm.price_of`.

    Args:
        model: The model.
        prices: By ``provider:model`` or ``provider:*``. For a model that is not in it, the cost stays.
    """

    def __init__(self, model: LLMAdapter | str, prices: PriceTable) -> None:
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
        names = names_in(self.model)
        costs = [self._cost_by(name, usage) for name in ({usage.model} & names or names)]
        known = [cost for cost in costs if cost is not None]
        return max(known) if len(known) == len(costs) else None

    def _cost_by(self, name: str, usage: TokenUsage) -> float | None:
        if self._is_listed(name):
            return price_of(name, usage, self.prices)
        return self.model.cost_of(usage.of_model(name))

    def _is_listed(self, name: str) -> bool:
        return name in self.prices or f"{name.partition(':')[0]}:*" in self.prices

    def _priced(self, reply: ModelReply) -> ModelReply:
        """Return the reply with its cost: by the price of the model that replied."""
        name = reply.replied_by or self.name
        if not self._is_listed(name) or reply.is_cached:
            return reply
        usage = reply.usage.model_copy(update={"cost_usd": price_of(name, reply.usage, self.prices)})
        return reply.model_copy(update={"usage": usage})
