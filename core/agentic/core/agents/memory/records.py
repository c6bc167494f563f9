"""Memories: facts that an agent keeps about a person, beyond a conversation."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from agentic.core.agents.errors import AgentError, fault_of
from agentic.core.records import record
from agentic.core.types import JSONValue


class AgentMemoryError(AgentError):
    """A memory cannot be kept or read."""


class MemoryCategory(StrEnum):
    """The kinds of memories."""

    USER_PREFERENCE = "user_preference"
    FACT = "fact"
    LEARNED = "learned"
    CONTEXT = "context"
    SUMMARY = "summary"


class Memory(BaseModel):
    """One remembered thing. Equal contents of one person are one memory: the id is a digest of the text."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    content: str
    category: MemoryCategory = MemoryCategory.FACT
    importance: float = Field(default=0.5, ge=0, le=1, description="From 0 to 1; the important come first.")
    created_at: float = Field(description="Seconds since the epoch.")
    metadata: dict[str, JSONValue] = Field(default_factory=dict)

    @classmethod
    def of(
        cls,
        content: str,
        created_at: float,
        *,
        category: MemoryCategory = MemoryCategory.FACT,
        importance: float = 0.5,
        metadata: dict[str, JSONValue] | None = None,
    ) -> Memory:
        """Return a memory of a text; its id depends on the words only, not on their case and spaces."""
        words = " ".join(content.split()).casefold()
        return cls(
            id=hashlib.sha256(words.encode(errors="surrogatepass")).hexdigest()[:32],
            content=content.strip(),
            category=category,
            importance=importance,
            created_at=created_at,
            metadata=metadata or {},
        )

    @classmethod
    def read(cls, text: str | bytes, what: str = "a stored memory") -> Memory:
        """Return a memory from its stored text.

        Args:
            text: From :meth:`stored`.
            what: Begins the error.

        Raises:
            AgentMemoryError: The text is not a memory.
        """
        try:
            return cls.model_validate(json.loads(text))
        except (ValueError, RecursionError) as exc:  # also text that is not JSON
            raise AgentMemoryError(f"{what} cannot be read: {fault_of(exc)}") from exc

    def stored(self) -> str:
        """Return what stores keep: JSON in ASCII; text with invalid Unicode survives."""
        return json.dumps(self.model_dump(mode="json", exclude_defaults=True), separators=(",", ":"))


@record
class UserMemories:
    """The memories of a person.

    Attributes:
        memories: In no order.
    """

    memories: tuple[Memory, ...] = ()

    def extend(self, more: Iterable[Memory]) -> UserMemories:
        """Return these and further ones; a later memory replaces an earlier one of the same id."""
        found = {memory.id: memory for memory in (*self.memories, *more)}
        return UserMemories(tuple(found.values()))

    def most_important(self, count: int) -> Sequence[Memory]:
        """Return the most important memories first, among equals the newest."""
        ordered = sorted(self.memories, key=lambda one: (-one.importance, -one.created_at, one.id))
        return ordered[:count]

    def of_category(self, category: MemoryCategory) -> UserMemories:
        """Return the memories of a kind."""
        return UserMemories(tuple(one for one in self.memories if one.category is category))

    def to_context_string(self, count: int = 20) -> str:
        """Return the most important memories as a text for a model; empty without memories."""
        chosen = self.most_important(count)
        if not chosen:
            return ""
        lines = [f"- {one.content} ({one.category.value.replace('_', ' ')})" for one in chosen]
        return "\n".join(["What you remember about this person:", *lines])
