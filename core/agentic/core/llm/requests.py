"""Requests to a model, and replies: one form for all providers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt

from agentic.core.llm.messages import ChatMessage, ToolCall
from agentic.core.llm.usage import TokenUsage
from agentic.core.records import record
from agentic.core.types import JSONValue

ToolChoice = Literal["auto", "none", "required"]


class ToolDefinition(BaseModel):
    """A tool as the model sees it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$", description="All providers accept these characters.")
    description: str = ""
    parameters: dict[str, JSONValue] = Field(
        default={"type": "object", "properties": {}},
        description="JSON Schema of an object.",
    )
    is_strict: bool = Field(default=True, description="Ask the provider to obey the schema, where it can.")


class OutputFormat(BaseModel):
    """The JSON that the reply must be, for models that can be bound to a schema."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(default="output", pattern=r"^[A-Za-z0-9_-]{1,64}$")
    description: str = ""
    schema_: dict[str, JSONValue] = Field(alias="schema", description="JSON Schema.")


class ModelSettings(BaseModel):
    """How a model replies. The provider decides the settings that are None."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    temperature: float | None = Field(default=None, ge=0)
    top_p: float | None = Field(default=None, ge=0, le=1)
    max_tokens: PositiveInt | None = Field(default=None, description="The longest reply, thoughts included.")
    stop: tuple[str, ...] = ()
    seed: int | None = None
    thinking: Literal["off", "low", "medium", "high"] | None = None
    parallel_tool_calls: bool | None = None
    timeout_s: PositiveFloat = Field(default=120.0, description="Seconds until the reply must be whole.")
    extra: dict[str, JSONValue] = Field(
        default_factory=dict, description="Passed on to the provider's API as they are."
    )

    def overlaid(self, other: ModelSettings | None) -> ModelSettings:
        """Return these settings, with those that ``other`` sets in their place."""
        if other is None:
            return self
        given = {name: getattr(other, name) for name in other.model_fields_set}
        return self.model_copy(update={**given, "extra": {**self.extra, **other.extra}})


class ModelRequest(BaseModel):
    """A request to a model: instructions and tools first, so that the prompt's beginning stays the same."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    instructions: str = ""
    tools: tuple[ToolDefinition, ...] = ()
    messages: tuple[ChatMessage, ...]
    output: OutputFormat | None = None
    tool_choice: str = Field(
        default="auto", description="``auto``, ``none``, ``required``, or the name of the tool to call."
    )
    settings: ModelSettings = ModelSettings()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical request: equal requests have equal ones, in each process and version.

        Ids, facts of the application and the time limit do not count: they do not reach the model.
        """
        return hashlib.sha256(canonical(self.key_parts()).encode()).hexdigest()

    def model_copy(self, *, update: Mapping[str, object] | None = None, deep: bool = False) -> Self:
        """Return a copy with other values; its digest is computed from them."""
        copied = super().model_copy(update=update, deep=deep)
        vars(copied).pop("digest", None)  # pydantic copies what is cached, too
        return copied

    def key_parts(self) -> list[JSONValue]:
        """Return the parts that reach the model: instructions, tools, each message, the rest."""
        told = self.model_dump(
            mode="json", exclude_defaults=True, by_alias=True, exclude={"instructions", "tools", "messages"}
        )
        if "settings" in told:
            told["settings"].pop("timeout_s", None)
        # Without defaults: a field that a later version adds does not change the digests of old requests.
        tools: list[JSONValue] = [tool.model_dump(mode="json", exclude_defaults=True) for tool in self.tools]
        messages = [
            message.model_dump(mode="json", exclude_defaults=True, exclude={"id", "meta"})
            for message in self.messages
        ]
        return [self.instructions, tools, *messages, told]


class StopReason(StrEnum):
    """Why a model stopped."""

    END = "end"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    STOP_SEQUENCE = "stop_sequence"
    REFUSED = "refused"


_ONE_REQUEST = TokenUsage(requests=1)


class ModelReply(BaseModel):
    """A whole reply of a model."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    message: ChatMessage
    usage: TokenUsage = _ONE_REQUEST
    stop_reason: StopReason = StopReason.END
    model: str = Field(default="", description="The provider's name of the model that replied.")
    id: str | None = Field(default=None, description="The provider's id of the reply.")
    replied_by: str = Field(
        default="", description="``provider:model`` that replied, if a wrapper chose among several models."
    )
    is_cached: bool = Field(default=False, description="Kept from an equal request: it costs nothing.")

    @property
    def text(self) -> str:
        """The text of the reply."""
        return self.message.text

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls of tools that the model asks for."""
        return self.message.tool_calls

    def to_json(self) -> dict[str, JSONValue]:
        """Return the stored form: JSON, without fields that have their default."""
        # By hand, because agents store each reply; as ``model_dump`` does it.
        found: dict[str, JSONValue] = {"message": self.message.to_json()}
        if self.usage != _ONE_REQUEST:
            found["usage"] = self.usage.to_json()
        if self.stop_reason != StopReason.END:
            found["stop_reason"] = str(self.stop_reason)
        if self.model:
            found["model"] = self.model
        if self.id is not None:
            found["id"] = self.id
        if self.replied_by:
            found["replied_by"] = self.replied_by
        if self.is_cached:
            found["is_cached"] = True
        return found

    @classmethod
    def from_json(cls, stored: object) -> ModelReply:
        """Return the reply that :meth:`to_json` wrote.

        Raises:
            ValueError: ``stored`` is not a reply.
        """
        return cls.model_validate(stored)


@record(kw_only=True)
class ToolCallChunk:
    """A streamed piece of a tool call.

    Attributes:
        index: Number of the call in its reply, from 0.
        id: The call's id; given with its first piece.
        name: The tool; given with the first piece.
        arguments: More text of the arguments' JSON.
    """

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


@record(kw_only=True)
class ModelDelta:
    """A streamed piece of a reply.

    Attributes:
        text: More text.
        thinking: More of the thoughts.
        tool_call: More of a tool call.
        reply: The whole reply: the last piece has it, and only that one.
        restarted: The pieces before this one do not count: the reply broke off, and begins again.
    """

    text: str = ""
    thinking: str = ""
    tool_call: ToolCallChunk | None = None
    reply: ModelReply | None = None
    restarted: bool = False


def canonical(value: JSONValue) -> str:
    """Return JSON data as text, the same for equal data."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
