"""The entries of a thread: an append-only log, and the state that it adds up to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field

from agentic.core.agents.errors import ThreadFormatError, fault_of
from agentic.core.agents.requests import PendingRequest, RequestAnswer
from agentic.core.agents.tools.pausing import KeptPause
from agentic.core.llm.messages import ChatMessage, ChatRole
from agentic.core.llm.usage import TokenUsage
from agentic.core.records import record
from agentic.core.types import JSONValue

THREAD_FORMAT = 1

ValueT = TypeVar("ValueT")


class ThreadMetadata(BaseModel):
    """The facts of a thread that do not change.

    The agent's facts are compared when an agent continues the thread; see
    :class:`~agentic.core.agents.errors.ThreadMisfitError`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    agent: str = Field(description="Name of the agent that began it.")
    user_id: str | None = Field(default=None, description="The person; memories belong to them.")
    created_at: float = Field(description="Seconds since the epoch.")
    title: str = ""
    format: int = THREAD_FORMAT


class ThreadEntry(BaseModel):
    """One step of a conversation. Stores never change an entry."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    turn: str = Field(description="Id of the turn: one input, and all work for it.")
    messages: tuple[ChatMessage, ...] = ()
    is_input: bool = Field(default=False, description="Whether the messages were given to the agent.")
    usage: TokenUsage | None = Field(default=None, description="Added by this step.")
    asked: tuple[PendingRequest, ...] = ()
    answers: tuple[RequestAnswer, ...] = ()
    ended: str | None = Field(default=None, description="``complete`` or ``stopped``: the turn's end.")
    reason: str = ""
    paused: dict[str, KeptPause] = Field(default_factory=dict, description="Call -> its pause.")
    notes: dict[str, JSONValue] = Field(default_factory=dict, description="Kept effects, such as summaries.")
    state: JSONValue = Field(
        default=None, description="Of a workflow behind the agent: its pause, or its result."
    )


@record
class ThreadTurn:
    """A turn as far as the log goes.

    Attributes:
        id: Its id.
        messages: Its messages: the input first.
        reply: The model's last reply to the last input.
        reply_count: Replies of the model in the turn.
        usage: Of the turn.
        asked: Its requests, by id.
        answers: Answers, by the request's id.
        ended: ``complete`` or ``stopped``, if it has ended.
        reason: Why it stopped.
        state: The last state of a workflow behind the agent.
        paused: The last pause of each call, by its id.
    """

    id: str
    messages: tuple[ChatMessage, ...] = ()
    reply: ChatMessage | None = None
    reply_count: int = 0
    usage: TokenUsage = TokenUsage()
    asked: dict[str, PendingRequest] | None = None
    answers: dict[str, RequestAnswer] | None = None
    ended: str | None = None
    reason: str = ""
    state: JSONValue = None
    paused: dict[str, KeptPause] | None = None

    @property
    def pending(self) -> tuple[PendingRequest, ...]:
        """Its requests without an answer, in their order."""
        answered = self.answers or {}
        return tuple(one for key, one in (self.asked or {}).items() if key not in answered)

    def with_entry(self, entry: ThreadEntry) -> ThreadTurn:
        """Return the turn after one more of its entries."""
        replies = [one for one in entry.messages if one.role is ChatRole.ASSISTANT and not entry.is_input]
        # With answers, the calls that waited for them come before the new messages.
        is_new = entry.is_input and entry.messages and not entry.answers
        last = None if is_new else self.reply
        return ThreadTurn(
            self.id,
            (*self.messages, *entry.messages),
            replies[-1] if replies else last,
            self.reply_count + len(replies),
            self.usage if entry.usage is None else self.usage + entry.usage,
            _with(self.asked, {one.id: one for one in entry.asked}) if entry.asked else self.asked,
            _with(self.answers, {one.request_id: one for one in entry.answers})
            if entry.answers
            else self.answers,
            entry.ended or self.ended,
            entry.reason or self.reason,
            self.state if entry.state is None else entry.state,
            _with(self.paused, entry.paused),
        )


def _with(known: dict[str, ValueT] | None, new: dict[str, ValueT]) -> dict[str, ValueT] | None:
    return {**(known or {}), **new} if new else known


def stored_text(model: BaseModel) -> str:
    """Return JSON in ASCII, without fields that have their default: text with invalid Unicode survives it."""
    return json.dumps(model.model_dump(exclude_defaults=True), separators=(",", ":"))


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn what stored text that is not a thread raises into one error.

    Args:
        what: Begins the error.

    Raises:
        ThreadFormatError: The text cannot be read.
    """
    try:
        yield
    except ThreadFormatError:
        raise
    except (ValueError, KeyError, TypeError, RecursionError) as exc:  # also text that is not JSON
        raise ThreadFormatError(f"{what}: {fault_of(exc)}") from exc


def reading_stored(thread_id: str) -> AbstractContextManager[None]:
    """Do :func:`reading` for a thread of a store."""
    return reading(f"the stored thread {thread_id!r} cannot be read (restore it, or delete it)")


def turns_of(entries: Iterable[ThreadEntry]) -> dict[str, ThreadTurn]:
    """Return the turns of a log, by id, in order."""
    found: dict[str, ThreadTurn] = {}
    for entry in entries:
        found[entry.turn] = found.get(entry.turn, ThreadTurn(entry.turn)).with_entry(entry)
    return found
