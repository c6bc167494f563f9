"""The input of a turn."""

from __future__ import annotations

from agentic.core.agents.agent import AgentInput
from agentic.core.agents.requests import RequestAnswer
from agentic.core.llm.messages import ChatMessage


def parted(given: AgentInput) -> tuple[tuple[ChatMessage, ...], tuple[RequestAnswer, ...]]:
    """Return the messages and the answers of an input.

    Raises:
        TypeError: It has something else.
    """
    if isinstance(given, str):
        return (ChatMessage.user(given),), ()
    parts: tuple[object, ...] = (given,) if isinstance(given, (ChatMessage, RequestAnswer)) else tuple(given)
    messages = tuple(part for part in parts if isinstance(part, ChatMessage))
    answers = tuple(part for part in parts if isinstance(part, RequestAnswer))
    if len(messages) + len(answers) < len(parts):
        odd = next(part for part in parts if not isinstance(part, (ChatMessage, RequestAnswer)))
        raise TypeError(
            f"an agent takes texts, ChatMessage and RequestAnswer, not {type(odd).__name__}: {odd!r:.100}"
        )
    return messages, answers
