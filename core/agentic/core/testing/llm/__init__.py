"""The contract of adapters to models, over a server that speaks their API."""

from __future__ import annotations

from agentic.core.testing.llm.contract import LLMAdapterContract
from agentic.core.testing.llm.server import (
    KEY,
    ModelServer,
    ModelWire,
    WireAnswer,
    WireRequest,
    pieces_of_text,
    serving,
    sse,
)

__all__ = [
    "KEY",
    "LLMAdapterContract",
    "ModelServer",
    "ModelWire",
    "WireAnswer",
    "WireRequest",
    "pieces_of_text",
    "serving",
    "sse",
]
