"""The use of models: tokens, requests, calls of tools, and money."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt


class TokenUsage(BaseModel):
    """The use of models by a reply, a run or an agent; adds up with ``+``.

    ``input_tokens`` includes the tokens that were read from and written to the provider's prompt cache, and
    ``output_tokens`` includes the tokens of thoughts: adapters convert the counts of providers that do not.
    """

    __wire_name__ = "agentic.llm.TokenUsage"

    model_config = ConfigDict(extra="forbid", frozen=True)

    input_tokens: NonNegativeInt = 0
    output_tokens: NonNegativeInt = 0
    cache_read_tokens: NonNegativeInt = Field(default=0, description="Input tokens from the prompt cache.")
    cache_write_tokens: NonNegativeInt = Field(default=0, description="Input tokens that were put into it.")
    thinking_tokens: NonNegativeInt = Field(default=0, description="Output tokens of thoughts.")
    requests: NonNegativeInt = Field(default=0, description="Answered requests to models.")
    tool_calls: NonNegativeInt = Field(default=0, description="Calls of tools that ran.")
    cost_usd: float | None = Field(default=0.0, description="US dollars; None if a price is not known.")

    @property
    def total_tokens(self) -> int:
        """Tokens in and out."""
        return self.input_tokens + self.output_tokens

    @property
    def cache_share(self) -> float:
        """The share of input tokens that came from the provider's prompt cache, from 0 to 1."""
        return self.cache_read_tokens / self.input_tokens if self.input_tokens else 0.0

    def __add__(self, other: TokenUsage) -> TokenUsage:
        costs = (self.cost_usd, other.cost_usd)
        return TokenUsage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            thinking_tokens=self.thinking_tokens + other.thinking_tokens,
            requests=self.requests + other.requests,
            tool_calls=self.tool_calls + other.tool_calls,
            cost_usd=None if costs[0] is None or costs[1] is None else costs[0] + costs[1],
        )
