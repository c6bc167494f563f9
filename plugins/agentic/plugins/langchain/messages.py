"""Messages of LangChain and ours. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from agentic.core.llm.adapting import arguments_object, refused_part, result_text, spoken_text
from agentic.core.llm.errors import BadModelRequestError
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

BRIDGE = "langchain"
STOPS = {
    **dict.fromkeys(("length", "max_tokens", "MAX_TOKENS"), StopReason.LENGTH),
    **dict.fromkeys(("content_filter", "refusal", "SAFETY"), StopReason.REFUSED),
    "stop_sequence": StopReason.STOP_SEQUENCE,
}


def langchain_messages(request: ModelRequest, model: str) -> list[BaseMessage]:
    """Return the conversation as LangChain's messages.

    Raises:
        BadModelRequestError: A part cannot be sent.
    """
    top: list[BaseMessage] = [SystemMessage(request.instructions)] if request.instructions else []
    return top + [one for message in request.messages for one in _messages(message, model)]


def _messages(message: ChatMessage, model: str) -> Iterator[BaseMessage]:
    match message.role:
        case ChatRole.SYSTEM:
            yield SystemMessage(message.text)
        case ChatRole.USER:
            yield HumanMessage(_contents(message, model))
        case ChatRole.ASSISTANT:
            yield _assistant(message, model)
        case ChatRole.TOOL:
            for result in message.tool_results:
                yield ToolMessage(
                    result_text(result, marks_errors=False),
                    tool_call_id=result.call_id,
                    name=result.name,
                    status="error" if result.is_error else "success",
                )


def _assistant(message: ChatMessage, model: str) -> AIMessage:
    calls: list[Any] = [
        {"type": "tool_call", "id": call.id, "name": call.name, "args": arguments_object(call)}
        for call in message.tool_calls
    ]
    marks = ((part.opaque or {}).get(BRIDGE) for part in message.parts)
    kept = next((one for one in marks if isinstance(one, dict) and one.get("model") == model), {})
    content = kept.get("content", message.text)
    more = kept.get("more", {})
    return AIMessage(cast(Any, content), tool_calls=calls, additional_kwargs=cast(Any, more))


def _contents(message: ChatMessage, model: str) -> str | list[str | dict[Any, Any]]:
    if all(isinstance(part, TextPart) for part in message.parts):
        return spoken_text(message, message.text)
    found: list[str | dict[Any, Any]] = []
    for part in message.parts:
        if isinstance(part, TextPart):
            text = part.text if found else spoken_text(message, part.text)
            found.append({"type": "text", "text": text})
        elif isinstance(part, DataPart):
            found.append(_data(part, model))
    return found


def _data(part: DataPart, model: str) -> dict[Any, Any]:
    kind = part.media_type.partition("/")[0]
    named = kind if kind in ("image", "audio", "video") else "file"
    if named == "file" and part.media_type != "application/pdf":
        raise refused_part(model, part, "through LangChain: it knows images, sounds, videos and PDF")
    source = {"url": part.url} if part.data is None else {"base64": part.data}
    return {"type": named, "mime_type": part.media_type, **source}


def reply_of(message: AIMessage, model: str) -> ModelReply:
    """Return a message of LangChain as a reply."""
    thinking, text = text_of(message)
    parts: list[Part] = []
    if thinking:
        parts.append(ThinkingPart(text=thinking))
    if text:
        parts.append(TextPart(text=text))
    parts += [tool_call(one["id"] or "", one["name"], json.dumps(one["args"])) for one in message.tool_calls]
    parts += [
        tool_call(one["id"] or "", one["name"] or "", one["args"] or "") for one in message.invalid_tool_calls
    ]
    if (kept := _kept(message, model)) is not None:
        first = parts[0] if parts else ThinkingPart()
        parts[:1] = [first.model_copy(update={"opaque": {BRIDGE: kept}})]
    facts = message.response_metadata
    reason = facts.get("finish_reason") or facts.get("stop_reason") or facts.get("done_reason") or ""
    has_calls = bool(message.tool_calls or message.invalid_tool_calls)
    return ModelReply(
        message=ChatMessage(role=ChatRole.ASSISTANT, parts=tuple(parts)),
        usage=_tokens(message),
        stop_reason=STOPS.get(str(reason), StopReason.TOOL_CALLS if has_calls else StopReason.END),
        model=str(facts.get("model_name") or facts.get("model") or ""),
        id=message.id,
    )


def text_of(message: AIMessage) -> tuple[str, str]:
    """Return the thoughts and the text of a message or of a piece of one."""
    blocks = message.content_blocks
    thinking = "".join(str(one.get("reasoning", "")) for one in blocks if one["type"] == "reasoning")
    return thinking, "".join(str(one["text"]) for one in blocks if one["type"] == "text")


def _kept(message: AIMessage, model: str) -> dict[str, JSONValue] | None:
    """Return data that the provider wants back: blocks with signatures, and facts beside the text."""
    found: dict[str, Any] = {}
    if isinstance(message.content, list):
        found["content"] = message.content
    if message.additional_kwargs:
        found["more"] = message.additional_kwargs
    try:
        read: dict[str, JSONValue] = json.loads(json.dumps(found))
    except (TypeError, ValueError):
        return None
    return {"model": model, **read} if read else None


def _tokens(message: AIMessage) -> TokenUsage:
    found: Mapping[str, Any] = message.usage_metadata or {}
    inputs: Mapping[str, Any] = found.get("input_token_details") or {}
    outputs: Mapping[str, Any] = found.get("output_token_details") or {}
    return TokenUsage(
        input_tokens=found.get("input_tokens", 0),
        output_tokens=found.get("output_tokens", 0),
        cache_read_tokens=inputs.get("cache_read", 0),
        cache_write_tokens=inputs.get("cache_creation", 0),
        thinking_tokens=outputs.get("reasoning", 0),
        requests=1,
        cost_usd=None,
    )


OURS = "agentic"
"""In ``additional_kwargs`` of a message that one of our models has written: our message, whole."""


def request_parts(messages: Sequence[BaseMessage], model: str) -> tuple[str, list[ChatMessage]]:
    """Return a conversation of LangChain as instructions and messages of a request.

    Raises:
        BadModelRequestError: It has a message, or a part of one, that has no form here.
    """
    system: list[str] = []
    found: list[ChatMessage] = []
    for message in messages:
        if isinstance(message, SystemMessage) and not found:
            system.append(str(message.text))
        else:
            found.append(_ours(message, model))
    return "\n\n".join(system), found


def _ours(message: BaseMessage, model: str) -> ChatMessage:
    match message:
        case SystemMessage():
            return ChatMessage(role=ChatRole.SYSTEM, parts=(TextPart(text=str(message.text)),))
        case HumanMessage():
            return ChatMessage(role=ChatRole.USER, parts=tuple(_our_parts(message, model)))
        case AIMessage():
            return _our_reply(message)
        case ToolMessage():
            result = ToolResult(
                call_id=message.tool_call_id,
                name=message.name or "",
                content=cast(JSONValue, message.content),
                is_error=message.status == "error",
            )
            return ChatMessage(role=ChatRole.TOOL, parts=(result,))
    raise BadModelRequestError(model, f"a message of LangChain's type {message.type!r} has no form here")


def _our_reply(message: AIMessage) -> ChatMessage:
    stored = message.additional_kwargs.get(OURS)
    if isinstance(stored, dict):
        kept = ChatMessage.model_validate(stored)
        calls = [(one["id"], one["args"]) for one in message.tool_calls]
        same_calls = [(one.id, one.arguments) for one in kept.tool_calls if one.invalid is None] == calls
        if same_calls and kept.text == str(message.text):  # else the graph has edited it
            return kept
    _, text = text_of(message)
    parts: list[Part] = [TextPart(text=text)] if text else []
    parts += [
        ToolCall(id=one["id"] or "", name=one["name"], arguments=one["args"]) for one in message.tool_calls
    ]
    return ChatMessage(role=ChatRole.ASSISTANT, parts=tuple(parts))


def _our_parts(message: HumanMessage, model: str) -> Iterator[Part]:
    for block in cast("list[dict[str, Any]]", message.content_blocks):
        if block["type"] == "text":
            yield TextPart(text=block["text"])
        elif block["type"] in ("image", "audio", "video", "file") and (
            block.get("base64") or block.get("url")
        ):
            yield DataPart(
                media_type=block.get("mime_type") or f"{block['type']}/*",
                data=block.get("base64"),
                url=None if block.get("base64") else block.get("url"),
            )
        else:
            raise BadModelRequestError(
                model, f"a part of LangChain's type {block['type']!r} has no form here"
            )


def message_of_reply(reply: ModelReply, model: str) -> AIMessage:
    """Return a reply as a message of LangChain; it keeps the whole message for later requests."""
    said, used = reply.message, reply.usage
    return AIMessage(
        said.text,
        id=reply.id or said.id,
        tool_calls=[
            {"type": "tool_call", "id": one.id, "name": one.name, "args": dict(one.arguments)}
            for one in said.tool_calls
            if one.invalid is None
        ],
        invalid_tool_calls=[
            {"type": "invalid_tool_call", "id": one.id, "name": one.name, "args": one.invalid, "error": None}
            for one in said.tool_calls
            if one.invalid is not None
        ],
        additional_kwargs={OURS: said.to_json()},
        response_metadata={"model_name": reply.model or model, "finish_reason": str(reply.stop_reason)},
        usage_metadata={
            "input_tokens": used.input_tokens,
            "output_tokens": used.output_tokens,
            "total_tokens": used.input_tokens + used.output_tokens,
            "input_token_details": {
                "cache_read": used.cache_read_tokens,
                "cache_creation": used.cache_write_tokens,
            },
            "output_token_details": {"reasoning": used.thinking_tokens},
        },
    )
