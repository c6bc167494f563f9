"""Streams of the chat completions API, folded into replies. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from pydantic import BaseModel, ConfigDict, ValidationError

from agentic.core.llm.adapting import failure_of, parse_failure, restored_reply
from agentic.core.llm.errors import CutReplyError, ModelError, OverloadedError
from agentic.core.llm.folding import ReplyFold
from agentic.core.llm.requests import ModelDelta, ModelReply, StopReason, ToolCallChunk
from agentic.core.llm.usage import TokenUsage
from agentic.core.types import JSONValue
from agentic.plugins.openai.requests import PROVIDER, SentRequest

DONE = "[DONE]"
STOPS = {
    "stop": StopReason.END,
    "length": StopReason.LENGTH,
    "tool_calls": StopReason.TOOL_CALLS,
    "function_call": StopReason.TOOL_CALLS,
    "content_filter": StopReason.REFUSED,
}
# DeepSeek and OpenRouter break off with these.
FAULTS = frozenset({"insufficient_system_resource", "error"})


class _Model(BaseModel):
    # Servers add fields of their own, and leave others out.
    model_config = ConfigDict(extra="ignore")


class _Function(_Model):
    name: str | None = None
    arguments: str | None = None


class _Call(_Model):
    index: int | None = None
    id: str | None = None
    function: _Function = _Function()


class _Said(_Model):
    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[dict[str, JSONValue]] | None = None
    tool_calls: list[_Call] | None = None


class _Choice(_Model):
    delta: _Said | None = None
    message: _Said | None = None
    finish_reason: str | None = None


class _InputDetails(_Model):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _OutputDetails(_Model):
    reasoning_tokens: int | None = None


class _Usage(_Model):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _InputDetails | None = None
    completion_tokens_details: _OutputDetails | None = None


class _Chunk(_Model):
    id: str | None = None
    model: str | None = None
    choices: list[_Choice] = []
    usage: _Usage | None = None


class ReplyReader:
    """Reads the events of one stream.

    Args:
        model: ``provider:name``, for errors.
        host: The server, whose thoughts are marked with its name.
        sent: The request.

    Attributes:
        is_done: Whether the stream said that it ends.
    """

    def __init__(self, model: str, host: str, sent: SentRequest) -> None:
        self.model = model
        self.host = host
        self.sent = sent
        self.is_done = False
        self._fold = ReplyFold(model)
        self._calls: list[str] = []
        self._thoughts: dict[str, JSONValue] | None = None
        self._finish = ""
        self._is_refused = False
        self._usage: _Usage | None = None
        self._name = ""
        self._id: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether nothing of the reply is missing: the usage comes after the reply's end."""
        return bool(self._finish) and (self.is_done or self._usage is not None)

    def read(self, data: str) -> Iterator[ModelDelta]:
        """Yield the pieces of one event.

        Raises:
            ModelError: The server reports an error, or the event is not one of this API.
        """
        if data.strip() == DONE:
            self.is_done = True
            return
        chunk = self._parse(data)
        self._id = self._id or chunk.id
        self._name = self._name or chunk.model or ""
        self._usage = chunk.usage or self._usage
        for choice in chunk.choices[:1]:
            said = choice.delta or choice.message
            if said is not None:
                yield from self._read_said(said)
            if choice.finish_reason:
                self._finish = choice.finish_reason

    def read_whole(self, data: str) -> None:
        """Read an answer of a server that does not stream."""
        for _ in self.read(data):
            pass
        self.is_done = True

    def reply(self) -> ModelReply:
        """Return the whole reply.

        Raises:
            CutReplyError: The stream ended before.
        """
        if not self.is_whole:
            raise CutReplyError(self.model, "its stream ended without a whole reply")
        if self._finish in FAULTS:
            raise OverloadedError(self.model, f"it stopped with {self._finish!r}")
        if self._thoughts is not None:
            self._mark(self._thoughts)
        stop = StopReason.REFUSED if self._is_refused else STOPS.get(self._finish, StopReason.END)
        reply = self._fold.reply(usage=self._tokens(), stop_reason=stop, model=self._name, reply_id=self._id)
        return restored_reply(reply, self.sent.tools, self.sent.output)

    def _parse(self, data: str) -> _Chunk:
        if '"error"' in data and '"choices"' not in data:
            answer = parse_failure(0, {}, data)
            raise failure_of(self.model, answer)
        try:
            return _Chunk.model_validate_json(data)
        except ValidationError as exc:
            fault = exc.errors(include_input=False, include_url=False)[0]
            where = ".".join(map(str, fault["loc"])) or "the event"
            raise ModelError(
                self.model, f"not an answer of the chat completions API: {where}: {fault['msg']}"
            ) from None

    def _read_said(self, said: _Said) -> Iterator[ModelDelta]:
        yield from self._read_thoughts(said)
        if said.refusal:
            self._is_refused = True
        for text in (said.content, said.refusal):
            if text:
                yield self._add(ModelDelta(text=text))
        for call in said.tool_calls or ():
            yield self._add(ModelDelta(tool_call=self._call_chunk(call)))

    def _read_thoughts(self, said: _Said) -> Iterator[ModelDelta]:
        name = "reasoning_content" if said.reasoning_content else "reasoning"
        text = said.reasoning_content or said.reasoning
        if text or said.reasoning_details:
            kept = self._thoughts or {"host": self.host, "field": name}
            if said.reasoning_details:
                kept["details"] = [*cast(list[JSONValue], kept.get("details", [])), *said.reasoning_details]
            self._thoughts = kept
        if text:
            yield self._add(ModelDelta(thinking=text))

    def _mark(self, thoughts: dict[str, JSONValue]) -> None:
        self._fold.mark_thinking({PROVIDER: thoughts})

    def _add(self, delta: ModelDelta) -> ModelDelta:
        self._fold.add(delta)
        return delta

    def _call_chunk(self, call: _Call) -> ToolCallChunk:
        return ToolCallChunk(
            index=self._index(call),
            id=call.id or "",
            name=call.function.name or "",
            arguments=call.function.arguments or "",
        )

    def _index(self, call: _Call) -> int:
        """Return the position of a call. Some servers leave it out, or give each call the index 0."""
        last = len(self._calls) - 1
        index = call.index if call.index is not None else (last if not call.id else last + 1)
        if call.id and call.function.name and call.id not in self._calls and 0 <= index <= last:
            index = last + 1
        elif call.id in self._calls and call.id:
            return self._calls.index(call.id)
        while len(self._calls) <= index < len(self._calls) + 128:
            self._calls.append("")
        if call.id and 0 <= index < len(self._calls):
            self._calls[index] = self._calls[index] or call.id
        return max(index, 0)

    def _tokens(self) -> TokenUsage:
        found = self._usage or _Usage()
        inputs = found.prompt_tokens_details or _InputDetails()
        outputs = found.completion_tokens_details or _OutputDetails()
        return TokenUsage(
            input_tokens=found.prompt_tokens or 0,
            output_tokens=found.completion_tokens or 0,
            cache_read_tokens=inputs.cached_tokens or 0,
            cache_write_tokens=inputs.cache_write_tokens or 0,
            thinking_tokens=outputs.reasoning_tokens or 0,
            requests=1,
            cost_usd=None,
        )
