"""Prices of models: a table of the user, else those that the library genai-prices lists."""

from __future__ import annotations

from collections.abc import Mapping

from agentic.core.llm.usage import TokenUsage
from agentic.core.records import record

MILLION = 1_000_000


@record(kw_only=True)
class ModelPrice:
    """The price of a model, in US dollars for a million tokens.

    Attributes:
        input_usd: For input tokens.
        output_usd: For output tokens, thoughts included.
        cache_read_usd: For input tokens from the provider's prompt cache; as ``input_usd`` if None.
        cache_write_usd: For input tokens that are put into it; as ``input_usd`` if None.
    """

    input_usd: float
    output_usd: float
    cache_read_usd: float | None = None
    cache_write_usd: float | None = None

    def of(self, usage: TokenUsage) -> float:
        """Return the cost of such a use."""
        read_usd = self.input_usd if self.cache_read_usd is None else self.cache_read_usd
        write_usd = self.input_usd if self.cache_write_usd is None else self.cache_write_usd
        plain_tokens = max(usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens, 0)
        total = (
            plain_tokens * self.input_usd
            + usage.cache_read_tokens * read_usd
            + usage.cache_write_tokens * write_usd
            + usage.output_tokens * self.output_usd
        )
        return total / MILLION


PriceTable = Mapping[str, ModelPrice]
"""Prices by ``provider:model``, or by ``provider:*`` for all other models of a provider."""

FREE = ModelPrice(input_usd=0, output_usd=0)

_LOCAL: PriceTable = {"ollama:*": FREE}


def price_of(model: str, usage: TokenUsage, table: PriceTable | None = None) -> float | None:
    """Return the cost of such a use of a model in US dollars; None if its price is not known.

    Args:
        model: ``provider:model``.
        usage: The tokens.
        table: Prices that count first. After it, models of Ollama are free, and the library ``genai-prices``
            lists others, if it is installed (the extra ``prices``). It is loaded at the first use.
    """
    for prices in (table or {}, _LOCAL):
        if (price := _found(model, prices)) is not None:
            return price.of(usage)
    return _listed(model, usage)


def priced(usage: TokenUsage, cost_usd: float | None) -> TokenUsage:
    """Return ``usage`` with this cost, unless the adapter gave one."""
    if "cost_usd" in usage.model_fields_set and usage.cost_usd is not None:
        return usage
    return usage.model_copy(update={"cost_usd": cost_usd})


def _found(model: str, table: PriceTable) -> ModelPrice | None:
    return table.get(model) or table.get(f"{model.partition(':')[0]}:*")


def _listed(model: str, usage: TokenUsage) -> float | None:
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        return None
    provider, _, name = model.partition(":")
    counted = Usage(
        input_tokens=max(usage.input_tokens, usage.cache_read_tokens + usage.cache_write_tokens),
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    try:
        return float(calc_price(counted, name, provider_id=provider).total_price)
    except LookupError:
        return None
