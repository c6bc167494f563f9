"""Models without a model: a script, or a function. For tests, examples and demonstrations, offline."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Self

from agentic.core.errors import AgenticError
from agentic.core.llm.adapter import LLMAdapter, ModelCapabilities, StructuredMode
from agentic.core.llm.messages import ChatMessage, ToolCall
from agentic.core.llm.requests import ModelReply, ModelRequest, StopReason, canonical
from agentic.core.llm.usage import TokenUsage

ScriptLine = str | ToolCall | Sequence[ToolCall] | ChatMessage | ModelReply | Exception
"""A line of a script: a text, calls of tools, a message, a whole reply, or the error to raise."""

CHARS_PER_TOKEN = 4


class ScriptEndedError(AgenticError, LookupError):
    """A scripted model was asked more often than its script has lines."""

    def __init__(self, model: str, line_count: int, last: str) -> None:
        super().__init__(
            f"{model} was asked {line_count + 1} times, but its script has {line_count} lines; "
            f"the last message was: {last[:200]!r}"
        )
        self.line_count = line_count


class ScriptedModel(LLMAdapter):
    """Replies with the lines of a script, in order; remembers the requests.

    Attributes:
        requests: The requests so far.

    Args:
        script: Its lines.
        name: ``provider:model``.
        structured: How it is bound to a schema.
        cost_usd: The cost of each reply.
    """

    def __init__(
        self,
        script: Iterable[ScriptLine],
        *,
        name: str = "scripted:model",
        structured: StructuredMode = "native",
        cost_usd: float | None = 0.0,
    ) -> None:
        self.name = name
        self.capabilities = ModelCapabilities(structured=structured)
        self.requests: list[ModelRequest] = []
        if isinstance(script, (str, ToolCall, ChatMessage)):
            raise TypeError(
                f"the script of a ScriptedModel is a list of lines, not one line: {script!r:.100}"
            )
        self._script = tuple(script)
        self._cost_usd = cost_usd

    @classmethod
    def repeating(cls, line: ScriptLine, *, times: int) -> Self:
        """Return a model that says the same several times."""
        return cls([line] * times)

    @property
    def remaining_count(self) -> int:
        """Lines that were not used yet."""
        return len(self._script) - len(self.requests)

    def cost_of(self, usage: TokenUsage) -> float | None:  # noqa: ARG002  # each reply costs the same
        """Return the cost of a reply."""
        return self._cost_usd

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Return the next line as a reply.

        Raises:
            ScriptEndedError: All lines were used.
            Exception: The line is an error.
        """
        number = len(self.requests)
        if number >= len(self._script):
            last = request.messages[-1].text if request.messages else ""
            raise ScriptEndedError(self.name, len(self._script), last)
        self.requests.append(request)
        return reply_of(self._script[number], request, self.name, f"call_{number}_", self._cost_usd)


class FunctionModel(LLMAdapter):
    """Replies with the result of a function, for rules and for tests of long conversations.

    Args:
        function: Gets the request and returns a line, or an awaitable of one.
        name: ``provider:model``.
    """

    def __init__(
        self,
        function: Callable[[ModelRequest], ScriptLine | Awaitable[ScriptLine]],
        *,
        name: str = "function:model",
    ) -> None:
        self.name = name
        self._function = function

    def cost_of(self, usage: TokenUsage) -> float:  # noqa: ARG002  # a function is free
        """Return 0."""
        return 0.0

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Return the result of the function as a reply; its errors are raised."""
        found = self._function(request)
        line = await found if inspect.isawaitable(found) else found
        prefix = f"call_{len(request.messages)}_"
        return reply_of(line, request, self.name, prefix, 0.0)


def reply_of(
    line: ScriptLine, request: ModelRequest, model: str, call_prefix: str, cost_usd: float | None
) -> ModelReply:
    """Return a line as a reply, with an estimate of its tokens.

    Raises:
        Exception: The line is an error.
    """
    if isinstance(line, Exception):
        raise line
    if isinstance(line, ModelReply):
        return line
    message = _message(line, call_prefix)
    usage = TokenUsage(
        input_tokens=sum(map(_tokens, request.messages)) + len(request.instructions) // CHARS_PER_TOKEN,
        output_tokens=_tokens(message),
        requests=1,
        cost_usd=cost_usd,
    )
    stop = StopReason.TOOL_CALLS if message.tool_calls else StopReason.END
    return ModelReply(message=message, usage=usage, stop_reason=stop, model=model.partition(":")[2])


def _message(line: str | ToolCall | Sequence[ToolCall] | ChatMessage, call_prefix: str) -> ChatMessage:
    if isinstance(line, ChatMessage):
        return line
    if isinstance(line, str):
        return ChatMessage.assistant(line)
    calls: object = (line,) if isinstance(line, ToolCall) else line
    if not isinstance(calls, Sequence) or not all(isinstance(call, ToolCall) for call in calls):
        raise TypeError(
            "a line is a text, one or several ToolCall, a ChatMessage, a ModelReply or an error, not "
            f"{line!r:.100}"
        )
    named = [
        call if call.id else call.model_copy(update={"id": f"{call_prefix}{index}"})
        for index, call in enumerate(calls)
    ]
    return ChatMessage.assistant("", *named)


def _tokens(message: ChatMessage) -> int:
    parts = (canonical(part.model_dump(mode="json", exclude_defaults=True)) for part in message.parts)
    return sum(map(len, parts)) // CHARS_PER_TOKEN + 1
