"""Folds the pieces of a streamed reply into the whole reply."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from secrets import token_hex
from typing import Literal, Never

from agentic.core.llm.errors import CutReplyError
from agentic.core.llm.messages import ChatMessage, ChatRole, Part, TextPart, ThinkingPart, ToolCall
from agentic.core.llm.nesting import is_too_deep
from agentic.core.llm.prices import price_of, priced
from agentic.core.llm.requests import ModelDelta, ModelReply, StopReason
from agentic.core.llm.usage import TokenUsage
from agentic.core.types import JSONValue


class ReplyFold:
    """Collects the pieces of one reply; for adapters.

    Text, thoughts and calls are ordered by their beginning.

    Args:
        model: ``provider:name``, for errors.
    """

    def __init__(self, model: str) -> None:
        self.model = model
        self._parts: list[_Text | _Call] = []
        self._calls: dict[int, _Call] = {}

    def add(self, delta: ModelDelta) -> None:
        """Take one piece."""
        if delta.restarted:
            self._parts.clear()
            self._calls.clear()
        if delta.thinking:
            self._text("thinking").pieces.append(delta.thinking)
        if delta.text:
            self._text("text").pieces.append(delta.text)
        if (chunk := delta.tool_call) is not None:
            call = self._calls.get(chunk.index)
            if call is None:
                call = self._calls[chunk.index] = _Call()
                self._parts.append(call)
            call.id = call.id or chunk.id
            call.name = call.name or chunk.name
            call.pieces.append(chunk.arguments)

    def begin(self, kind: Literal["text", "thinking"]) -> None:
        """Begin a new part, even after one of the same kind; it is left out if it stays empty."""
        self._parts.append(_Text(kind))

    def mark(self, opaque: Mapping[str, JSONValue], *, call: int | None = None) -> None:
        """Keep data that the provider wants back, with the call of that index, or with the last part."""
        part = self._calls.get(call) if call is not None else (self._parts[-1] if self._parts else None)
        if part is None:
            part = self._text("thinking")
        part.opaque = {**(part.opaque or {}), **opaque}

    def mark_thinking(self, opaque: Mapping[str, JSONValue]) -> None:
        """Keep data that the provider wants back with its thoughts: with their first part, perhaps empty."""
        part = next((one for one in self._parts if isinstance(one, _Text) and one.kind == "thinking"), None)
        if part is None:
            part = _Text("thinking")
            self._parts.insert(0, part)
        part.opaque = {**(part.opaque or {}), **opaque}

    def reply(
        self,
        *,
        usage: TokenUsage,
        stop_reason: StopReason,
        model: str = "",
        reply_id: str | None = None,
    ) -> ModelReply:
        """Return the whole reply.

        A cost that ``usage`` does not give is computed by the price of the model, if it is known.

        Raises:
            CutReplyError: A call has no name.
        """
        parts = tuple(part.whole(self.model) for part in self._parts if not part.is_empty)
        if stop_reason is StopReason.END and self._calls:
            stop_reason = StopReason.TOOL_CALLS
        message = ChatMessage(role=ChatRole.ASSISTANT, parts=parts)
        paid = priced(usage, price_of(self.model, usage))
        return ModelReply(message=message, usage=paid, stop_reason=stop_reason, model=model, id=reply_id)

    def _text(self, kind: str) -> _Text:
        last = self._parts[-1] if self._parts else None
        if isinstance(last, _Text) and last.kind == kind and last.opaque is None:
            return last
        made = _Text(kind)
        self._parts.append(made)
        return made


class _Text:
    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.pieces: list[str] = []
        self.opaque: dict[str, JSONValue] | None = None

    @property
    def is_empty(self) -> bool:
        return self.opaque is None and not any(self.pieces)

    def whole(self, _: str) -> Part:
        cls = TextPart if self.kind == "text" else ThinkingPart
        return cls(text="".join(self.pieces), opaque=self.opaque)


class _Call:
    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.pieces: list[str] = []
        self.opaque: dict[str, JSONValue] | None = None

    @property
    def is_empty(self) -> bool:
        return False

    def whole(self, model: str) -> Part:
        if not self.name:
            raise CutReplyError(model, "a call of a tool has no name")
        # Gemini and Ollama give no ids, and an id is used once in a conversation.
        return tool_call(self.id or f"call_{token_hex(12)}", self.name, "".join(self.pieces), self.opaque)


def tool_call(
    call_id: str, name: str, arguments: str, opaque: Mapping[str, JSONValue] | None = None
) -> ToolCall:
    """Return a call whose arguments are JSON text; text that is not an object is kept as ``invalid``."""
    try:
        found = _read(arguments) if arguments.strip() else {}
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, dict) and not is_too_deep(found):
        return ToolCall(id=call_id, name=name, arguments=found, opaque=opaque)
    return ToolCall(id=call_id, name=name, invalid=arguments, opaque=opaque)


def _read(text: str) -> JSONValue:
    found: JSONValue = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    return found


def _finite(number: str) -> float:
    found = float(number)
    return found if isfinite(found) else _refuse(number)


def _refuse(constant: str) -> Never:
    raise ValueError(f"{constant} is not JSON, and databases refuse it")
