"""Finds facts in a turn that are worth keeping: by rules, or by a model."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agentic.core.agents.conversation import BY_AGENT, is_by_person
from agentic.core.agents.memory.records import AgentMemoryError, Memory, MemoryCategory
from agentic.core.agents.structured import output_spec
from agentic.core.linear import LinearPattern
from agentic.core.llm.adapter import LLMAdapter
from agentic.core.llm.messages import ChatMessage
from agentic.core.llm.registry import as_model
from agentic.core.llm.requests import ModelRequest


class MemoryExtractor(Protocol):
    """Finds memories in the messages of a turn."""

    async def extract(self, messages: Sequence[ChatMessage]) -> Sequence[Memory]:
        """Return the found memories."""
        ...


_RULES: tuple[tuple[str, MemoryCategory, float], ...] = (
    (r"\bmy name is [^.!?\n]{1,80}", MemoryCategory.FACT, 0.9),
    (r"\bi am called [^.!?\n]{1,80}", MemoryCategory.FACT, 0.9),
    (r"\bi (?:live|work) (?:in|at|for) [^.!?\n]{1,120}", MemoryCategory.FACT, 0.7),
    (
        r"\bi (?:prefer|always use|like|love|hate|dislike) [^.!?\n]{1,160}",
        MemoryCategory.USER_PREFERENCE,
        0.8,
    ),
    (r"\bplease (?:always|never) [^.!?\n]{1,160}", MemoryCategory.USER_PREFERENCE, 0.9),
    (r"\bremember (?:that )?[^.!?\n]{1,200}", MemoryCategory.FACT, 0.8),
)


class RuleExtractor:
    """Finds sentences of a person about themselves, and wishes to remember something; in English.

    Args:
        clock: Seconds since the epoch.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._rules = [
            (LinearPattern(pattern, ignore_case=True), category, importance)
            for pattern, category, importance in _RULES
        ]

    async def extract(self, messages: Sequence[ChatMessage]) -> Sequence[Memory]:
        """Return the found memories, in their order."""
        found: dict[str, Memory] = {}
        for message in messages:
            if not is_by_person(message):
                continue
            for rule, category, importance in self._rules:
                for match in rule.finditer(message.text):
                    memory = Memory.of(match.whole, self._clock(), category=category, importance=importance)
                    found.setdefault(memory.id, memory)
        return list(found.values())


class _Found(BaseModel):
    model_config = ConfigDict(extra="ignore")

    content: str = Field(description="One fact, complete in itself.")
    category: MemoryCategory = MemoryCategory.FACT
    importance: float = Field(default=0.5, ge=0, le=1)


class _Answer(BaseModel):
    memories: list[_Found]


INSTRUCTIONS = (
    "Find facts in this conversation that will still matter in a later one: names, preferences, decisions, "
    "lasting circumstances of the person. No small talk, no secrets, no passwords. Often the list is empty."
)


class ModelExtractor:
    """Asks a model for the facts; a cheap one suffices.

    Args:
        model: The model, or its name.
        instructions: Its task.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        model: LLMAdapter | str,
        *,
        instructions: str = INSTRUCTIONS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._model = as_model(model)
        self._instructions = instructions
        self._clock = clock

    async def extract(self, messages: Sequence[ChatMessage]) -> Sequence[Memory]:
        """Return the found memories.

        Raises:
            ModelError: The model did not reply.
            AgentMemoryError: Its reply cannot be read.
        """
        lines = [f"{_speaker(one)}: {one.text}" for one in messages if one.text]
        spec = output_spec(_Answer)
        request = ModelRequest(
            instructions=self._instructions, messages=(ChatMessage.user("\n".join(lines)),)
        )
        reply = await self._model.complete(spec.bind(request, self._model.capabilities.structured))
        try:
            answer: _Answer = spec.read(reply.message)[0]
        except (ValueError, ValidationError) as exc:
            raise AgentMemoryError(f"{self._model.name} did not reply with memories: {exc}") from exc
        return [
            Memory.of(one.content, self._clock(), category=one.category, importance=one.importance)
            for one in answer.memories
            if one.content.strip()
        ]


def _speaker(message: ChatMessage) -> str:
    return "another agent" if message.meta.get(BY_AGENT) else message.author_name or message.role.value
