"""Limits of one run of an agent; on by default, because models can loop."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Protocol

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt

from agentic.core.llm.messages import ToolCall
from agentic.core.llm.usage import TokenUsage


class UsageLimits(BaseModel):
    """Limits of one turn: one input, and all work for it. None turns a limit off."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_model_calls: PositiveInt | None = Field(default=50, description="Requests to the model.")
    max_tool_calls: PositiveInt | None = Field(default=200, description="Calls of tools.")
    max_repeats: PositiveInt | None = Field(default=5, description="The same call with the same arguments.")
    max_input_tokens: PositiveInt | None = None
    max_output_tokens: PositiveInt | None = None
    max_total_tokens: PositiveInt | None = None
    max_cost_usd: PositiveFloat | None = Field(default=None, description="US dollars.")
    max_duration_s: PositiveFloat | None = Field(default=None, description="Seconds of work, without waits.")


DEFAULT_LIMITS = UsageLimits()

NO_USE = TokenUsage()
_encode = json.JSONEncoder(sort_keys=True).encode


class LimitCheck(Protocol):
    """Returns the limit that forbids more use of models, or more calls of tools, in words; else None."""

    def __call__(self, unsettled: TokenUsage = NO_USE, /, *, new_calls: int = 0) -> str | None:
        """Check the limits.

        Args:
            unsettled: Use that the agent does not know of yet.
            new_calls: Calls of tools that would run now; 0 to check before a request to a model.
        """
        ...


def no_limit(_: TokenUsage = NO_USE, /, *, new_calls: int = 0) -> None:
    """Allow everything: a :class:`LimitCheck` for tools outside of agents."""
    del new_calls


def limit_before_model(limits: UsageLimits, usage: TokenUsage, worked_s: float) -> str | None:
    """Return the limit that forbids another request to the model, in words; else None."""
    if limits.max_cost_usd is not None and usage.cost_usd is None:
        return "max_cost_usd is set, but the price of the model is not known: give prices, or another limit"
    reached = (
        ("max_model_calls", usage.requests, limits.max_model_calls),
        ("max_input_tokens", usage.input_tokens, limits.max_input_tokens),
        ("max_output_tokens", usage.output_tokens, limits.max_output_tokens),
        ("max_total_tokens", usage.total_tokens, limits.max_total_tokens),
        ("max_cost_usd", usage.cost_usd or 0.0, limits.max_cost_usd),
        ("max_duration_s", worked_s, limits.max_duration_s),
    )
    for name, used, limit in reached:
        if limit is not None and used >= limit:
            return f"it reached {name}={limit}"
    return None


def limit_before_tools(limits: UsageLimits, usage: TokenUsage, new_calls: int) -> str | None:
    """Return the limit that forbids more calls of tools, in words; else None.

    Args:
        limits: The limits.
        usage: With the calls that run.
        new_calls: Calls that would run now.
    """
    if limits.max_tool_calls is not None and usage.tool_calls + new_calls > limits.max_tool_calls:
        return f"it reached max_tool_calls={limits.max_tool_calls}"
    return None


def limit_of_repeats(limits: UsageLimits, calls: Sequence[ToolCall], counts: Mapping[str, int]) -> str | None:
    """Return the limit that forbids one of the calls, in words; else None.

    Args:
        limits: The limits.
        calls: Of the last reply.
        counts: How often each call was asked for in the turn, by its text.
    """
    if limits.max_repeats is None or max(counts.values(), default=0) <= limits.max_repeats:
        return None
    for call in calls:
        if (count := counts.get(call_text(call), 0)) > limits.max_repeats:
            return f"it called {call_text(call)[:200]} {count} times (max_repeats={limits.max_repeats})"
    return None


def is_same_call(one: ToolCall, other: ToolCall) -> bool:
    """Whether two calls ask for the same; ``1`` and ``true`` are equal in Python, but not in JSON."""
    return one.name == other.name and one.arguments == other.arguments and call_text(one) == call_text(other)


def call_text(call: ToolCall) -> str:
    """Return a call as text: equal for equal calls."""
    return f"{call.name}({_encode(call.arguments)})"
