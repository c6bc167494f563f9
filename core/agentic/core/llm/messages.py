"""Messages of a conversation: the same for every model, stored as JSON with golden files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from operator import is_
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from agentic.core.records import unchecked
from agentic.core.types import JSONValue

MESSAGE_FORMAT = 1
"""Version of the stored form of :class:`ChatMessage`; a thread that has another one is not read."""


_MUTABLE = (dict, list)


def copied(value: JSONValue) -> JSONValue:
    """Return a copy of JSON data; ``copy.deepcopy`` takes ten times as long."""
    if isinstance(value, dict):
        return {name: copied(part) if type(part) in _MUTABLE else part for name, part in value.items()}
    if isinstance(value, list):
        return [copied(part) if type(part) in _MUTABLE else part for part in value]
    return value


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    opaque: Mapping[str, JSONValue] | None = Field(
        default=None,
        description="Data that a provider gets back unchanged, by provider: signatures, encrypted thoughts.",
    )

    def to_json(self) -> dict[str, JSONValue]:
        """Return the stored form: JSON, without fields that have their default, but with the kind."""
        # As by ``model_dump``, in a quarter of its time.
        values, defaults = vars(self), _DEFAULTS[type(self)]
        found: dict[str, JSONValue] = {"kind": values["kind"]}
        for name, value in values.items():
            if name != "kind" and value != defaults[name]:
                found[name] = copied(value) if type(value) in _MUTABLE else value
        return found

    @model_serializer(mode="wrap")
    def _with_kind(self, write: SerializerFunctionWrapHandler) -> dict[str, JSONValue]:
        # Its default is left out like others, but readers need it.
        return {"kind": getattr(self, "kind"), **write(self)}  # noqa: B009  # of the subclasses

    def __deepcopy__(self, _: object = None) -> Self:
        """Return the part itself, unless something in it can change: runs copy each message that is sent."""
        values = vars(self)
        changed = {name: copied(value) for name, value in values.items() if type(value) in _MUTABLE and value}
        return unchecked(type(self), {**values, **changed}, self.__pydantic_fields_set__) if changed else self


class TextPart(_Part):
    """Text, of a person or a model."""

    __wire_name__ = "agentic.llm.TextPart"
    __stored_lean__ = True

    kind: Literal["text"] = "text"
    text: str


class ThinkingPart(_Part):
    """Thoughts of a model. The provider's signature is in ``opaque``; without it they are not sent again."""

    __wire_name__ = "agentic.llm.ThinkingPart"
    __stored_lean__ = True

    kind: Literal["thinking"] = "thinking"
    text: str = ""


class ToolCall(_Part):
    """A model's wish to call a tool."""

    __wire_name__ = "agentic.llm.ToolCall"
    __stored_lean__ = True

    kind: Literal["tool_call"] = "tool_call"
    id: str = Field(description="Given by the model or its adapter; unique in its conversation.")
    name: str
    arguments: dict[str, JSONValue] = Field(default_factory=dict)
    invalid: str | None = Field(
        default=None, description="The arguments as the model wrote them, if they are not a JSON object."
    )


class ToolResult(_Part):
    """The result of a tool call: text or JSON, or the message of an error."""

    __wire_name__ = "agentic.llm.ToolResult"
    __stored_lean__ = True

    kind: Literal["tool_result"] = "tool_result"
    call_id: str
    name: str
    content: JSONValue = None
    is_error: bool = False
    reference: str | None = Field(
        default=None, description="SHA-256 of the whole content, if ``content`` is only its beginning."
    )


class DataPart(_Part):
    """An image, a file or a sound: in base64, or by its URL."""

    __wire_name__ = "agentic.llm.DataPart"
    __stored_lean__ = True

    kind: Literal["data"] = "data"
    media_type: str = Field(description="Such as ``image/png``.")
    data: str | None = Field(default=None, description="Base64; None if there is a URL.")
    url: str | None = None
    name: str | None = None


_DEFAULTS: Mapping[type, Mapping[str, Any]] = {
    cls: {name: field.get_default(call_default_factory=True) for name, field in cls.model_fields.items()}
    for cls in (TextPart, ThinkingPart, ToolCall, ToolResult, DataPart)
}

Part = Annotated[TextPart | ThinkingPart | ToolCall | ToolResult | DataPart, Field(discriminator="kind")]
"""A piece of a message."""


class ChatRole(StrEnum):
    """Who says a message."""

    __wire_name__ = "agentic.llm.ChatRole"

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class ChatMessage(BaseModel):
    """One message of a conversation. Immutable; Agent Framework calls it ``Message``."""

    __wire_name__ = "agentic.llm.ChatMessage"
    __stored_lean__ = True

    model_config = ConfigDict(extra="forbid", frozen=True)

    role: ChatRole
    parts: tuple[Part, ...] = ()
    author_name: str | None = Field(default=None, description="The agent or person, where several speak.")
    id: str | None = None
    meta: dict[str, JSONValue] = Field(default_factory=dict, description="Facts of the application.")

    @classmethod
    def system(cls, text: str) -> ChatMessage:
        """Return instructions."""
        return cls(role=ChatRole.SYSTEM, parts=(TextPart(text=text),))

    @classmethod
    def user(cls, text: str, *more: Part, author_name: str | None = None) -> ChatMessage:
        """Return a message of a person: a text, then images and files."""
        return cls(role=ChatRole.USER, parts=(TextPart(text=text), *more), author_name=author_name)

    @classmethod
    def assistant(cls, text: str = "", *more: Part, author_name: str | None = None) -> ChatMessage:
        """Return a message of a model: a text, then calls of tools."""
        parts = (TextPart(text=text), *more) if text else more
        return cls(role=ChatRole.ASSISTANT, parts=parts, author_name=author_name)

    @classmethod
    def tool(cls, *results: ToolResult) -> ChatMessage:
        """Return the results of tool calls."""
        return cls(role=ChatRole.TOOL, parts=results)

    @property
    def text(self) -> str:
        """All text of the message; thoughts and calls are not part of it."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def thinking(self) -> str:
        """The thoughts of the model."""
        return "".join(part.text for part in self.parts if isinstance(part, ThinkingPart))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls that a model asks for, in its order."""
        return tuple([part for part in self.parts if isinstance(part, ToolCall)])

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """The results of calls."""
        return tuple([part for part in self.parts if isinstance(part, ToolResult)])

    def __deepcopy__(self, _: object = None) -> Self:
        """Return the message itself, unless something in it can change."""
        parts = tuple([part.__deepcopy__() for part in self.parts])
        if not self.meta and all(map(is_, parts, self.parts)):
            return self
        values = {**vars(self), "parts": parts, "meta": copied(self.meta)}
        return unchecked(type(self), values, self.__pydantic_fields_set__)

    def to_json(self) -> dict[str, JSONValue]:
        """Return the stored form: JSON, without fields that have their default."""
        # By hand, because ``model_dump`` takes four times as long, and agents store each message.
        found: dict[str, JSONValue] = {"role": str(self.role)}
        if self.parts:
            found["parts"] = [part.to_json() for part in self.parts]
        for name in ("author_name", "id"):
            if (value := getattr(self, name)) is not None:
                found[name] = value
        if self.meta:
            found["meta"] = copied(self.meta)
        return found

    @classmethod
    def from_json(cls, stored: object) -> ChatMessage:
        """Return the message that :meth:`to_json` wrote.

        Raises:
            ValueError: ``stored`` is not a message.
        """
        return cls.model_validate(stored)


def as_messages(given: str | ChatMessage | Iterable[ChatMessage]) -> tuple[ChatMessage, ...]:
    """Return messages: a text is one message of a person."""
    if isinstance(given, str):
        return (ChatMessage.user(given),)
    return (given,) if isinstance(given, ChatMessage) else tuple(given)
