"""Streams of the Gemini API, folded into replies. Pure."""

from __future__ import annotations

import base64
from collections.abc import Iterator

from google.genai import types

from agentic.core.llm.adapting import clean, json_text, restored_reply
from agentic.core.llm.errors import (
    BadModelRequestError,
    ContentRefusedError,
    CutReplyError,
    OverloadedError,
    SchemaNotMetError,
)
from agentic.core.llm.folding import ReplyFold
from agentic.core.llm.requests import ModelDelta, ModelReply, StopReason, ToolCallChunk
from agentic.core.llm.usage import TokenUsage
from agentic.plugins.google.requests import PROVIDER, SentRequest

STOPS = {
    "STOP": StopReason.END,
    "MAX_TOKENS": StopReason.LENGTH,
    **dict.fromkeys(
        (
            *(
                "SAFETY",
                "RECITATION",
                "BLOCKLIST",
                "PROHIBITED_CONTENT",
                "SPII",
                "IMAGE_SAFETY",
                "MODEL_ARMOR",
            ),
            *("IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"),
        ),
        StopReason.REFUSED,
    ),
}
MALFORMED = frozenset(
    {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE"}
)


class ReplyReader:
    """Reads the chunks of one stream.

    Args:
        model: ``provider:name``, for errors.
        sent: The request.

    Attributes:
        is_done: Whether the reply is whole.
    """

    def __init__(self, model: str, sent: SentRequest) -> None:
        self.model = model
        self.sent = sent
        self._fold = ReplyFold(model)
        self._call_count = 0
        self._has_parts = False
        self._finish = ""
        self._said = ""
        self._usage: types.GenerateContentResponseUsageMetadata | None = None
        self._name = ""
        self._id: str | None = None

    @property
    def is_done(self) -> bool:
        """Whether the reply is whole."""
        return bool(self._finish)

    def read(self, chunk: types.GenerateContentResponse) -> Iterator[ModelDelta]:
        """Yield the pieces of one chunk.

        Raises:
            ContentRefusedError: The prompt was refused.
        """
        self._id = self._id or chunk.response_id
        self._name = self._name or chunk.model_version or ""
        self._usage = chunk.usage_metadata or self._usage
        if not chunk.candidates:
            if chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason is not None:
                why = chunk.prompt_feedback.block_reason_message or chunk.prompt_feedback.block_reason.value
                raise ContentRefusedError(self.model, clean(f"the prompt was refused: {why}"))
            return
        candidate = chunk.candidates[0]
        for part in (candidate.content.parts if candidate.content else None) or ():
            yield from self._read_part(part)
        if candidate.finish_reason is not None:
            self._finish = candidate.finish_reason.value
            self._said = candidate.finish_message or ""

    def reply(self) -> ModelReply:
        """Return the whole reply.

        Raises:
            CutReplyError: The stream ended before.
            SchemaNotMetError: The model wrote a call that is not one.
        """
        if not self.is_done:
            raise CutReplyError(self.model, "its stream ended without a whole reply")
        said = clean(f"it stopped with {self._finish}: {self._said or 'no explanation'}")
        if self._finish in MALFORMED:
            raise SchemaNotMetError(self.model, said)
        if self._finish == "MISSING_THOUGHT_SIGNATURE":
            raise BadModelRequestError(self.model, said)
        if self._finish not in STOPS and not self._has_parts:
            raise OverloadedError(self.model, said)
        stop = STOPS.get(self._finish, StopReason.END)
        reply = self._fold.reply(
            usage=_tokens(self._usage), stop_reason=stop, model=self._name, reply_id=self._id
        )
        return restored_reply(reply, self.sent.tools, self.sent.output)

    def _read_part(self, part: types.Part) -> Iterator[ModelDelta]:
        self._has_parts = True
        call: int | None = None
        if part.function_call is not None:
            call = self._call_count
            self._call_count += 1
            delta = ModelDelta(tool_call=_chunk(part.function_call, call))
        else:
            text = part.text or ""
            delta = ModelDelta(thinking=text) if part.thought else ModelDelta(text=text)
        if delta.tool_call or delta.text or delta.thinking:
            self._fold.add(delta)
            yield delta
        if part.thought_signature:
            if call is None and not part.text:  # a part of its own, which goes back as one
                self._fold.begin("thinking" if part.thought else "text")
            signature = base64.b64encode(part.thought_signature).decode()
            self._fold.mark({PROVIDER: {"signature": signature}}, call=call)


def _chunk(call: types.FunctionCall, index: int) -> ToolCallChunk:
    return ToolCallChunk(
        index=index, id=call.id or "", name=call.name or "", arguments=json_text(call.args or {})
    )


def _tokens(found: types.GenerateContentResponseUsageMetadata | None) -> TokenUsage:
    """Return the counts; the count of the candidates leaves thoughts out."""
    found = found or types.GenerateContentResponseUsageMetadata()
    thinking = found.thoughts_token_count or 0
    return TokenUsage(
        input_tokens=(found.prompt_token_count or 0) + (found.tool_use_prompt_token_count or 0),
        output_tokens=(found.candidates_token_count or 0) + thinking,
        cache_read_tokens=found.cached_content_token_count or 0,
        thinking_tokens=thinking,
        requests=1,
        cost_usd=None,
    )
