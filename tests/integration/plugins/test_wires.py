"""The servers of the contract refuse requests that the real APIs refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.integration.plugins.anthropic.wire import AnthropicWire
from tests.integration.plugins.ollama.wire import OllamaWire
from tests.integration.plugins.openai.wire import OpenAIWire

from agentic.core.testing.llm import KEY, ModelWire, WireRequest

pytestmark = pytest.mark.integration
Change = Callable[[Any], object]
STRICT = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}


def openai_body() -> dict[str, Any]:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    return {
        "model": "m",
        "stream": True,
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "a", "content": "x"},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": STRICT, "strict": True}}],
    }


def anthropic_body() -> dict[str, Any]:
    return {
        "model": "m",
        "max_tokens": 5,
        "stream": True,
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]},
        ],
        "tools": [{"name": "f", "input_schema": STRICT, "strict": True}],
    }


def problems(wire: ModelWire, path: str, body: Any) -> list[str]:
    headers = {"authorization": f"Bearer {KEY}", "x-goog-api-key": KEY}
    return list(wire.problems(WireRequest(method="POST", path=path, headers=headers, body=body)))


OPENAI: dict[str, Change] = {
    "an unknown field": lambda body: body.update(colour="red"),
    "a field of another type": lambda body: body.update(temperature="hot"),
    "a missing field": lambda body: body.pop("model"),
    "an unknown field of a message": lambda body: body["messages"][0].update(mood="good"),
    "an unknown kind of content": lambda body: body["messages"][0]["content"].append({"type": "x"}),
    "a call without its result": lambda body: (
        body["messages"].pop(2) and body["messages"].append({"role": "user", "content": "?"})
    ),
    "a result without its call": lambda body: body["messages"].pop(1),
    "an empty message of the assistant": lambda body: body["messages"].append(
        {"role": "assistant", "content": None}
    ),
    "a strict schema that is open": lambda body: body["tools"][0]["function"].update(
        parameters={**STRICT, "additionalProperties": True}
    ),
    "a strict schema with an optional property": lambda body: body["tools"][0]["function"].update(
        parameters={**STRICT, "required": []}
    ),
    "a strict schema with a default": lambda body: body["tools"][0]["function"].update(
        parameters={**STRICT, "properties": {"a": {"type": "string", "default": ""}}}
    ),
}
ANTHROPIC: dict[str, Change] = {
    "an unknown field": lambda body: body.update(temperature=0.5),
    "a missing field": lambda body: body.pop("max_tokens"),
    "an unknown field of a block": lambda body: body["messages"][0]["content"][0].update(mood="good"),
    "two turns of one role": lambda body: body["messages"].insert(
        0, {"role": "user", "content": [{"type": "text", "text": "x"}]}
    ),
    "a call without its result": lambda body: body["messages"][2].update(
        content=[{"type": "text", "text": "x"}]
    ),
    "a text before a result": lambda body: body["messages"][2]["content"].insert(
        0, {"type": "text", "text": "x"}
    ),
    "an empty text": lambda body: body["messages"][0]["content"][0].update(text=" "),
    "five marks for the cache": lambda body: body.update(
        system=[{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}] * 5
    ),
    "a strict schema that is open": lambda body: body["tools"][0].update(input_schema={"type": "object"}),
    "a strict schema with a pattern": lambda body: body["tools"][0].update(
        input_schema={**STRICT, "properties": {"a": {"type": "string", "pattern": "x"}}}
    ),
}
OLLAMA: dict[str, Change] = {
    "an unknown field": lambda body: body.update(tool_choice="auto"),
    "an unknown option": lambda body: body.update(options={"max_tokens": 5}),
    "an unknown field of a message": lambda body: body["messages"][0].update(name="x"),
    "a missing field": lambda body: body.pop("model"),
    "a call without its result": lambda body: body["messages"].insert(2, {"role": "user", "content": "?"}),
    "a result without its call": lambda body: body["messages"].pop(1),
}


def ollama_body() -> dict[str, Any]:
    call = {"function": {"name": "f", "arguments": {}}}
    return {
        "model": "m",
        "stream": True,
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_name": "f", "content": "x"},
        ],
    }


@pytest.mark.parametrize("name", ["", *OLLAMA])
def test_ollama_refuses(name: str) -> None:
    body = ollama_body()
    OLLAMA.get(name, lambda _: None)(body)
    assert bool(problems(OllamaWire(), "/api/chat", body)) is bool(name)


@pytest.mark.parametrize("name", ["", *OPENAI])
def test_openais_server_refuses(name: str) -> None:
    body = openai_body()
    OPENAI.get(name, lambda _: None)(body)
    assert bool(problems(OpenAIWire(), "/v1/chat/completions", body)) is bool(name)


@pytest.mark.parametrize("name", ["", *ANTHROPIC])
def test_anthropics_server_refuses(name: str) -> None:
    body = anthropic_body()
    ANTHROPIC.get(name, lambda _: None)(body)
    assert bool(problems(AnthropicWire(), "/v1/messages", body)) is bool(name)
