"""Requests in the form of Ollama's API. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentic.core.llm.adapting import (
    arguments_object,
    refused_part,
    result_text,
    spoken_text,
    text_of_data,
)
from agentic.core.llm.errors import BadModelRequestError
from agentic.core.llm.messages import ChatMessage, ChatRole, DataPart, TextPart, ThinkingPart
from agentic.core.llm.requests import ModelRequest, ToolDefinition

PROVIDER = "ollama"


def body_of(request: ModelRequest, model: str) -> dict[str, Any]:
    """Return the body of a request.

    Raises:
        BadModelRequestError: A part cannot be sent, or a call of a tool is demanded.
    """
    if request.tool_choice not in ("auto", "none"):
        raise BadModelRequestError(
            model, f"tool_choice {request.tool_choice!r}: Ollama cannot demand a call; use 'auto'"
        )
    given, extra = request.settings, dict(request.settings.extra)
    options = {
        "temperature": given.temperature,
        "top_p": given.top_p,
        "num_predict": given.max_tokens,
        "stop": list(given.stop) or None,
        "seed": given.seed,
    }
    more = extra.pop("options", None)
    found: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    body: dict[str, Any] = {
        "model": model.partition(":")[2],
        "messages": list(_messages(request, model)),
        "stream": True,
        "options": {**found, **(more if isinstance(more, dict) else {})},
    }
    if request.tools and request.tool_choice == "auto":
        body["tools"] = [_tool(tool) for tool in request.tools]
    if request.output is not None:
        body["format"] = request.output.schema_
    if given.thinking is not None:
        body["think"] = False if given.thinking == "off" else given.thinking
    return {**body, **extra}


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _messages(request: ModelRequest, model: str) -> Iterator[dict[str, Any]]:
    if request.instructions:
        yield {"role": "system", "content": request.instructions}
    for message in request.messages:
        match message.role:
            case ChatRole.SYSTEM:
                yield {"role": "system", "content": message.text}
            case ChatRole.USER:
                yield _user(message, model)
            case ChatRole.ASSISTANT:
                yield _assistant(message)
            case ChatRole.TOOL:
                for result in message.tool_results:
                    text = result_text(result, marks_errors=True)
                    yield {"role": "tool", "tool_name": result.name, "content": text}


def _user(message: ChatMessage, model: str) -> dict[str, Any]:
    texts, images = [message.text], list[str]()
    for part in message.parts:
        if isinstance(part, TextPart) or not isinstance(part, DataPart):
            continue
        if part.media_type.startswith("image/") and part.data is not None:
            images.append(part.data)
        elif (text := text_of_data(part)) is not None:
            texts.append(text)
        else:
            raise refused_part(model, part, "to Ollama: it reads texts, and images by their data")
    said = {"role": "user", "content": spoken_text(message, "\n\n".join(text for text in texts if text))}
    return {**said, **({"images": images} if images else {})}


def _assistant(message: ChatMessage) -> dict[str, Any]:
    found: dict[str, Any] = {"role": "assistant", "content": message.text}
    thoughts = [
        part.text
        for part in message.parts
        if isinstance(part, ThinkingPart) and PROVIDER in (part.opaque or {})
    ]
    if thoughts:
        found["thinking"] = "".join(thoughts)
    if message.tool_calls:
        found["tool_calls"] = [
            {"function": {"name": call.name, "arguments": arguments_object(call)}}
            for call in message.tool_calls
        ]
    return found
