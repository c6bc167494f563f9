"""Requests in the form of the Gemini API. Pure."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from google.genai import types

from agentic.core.llm.adapting import (
    FittedSchema,
    SchemaDialect,
    arguments_object,
    fit_schema,
    late_instructions,
    refused_part,
    split_instructions,
    spoken_text,
    text_of_data,
)
from agentic.core.llm.errors import BadModelRequestError
from agentic.core.llm.messages import (
    ChatMessage,
    ChatRole,
    DataPart,
    Part,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
)
from agentic.core.llm.requests import ModelRequest, ModelSettings

PROVIDER = "google"
# Gemini 3 refuses a first call without a signature; this value stands for a call of another model.
# https://ai.google.dev/gemini-api/docs/thought-signatures
NO_SIGNATURE = b"skip_thought_signature_validator"
READ = ("image/", "audio/", "video/", "application/pdf")
BUDGETS = {"off": 0, "low": 1_024, "medium": 8_192, "high": 24_576}
LEVELS = {"off": "MINIMAL", "low": "LOW", "medium": "MEDIUM", "high": "HIGH"}

# The list in the description of GenerateContentConfig.response_json_schema.
DIALECT = SchemaDialect(
    keywords=frozenset(
        {
            *("$defs", "$ref", "type", "format", "description", "enum", "items", "prefixItems", "minItems"),
            *("maxItems", "minimum", "maximum", "anyOf", "properties", "additionalProperties", "required"),
        }
    )
)


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request as it is sent.

    Attributes:
        contents: The conversation.
        config: Everything else.
        tools: The schemas of the tools, by name.
        output: The schema of the output.
    """

    contents: list[types.ContentUnionDict]
    config: types.GenerateContentConfig
    tools: Mapping[str, FittedSchema]
    output: FittedSchema | None


def sent_request(request: ModelRequest, model: str) -> SentRequest:
    """Return a request as the SDK wants it.

    Raises:
        BadModelRequestError: A part cannot be sent.
    """
    tools = {tool.name: fit_schema(tool.parameters, DIALECT) for tool in request.tools}
    output = fit_schema(request.output.schema_, DIALECT) if request.output else None
    texts, messages = split_instructions(request)
    config = types.GenerateContentConfig(
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        automatic_continuation=False,
        system_instruction="\n\n".join(texts) or None,
        **_settings(request.settings, model),
    )
    if request.tools:
        declared = [
            types.FunctionDeclaration(
                name=tool.name,
                description=tool.description or None,
                parameters_json_schema=tools[tool.name].schema,
            )
            for tool in request.tools
        ]
        config.tools = [types.Tool(function_declarations=declared)]
        config.tool_config = _choice(request.tool_choice)
    if output is not None:
        config.response_mime_type = "application/json"
        config.response_json_schema = output.schema
    return SentRequest([*_contents(messages, model)], config, tools, output)


def _settings(given: ModelSettings, model: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "temperature": given.temperature,
        "top_p": given.top_p,
        "max_output_tokens": given.max_tokens,
        "stop_sequences": list(given.stop) or None,
        "seed": given.seed,
    }
    if given.thinking is not None:
        asked: dict[str, Any] = {"thinking_level": LEVELS[given.thinking]}
        if model.partition(":")[2].startswith("gemini-2"):
            asked = {"thinking_budget": BUDGETS[given.thinking]}
        found["thinking_config"] = types.ThinkingConfig(include_thoughts=given.thinking != "off", **asked)
    return {name: value for name, value in found.items() if value is not None}


def _choice(choice: str) -> types.ToolConfig:
    modes = {
        "auto": types.FunctionCallingConfigMode.AUTO,
        "none": types.FunctionCallingConfigMode.NONE,
        "required": types.FunctionCallingConfigMode.ANY,
    }
    calling = types.FunctionCallingConfig(mode=modes.get(choice, types.FunctionCallingConfigMode.ANY))
    if choice not in modes:
        calling.allowed_function_names = [choice]
    return types.ToolConfig(function_calling_config=calling)


def _contents(messages: tuple[ChatMessage, ...], model: str) -> Iterator[types.Content]:
    """Yield the conversation: the API demands that results which belong together are one content."""
    results: list[types.Part] = []
    for message in messages:
        if message.role is ChatRole.TOOL:
            results += [_result(part) for part in message.tool_results]
            continue
        if results:
            yield types.Content(role="user", parts=results)
            results = []
        if parts := list(_parts(message, model)):
            role = "model" if message.role is ChatRole.ASSISTANT else "user"
            yield types.Content(role=role, parts=parts)
    if results:
        yield types.Content(role="user", parts=results)


def _parts(message: ChatMessage, model: str) -> Iterator[types.Part]:
    if message.role is ChatRole.SYSTEM:
        yield types.Part(text=late_instructions(message))
        return
    is_first_text, is_first_call = True, True
    for part in message.parts:
        made = _part(part, model)
        if isinstance(part, TextPart) and is_first_text:
            made, is_first_text = (
                _signed(types.Part(text=spoken_text(message, part.text)), part, model),
                False,
            )
        if isinstance(part, ToolCall):
            if made is not None and is_first_call and made.thought_signature is None:
                made.thought_signature = NO_SIGNATURE
            is_first_call = False
        if made is not None and (made.text or made.text is None or made.thought_signature):
            yield made


def _part(part: Part, model: str) -> types.Part | None:
    match part:
        case TextPart():
            return _signed(types.Part(text=part.text), part, model)
        case ThinkingPart():
            made = _signed(types.Part(text=part.text, thought=True), part, model)
            return made if made.thought_signature is not None else None
        case ToolCall():
            call = types.FunctionCall(id=part.id, name=part.name, args=arguments_object(part))
            return _signed(types.Part(function_call=call), part, model)
        case DataPart():
            return _data(part, model)
        case ToolResult():
            return _result(part)


def _signed(made: types.Part, part: Part, model: str) -> types.Part:
    kept = (part.opaque or {}).get(PROVIDER)
    if isinstance(kept, dict) and isinstance(signature := kept.get("signature"), str):
        made.thought_signature = _bytes(signature, model)
    return made


def _result(part: ToolResult) -> types.Part:
    name = "error" if part.is_error else "output"
    response = types.FunctionResponse(id=part.call_id, name=part.name, response={name: part.content})
    return types.Part(function_response=response)


def _data(part: DataPart, model: str) -> types.Part:
    if part.data is None:
        return types.Part(file_data=types.FileData(file_uri=part.url, mime_type=part.media_type))
    if part.media_type.startswith(READ):
        return types.Part(inline_data=types.Blob(data=_bytes(part.data, model), mime_type=part.media_type))
    if (text := text_of_data(part)) is not None:
        return types.Part(text=text)
    raise refused_part(model, part, "to this API: it reads images, sounds, videos, PDF and text")


def _bytes(text: str, model: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as exc:
        raise BadModelRequestError(model, f"the data of a part is not base64: {exc}") from None
