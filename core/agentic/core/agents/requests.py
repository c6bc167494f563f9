"""Requests of an agent to people or programs, and their answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from agentic.core.llm.messages import ChatMessage, ToolCall
from agentic.core.types import JSONValue


class RequestKind(StrEnum):
    """The reason of a request."""

    __wire_name__ = "agentic.agents.RequestKind"

    APPROVAL = "approval"
    """May this tool be called?"""

    RESULT = "result"
    """The result of this call is needed. The tool is outside: a person, or another program."""

    INFO = "info"
    """A workflow behind the agent asks, or a call that is running."""


class PendingRequest(BaseModel):
    """A request that an agent waits for. RequestAnswer it with an :class:`RequestAnswer`.

    The id is a digest of the thread's turn, the call's id, the tool with its version, and the canonical
    arguments. An answer to a call that was changed later therefore has no effect.
    """

    __wire_name__ = "agentic.agents.PendingRequest"

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    kind: RequestKind
    call: ToolCall | None = Field(default=None, description="The call that waits; None for a workflow.")
    asked_by: str = Field(default="", description="Id of the running call that asks, if one does.")
    data: JSONValue = Field(default=None, description="The question of a workflow, or facts of a question.")
    response_type: str = Field(default="", description="The type of the answer to a workflow.")
    question: str = Field(default="", description="For the person who answers.")
    raised_at: float = Field(description="Seconds since the epoch.")
    expires_at: float | None = Field(default=None, description="Seconds since the epoch; None for never.")


class RequestAnswer(BaseModel):
    """An answer to a :class:`PendingRequest`.

    For an approval, ``approved`` decides. Else ``result`` is the result of the call, or the answer to the
    workflow, unless ``approved`` is false.
    """

    __wire_name__ = "agentic.agents.RequestAnswer"

    model_config = ConfigDict(extra="forbid", frozen=True)

    request_id: str
    approved: bool = True
    reason: str = ""
    result: JSONValue = None
    answered_by: str = ""


AgentInput = str | ChatMessage | RequestAnswer | Iterable[str | ChatMessage | RequestAnswer]
"""A text, messages, or answers to pending requests. Empty continues an interrupted turn."""


def request_id(turn: str, call: ToolCall, tool_version: str) -> str:
    """Return the id of a request for a call: equal only if nothing of it has changed."""
    return _digest([turn, call.id, call.name, tool_version, call.arguments])


def question_id(turn: str, call: ToolCall, tool_version: str, question: str) -> str:
    """Return the id of a question of a running call; see :func:`request_id`."""
    return _digest([turn, call.id, call.name, tool_version, call.arguments, question])


def _digest(parts: Sequence[JSONValue]) -> str:
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]
