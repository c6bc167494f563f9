"""Requests in the form of the Messages API. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentic.core.llm.adapting import (
    FittedSchema,
    SchemaDialect,
    arguments_object,
    fit_schema,
    late_instructions,
    refused_part,
    result_text,
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
from agentic.core.llm.requests import ModelRequest, ToolDefinition
from agentic.core.types import JSONValue

PROVIDER = "anthropic"
DEFAULT_MAX_TOKENS = 16_000
"""The API demands a limit; this one leaves room for thoughts."""

CACHED: dict[str, Any] = {"type": "ephemeral"}
CACHED_TURNS = 2
IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})

# https://platform.claude.com/docs/en/build-with-claude/structured-outputs
STRICT = SchemaDialect(
    keywords=frozenset(
        {
            *("type", "properties", "required", "additionalProperties", "items", "enum", "const"),
            *("anyOf", "allOf", "$ref", "$defs", "description", "format"),
        }
    ),
    formats=frozenset(
        {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
    ),
    is_closed=True,
    has_recursion=False,
)
# Limits of one request, over all of its strict schemas; see the page above.
MAX_STRICT_TOOLS = 20
MAX_OPTIONAL = 24
MAX_UNIONS = 16


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request as it is sent.

    Attributes:
        body: The arguments of the SDK.
        tools: Schemas that are enforced, by the names of the tools.
        output: The schema of the output.
    """

    body: dict[str, Any]
    tools: Mapping[str, FittedSchema]
    output: FittedSchema | None


def body_of(request: ModelRequest, model: str) -> SentRequest:
    """Return a request as the SDK wants it.

    Raises:
        BadModelRequestError: A part cannot be sent, or the schema of the output cannot be enforced.
    """
    output = _output(request, model)
    strict = _strict_tools(request, output)
    texts, messages = split_instructions(request)
    given = request.settings
    body: dict[str, Any] = {
        "model": model.partition(":")[2],
        "max_tokens": given.max_tokens or DEFAULT_MAX_TOKENS,
        "messages": _cached_turns(_turns(messages, model)),
    }
    if texts:
        body["system"] = _cached_last([{"type": "text", "text": text} for text in texts])
    if request.tools:
        body["tools"] = _cached_last([_tool(tool, strict.get(tool.name)) for tool in request.tools])
        body["tool_choice"] = _choice(request)
    if given.stop:
        body["stop_sequences"] = list(given.stop)
    config: dict[str, Any] = {}
    if output is not None:
        config["format"] = {"type": "json_schema", "schema": output.schema}
    if given.thinking == "off":
        body["thinking"] = {"type": "disabled"}
    elif given.thinking is not None:
        body["thinking"] = {"type": "adaptive", "display": "summarized"}
        config["effort"] = given.thinking
    if config:
        body["output_config"] = config
    return SentRequest(body, strict, output)


def _output(request: ModelRequest, model: str) -> FittedSchema | None:
    if request.output is None:
        return None
    fitted = fit_schema(request.output.schema_, STRICT)
    if not fitted.is_exact:
        raise BadModelRequestError(
            model,
            f"the schema of the output {request.output.name!r} is recursive or has free keys, and the API "
            "cannot enforce that; make the model with structured='tool'",
        )
    return fitted


def _strict_tools(request: ModelRequest, output: FittedSchema | None) -> dict[str, FittedSchema]:
    """Return the schemas to enforce: none at all if they are too many or too free for the API."""
    fitted = {tool.name: fit_schema(tool.parameters, STRICT) for tool in request.tools if tool.is_strict}
    strict = {name: schema for name, schema in fitted.items() if schema.is_exact}
    schemas = [*strict.values(), *([output] if output else [])]
    optional, unions = _freedom([one.schema for one in schemas])
    is_small = len(strict) <= MAX_STRICT_TOOLS and optional <= MAX_OPTIONAL and unions <= MAX_UNIONS
    return strict if is_small else {}


def _freedom(schema: JSONValue) -> tuple[int, int]:
    """Return how many optional properties and unions a schema has."""
    if isinstance(schema, list):
        found = [_freedom(one) for one in schema]
    elif isinstance(schema, dict):
        found = [_freedom(one) for one in schema.values()]
        properties, needed = schema.get("properties"), schema.get("required")
        if isinstance(properties, dict):
            found.append((len(properties) - (len(needed) if isinstance(needed, list) else 0), 0))
        if "anyOf" in schema or isinstance(schema.get("type"), list):
            found.append((0, 1))
    else:
        return 0, 0
    return sum(one[0] for one in found), sum(one[1] for one in found)


def _tool(tool: ToolDefinition, strict: FittedSchema | None) -> dict[str, Any]:
    found: dict[str, Any] = {"name": tool.name, "input_schema": strict.schema if strict else tool.parameters}
    if tool.description:
        found["description"] = tool.description
    return {**found, "strict": True} if strict else found


def _choice(request: ModelRequest) -> dict[str, Any]:
    names = {"auto": "auto", "none": "none", "required": "any"}
    choice = request.tool_choice
    found: dict[str, Any] = {"type": names[choice]} if choice in names else {"type": "tool", "name": choice}
    if choice != "none" and request.settings.parallel_tool_calls is False:
        found["disable_parallel_tool_use"] = True
    return found


def _turns(messages: tuple[ChatMessage, ...], model: str) -> list[dict[str, Any]]:
    """Return turns of user and assistant in alternation: messages of the same side are one turn."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        role = "assistant" if message.role is ChatRole.ASSISTANT else "user"
        blocks = list(_blocks(message, model))
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        elif blocks:
            turns.append({"role": role, "content": blocks})
    return turns


def _blocks(message: ChatMessage, model: str) -> Iterator[dict[str, Any]]:
    if message.role is ChatRole.SYSTEM:
        yield {"type": "text", "text": late_instructions(message)}
        return
    is_first = True
    for part in message.parts:
        if isinstance(part, TextPart) and is_first:
            text = spoken_text(message, part.text)
            is_first = False
            yield from _text(text)
        else:
            yield from _block(part, model)


def _block(part: Part, model: str) -> Iterator[dict[str, Any]]:
    match part:
        case TextPart():
            yield from _text(part.text)
        case ThinkingPart():
            yield from _thoughts(part)
        case ToolCall():
            yield {"type": "tool_use", "id": part.id, "name": part.name, "input": arguments_object(part)}
        case ToolResult():
            yield _result(part)
        case DataPart():
            yield _data(part, model)


def _text(text: str) -> Iterator[dict[str, Any]]:
    if text.strip():  # the API refuses empty ones
        yield {"type": "text", "text": text}


def _thoughts(part: ThinkingPart) -> Iterator[dict[str, Any]]:
    kept = (part.opaque or {}).get(PROVIDER)
    if not isinstance(kept, dict):
        return
    if "redacted" in kept:
        yield {"type": "redacted_thinking", "data": kept["redacted"]}
    elif "signature" in kept:
        yield {"type": "thinking", "thinking": part.text, "signature": kept["signature"]}


def _result(part: ToolResult) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "tool_result", "tool_use_id": part.call_id}
    if text := result_text(part, marks_errors=False):
        found["content"] = text
    return {**found, "is_error": True} if part.is_error else found


def _data(part: DataPart, model: str) -> dict[str, Any]:
    source: dict[str, Any] = {"type": "url", "url": part.url}
    if part.data is not None:
        source = {"type": "base64", "media_type": part.media_type, "data": part.data}
    if part.media_type in IMAGES:
        return {"type": "image", "source": source}
    titled = {"title": part.name} if part.name else {}
    if part.media_type == "application/pdf":
        return {"type": "document", "source": source, **titled}
    if (text := text_of_data(part)) is not None:
        return {"type": "text", "text": text}
    raise refused_part(model, part, "to this API: it reads JPEG, PNG, GIF, WebP, PDF and text")


def _cached_turns(turns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mark the last turns of the user: the older mark is where the cache of the last request ends."""
    for turn in [turn for turn in turns if turn["role"] == "user"][-CACHED_TURNS:]:
        turn["content"] = _cached_last(turn["content"])
    return turns


def _cached_last(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [*blocks[:-1], {**blocks[-1], "cache_control": CACHED}]
