"""Anthropic's Messages API, as its SDK's types describe it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from anthropic.types import RawMessageStreamEvent
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from pydantic import TypeAdapter
from tests.integration.plugins.typed import unknown_in

from agentic.core.llm import LLMAdapter, ModelReply, Part, TextPart, ThinkingPart, ToolCall, llm
from agentic.core.testing.llm import KEY, ModelWire, WireAnswer, WireRequest, pieces_of_text, sse
from agentic.core.types import JSONValue

REQUEST = TypeAdapter[Any](MessageCreateParamsStreaming)
EVENT = TypeAdapter[Any](RawMessageStreamEvent)
STOPS = {
    "end": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "refused": "refusal",
    "stop_sequence": "stop_sequence",
}
STRICT_KEYWORDS = {
    *("type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "allOf"),
    *("$ref", "$defs", "description", "title", "format", "default"),
}


class AnthropicWire(ModelWire):
    stops = tuple(STOPS)

    def adapter(self, url: str, **options: object) -> LLMAdapter:
        return llm("anthropic:model-1", **{"base_url": url, "api_key": KEY, **options})

    def problems(self, request: WireRequest) -> Iterator[str]:
        if (request.method, request.path) != ("POST", "/v1/messages"):
            yield f"no such path: {request.path}"
        if request.headers.get("authorization") != f"Bearer {KEY}":
            yield "wrong key"
        body = request.body
        yield from unknown_in(body, REQUEST)
        yield from order_problems(body["messages"])
        if (count := json.dumps(body).count('"cache_control"')) > 4:
            yield f"A maximum of 4 blocks with cache_control may be provided. Found {count}."
        for tool in body.get("tools", ()):
            if tool.get("strict"):
                yield from strict_problems(tool["input_schema"])
        if output := body.get("output_config", {}).get("format"):
            yield from strict_problems(output["schema"])

    def streamed(self, reply: ModelReply, sizes: Sequence[int]) -> WireAnswer:
        usage = reply.usage
        counts = {
            "input_tokens": usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens,
            "cache_read_input_tokens": usage.cache_read_tokens,
            "cache_creation_input_tokens": usage.cache_write_tokens,
        }
        message: dict[str, Any] = {
            "id": reply.id,
            "type": "message",
            "role": "assistant",
            "model": reply.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {**counts, "output_tokens": 1},
        }
        events: list[dict[str, Any]] = [{"type": "message_start", "message": message}]
        for index, part in enumerate(reply.message.parts):
            start, deltas = _block(part, sizes)
            events.append({"type": "content_block_start", "index": index, "content_block": start})
            events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
            events.append({"type": "content_block_stop", "index": index})
        details = {"thinking_tokens": usage.thinking_tokens}
        end = {"output_tokens": usage.output_tokens, "output_tokens_details": details}
        stop = {"stop_reason": STOPS[reply.stop_reason], "stop_sequence": None}
        events += [{"type": "message_delta", "delta": stop, "usage": end}, {"type": "message_stop"}]
        for event in events:
            EVENT.validate_python(event, strict=True)
        events.insert(2, {"type": "ping"})
        return WireAnswer(kind="text/event-stream; charset=utf-8", body=sse(*events, names=True))

    def error(self, status: int, message: str, code: str = "") -> bytes:
        named = code or {400: "invalid_request_error", 429: "rate_limit_error"}.get(status, "api_error")
        return json.dumps({"type": "error", "error": {"type": named, "message": message}}).encode()

    def failures(self) -> Mapping[str, WireAnswer]:
        def answer(status: int, message: str, code: str = "") -> WireAnswer:
            return WireAnswer(status=status, body=self.error(status, message, code))

        def in_stream(code: str, message: str) -> WireAnswer:
            error = {"type": "error", "error": {"type": code, "message": message}}
            return WireAnswer(kind="text/event-stream", body=sse(error, names=True))

        return {
            "RateLimitedError": answer(429, "This request would exceed your rate limit", "rate_limit_error"),
            "QuotaExhaustedError": answer(400, "Your credit balance is too low to access the API"),
            "QuotaExhaustedError: billing": answer(
                402, "There is an issue with your billing", "billing_error"
            ),
            "ModelAuthError": answer(401, "invalid bearer token", "authentication_error"),
            "ModelAuthError: right": answer(403, "not permitted", "permission_error"),
            "UnknownModelError": answer(404, "model: x", "not_found_error"),
            "ContextWindowExceededError": answer(400, "prompt is too long: 201056 tokens > 200000 maximum"),
            "ContextWindowExceededError: with the reply": answer(
                400, "input length and `max_tokens` exceed context limit: 190000 + 16000 > 200000"
            ),
            "ContentRefusedError": answer(400, "Output blocked by content filtering policy"),
            "BadModelRequestError": answer(400, "messages: at least one message is required"),
            "BadModelRequestError: size": answer(
                413, "Request exceeds the maximum size", "request_too_large"
            ),
            "OverloadedError": answer(529, "Overloaded", "overloaded_error"),
            "OverloadedError: fault": answer(500, "Internal server error"),
            "ModelTimeoutError": answer(504, "Request timed out", "timeout_error"),
            "OverloadedError: in the stream": in_stream("overloaded_error", "Overloaded"),
            "RateLimitedError: in the stream": in_stream("rate_limit_error", "Slow down"),
        }

    def thinking(self, text: str) -> Mapping[str, JSONValue]:
        return {"anthropic": {"signature": f"sig-{len(text)}+/=="}}

    def thoughts_in(self, request: WireRequest) -> Sequence[Mapping[str, JSONValue] | None]:
        blocks = [block for turn in request.body["messages"] for block in turn["content"]]
        found = [block for block in blocks if block["type"] == "thinking"]
        assert all(block["thinking"] == "Hmm, 漢字." for block in found)
        return [{"anthropic": {"signature": block["signature"]}} for block in found]

    def last_stop(self, answer: WireAnswer) -> int:
        return len(answer.body)


def _block(part: Part, sizes: Sequence[int]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    match part:
        case TextPart():
            pieces = pieces_of_text(part.text, sizes)
            return {"type": "text", "text": "", "citations": None}, [
                {"type": "text_delta", "text": one} for one in pieces
            ]
        case ThinkingPart():
            kept = (part.opaque or {})["anthropic"]
            assert isinstance(kept, dict)
            deltas = [{"type": "thinking_delta", "thinking": one} for one in pieces_of_text(part.text, sizes)]
            deltas.append({"type": "signature_delta", "signature": str(kept["signature"])})
            return {"type": "thinking", "thinking": "", "signature": ""}, deltas
        case ToolCall():
            text = json.dumps(part.arguments, ensure_ascii=False) if part.arguments else ""
            pieces = pieces_of_text(text, sizes)
            return (
                {"type": "tool_use", "id": part.id, "name": part.name, "input": {}},
                [{"type": "input_json_delta", "partial_json": one} for one in ["", *pieces]],
            )
        case _:
            raise AssertionError(part)


def order_problems(turns: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what is wrong with the order: roles alternate, and each call has its result in the next turn."""
    if turns[0]["role"] != "user":
        yield "the first turn must be the user's"
    calls: list[str] = []
    for number, turn in enumerate(turns):
        if number and turn["role"] == turns[number - 1]["role"]:
            yield "roles must alternate"
        results = [block["tool_use_id"] for block in turn["content"] if block["type"] == "tool_result"]
        if sorted(results) != sorted(calls):
            yield f"tool_use ids were found without tool_result blocks immediately after: {calls} {results}"
        kinds = [block["type"] for block in turn["content"]]
        if "tool_result" in kinds[len(results) :]:
            yield "results must come first"
        calls = [block["id"] for block in turn["content"] if block["type"] == "tool_use"]
        if not kinds or any(
            block["type"] == "text" and not block["text"].strip() for block in turn["content"]
        ):
            yield "text content blocks must be non-empty"


def strict_problems(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield why a schema cannot be compiled."""
    if unknown := schema.keys() - STRICT_KEYWORDS:
        yield f"not supported in structured output: {sorted(unknown)}"
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        yield "additionalProperties must be false"
    inner = [
        *schema.get("properties", {}).values(),
        *schema.get("$defs", {}).values(),
        *schema.get("anyOf", ()),
    ]
    for one in [*inner, *([schema["items"]] if "items" in schema else [])]:
        yield from strict_problems(one)
