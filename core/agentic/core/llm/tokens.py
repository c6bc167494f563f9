"""Estimates of tokens: by the size of a text, corrected by the counts that the provider reports."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

from agentic.core.llm.messages import (
    ChatMessage,
    DataPart,
    Part,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
)
from agentic.core.llm.requests import ModelRequest, ToolDefinition
from agentic.core.llm.usage import TokenUsage
from agentic.core.types import JSONValue

BYTES_PER_TOKEN = 3.5
"""Before the first report. English text has about 4.5, JSON 3, code 3, Chinese 4 (of 3 for a character)."""

MESSAGE_TOKENS = 4
"""Of the role and the borders of a message; the borders of parts are in the ratio."""

DATA_TOKENS = 1_600
"""Of an image or a file: its real number is not known, and an image of a megapixel has as many."""

MIN_LEARNT_BYTES = 400
"""Shorter requests say more of the frame that a provider puts around them than of their text."""

MAX_MODELS = 256

_LOWEST, _HIGHEST = 1.0, 8.0
_RISE = 0.1


class Tokenizer(Protocol):
    """Counts the tokens of a text exactly, such as a wrapper of ``tiktoken``."""

    def count(self, text: str) -> int:
        """Return the number of tokens."""
        ...


class TokenEstimator:
    """Estimates the tokens of messages and requests, and learns from reports, for each model.

    The size of a text is its length in UTF-8: a token has 3 to 5 bytes in all languages, but from 0.7 to 5
    characters. The estimate stays on the high side: a report of more tokens than expected counts at once, one
    of fewer by a tenth.

    Args:
        tokenizer: Counts instead, if given; nothing is learnt then.
    """

    def __init__(self, tokenizer: Tokenizer | None = None) -> None:
        self._tokenizer = tokenizer
        self._bytes_per_token: OrderedDict[str, float] = OrderedDict()

    def bytes_per_token(self, model: str) -> float:
        """Return the bytes of a token of a model (``provider:model``), as learnt so far."""
        return self._bytes_per_token.get(model, BYTES_PER_TOKEN)

    def text_tokens(self, text: str, model: str = "") -> int:
        """Return the tokens of a text."""
        if self._tokenizer is not None:
            return self._tokenizer.count(text)
        return _ceil(text_bytes(text) / self.bytes_per_token(model))

    def message_tokens(self, message: ChatMessage, model: str = "") -> int:
        """Return the tokens of a message."""
        return self._tokens((message,), (), model)

    def request_tokens(self, request: ModelRequest, model: str = "") -> int:
        """Return the input tokens of a request."""
        return self._tokens(request.messages, _other_texts(request), model)

    def learn(self, request: ModelRequest, usage: TokenUsage, model: str) -> None:
        """Correct the estimate by the usage that a provider reported for a request."""
        if self._tokenizer is not None or usage.input_tokens == 0:
            return
        size_bytes, fixed_tokens = _measured(request.messages, _other_texts(request), text_bytes)
        if size_bytes < MIN_LEARNT_BYTES or fixed_tokens > MESSAGE_TOKENS * (len(request.messages) + 1):
            return
        seen = size_bytes / max(usage.input_tokens - fixed_tokens, 1)
        self._keep(model, min(max(seen, _LOWEST), _HIGHEST))

    def _keep(self, model: str, seen: float) -> None:
        known = self._bytes_per_token.get(model)
        risen = seen if known is None or seen < known else known + _RISE * (seen - known)
        self._bytes_per_token[model] = risen
        self._bytes_per_token.move_to_end(model)
        if len(self._bytes_per_token) > MAX_MODELS:
            self._bytes_per_token.popitem(last=False)

    def _tokens(self, messages: tuple[ChatMessage, ...], texts: tuple[str, ...], model: str) -> int:
        if self._tokenizer is not None:
            counted, fixed_tokens = _measured(messages, texts, self._tokenizer.count)
            return counted + fixed_tokens
        size_bytes, fixed_tokens = _measured(messages, texts, text_bytes)
        return _ceil(size_bytes / self.bytes_per_token(model)) + fixed_tokens


def text_bytes(text: str) -> int:
    """Return the size of a text in UTF-8, also of one with lone surrogates."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _measured(
    messages: tuple[ChatMessage, ...], texts: tuple[str, ...], measure: Callable[[str], int]
) -> tuple[int, int]:
    """Return the sum of all texts, and the tokens that do not depend on a text."""
    total = sum(map(measure, texts))
    fixed_tokens = MESSAGE_TOKENS * (len(messages) + bool(texts))
    for message in messages:
        for part in message.parts:
            if isinstance(part, DataPart):
                fixed_tokens += DATA_TOKENS
            else:
                total += measure(_text_of(part))
    return total, fixed_tokens


def _text_of(part: Part) -> str:
    match part:
        case TextPart() | ThinkingPart():
            return part.text
        case ToolCall():
            return part.name + (_written(part.arguments) if part.invalid is None else part.invalid)
        case ToolResult():
            return part.content if isinstance(part.content, str) else _written(part.content)
        case DataPart():
            return ""


def _other_texts(request: ModelRequest) -> tuple[str, ...]:
    texts = [request.instructions, *map(_text_of_tool, request.tools)]
    if request.output is not None:
        texts.append(_written(request.output.schema_))
    return tuple(text for text in texts if text)


def _text_of_tool(tool: ToolDefinition) -> str:
    return f"{tool.name} {tool.description} {_written(tool.parameters)}"


def _written(value: JSONValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def _ceil(number: float) -> int:
    return -int(-number // 1)
