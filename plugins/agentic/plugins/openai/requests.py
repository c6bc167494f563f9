"""Requests in the form of the chat completions API. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentic.core.llm.adapting import (
    Access,
    FittedSchema,
    SchemaDialect,
    arguments_text,
    fit_schema,
    refused_part,
    result_text,
    spoken_text,
    text_of_data,
)
from agentic.core.llm.messages import ChatMessage, ChatRole, DataPart, TextPart, ThinkingPart
from agentic.core.llm.requests import ModelRequest, OutputFormat, ToolDefinition

PROVIDER = "openai"
AUDIO = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}

# https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
STRICT = SchemaDialect(
    keywords=frozenset(
        {
            *("type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf"),
            *("$ref", "$defs", "description", "pattern", "format", "multipleOf", "minItems", "maxItems"),
            *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
        }
    ),
    formats=frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}),
    is_closed=True,
    requires_all=True,
)


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request as it is sent.

    Attributes:
        body: The arguments of the SDK.
        tools: Schemas that are enforced, by the names of the tools.
        output: The schema that is enforced for the output.
    """

    body: dict[str, Any]
    tools: Mapping[str, FittedSchema]
    output: FittedSchema | None


def body_of(request: ModelRequest, model: str, access: Access) -> SentRequest:
    """Return a request as the SDK wants it.

    Raises:
        BadModelRequestError: A part cannot be sent.
    """
    fitted = {tool.name: fit_schema(tool.parameters, STRICT) for tool in request.tools if tool.is_strict}
    strict = {name: schema for name, schema in fitted.items() if schema.is_exact}
    output = fit_schema(request.output.schema_, STRICT) if request.output else None
    body: dict[str, Any] = {
        "model": model.partition(":")[2],
        "messages": list(_messages(request, model, access)),
        "stream_options": {"include_usage": True},
        **_settings(request, access),
    }
    if request.tools:
        body["tools"] = [_tool(tool, strict.get(tool.name)) for tool in request.tools]
        body["tool_choice"] = _choice(request.tool_choice)
        if request.settings.parallel_tool_calls is not None:
            body["parallel_tool_calls"] = request.settings.parallel_tool_calls
    if request.output is not None and output is not None:
        body["response_format"] = _format(request.output, output)
    return SentRequest(body, strict, output if output is not None and output.is_exact else None)


def _settings(request: ModelRequest, access: Access) -> dict[str, Any]:
    given = request.settings
    found: dict[str, Any] = {
        "temperature": given.temperature,
        "top_p": given.top_p,
        # OpenAI's newer models refuse max_tokens; most other servers know nothing else.
        "max_completion_tokens" if access.is_home else "max_tokens": given.max_tokens,
        "stop": list(given.stop) or None,
        "seed": given.seed,
        "reasoning_effort": "none" if given.thinking == "off" else given.thinking,
    }
    return {name: value for name, value in found.items() if value is not None}


def _choice(choice: str) -> str | dict[str, Any]:
    if choice in ("auto", "none", "required"):
        return choice
    return {"type": "function", "function": {"name": choice}}


def _tool(tool: ToolDefinition, strict: FittedSchema | None) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": strict.schema if strict else tool.parameters,
            "strict": strict is not None,
        },
    }


def _format(output: OutputFormat, fitted: FittedSchema) -> dict[str, Any]:
    described = {"description": output.description} if output.description else {}
    schema = fitted.schema if fitted.is_exact else output.schema_
    named = {"name": output.name, **described, "schema": schema, "strict": fitted.is_exact}
    return {"type": "json_schema", "json_schema": named}


def _messages(request: ModelRequest, model: str, access: Access) -> Iterator[dict[str, Any]]:
    if request.instructions:
        yield {"role": "system", "content": request.instructions}
    for message in request.messages:
        match message.role:
            case ChatRole.SYSTEM:
                yield {"role": "system", "content": message.text}
            case ChatRole.USER:
                yield {"role": "user", "content": _contents(message, model)}
            case ChatRole.ASSISTANT:
                yield _assistant(message, access)
            case ChatRole.TOOL:
                for result in message.tool_results:
                    content = result_text(result, marks_errors=True)
                    yield {"role": "tool", "tool_call_id": result.call_id, "content": content}


def _assistant(message: ChatMessage, access: Access) -> dict[str, Any]:
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": arguments_text(call)},
        }
        for call in message.tool_calls
    ]
    said = {"role": "assistant", "content": message.text or (None if calls else "")}
    return {**said, **({"tool_calls": calls} if calls else {}), **_thoughts(message, access)}


def _thoughts(message: ChatMessage, access: Access) -> dict[str, Any]:
    """Return thoughts in the field they came in: DeepSeek, vLLM and OpenRouter each have their own."""
    marks = ((part.opaque or {}).get(PROVIDER) for part in message.parts if isinstance(part, ThinkingPart))
    kept = next((mark for mark in marks if isinstance(mark, dict)), {})
    if kept.get("host") != access.host:
        return {}
    if "details" in kept:
        return {"reasoning_details": kept["details"]}
    return {str(kept["field"]): message.thinking}


def _contents(message: ChatMessage, model: str) -> str | list[dict[str, Any]]:
    if all(isinstance(part, TextPart) for part in message.parts):
        return spoken_text(message, message.text)
    found: list[dict[str, Any]] = []
    for part in message.parts:
        if isinstance(part, TextPart):
            text = part.text if found else spoken_text(message, part.text)
            found.append({"type": "text", "text": text})
        elif isinstance(part, DataPart):
            found.append(_data(part, model))
    return found


def _data(part: DataPart, model: str) -> dict[str, Any]:
    inline = f"data:{part.media_type};base64,{part.data}"
    if part.media_type.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": part.url or inline}}
    if part.data is None:
        raise refused_part(model, part, "by its URL; pass its data")
    if part.media_type in AUDIO:
        return {"type": "input_audio", "input_audio": {"data": part.data, "format": AUDIO[part.media_type]}}
    if part.media_type == "application/pdf":
        return {"type": "file", "file": {"filename": part.name or "file.pdf", "file_data": inline}}
    if (text := text_of_data(part)) is not None:
        return {"type": "text", "text": text}
    raise refused_part(model, part, "to this API: it reads images, PDF, WAV, MP3 and text")
