"""The words of A2A that both sides use, and plain values."""

from __future__ import annotations

from agentic.core.types import JSONValue

SEQUENCE = "urn:agentic-pipelines:a2a:sequence:1"
"""URI of our extension. Events and tasks have ``{"sequence": N}`` under it in their metadata: the cursor of a
reader. ``SubscribeToTask`` with the header ``Last-Event-ID: N`` sends the events after it, each once."""

CURSOR_HEADER = "last-event-id"

NATS_BINDING = "NATS"
"""Name of our protocol binding: requests to the subject of an agent, see :mod:`agentic.plugins.a2a.nats`."""

ANSWER = "answer"
"""Id of the artifact that has the text of an answer."""

COUNTS = (
    "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "thinking_tokens", "requests",
    "tool_calls",
)  # fmt: skip
"""The use of models that a caller reads: neither their names nor prices."""

OUTPUT = "output"
"""Id of the artifact that has the structured output."""


def plain(value: object) -> JSONValue:
    """Return a JSON value of protobuf, where every number is a float, with its whole numbers as such."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value if isinstance(value, (str, bool, int)) else None


def clean(text: str) -> str:
    """Return a text without half characters: protobuf refuses them."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def cleaned(value: JSONValue) -> JSONValue:
    """Return a JSON value whose texts are :func:`clean`."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(key): cleaned(one) for key, one in value.items()}
    return [cleaned(one) for one in value] if isinstance(value, list) else value
