"""The use of models: tokens, requests, calls of tools, and money."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt

from agentic.core.records import unchecked
from agentic.core.types import JSONValue


class TokenUsage(BaseModel):
    """The use of models by a reply, a run or an agent; adds up with ``+``.

    ``input_tokens`` includes the tokens that were read from and written to the provider's prompt cache, and
    ``output_tokens`` includes the tokens of thoughts: adapters convert the counts of providers that do not.
    """

    __wire_name__ = "agentic.llm.TokenUsage"
    __stored_lean__ = True

    model_config = ConfigDict(extra="forbid", frozen=True)

    input_tokens: NonNegativeInt = 0
    output_tokens: NonNegativeInt = 0
    cache_read_tokens: NonNegativeInt = Field(default=0, description="Input tokens from the prompt cache.")
    cache_write_tokens: NonNegativeInt = Field(default=0, description="Input tokens that were put into it.")
    thinking_tokens: NonNegativeInt = Field(default=0, description="Output tokens of thoughts.")
    requests: NonNegativeInt = Field(default=0, description="Answered requests to models.")
    tool_calls: NonNegativeInt = Field(default=0, description="Calls of tools that ran.")
    cost_usd: float | None = Field(default=0.0, description="US dollars; None if a price is not known.")
    model: str = Field(default="", description="``provider:model``, if all of it is by one that is known.")
    by_model: dict[str, TokenUsage] = Field(
        default_factory=dict,
        description="The parts, if several models replied; calls of tools may be in the whole only.",
    )

    @property
    def total_tokens(self) -> int:
        """Tokens in and out."""
        return self.input_tokens + self.output_tokens

    @property
    def cache_share(self) -> float:
        """The share of input tokens that came from the provider's prompt cache, from 0 to 1."""
        return self.cache_read_tokens / self.input_tokens if self.input_tokens else 0.0

    @property
    def models(self) -> Mapping[str, TokenUsage]:
        """The use of each model, by ``provider:model``; ``""`` if it is not known."""
        return self.by_model or ({self.model: self} if self._is_by_model else {})

    def of_model(self, name: str) -> TokenUsage:
        """Return this use as use of a model, unless its model is known."""
        if self.model or self.by_model:
            return self
        return unchecked(TokenUsage, {**vars(self), "model": name}, self.model_fields_set | {"model"})

    def to_json(self) -> dict[str, JSONValue]:
        """Return the stored form: JSON, without fields that have their default."""
        if self.by_model:
            return self.model_dump(mode="json", exclude_defaults=True)
        # By hand, because each reply and each call is stored with its use.
        return {name: value for name, value in vars(self).items() if value != _DEFAULTS[name]}

    def __add__(self, other: TokenUsage) -> TokenUsage:
        costs = (self.cost_usd, other.cost_usd)
        model, by_model = self._models_with(other)
        added: dict[str, Any] = {
            "input_tokens": self.input_tokens + other.input_tokens,
            "output_tokens": self.output_tokens + other.output_tokens,
            "cache_read_tokens": self.cache_read_tokens + other.cache_read_tokens,
            "cache_write_tokens": self.cache_write_tokens + other.cache_write_tokens,
            "thinking_tokens": self.thinking_tokens + other.thinking_tokens,
            "requests": self.requests + other.requests,
            "tool_calls": self.tool_calls + other.tool_calls,
            "cost_usd": None if costs[0] is None or costs[1] is None else costs[0] + costs[1],
            "model": model,
            "by_model": by_model,
        }
        return unchecked(TokenUsage, added, _FIELDS)

    def _models_with(self, other: TokenUsage) -> tuple[str, dict[str, TokenUsage]]:
        """Return the model and the parts of a sum."""
        if self.model == other.model and not (self.by_model or other.by_model):
            return self.model, {}
        if not other._is_by_model:
            return self.model, self.by_model
        if not self._is_by_model:
            return other.model, other.by_model
        parts = dict(self.models)
        for name, part in other.models.items():
            parts[name] = parts[name] + part if name in parts else part
        return "", parts

    @property
    def _is_by_model(self) -> bool:
        """Whether a model has a part in it: calls of tools alone have none."""
        return bool(self.model or self.by_model or self.requests or self.total_tokens or self.cost_usd != 0)


_FIELDS = set(TokenUsage.model_fields)
_DEFAULTS: dict[str, Any] = {
    name: field.get_default(call_default_factory=True) for name, field in TokenUsage.model_fields.items()
}
