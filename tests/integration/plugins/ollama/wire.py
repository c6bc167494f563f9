"""Ollama's API, as its SDK's types describe it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ollama import ChatResponse
from ollama._types import ChatRequest, Options

from agentic.core.llm import LLMAdapter, ModelReply, TextPart, ThinkingPart, ToolCall, llm
from agentic.core.testing.llm import KEY, ModelWire, WireAnswer, WireRequest, pieces_of_text
from agentic.core.types import JSONValue

FIELDS = set(ChatRequest.model_fields)
OPTIONS = set(Options.model_fields)
MESSAGE = {"role", "content", "thinking", "images", "tool_name", "tool_calls"}


class OllamaWire(ModelWire):
    gives_ids = False
    has_tool_choice = False
    stops = ("end", "tool_calls", "length")

    def adapter(self, url: str, **options: object) -> LLMAdapter:
        return llm("ollama:model-1", **{"base_url": url, "api_key": KEY, **options})

    def problems(self, request: WireRequest) -> Iterator[str]:
        if (request.method, request.path) != ("POST", "/api/chat"):
            yield f"no such path: {request.path}"
        if request.headers.get("authorization") != f"Bearer {KEY}":
            yield "wrong key"
        body = request.body
        try:
            ChatRequest.model_validate(body)
        except ValueError as exc:
            yield str(exc)
            return
        unknown = (body.keys() - FIELDS) | (body.get("options", {}).keys() - OPTIONS)
        if unknown:
            yield f"unknown: {sorted(unknown)}"
        for message in body["messages"]:
            if message.keys() - MESSAGE or message["role"] not in ("system", "user", "assistant", "tool"):
                yield f"wrong message: {message}"
        yield from order_problems(body["messages"])

    def streamed(self, reply: ModelReply, sizes: Sequence[int]) -> WireAnswer:
        messages: list[dict[str, Any]] = []
        for part in reply.message.parts:
            match part:
                case ThinkingPart():
                    messages += [{"content": "", "thinking": one} for one in pieces_of_text(part.text, sizes)]
                case TextPart():
                    messages += [{"content": one} for one in pieces_of_text(part.text, sizes)]
                case ToolCall():
                    function = {"name": part.name, "arguments": part.arguments}
                    messages.append({"content": "", "tool_calls": [{"function": function}]})
        lines: list[dict[str, Any]] = [
            {
                "model": reply.model,
                "created_at": "x",
                "message": {"role": "assistant", **message},
                "done": False,
            }
            for message in messages
        ]
        lines.append(
            {
                "model": reply.model,
                "created_at": "x",
                "message": {"role": "assistant", "content": ""},
                "done": True,
                "done_reason": "length" if reply.stop_reason == "length" else "stop",
                "prompt_eval_count": reply.usage.input_tokens,
                "eval_count": reply.usage.output_tokens,
            }
        )
        for line in lines:
            ChatResponse.model_validate(line)
        return WireAnswer(kind="application/x-ndjson", body="".join(map(go_json, lines)).encode())

    def said_of(self, reply: ModelReply) -> ModelReply:
        usage = reply.usage.model_copy(update={"cache_read_tokens": 0, "thinking_tokens": 0, "cost_usd": 0.0})
        return reply.model_copy(update={"usage": usage, "id": None})

    def error(self, status: int, message: str, code: str = "") -> bytes:
        return json.dumps({"error": message}).encode()

    def failures(self) -> Mapping[str, WireAnswer]:
        def answer(status: int, message: str) -> WireAnswer:
            return WireAnswer(status=status, body=self.error(status, message))

        return {
            "UnknownModelError": answer(404, "model 'x' not found"),
            "BadModelRequestError": answer(400, "registry.ollama.ai/library/x does not support tools"),
            "ContextWindowExceededError": answer(400, "the input length exceeds the context length"),
            "ModelAuthError": answer(401, "unauthorized"),
            "RateLimitedError": answer(429, "too many concurrent requests"),
            "OverloadedError": answer(
                503, "server busy, please try again. maximum pending requests exceeded"
            ),
            "OverloadedError: memory": answer(500, "model requires more system memory than is available"),
            "OverloadedError: in the stream": WireAnswer(
                kind="application/x-ndjson",
                body=b'{"error":"an error was encountered while running the model"}\n',
            ),
        }

    def thinking(self, text: str) -> Mapping[str, JSONValue]:
        return {"ollama": {}}

    def thoughts_in(self, request: WireRequest) -> Sequence[Mapping[str, JSONValue] | None]:
        found = [one["thinking"] for one in request.body["messages"] if "thinking" in one]
        assert all(one == "Hmm, 漢字." for one in found)
        return [self.thinking(one) for one in found]

    def last_stop(self, answer: WireAnswer) -> int:
        return len(answer.body) - 1  # the last line end may be missing


def go_json(value: object) -> str:
    """Return a line as Go writes it: with escapes for the line ends of Unicode."""
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029") + "\n"


def order_problems(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield results without a call, and calls without a result."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message.get("tool_name") not in waiting:
                yield f"a result without its call: {message}"
            else:
                waiting.remove(message["tool_name"])
            continue
        if waiting:
            yield f"calls without results: {waiting}"
        waiting = [call["function"]["name"] for call in message.get("tool_calls", ())]
