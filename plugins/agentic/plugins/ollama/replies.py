"""Streams of Ollama's API, folded into replies. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict, ValidationError

from agentic.core.llm.adapting import failure_of, json_text, parse_failure
from agentic.core.llm.errors import CutReplyError, ModelError
from agentic.core.llm.folding import ReplyFold
from agentic.core.llm.requests import ModelDelta, ModelReply, StopReason, ToolCallChunk
from agentic.core.llm.usage import TokenUsage
from agentic.core.types import JSONValue
from agentic.plugins.ollama.requests import PROVIDER

MAX_LINE_BYTES = 32 * 1024 * 1024


class LongLineError(ValueError):
    """A line of a stream is longer than 32 MiB."""


class LineDecoder:
    """Finds lines in chunks of bytes; only LF ends one."""

    def __init__(self) -> None:
        self._waiting = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that end in this chunk.

        Raises:
            LongLineError: A line is too long.
        """
        self._waiting += chunk
        if len(self._waiting) > MAX_LINE_BYTES:
            raise LongLineError("a line of the stream is longer than 32 MiB")
        if b"\n" not in chunk:
            return []
        *lines, rest = bytes(self._waiting).split(b"\n")
        self._waiting = bytearray(rest)
        return [line for line in lines if line.strip()]

    def rest(self) -> bytes:
        """Return the last line, which has no end: it is whole only if the server leaves the end out."""
        return bytes(self._waiting)


def is_json(data: bytes) -> bool:
    """Whether bytes are a whole JSON value."""
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Function(_Part):
    name: str
    arguments: dict[str, JSONValue] | None = None


class _Call(_Part):
    id: str | None = None
    function: _Function


class _Message(_Part):
    content: str | None = None
    thinking: str | None = None
    tool_calls: list[_Call] | None = None


class _Line(_Part):
    model: str | None = None
    message: _Message | None = None
    error: JSONValue = None
    done: bool = False
    done_reason: str | None = None
    prompt_eval_count: int | None = None
    eval_count: int | None = None


class ReplyReader:
    """Reads the lines of one stream.

    Args:
        model: ``provider:name``, for errors.

    Attributes:
        is_done: Whether the reply is whole.
    """

    def __init__(self, model: str) -> None:
        self.model = model
        self.is_done = False
        self._fold = ReplyFold(model)
        self._call_count = 0
        self._has_thoughts = False
        self._last = _Line()

    def read(self, data: bytes) -> Iterator[ModelDelta]:
        """Yield the pieces of one line.

        Raises:
            ModelError: The server reports an error, or the line is not one of this API.
        """
        try:
            line = _Line.model_validate_json(data)
        except ValidationError as exc:
            fault = exc.errors(include_input=False, include_url=False)[0]
            where = ".".join(map(str, fault["loc"])) or "a line"
            raise ModelError(self.model, f"not an answer of Ollama's API: {where}: {fault['msg']}") from None
        if line.error is not None:
            raise failure_of(self.model, parse_failure(0, {}, data.decode(errors="replace")))
        if line.message is not None:
            for delta in self._deltas(line.message):
                self._fold.add(delta)
                yield delta
        if line.done:
            self.is_done, self._last = True, line

    def read_last(self, data: bytes) -> Iterator[ModelDelta]:
        """Yield the pieces of a line without an end.

        Raises:
            CutReplyError: The line was cut.
        """
        if not data.strip():
            return
        if data.startswith(b"{") and not is_json(data):
            raise CutReplyError(self.model, "its stream ended in the middle of a line")
        yield from self.read(data)

    def reply(self) -> ModelReply:
        """Return the whole reply.

        Raises:
            CutReplyError: The stream ended before.
        """
        if not self.is_done:
            raise CutReplyError(self.model, "its stream ended without a whole reply")
        if self._has_thoughts:
            self._fold.mark_thinking({PROVIDER: {}})
        last = self._last
        usage = TokenUsage(
            input_tokens=last.prompt_eval_count or 0,
            output_tokens=last.eval_count or 0,
            requests=1,
            cost_usd=None,
        )
        stop = StopReason.LENGTH if last.done_reason == "length" else StopReason.END
        return self._fold.reply(usage=usage, stop_reason=stop, model=last.model or "")

    def _deltas(self, message: _Message) -> Iterator[ModelDelta]:
        if message.thinking:
            self._has_thoughts = True
            yield ModelDelta(thinking=message.thinking)
        if message.content:
            yield ModelDelta(text=message.content)
        for call in message.tool_calls or ():
            yield ModelDelta(
                tool_call=ToolCallChunk(
                    index=self._call_count,
                    id=call.id or "",
                    name=call.function.name,
                    arguments=json_text(call.function.arguments or {}),
                )
            )
            self._call_count += 1
