"""The Gemini API, as its SDK's types describe it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from google.genai import types
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from agentic.core.llm import LLMAdapter, ModelReply, TextPart, ThinkingPart, ToolCall, llm
from agentic.core.testing.llm import KEY, ModelWire, WireAnswer, WireRequest, pieces_of_text, sse
from agentic.core.types import JSONValue

STOPS = {"end": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "refused": "SAFETY"}
KEYWORDS = {
    *(
        "$id",
        "$defs",
        "$ref",
        "$anchor",
        "type",
        "format",
        "title",
        "description",
        "enum",
        "items",
        "prefixItems",
    ),
    *("minItems", "maxItems", "minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties"),
    *("required", "propertyOrdering"),
}


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)

    contents: list[types.Content]
    system_instruction: types.Content | None = None
    tools: list[types.Tool] = []
    tool_config: types.ToolConfig | None = None
    generation_config: types.GenerationConfig | None = None


class GoogleWire(ModelWire):
    def adapter(self, url: str, **options: object) -> LLMAdapter:
        return llm("google:model-1", **{"base_url": url, "api_key": KEY, **options})

    def problems(self, request: WireRequest) -> Iterator[str]:
        path = "/v1/models/model-1:streamGenerateContent?alt=sse"
        if (request.method, request.path) != ("POST", path):
            yield f"no such path: {request.path}"
        if request.headers.get("x-goog-api-key") != KEY:
            yield "wrong key"
        try:
            Body.model_validate_json(json.dumps(request.body))
        except ValidationError as exc:
            yield str(exc)
            return
        yield from order_problems(request.body["contents"])
        for tool in request.body.get("tools", ()):
            for declared in tool["functionDeclarations"]:
                # Protocol buffers know each field by both names; the SDK uses this one.
                yield from schema_problems(declared["parameters_json_schema"])
        config = request.body.get("generationConfig", {})
        if (schema := config.get("responseJsonSchema")) is not None:
            yield from schema_problems(schema)
            if config.get("responseMimeType") != "application/json":
                yield "responseJsonSchema needs responseMimeType"

    def streamed(self, reply: ModelReply, sizes: Sequence[int]) -> WireAnswer:
        parts: list[dict[str, Any]] = []
        for part in reply.message.parts:
            match part:
                case ThinkingPart():
                    parts += [{"text": one, "thought": True} for one in pieces_of_text(part.text, sizes)]
                    parts[-1]["thoughtSignature"] = signature_of(part.opaque)
                case TextPart():
                    parts += [{"text": one} for one in pieces_of_text(part.text, sizes)]
                case ToolCall():
                    args = {"args": part.arguments} if part.arguments else {}
                    parts.append({"functionCall": {"id": part.id, "name": part.name, **args}})
        usage = reply.usage
        counts = {
            "promptTokenCount": usage.input_tokens,
            "cachedContentTokenCount": usage.cache_read_tokens,
            "candidatesTokenCount": usage.output_tokens - usage.thinking_tokens,
            "thoughtsTokenCount": usage.thinking_tokens,
            "totalTokenCount": usage.total_tokens,
        }
        named = {"modelVersion": reply.model, "responseId": reply.id}
        contents = [{"role": "model", "parts": [part]} for part in parts]
        chunks: list[dict[str, Any]] = [
            {
                "candidates": [{"content": content, "index": 0}],
                "usageMetadata": {"promptTokenCount": 5},
                **named,
            }
            for content in contents
        ]
        chunks[-1]["candidates"][0]["finishReason"] = STOPS[reply.stop_reason]
        chunks[-1]["usageMetadata"] = counts
        for chunk in chunks:
            types.GenerateContentResponse.model_validate_json(json.dumps(chunk))
        return WireAnswer(kind="text/event-stream", body=sse(*chunks).replace(b"\n", b"\r\n"))

    def error(self, status: int, message: str, code: str = "") -> bytes:
        return json.dumps([{"error": {"code": status, "message": message, "status": code}}]).encode()

    def failures(self) -> Mapping[str, WireAnswer]:
        def answer(status: int, message: str, code: str, *details: dict[str, JSONValue]) -> WireAnswer:
            error = {"code": status, "message": message, "status": code, "details": details}
            return WireAnswer(status=status, body=json.dumps({"error": error}).encode())

        def stream(*chunks: dict[str, Any]) -> WireAnswer:
            return WireAnswer(kind="text/event-stream", body=sse(*chunks))

        def quota(name: str) -> dict[str, JSONValue]:
            return {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": name}]}

        long = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
        key = "API key not valid. Please pass a valid API key."
        stopped = {"candidates": [{"content": {"role": "model"}, "finishReason": "MALFORMED_FUNCTION_CALL"}]}
        return {
            "RateLimitedError": answer(
                429, "Quota", "RESOURCE_EXHAUSTED", quota("RequestsPerMinutePerProject")
            ),
            "QuotaExhaustedError": answer(
                429, "Quota", "RESOURCE_EXHAUSTED", quota("RequestsPerDayPerProject")
            ),
            "ModelAuthError": answer(400, key, "INVALID_ARGUMENT", {"reason": "API_KEY_INVALID"}),
            "ModelAuthError: right": answer(403, "no permission", "PERMISSION_DENIED"),
            "UnknownModelError": answer(404, "models/x is not found for API version v1beta", "NOT_FOUND"),
            "ContextWindowExceededError": answer(400, long, "INVALID_ARGUMENT"),
            "BadModelRequestError": answer(400, "Unknown name", "INVALID_ARGUMENT"),
            "OverloadedError": answer(503, "The model is overloaded.", "UNAVAILABLE"),
            "OverloadedError: fault": answer(500, "An internal error has occurred.", "INTERNAL"),
            "ModelTimeoutError": answer(504, "Deadline expired", "DEADLINE_EXCEEDED"),
            "OverloadedError: in the stream": stream(
                {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}
            ),
            "ContentRefusedError": stream({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}),
            "SchemaNotMetError": stream(stopped),
        }

    def thinking(self, text: str) -> Mapping[str, JSONValue]:
        return {"google": {"signature": base64.b64encode(text.encode() + b"\xfb\xff\xfe").decode()}}

    def thoughts_in(self, request: WireRequest) -> Sequence[Mapping[str, JSONValue] | None]:
        parts = [part for content in request.body["contents"] for part in content["parts"]]
        found = [part for part in parts if part.get("thought")]
        assert all(part["text"] == "Hmm, 漢字." for part in found)
        raw = [
            base64.urlsafe_b64decode(part["thoughtSignature"].replace("+", "-").replace("/", "_"))
            for part in found
        ]
        return [{"google": {"signature": base64.b64encode(one).decode()}} for one in raw]

    def last_stop(self, answer: WireAnswer) -> int:
        return len(answer.body.rstrip())


def signature_of(opaque: Mapping[str, JSONValue] | None) -> str:
    kept = (opaque or {})["google"]
    assert isinstance(kept, dict)
    return str(kept["signature"])


def order_problems(contents: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what is wrong with the order: each turn of calls is followed by one of as many responses."""
    if contents[0]["role"] != "user":
        yield "the first content must be the user's"
    calls: list[str] = []
    for content in contents:
        if content["role"] not in ("user", "model") or not content["parts"]:
            yield f"not a content: {content}"
        answered = [
            part["functionResponse"]["name"] for part in content["parts"] if "functionResponse" in part
        ]
        if answered != calls:
            yield f"the number of function response parts must equal the number of calls: {calls} {answered}"
        made = [part for part in content["parts"] if "functionCall" in part]
        calls = [part["functionCall"]["name"] for part in made]
        if (
            made
            and "thoughtSignature" not in made[0]
            and not any("thoughtSignature" in one for one in content["parts"])
        ):
            yield "function call is missing a thought_signature"


def schema_problems(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield keywords that the API does not know."""
    if unknown := schema.keys() - KEYWORDS:
        yield f"not supported: {sorted(unknown)}"
    if "$ref" in schema and any(not name.startswith("$") for name in schema):
        yield "$ref cannot have other keywords beside it"
    inner = [
        *schema.get("properties", {}).values(),
        *schema.get("$defs", {}).values(),
        *schema.get("anyOf", ()),
    ]
    for one in [*inner, *([schema["items"]] if "items" in schema else [])]:
        yield from schema_problems(one)
