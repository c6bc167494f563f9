"""Results of a server's tools, as a model reads them."""

from __future__ import annotations

import json
from typing import cast

from mcp import types

from agentic.core.agents import ToolError
from agentic.core.types import JSONValue

MAX_BYTES = 4 * 1024 * 1024
"""Of a result; a larger one is refused."""


def value_of(result: types.CallToolResult) -> JSONValue:
    """Return the value of a result.

    It is the structured content, else the text; other content is named. A structured content that is only a
    ``result`` is unpacked: servers wrap values so, because objects alone are allowed there.

    Raises:
        ToolError: The tool failed; the model reads its words.
    """
    if result.is_error:
        raise ToolError(_text(result) or "the tool failed, and did not say why")
    structured = cast(JSONValue, result.structured_content)
    if structured is not None:
        is_wrapped = isinstance(structured, dict) and structured.keys() == {"result"}
        return _bounded(structured["result"] if is_wrapped and isinstance(structured, dict) else structured)
    return _bounded(_text(result))


def _bounded(value: JSONValue) -> JSONValue:
    size = len(value if isinstance(value, str) else json.dumps(value))
    if size > MAX_BYTES:
        raise ToolError(f"the result has {size} characters; at most {MAX_BYTES} are read. Ask for less")
    return value


def _text(result: types.CallToolResult) -> str:
    return "\n".join(filter(None, map(_block, result.content)))


def _block(block: types.ContentBlock) -> str:
    match block:
        case types.TextContent():
            return block.text
        case types.ImageContent() | types.AudioContent():
            return f"[{block.type} {block.mime_type}, {len(block.data) * 3 // 4} bytes, not shown]"
        case types.ResourceLink():
            return f"[resource {block.name}: {block.uri}]"
        case types.EmbeddedResource(resource=types.TextResourceContents() as resource):
            return resource.text
        case _:
            return f"[resource {block.resource.uri}, not shown]"
