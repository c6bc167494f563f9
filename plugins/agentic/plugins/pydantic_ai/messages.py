"""Messages of pydantic-ai, and replies from them. Pure."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any, cast

from pydantic_ai import messages as theirs
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from agentic.core.llm.adapting import arguments_text, refused_part, spoken_text
from agentic.core.llm.folding import tool_call
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
from agentic.core.llm.requests import ModelReply, ModelRequest, StopReason
from agentic.core.llm.usage import TokenUsage
from agentic.core.types import JSONValue

BRIDGE = "pydantic_ai"
KEPT = ("id", "signature", "provider_name", "provider_details")
STOPS = {
    "length": StopReason.LENGTH,
    "content_filter": StopReason.REFUSED,
    "tool_call": StopReason.TOOL_CALLS,
}


def messages_of(request: ModelRequest, model: str) -> list[theirs.ModelMessage]:
    """Return the conversation as messages of pydantic-ai.

    Raises:
        BadModelRequestError: A part cannot be sent.
    """
    found: list[theirs.ModelMessage] = []
    waiting: list[theirs.ModelRequestPart] = []
    if request.instructions:
        waiting.append(theirs.SystemPromptPart(request.instructions))
    for message in request.messages:
        if message.role is not ChatRole.ASSISTANT:
            waiting += _asked(message, model)
            continue
        if waiting:
            found.append(theirs.ModelRequest(parts=waiting))
            waiting = []
        found.append(theirs.ModelResponse(parts=list(_said(message, model))))
    return [*found, theirs.ModelRequest(parts=waiting)] if waiting else found


def parameters_of(request: ModelRequest) -> ModelRequestParameters:
    """Return the tools and the form of the output."""
    tools = [
        ToolDefinition(
            name=one.name,
            description=one.description or None,
            parameters_json_schema=one.parameters,
            strict=None if one.is_strict else False,
        )
        for one in request.tools
    ]
    if request.output is None:
        return ModelRequestParameters(function_tools=tools)
    output = OutputObjectDefinition(
        json_schema=request.output.schema_,
        name=request.output.name,
        description=request.output.description or None,
    )
    return ModelRequestParameters(function_tools=tools, output_mode="native", output_object=output)


def settings_of(request: ModelRequest) -> ModelSettings:
    """Return the settings of a request."""
    given = request.settings
    choice = request.tool_choice
    known = choice in ("auto", "none", "required")
    found: dict[str, Any] = {
        "temperature": given.temperature,
        "top_p": given.top_p,
        "max_tokens": given.max_tokens,
        "seed": given.seed,
        "stop_sequences": list(given.stop) or None,
        "parallel_tool_calls": given.parallel_tool_calls,
        "thinking": False if given.thinking == "off" else given.thinking,
        "tool_choice": (choice if known else [choice]) if request.tools else None,
        "extra_body": dict(given.extra) or None,
        "timeout": given.timeout_s,
        "max_retries": 0,
    }
    return cast(ModelSettings, {name: value for name, value in found.items() if value is not None})


def _asked(message: ChatMessage, model: str) -> Iterator[theirs.ModelRequestPart]:
    if message.role is ChatRole.SYSTEM:
        yield theirs.SystemPromptPart(message.text)
    elif message.role is ChatRole.USER:
        yield theirs.UserPromptPart(_contents(message, model))
    for part in message.parts:
        if isinstance(part, ToolResult):
            yield theirs.ToolReturnPart(
                tool_name=part.name,
                content=part.content,
                tool_call_id=part.call_id,
                outcome="failed" if part.is_error else "success",
            )


def _contents(message: ChatMessage, model: str) -> str | list[theirs.UserContent]:
    if all(isinstance(part, TextPart) for part in message.parts):
        return spoken_text(message, message.text)
    found: list[theirs.UserContent] = []
    for part in message.parts:
        if isinstance(part, TextPart):
            found.append(part.text if found else spoken_text(message, part.text))
        elif isinstance(part, DataPart):
            found.append(_data(part, model))
    return found


def _data(part: DataPart, model: str) -> theirs.UserContent:
    kind = part.media_type.partition("/")[0]
    if kind not in ("image", "audio", "video", "text") and part.media_type != "application/pdf":
        raise refused_part(model, part, "through pydantic-ai: it knows images, sounds, videos, PDF and text")
    if part.data is not None:
        return theirs.BinaryContent(data=base64.b64decode(part.data), media_type=part.media_type)
    urls: dict[str, Any] = {"image": theirs.ImageUrl, "audio": theirs.AudioUrl, "video": theirs.VideoUrl}
    made: theirs.UserContent = urls.get(kind, theirs.DocumentUrl)(
        url=part.url or "", media_type=part.media_type
    )
    return made


def _said(message: ChatMessage, model: str) -> Iterator[theirs.ModelResponsePart]:
    for part in message.parts:
        mark = (part.opaque or {}).get(BRIDGE)
        kept = dict(mark) if isinstance(mark, dict) and mark.get("model") == model else {}
        kept.pop("model", None)
        facts = cast(dict[str, Any], kept)
        match part:
            case TextPart():
                yield theirs.TextPart(part.text, **facts)
            case ThinkingPart() if facts:
                yield theirs.ThinkingPart(part.text, **facts)
            case ToolCall():
                yield theirs.ToolCallPart(part.name, arguments_text(part), part.id, **facts)
            case _:
                pass


def reply_of(response: theirs.ModelResponse, model: str) -> ModelReply:
    """Return a response of pydantic-ai as a reply."""
    parts = [made for part in response.parts if (made := _part(part, model)) is not None]
    usage = response.usage
    has_calls = any(isinstance(part, ToolCall) for part in parts)
    return ModelReply(
        message=ChatMessage(role=ChatRole.ASSISTANT, parts=tuple(parts)),
        usage=TokenUsage(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            thinking_tokens=usage.output_reasoning_tokens,
            requests=1,
            cost_usd=None if usage.cost is None else float(usage.cost),
        ),
        stop_reason=STOPS.get(
            response.finish_reason or "", StopReason.TOOL_CALLS if has_calls else StopReason.END
        ),
        model=response.model_name or "",
        id=response.provider_response_id,
    )


def written_arguments(call: theirs.ToolCallPart) -> str:
    """Return the arguments as the model wrote them, even if they are not JSON."""
    return call.args if isinstance(call.args, str) else json.dumps(call.args or {}, ensure_ascii=False)


def _part(part: theirs.ModelResponsePart, model: str) -> Part | None:
    found = {name: value for name in KEPT if (value := getattr(part, name, None)) is not None}
    opaque: dict[str, JSONValue] | None = None
    if found:
        opaque = {BRIDGE: {"model": model, **json.loads(json.dumps(found, default=str))}}
    match part:
        case theirs.TextPart():
            return TextPart(text=part.content, opaque=opaque)
        case theirs.ThinkingPart():
            return ThinkingPart(text=part.content, opaque=opaque)
        case theirs.ToolCallPart():
            return tool_call(part.tool_call_id, part.tool_name, written_arguments(part), opaque)
        case _:
            return None
