"""OpenAI's chat completions API, as its SDK's types describe it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from openai.types.chat import ChatCompletionChunk
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from pydantic import TypeAdapter
from tests.integration.plugins.typed import unknown_in

from agentic.core.llm import LLMAdapter, ModelReply, TextPart, ThinkingPart, ToolCall, llm
from agentic.core.testing.llm import KEY, ModelWire, WireAnswer, WireRequest, pieces_of_text, sse
from agentic.core.types import JSONValue

REQUEST = TypeAdapter[Any](CompletionCreateParamsStreaming, config=None)
STOPS = {"end": "stop", "tool_calls": "tool_calls", "length": "length", "refused": "content_filter"}
STRICT_KEYWORDS = {
    *(
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "const",
        "anyOf",
        "$ref",
        "$defs",
    ),
    *("description", "title", "pattern", "format", "multipleOf", "minItems", "maxItems"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
}
# Fields of other servers, that have the same API.
FOREIGN = {"reasoning_content", "reasoning", "reasoning_details"}


class OpenAIWire(ModelWire):
    """The wire of a server that gives its thoughts as DeepSeek and vLLM do."""

    def adapter(self, url: str, **options: object) -> LLMAdapter:
        return llm("openai:model-1", **{"base_url": f"{url}/v1", "api_key": KEY, **options})

    def problems(self, request: WireRequest) -> Iterator[str]:
        if (request.method, request.path) != ("POST", "/v1/chat/completions"):
            yield f"no such path: {request.path}"
        if request.headers.get("authorization") != f"Bearer {KEY}":
            yield "wrong key"
        body = {**request.body, "messages": [_without(one, FOREIGN) for one in request.body["messages"]]}
        yield from unknown_in(_without(body, {"max_tokens"}), REQUEST)
        yield from order_problems(request.body["messages"])
        for tool in request.body.get("tools", ()):
            if tool["function"].get("strict"):
                yield from strict_problems(tool["function"]["parameters"], is_root=True)
        output = request.body.get("response_format")
        if output is not None and output["json_schema"]["strict"]:
            yield from strict_problems(output["json_schema"]["schema"], is_root=True)

    def streamed(self, reply: ModelReply, sizes: Sequence[int]) -> WireAnswer:
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        for part in reply.message.parts:
            match part:
                case ThinkingPart():
                    deltas += [{"reasoning_content": piece} for piece in pieces_of_text(part.text, sizes)]
                case TextPart():
                    deltas += [{"content": piece} for piece in pieces_of_text(part.text, sizes)]
        deltas += [{"tool_calls": [piece]} for piece in call_pieces(reply.tool_calls, sizes)]
        chunks = [
            self._chunk(reply, choices=[{"index": 0, "delta": delta, "finish_reason": None}])
            for delta in deltas
        ]
        finish = {"index": 0, "delta": {}, "finish_reason": STOPS[reply.stop_reason]}
        chunks.append(self._chunk(reply, choices=[finish]))
        chunks.append(self._chunk(reply, choices=[], usage=_usage(reply)))
        return WireAnswer(kind="text/event-stream; charset=utf-8", body=sse(*chunks, end="[DONE]"))

    def error(self, status: int, message: str, code: str = "") -> bytes:
        error = {"message": message, "type": "error", "param": None, "code": code or None}
        return json.dumps({"error": error}).encode()

    def failures(self) -> Mapping[str, WireAnswer]:
        def answer(status: int, message: str, code: str = "") -> WireAnswer:
            return WireAnswer(status=status, body=self.error(status, message, code))

        def other(status: int, body: JSONValue) -> WireAnswer:
            return WireAnswer(status=status, body=json.dumps(body).encode())

        long = "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens."
        begun = '{"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[]}'
        return {
            "RateLimitedError": answer(429, "Rate limit reached for model-1", "rate_limit_exceeded"),
            "QuotaExhaustedError": answer(429, "You exceeded your current quota", "insufficient_quota"),
            "QuotaExhaustedError: DeepSeek": answer(402, "Insufficient Balance", "invalid_request_error"),
            "ModelAuthError": answer(401, "Incorrect API key provided", "invalid_api_key"),
            "ModelAuthError: region": answer(
                403, "Country not supported", "unsupported_country_region_territory"
            ),
            "UnknownModelError": answer(404, "The model `x` does not exist", "model_not_found"),
            "UnknownModelError: OpenRouter": answer(400, "x/y is not a valid model ID"),
            "ContextWindowExceededError": answer(400, long, "context_length_exceeded"),
            "ContextWindowExceededError: vLLM": other(400, {"object": "error", "message": long, "code": 400}),
            "ContextWindowExceededError: llama.cpp": other(
                400,
                {
                    "error": {
                        "code": 400,
                        "message": "the request exceeds the available context size",
                        "type": "exceed_context_size_error",
                    }
                },
            ),
            "ContentRefusedError": answer(400, "The prompt was flagged by Azure", "content_filter"),
            "BadModelRequestError": answer(400, "Invalid value: 'x'", "invalid_value"),
            "BadModelRequestError: FastAPI": other(422, {"detail": [{"loc": ["body"], "msg": "wrong"}]}),
            "BadModelRequestError: text": other(400, {"error": "Model does not support tools"}),
            "OverloadedError: 500": answer(500, "The server had an error"),
            "OverloadedError: 503": answer(503, "Overloaded"),
            "ModelTimeoutError": answer(504, "Gateway timeout"),
            "OverloadedError: in the stream": WireAnswer(
                kind="text/event-stream",
                body=f'data: {begun}\n\ndata: {{"error":{{"message":"engine died"}}}}\n\n'.encode(),
            ),
            "RateLimitedError: in the stream": WireAnswer(
                kind="text/event-stream", body=b'data: {"error":{"message":"slow down","code":429}}\n\n'
            ),
        }

    def thinking(self, text: str) -> Mapping[str, JSONValue]:
        return {"openai": {"host": "127.0.0.1", "field": "reasoning_content"}}

    def thoughts_in(self, request: WireRequest) -> Sequence[Mapping[str, JSONValue] | None]:
        found = [one for one in request.body["messages"] if FOREIGN & one.keys()]
        assert all(one["reasoning_content"] == "Hmm, 漢字." for one in found)
        return [self.thinking("") for _ in found]

    def enforced(self, offer: dict[str, JSONValue]) -> dict[str, JSONValue]:
        seller = {"rank": None, **_dict(offer["seller"])}
        return {"note": None, "tags": None, **offer, "seller": seller}

    def last_stop(self, answer: WireAnswer) -> int:
        return answer.body.index(b"data: [DONE]")

    def _chunk(self, reply: ModelReply, **more: Any) -> dict[str, Any]:
        chunk = {
            "id": reply.id,
            "object": "chat.completion.chunk",
            "created": 1,
            "model": reply.model,
            **more,
        }
        ChatCompletionChunk.model_validate(chunk, strict=True)
        return chunk


def call_pieces(calls: Iterable[ToolCall], sizes: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield calls as they are streamed: id and name first, then the arguments."""
    for index, call in enumerate(calls):
        yield {
            "index": index,
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": ""},
        }
        for piece in pieces_of_text(json.dumps(call.arguments, ensure_ascii=False), sizes):
            yield {"index": index, "function": {"arguments": piece}}


def order_problems(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what is wrong with the order: each call has its result, right after it."""
    open_calls: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                yield f"a result without its call: {message['tool_call_id']}"
            else:
                open_calls.remove(message["tool_call_id"])
            continue
        if open_calls:
            yield f"calls without results: {open_calls}"
        open_calls = [call["id"] for call in message.get("tool_calls") or ()]
        for call in message.get("tool_calls") or ():
            if not isinstance(call["function"]["arguments"], str):
                yield "arguments must be a text"
        if message["role"] == "assistant" and message.get("content") is None and not open_calls:
            yield "a message of the assistant needs content or calls"


def strict_problems(schema: Mapping[str, Any], *, is_root: bool = False) -> Iterator[str]:
    """Yield why a schema is not accepted in strict mode."""
    if unknown := schema.keys() - STRICT_KEYWORDS:
        yield f"not permitted in strict mode: {sorted(unknown)}"
    if "$ref" in schema and schema.keys() - {"$ref", "$defs"}:
        yield "$ref cannot have other keywords beside it"
    if is_root and schema.get("type") != "object":
        yield "the root must be an object"
    if not schema.keys() & {"type", "$ref", "anyOf", "enum", "const"}:
        yield f"a schema must have a type: {schema}"
    if "type" in schema and "object" in schema["type"]:
        properties = schema.get("properties", {})
        if schema.get("additionalProperties") is not False:
            yield "additionalProperties must be false"
        if sorted(schema.get("required", ())) != sorted(properties):
            yield f"required must list all properties: {sorted(properties)}"
    inner = [
        *schema.get("properties", {}).values(),
        *schema.get("$defs", {}).values(),
        *schema.get("anyOf", ()),
    ]
    for one in [*inner, *([schema["items"]] if "items" in schema else [])]:
        yield from strict_problems(one)


def _usage(reply: ModelReply) -> dict[str, Any]:
    usage = reply.usage
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.thinking_tokens},
    }


def _without(value: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: one for name, one in value.items() if name not in names}


def _dict(value: JSONValue) -> dict[str, JSONValue]:
    assert isinstance(value, dict)
    return value
