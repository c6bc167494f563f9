"""Replies that must be JSON of a schema: the ways to bind a model to it, and to read its reply."""

from __future__ import annotations

import json

from agentic.core.llm.adapter import StructuredMode
from agentic.core.llm.messages import ChatMessage
from agentic.core.llm.requests import ModelRequest, OutputFormat, ToolDefinition
from agentic.core.types import JSONValue

OUTPUT_TOOL = "final_output"


def bind_schema(
    request: ModelRequest, schema: dict[str, JSONValue], mode: StructuredMode, *, name: str = "output"
) -> ModelRequest:
    """Return a request whose reply must fit a JSON Schema of an object.

    Args:
        request: The request.
        schema: Of an object.
        mode: How the model is bound.
        name: Of the schema; characters that providers refuse are replaced.
    """
    if mode == "native":
        form = OutputFormat(name=_word(name), schema=schema)
        return request.model_copy(update={"output": form})
    if mode == "tool":
        tool = ToolDefinition(
            name=OUTPUT_TOOL,
            description="Give the final answer. Call it once, alone, at the end.",
            parameters=schema,
        )
        choice = "required" if request.tool_choice == "auto" else request.tool_choice
        return request.model_copy(update={"tools": (*request.tools, tool), "tool_choice": choice})
    words = (
        "Give the final answer as one JSON object that fits this JSON Schema, and nothing else:\n"
        f"{json.dumps(schema, separators=(',', ':'))}"
    )
    joined = f"{request.instructions}\n\n{words}".strip()
    return request.model_copy(update={"instructions": joined})


def read_json(message: ChatMessage) -> JSONValue:
    """Return the JSON of a final message: of its output tool, or else in its text.

    Raises:
        ValueError: It has none; the text is for the model.
    """
    for call in message.tool_calls:
        if call.name == OUTPUT_TOOL:
            if call.invalid is not None:
                raise ValueError("the arguments are not a JSON object")
            return dict(call.arguments)
    text = message.text.strip()
    if text.startswith("```"):
        text = text.partition("\n")[2].rpartition("```")[0].strip()
    decoder = json.JSONDecoder()
    start = max(text.find("{"), 0)  # models like to add words before and after
    try:
        found: JSONValue = decoder.raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        raise ValueError("the answer is not valid JSON") from None
    return found


def _word(name: str) -> str:
    kept = "".join(char if char.isascii() and (char.isalnum() or char in "_-") else "_" for char in name)
    return kept[:64] or "output"
