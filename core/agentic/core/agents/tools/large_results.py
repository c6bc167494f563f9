"""Large results of tools: the model reads the beginning, and the rest by a tool of its own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from agentic.core.agents.errors import ToolArgumentsError
from agentic.core.agents.tools.tool import Tool, ToolContext
from agentic.core.llm.messages import ToolResult
from agentic.core.types import JSONValue

INLINE_CHARS = 32 * 1024
"""A longer result is cut in the conversation, and kept whole beside it."""

SHOWN_CHARS = 4_000
MOST_CHARS = 16_000
READ_RESULT = "read_result"

_PREFIX = "result."


def cut_result(result: ToolResult) -> tuple[ToolResult, dict[str, JSONValue]]:
    """Return a result as the model reads it, and the whole text as a note of the thread, if it was cut."""
    if isinstance(result.content, (int, float, type(None))):
        return result, {}
    text = (
        result.content if isinstance(result.content, str) else json.dumps(result.content, ensure_ascii=False)
    )
    if len(text) <= INLINE_CHARS:
        return result, {}
    name = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    shown = (
        f"{text[:SHOWN_CHARS]}\n... ({len(text)} characters; read on with "
        f"{READ_RESULT}(reference={name[:16]!r}, start={SHOWN_CHARS}))"
    )
    return result.model_copy(update={"content": shown, "reference": name}), {_PREFIX + name: text}


def large_results(notes: Mapping[str, JSONValue]) -> dict[str, str]:
    """Return the large results among the notes of a thread, by reference."""
    return {
        key.removeprefix(_PREFIX): text
        for key, text in notes.items()
        if key.startswith(_PREFIX) and isinstance(text, str)
    }


class ReadResult(Tool):
    """Reads a part of a large result; agents have it as soon as there is one.

    Args:
        results: The whole results, by reference.
    """

    def __init__(self, results: Mapping[str, str]) -> None:
        integer: dict[str, JSONValue] = {"type": "integer", "minimum": 0}
        super().__init__(
            READ_RESULT,
            "Read a part of a large result of a tool.",
            {
                "type": "object",
                "properties": {
                    "reference": {"type": "string", "description": "As the result names it."},
                    "start": {**integer, "description": "First character, from 0."},
                    "count": {**integer, "description": f"Characters, at most {MOST_CHARS}."},
                },
                "required": ["reference", "start"],
                "additionalProperties": False,
            },
        )
        self._results = results

    async def call(self, arguments: Mapping[str, JSONValue], context: ToolContext) -> JSONValue:
        """Return the part; see :class:`Tool`."""
        del context
        reference, start = arguments.get("reference"), arguments.get("start")
        count = arguments.get("count", MOST_CHARS)
        if not isinstance(reference, str) or not isinstance(start, int) or not isinstance(count, int):
            raise ToolArgumentsError("give reference as a text, and start and count as integers")
        found = [text for name, text in self._results.items() if reference and name.startswith(reference)]
        if len(found) != 1:
            raise ToolArgumentsError(f"no large result has the reference {reference!r}")
        begin = max(start, 0)
        part = found[0][begin : begin + min(max(count, 1), MOST_CHARS)]
        left = len(found[0]) - begin - len(part)
        return f"{part}\n... ({left} characters left)" if left > 0 else part
