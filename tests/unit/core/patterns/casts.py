"""Participants whose words are written down."""

from __future__ import annotations

from typing import Any

from agentic.core.agents import ChatAgent
from agentic.core.llm import FunctionModel, ModelRequest, ScriptedModel, ScriptLine
from agentic.core.patterns import PatternResult


def says(name: str, *lines: ScriptLine, **options: Any) -> ChatAgent[Any]:
    """Return an agent with a script."""
    return ChatAgent(ScriptedModel(lines), name=name, **options)


def hears(name: str, heard: list[list[str]], answer: str = "") -> ChatAgent[Any]:
    """Return an agent that notes the texts of each request."""

    def reply(request: ModelRequest) -> str:
        heard.append([one.text for one in request.messages])
        return answer or f"{name} {len(heard)}"

    return ChatAgent(FunctionModel(reply), name=name)


def spoken(result: PatternResult) -> list[tuple[str | None, str]]:
    """Return authors and texts of a conversation."""
    return [(one.author_name, one.text) for one in result.conversation]
