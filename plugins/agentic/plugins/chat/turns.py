"""Turns as rows of ``chat_turns``."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from agentic.core.agents.executor import AgentExecutorResponse
from agentic.core.agents.responses import AgentResponse
from agentic.core.llm.usage import TokenUsage
from agentic.core.types import JSONValue


class ModelShare(BaseModel):
    """The use of one model in a turn with several, in the fields of :class:`ChatTurn`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    requests: int
    tool_calls: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_usd: float | None = None

    @classmethod
    def of(cls, used: TokenUsage) -> ModelShare:
        """Return a use of models as columns."""
        return cls(
            requests=used.requests,
            tool_calls=used.tool_calls,
            input_tokens=used.input_tokens,
            output_tokens=used.output_tokens,
            cached_tokens=used.cache_read_tokens,
            cost_usd=used.cost_usd,
        )


class ChatTurn(BaseModel):
    """The facts of a turn that has ended.

    Attributes: as of :class:`~agentic.plugins.chat.models.ChatTurnModel`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    thread_id: str
    turn: str
    agent: str
    user_id: str | None = None
    prompt: str
    text: str
    output: JSONValue = None
    status: str
    reason: str | None = None
    model: str
    by_model: dict[str, ModelShare] | None = None
    requests: int
    tool_calls: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_usd: float | None = None


def turn_of(
    response: AgentResponse[Any], *, agent: str, prompt: str, model: str, user_id: str | None
) -> ChatTurn:
    """Return the turn that a response ends.

    Args:
        response: The response.
        agent: Name of the agent.
        prompt: The input.
        model: The agent's first model, for a use whose model is not known.
        user_id: The person.
    """
    used = response.usage
    shares = {name or model: ModelShare.of(part) for name, part in used.models.items()}
    return ChatTurn(
        thread_id=response.thread_id,
        turn=response.turn,
        agent=agent,
        user_id=user_id,
        prompt=prompt,
        text=response.text,
        output=response.data,
        status=str(response.status),
        reason=response.reason or None,
        model=next(iter(shares)) if len(shares) == 1 else model,
        by_model=shares if len(shares) > 1 else None,
        **ModelShare.of(used).model_dump(),
    )


def results_of(
    answer: AgentExecutorResponse, *, agent: str, model: str, user_id: str | None
) -> dict[str, object]:
    """Return the stored results of an execution: its turn."""
    said = answer.full_conversation
    prompt = said[0].text if said else ""
    turn = turn_of(answer.agent_response, agent=agent, prompt=prompt, model=model, user_id=user_id)
    return turn.model_dump(mode="json")
