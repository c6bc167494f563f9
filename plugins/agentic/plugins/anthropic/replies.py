"""Streams of the Messages API, folded into replies. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from anthropic.types import (
    MessageDeltaUsage,
    RawContentBlockDeltaEvent,
    RawContentBlockStartEvent,
    RawContentBlockStopEvent,
    RawMessageDeltaEvent,
    RawMessageStartEvent,
    RawMessageStopEvent,
    RawMessageStreamEvent,
    Usage,
)

from agentic.core.llm.adapting import FailedAnswerError, parse_failure, restored_reply
from agentic.core.llm.errors import CutReplyError
from agentic.core.llm.folding import ReplyFold
from agentic.core.llm.requests import ModelDelta, ModelReply, StopReason, ToolCallChunk
from agentic.core.llm.usage import TokenUsage
from agentic.plugins.anthropic.requests import PROVIDER, SentRequest

STOPS = {
    "end_turn": StopReason.END,
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "stop_sequence": StopReason.STOP_SEQUENCE,
    "tool_use": StopReason.TOOL_CALLS,
    "refusal": StopReason.REFUSED,
}

_EVENTS: Mapping[object, type[RawMessageStreamEvent]] = {
    "message_start": RawMessageStartEvent,
    "content_block_start": RawContentBlockStartEvent,
    "content_block_delta": RawContentBlockDeltaEvent,
    "content_block_stop": RawContentBlockStopEvent,
    "message_delta": RawMessageDeltaEvent,
    "message_stop": RawMessageStopEvent,
}


class UnreadableEventError(ValueError):
    """An event of a stream is not a JSON object."""


def event_of(data: str, headers: Mapping[str, str]) -> RawMessageStreamEvent | None:
    """Return an event from its data; None if its type is not known.

    Raises:
        FailedAnswerError: The server reports an error.
        UnreadableEventError: It is not a JSON object.
    """
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise UnreadableEventError(f"an event of the stream is not a JSON object: {data[:200]!r}")
    if found.get("type") == "error":
        raise FailedAnswerError(parse_failure(0, headers, data))
    kind = _EVENTS.get(found.get("type"))
    # As the SDK does it: fields that this version does not know are kept, and none is checked.
    return None if kind is None else kind.construct(**found)


class ReplyReader:
    """Reads the events of one stream.

    Args:
        model: ``provider:name``, for errors.
        sent: The request.

    Attributes:
        is_done: Whether the reply is whole.
    """

    def __init__(self, model: str, sent: SentRequest) -> None:
        self.model = model
        self.sent = sent
        self.is_done = False
        self._fold = ReplyFold(model)
        self._calls: dict[int, int] = {}
        self._signature = ""
        self._stop = ""
        self._explanation = ""
        self._has_text = False
        self._start: RawMessageStartEvent | None = None
        self._usage: MessageDeltaUsage | None = None

    def read(self, event: RawMessageStreamEvent) -> Iterator[ModelDelta]:
        """Yield the pieces of one event; unknown events and blocks are left out."""
        match event.type:
            case "message_start":
                self._start = event
            case "content_block_start":
                yield from self._begin(event)
            case "content_block_delta":
                yield from self._add(event)
            case "content_block_stop":
                if self._signature:
                    self._fold.mark({PROVIDER: {"signature": self._signature}})
                    self._signature = ""
            case "message_delta":
                self._end(event)
            case "message_stop":
                self.is_done = True

    def reply(self) -> ModelReply:
        """Return the whole reply.

        Raises:
            CutReplyError: The stream ended before.
        """
        if not self.is_done or self._start is None:
            raise CutReplyError(self.model, "its stream ended without a whole reply")
        stop = STOPS.get(self._stop, StopReason.END)
        if stop is StopReason.REFUSED and not self._has_text and self._explanation:
            self._fold.add(ModelDelta(text=self._explanation))
        message = self._start.message
        reply = self._fold.reply(
            usage=_tokens(message.usage, self._usage),
            stop_reason=stop,
            model=message.model,
            reply_id=message.id,
        )
        return restored_reply(reply, self.sent.tools, self.sent.output)

    def _begin(self, event: RawContentBlockStartEvent) -> Iterator[ModelDelta]:
        block = event.content_block
        match block.type:
            case "text":
                self._fold.begin("text")
                yield from self._said(ModelDelta(text=block.text))
            case "thinking":
                self._fold.begin("thinking")
                self._signature = block.signature or ""
                yield from self._said(ModelDelta(thinking=block.thinking))
            case "redacted_thinking":
                self._fold.begin("thinking")
                self._fold.mark({PROVIDER: {"redacted": block.data}})
            case "tool_use":
                index = self._calls[event.index] = len(self._calls)
                chunk = ToolCallChunk(index=index, id=block.id, name=block.name)
                yield from self._said(ModelDelta(tool_call=chunk))
            case _:
                return

    def _add(self, event: RawContentBlockDeltaEvent) -> Iterator[ModelDelta]:
        delta = event.delta
        match delta.type:
            case "text_delta":
                yield from self._said(ModelDelta(text=delta.text))
            case "thinking_delta":
                yield from self._said(ModelDelta(thinking=delta.thinking))
            case "signature_delta":
                self._signature += delta.signature
            case "input_json_delta" if event.index in self._calls:
                chunk = ToolCallChunk(index=self._calls[event.index], arguments=delta.partial_json)
                yield from self._said(ModelDelta(tool_call=chunk))
            case _:
                return

    def _said(self, delta: ModelDelta) -> Iterator[ModelDelta]:
        self._fold.add(delta)
        self._has_text = self._has_text or bool(delta.text)
        if delta.text or delta.thinking or delta.tool_call:
            yield delta

    def _end(self, event: RawMessageDeltaEvent) -> None:
        self._usage = event.usage
        self._stop = event.delta.stop_reason or self._stop
        if event.delta.stop_details is not None:
            self._explanation = event.delta.stop_details.explanation or ""


def _tokens(start: Usage, end: MessageDeltaUsage | None) -> TokenUsage:
    """Return the counts at the end; they may leave out the counts of the request, which are at the start."""
    last = end or start
    written = last.cache_creation_input_tokens or start.cache_creation_input_tokens or 0
    read = last.cache_read_input_tokens or start.cache_read_input_tokens or 0
    fresh = last.input_tokens if last.input_tokens is not None else start.input_tokens
    return TokenUsage(
        input_tokens=fresh + written + read,
        output_tokens=last.output_tokens,
        cache_read_tokens=read,
        cache_write_tokens=written,
        thinking_tokens=last.output_tokens_details.thinking_tokens if last.output_tokens_details else 0,
        requests=1,
        cost_usd=None,
    )
