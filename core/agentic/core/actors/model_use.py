"""The use of language models by actors, as a run counts it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from agentic.core.llm.usage import TokenUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUse:
    """Replies of models and their cost; adds up with ``+``.

    Attributes:
        requests: Answered requests, those that were repeated to correct a reply included.
        cached: Replies kept from equal requests: they cost nothing, and are not among ``requests``.
        input_tokens: Tokens in, also those from the provider's prompt cache.
        output_tokens: Tokens out.
        cost_usd: US dollars; None if a price is not known.
    """

    __wire_name__: ClassVar[str] = "agentic.core.actors.ModelUse"

    requests: int = 0
    cached: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0

    @classmethod
    def of(cls, usage: TokenUsage, *, is_cached: bool) -> ModelUse:
        """Return the use by one reply."""
        if is_cached:
            return cls(cached=1)
        return cls(
            requests=max(usage.requests, 1),
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cost_usd=usage.cost_usd,
        )

    @property
    def cached_share(self) -> float:
        """The share of replies that were kept from equal requests, from 0 to 1."""
        replies = self.requests + self.cached
        return self.cached / replies if replies else 0.0

    def __add__(self, other: ModelUse) -> ModelUse:
        costs = (self.cost_usd, other.cost_usd)
        return ModelUse(
            requests=self.requests + other.requests,
            cached=self.cached + other.cached,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost_usd=None if costs[0] is None or costs[1] is None else costs[0] + costs[1],
        )


def add_use(known: ModelUse | None, more: Iterable[ModelUse | None]) -> ModelUse | None:
    """Return the sum; None if no model was used."""
    total = known
    for use in more:
        if use is not None:
            total = use if total is None else total + use
    return total
