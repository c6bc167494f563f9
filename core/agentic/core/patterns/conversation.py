"""The conversation of a pattern: the same for all patterns, and stored message by message."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from agentic.core.agents.executor import AgentExecutorResponse
from agentic.core.agents.responses import SpokenOutput
from agentic.core.agents.tools.calling import as_json
from agentic.core.graph import Executor, WorkflowContext
from agentic.core.llm.messages import ChatMessage, ChatRole, Part, ToolCall, ToolResult
from agentic.core.llm.usage import TokenUsage
from agentic.core.records import unchecked

ConversationInput = str | ChatMessage | list[ChatMessage] | AgentExecutorResponse | SpokenOutput
"""The forms of a conversation between executors: a pattern takes each of them as its input."""

_USAGE = "usage"
_GIVEN_WITHOUT_META = {"role", "parts", "author_name"}
_GIVEN = {*_GIVEN_WITHOUT_META, "meta"}


class PatternResult(SpokenOutput):
    """The output of a pattern that is a conversation.

    Attributes:
        conversation: All messages: the input first.
        reason: Why it ended.
        round_count: Turns that participants took.
    """

    __wire_name__ = "agentic.patterns.PatternResult"

    conversation: tuple[ChatMessage, ...]
    reason: str = ""
    round_count: int = 0

    @property
    def text(self) -> str:
        """The text of the last message."""
        return self.conversation[-1].text if self.conversation else ""

    @property
    def full_conversation(self) -> tuple[ChatMessage, ...]:
        """All messages."""
        return self.conversation


class ConversationEntry(BaseModel):
    """A message in the shared state of a run.

    It cannot change, so the engine copies it for no reader: a chat message holds a dict.
    """

    __wire_name__ = "agentic.patterns.ConversationEntry"
    __stored_lean__ = True

    model_config = ConfigDict(extra="forbid", frozen=True)

    role: ChatRole
    author: str | None = None
    parts: tuple[Part, ...] = ()
    meta: str = ""

    @classmethod
    def of(cls, message: ChatMessage) -> Self:
        """Return the entry of a message. Calls of tools and their results stay with their agent."""
        parts = tuple(part for part in message.parts if not isinstance(part, (ToolCall, ToolResult)))
        meta = json.dumps(message.meta) if message.meta else ""
        return cls(role=message.role, author=message.author_name, parts=parts, meta=meta)

    @property
    def message(self) -> ChatMessage:
        """The message."""
        # Valid already, and made for each reader of each turn: checks were a fifth of a long chat.
        values: dict[str, object] = {
            "role": self.role,
            "parts": self.parts,
            "author_name": self.author,
            "id": None,
            "meta": json.loads(self.meta) if self.meta else {},
        }
        return unchecked(ChatMessage, values, _GIVEN if self.meta else _GIVEN_WITHOUT_META)


class Conversing(Executor):
    """Base of the executors that share a conversation.

    Each message is a key of the shared state. The stored bytes of a run grow with its messages, never with
    their square, and all participants have the same messages.
    """

    def read_conversation(self, ctx: WorkflowContext[Any, Any], count: int) -> list[ChatMessage]:
        """Return the first ``count`` messages."""
        entries = (ctx.get_state(_key(number)) for number in range(count))
        return [entry.message for entry in entries if isinstance(entry, ConversationEntry)]

    def add_messages(
        self, ctx: WorkflowContext[Any, Any], count: int, messages: Iterable[ChatMessage]
    ) -> int:
        """Add messages after the first ``count``; return their number now."""
        for message in messages:
            ctx.set_state(_key(count), ConversationEntry.of(message))
            count += 1
        return count

    def add_usage(self, ctx: WorkflowContext[Any, Any], usage: TokenUsage) -> None:
        """Add a use of models to the run's."""
        if usage != TokenUsage():
            ctx.set_state(_USAGE, usage)

    def usage_so_far(self, ctx: WorkflowContext[Any, Any]) -> TokenUsage:
        """Return the use of models in the run."""
        return ctx.get_state(_USAGE, TokenUsage())


def _key(number: int) -> str:
    return f"conversation.{number:05}"


def joined_usage(so_far: TokenUsage, added: TokenUsage) -> TokenUsage:
    """Add two uses of models: the reducer of the shared state."""
    return so_far + added


USAGE_STATE = (_USAGE, joined_usage)
"""The key of the shared state with the use of models, and its reducer."""


def conversation_of(given: ConversationInput) -> tuple[ChatMessage, ...]:
    """Return the messages of an input."""
    if isinstance(given, str):
        return (ChatMessage.user(given),)
    if isinstance(given, ChatMessage):
        return (given,)
    return tuple(given) if isinstance(given, list) else given.full_conversation


def is_conversation(output: object) -> bool:
    """Whether an output is a list of messages."""
    return isinstance(output, list) and all(isinstance(one, ChatMessage) for one in output) and bool(output)


def message_of(output: object, author: str) -> ChatMessage | None:
    """Return an output as a message of its author: text as it is, any other value as JSON; None for None."""
    if output is None:
        return None
    if isinstance(output, AgentExecutorResponse):
        output = output.full_conversation[-1] if output.full_conversation else output.text
    elif isinstance(output, list) and is_conversation(output):
        output = output[-1]
    if isinstance(output, ChatMessage):
        return by_author(output, author)
    if isinstance(output, SpokenOutput):
        output = output.text
    text = output if isinstance(output, str) else json.dumps(as_json(output), ensure_ascii=False)
    return ChatMessage.assistant(text, author_name=author)


def by_author(message: ChatMessage, author: str) -> ChatMessage:
    """Return a message as an answer of its author."""
    return message.model_copy(update={"role": ChatRole.ASSISTANT, "author_name": author})


def transcript(conversation: Sequence[ChatMessage]) -> str:
    """Return a conversation as text for a model: ``name: words``, with empty lines between."""
    return "\n\n".join(f"{one.author_name or one.role}: {one.text}" for one in conversation)
