"""The answers of agents, whole and in pieces."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Any, Generic, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, TypeAdapter
from typing_extensions import TypeVar as DefaultTypeVar

from agentic.core.agents.background.token import ContinuationToken
from agentic.core.agents.errors import AgentError
from agentic.core.agents.requests import PendingRequest
from agentic.core.llm.messages import ChatMessage, ToolCall, ToolResult
from agentic.core.llm.usage import TokenUsage
from agentic.core.records import record
from agentic.core.types import JSONValue

OutputT = DefaultTypeVar("OutputT", default=str)
AskedT = TypeVar("AskedT")

SHORT_RESULT_CHARS = 1_024


class ResponseStatus(StrEnum):
    """Whether an answer is whole."""

    __wire_name__ = "agentic.agents.ResponseStatus"

    COMPLETE = "complete"
    IN_PROGRESS = "in_progress"
    """A background run works on it: ask again with ``token``."""

    NEEDS_INPUT = "needs_input"
    """The agent waits for answers: see ``pending``."""

    STOPPED = "stopped"
    """A limit, a guard or the model's refusal ended the run: see ``reason``."""


class AgentResponse(BaseModel, Generic[OutputT]):
    """The answer of an agent to one input.

    It can be sent through a graph and stored; the stored form has the JSON of the output, in ``data``.
    """

    __wire_name__ = "agentic.agents.AgentResponse"
    __stored_lean__ = True

    model_config = ConfigDict(extra="forbid", frozen=True)

    agent: str = Field(description="Name of the agent.")
    thread_id: str
    turn: str = Field(description="Id of the turn: one input, and all work for it.")
    status: ResponseStatus = ResponseStatus.COMPLETE
    messages: tuple[ChatMessage, ...] = Field(default=(), description="The messages that this run added.")
    text: str = Field(default="", description="Text of the last message.")
    data: JSONValue = Field(default=None, description="The structured output, as JSON.")
    usage: TokenUsage = Field(default=TokenUsage(), description="Of the whole turn.")
    pending: tuple[PendingRequest, ...] = ()
    reason: str = Field(default="", description="Why the run stopped, if it did.")
    token: ContinuationToken | None = Field(default=None, description="Of a background run.")
    _output: Any = PrivateAttr(default=None)
    _has_output: bool = PrivateAttr(default=False)  # it may be None

    @property
    def is_complete(self) -> bool:
        """Whether the answer is whole."""
        return self.status is ResponseStatus.COMPLETE

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls of tools in this run."""
        return tuple(call for message in self.messages for call in message.tool_calls)

    @property
    def output(self) -> OutputT:
        """The output in the agent's type; the text, for an agent without one.

        Raises:
            ValueError: The answer is not whole, or was restored from its stored form: read it with
                :meth:`output_as`.
        """
        if not self.is_complete:
            raise ValueError(
                f"the answer of agent {self.agent!r} is {self.status}: {self.reason or 'not whole'}"
            )
        if self._has_output:
            return cast(OutputT, self._output)
        if self.data is not None:
            raise ValueError("this response was stored and restored: use response.output_as(TYPE)")
        return cast(OutputT, self.text)

    def output_as(self, kind: type[AskedT]) -> AskedT:
        """Return the output in a type.

        Raises:
            ValueError: It does not have that type.
        """
        return TypeAdapter(kind).validate_python(self.data)

    def with_output(self, output: object) -> AgentResponse[Any]:
        """Return this response with the output object that ``data`` is the JSON of."""
        made = self.model_copy()
        made._output, made._has_output = output, True
        return made

    def stored(self) -> AgentResponse[Any]:
        """Return this response for messages of a graph: without the output object, and with short results.

        A result of more than 1,024 characters is cut, and names the hash of the whole. The run has the whole
        as an effect, and would store it three times otherwise.
        """
        short = tuple(_shortened(message) for message in self.messages)
        made = self.model_copy(update={"messages": short})
        made._output, made._has_output = None, False
        return made


class SpokenOutput(BaseModel):
    """An output of a workflow that is an answer in words: base of the results of patterns.

    Agents that are workflows answer with its text, and agents in a graph take it as a conversation.
    """

    __wire_name__ = "agentic.core.agents.responses.SpokenOutput"

    model_config = ConfigDict(extra="forbid", frozen=True)

    usage: TokenUsage = Field(default=TokenUsage(), description="The use of models for it.")

    @property
    def text(self) -> str:
        """The answer."""
        return ""

    @property
    def full_conversation(self) -> tuple[ChatMessage, ...]:
        """The messages that end in the answer: one, unless a subclass has more."""
        return (ChatMessage.assistant(self.text),)


class AgentStoppedError(AgentError):
    """An agent stopped before its answer: it reached a limit, a guard stopped it, or the model refused.

    Attributes:
        response: The work until then: messages, usage, and the reason.
    """

    def __init__(self, agent: str, response: AgentResponse[Any]) -> None:
        super().__init__(f"agent {agent!r} stopped without an answer: {response.reason}")
        self.agent = agent
        self.response = response


def _shortened(message: ChatMessage) -> ChatMessage:
    parts = tuple(_cut(part) if isinstance(part, ToolResult) else part for part in message.parts)
    return message if parts == message.parts else message.model_copy(update={"parts": parts})


def _cut(result: ToolResult) -> ToolResult:
    text = result.content if isinstance(result.content, str) else json.dumps(result.content)
    if len(text) <= SHORT_RESULT_CHARS or result.reference is not None:
        return result
    name = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    return result.model_copy(update={"content": text[:SHORT_RESULT_CHARS], "reference": name})


class ChunkKind(StrEnum):
    """The kinds of pieces of an answer."""

    STARTED = "started"
    TEXT = "text"
    THINKING = "thinking"
    RESTARTED = "restarted"
    """The model begins its reply again: the pieces of its text so far do not count."""

    TOOL_STARTED = "tool_started"
    TOOL_FINISHED = "tool_finished"
    WORKFLOW_STARTED = "workflow_started"
    WORKFLOW_FINISHED = "workflow_finished"
    """The workflow behind an agent has ended; ``status`` is ``complete`` or ``failed``."""

    MESSAGE = "message"
    REQUEST = "request"
    FINISHED = "finished"


@record(kw_only=True)
class AgentChunk:
    """A piece of an answer as it is made. Each has a kind, and the fields of that kind.

    Attributes:
        kind: The kind.
        author_name: The agent that speaks.
        path: The agents and tools around it, outermost first: nested agents report through their caller.
        sequence: Number in the run, from 1.
        text: More text, or more of the thoughts.
        offset: Of text that came over the bus: the characters of its message before it; None if not known.
        tool_call: The call that starts.
        tool_result: The result of a call.
        workflow: Id of the workflow that starts, or has ended.
        status: How it ended.
        message: A whole message; it is in the thread now.
        request: A request that the agent waits for.
        response: The whole answer: of the last piece.
        token: Of a background run: a reader that stops here continues with it.
    """

    kind: ChunkKind
    author_name: str
    path: tuple[str, ...] = ()
    sequence: int = 0
    text: str = ""
    offset: int | None = None
    tool_call: ToolCall | None = None
    tool_result: ToolResult | None = None
    workflow: str = ""
    status: str = ""
    message: ChatMessage | None = None
    request: PendingRequest | None = None
    response: AgentResponse[Any] | None = None
    token: ContinuationToken | None = None

    @property
    def done(self) -> bool:
        """Whether it is the last piece of the outermost agent."""
        return self.kind is ChunkKind.FINISHED and not self.path


Emit = Callable[[AgentChunk], Awaitable[None]]
"""Takes the pieces of an answer."""
