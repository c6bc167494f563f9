"""A model whose streams are scripted piece by piece."""

from __future__ import annotations

import stat
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from agentic.core.llm import ChatMessage, LLMAdapter, ModelDelta, ModelReply, ModelRequest, TokenUsage

Piece = str | Exception | Callable[[], object]
"""A text, an error to raise, or a function to call between two pieces."""


class PiecewiseModel(LLMAdapter):
    """Streams each line piece by piece; its whole reply is the text of its pieces.

    Attributes:
        requests: The requests so far.
        closed_count: Streams that ended or were closed.
    """

    def __init__(self, *lines: list[Piece], name: str = "piecewise:model") -> None:
        self.name = name
        self.requests: list[ModelRequest] = []
        self.closed_count = 0
        self._lines = lines

    def cost_of(self, usage: TokenUsage) -> float:
        """Return a micro-dollar for a token."""
        return usage.total_tokens / 1e6

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        """Yield the pieces of the next line."""
        self.requests.append(request)
        text = ""
        try:
            for piece in self._lines[len(self.requests) - 1]:
                if isinstance(piece, Exception):
                    raise piece
                if isinstance(piece, str):
                    text += piece
                    yield ModelDelta(text=piece)
                else:
                    piece()
            usage = TokenUsage(input_tokens=10, output_tokens=5, requests=1, cost_usd=15e-6)
            yield ModelDelta(reply=ModelReply(message=ChatMessage.assistant(text), usage=usage))
        finally:
            self.closed_count += 1


def asked(text: str = "Hello?") -> ModelRequest:
    return ModelRequest(messages=(ChatMessage.user(text),))


async def shown(model: LLMAdapter, request: ModelRequest | None = None) -> list[str]:
    """Return the pieces of a stream as texts: ``<restarted>`` and ``<reply: ...>`` for those without text."""
    return [shown_delta(delta) async for delta in model.stream(request or asked())]


def shown_delta(delta: ModelDelta) -> str:
    if delta.restarted:
        return "<restarted>"
    return delta.text if delta.reply is None else f"<reply: {delta.reply.text}>"


def mode_of(path: Path) -> int:
    """Return the permissions of a file."""
    return stat.S_IMODE(path.stat().st_mode)


def list_files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())
