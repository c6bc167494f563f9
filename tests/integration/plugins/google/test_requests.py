"""Signatures of thoughts, settings and refusals of Gemini."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.integration.plugins.google.wire import GoogleWire

from agentic.core.llm import (
    ChatMessage,
    LLMAdapter,
    ModelRequest,
    ModelSettings,
    TextPart,
    ToolCall,
    ToolDefinition,
    ToolResult,
)
from agentic.core.testing.llm import ModelServer, WireAnswer, serving, sse
from agentic.core.testing.llm.contract import said
from agentic.plugins.google.requests import sent_request

pytestmark = pytest.mark.integration
TOOLS = (ToolDefinition(name="now"),)


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with serving(GoogleWire()) as server:
        yield server
    assert server.problems == []


@pytest.fixture
async def model(server: ModelServer) -> AsyncIterator[LLMAdapter]:
    async with server.wire.adapter(server.url) as model:
        yield model


async def sent(server: ModelServer, model: LLMAdapter, *messages: ChatMessage, **more: Any) -> Any:
    server.script(server.wire.streamed(said(TextPart(text="Yes.")), [4]))
    await model.complete(ModelRequest(messages=messages, tools=TOOLS, **more))
    return server.requests[-1].body


def stream(*parts: dict[str, Any]) -> WireAnswer:
    candidate = {"content": {"role": "model", "parts": list(parts)}, "finishReason": "STOP"}
    return WireAnswer(kind="text/event-stream", body=sse({"candidates": [candidate]}))


@pytest.mark.requirement("LM04")
async def test_signatures_go_back_with_the_parts_that_had_them(
    server: ModelServer, model: LLMAdapter
) -> None:
    parts: list[dict[str, Any]] = [
        {"text": "Let me see."},
        {"functionCall": {"name": "now"}, "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "now", "args": {"zone": "UTC"}}},
        {"text": "", "thoughtSignature": "ZW5k"},
    ]
    server.script(stream(*parts))
    reply = await model.complete(ModelRequest(messages=(ChatMessage.user("Hi"),), tools=TOOLS))
    ids = [call.id for call in reply.tool_calls]
    assert len(set(ids)) == 2
    results = [ToolResult(call_id=one, name="now", content="12:00") for one in ids]
    body = await sent(server, model, ChatMessage.user("Hi"), reply.message, ChatMessage.tool(*results))
    for part in body["contents"][1]["parts"]:
        part.get("functionCall", {}).pop("id", None)
        if part.get("functionCall", {}).get("args") == {}:
            del part["functionCall"]["args"]
    assert body["contents"][1]["parts"] == parts
    assert [part["functionResponse"]["id"] for part in body["contents"][2]["parts"]] == ids


async def test_a_call_of_another_model_gets_the_signature_that_stands_for_none(
    server: ModelServer, model: LLMAdapter
) -> None:
    calls = ToolCall(id="a", name="now", opaque={"openai": {}}), ToolCall(id="b", name="now")
    results = [ToolResult(call_id=one, name="now", content="12:00") for one in "ab"]
    messages = ChatMessage.user("Hi"), ChatMessage.assistant("", *calls), ChatMessage.tool(*results)
    body = await sent(server, model, *messages)
    assert ["thoughtSignature" in part for part in body["contents"][1]["parts"]] == [True, False]


@pytest.mark.parametrize(
    ("thinking", "level"), [("off", "MINIMAL"), ("low", "LOW"), ("medium", "MEDIUM"), ("high", "HIGH")]
)
async def test_thinking_is_a_level(server: ModelServer, model: LLMAdapter, thinking: Any, level: str) -> None:
    settings = ModelSettings(thinking=thinking, seed=4, max_tokens=9)
    config = (await sent(server, model, ChatMessage.user("Hi"), settings=settings))["generationConfig"]
    assert config["thinkingConfig"] == {"thinking_level": level, "include_thoughts": thinking != "off"}
    assert (config["seed"], config["maxOutputTokens"]) == (4, 9)


def test_thinking_of_gemini_2_is_a_budget() -> None:
    request = ModelRequest(messages=(ChatMessage.user("Hi"),), settings=ModelSettings(thinking="off"))
    config = sent_request(request, "google:gemini-2.5-flash").config.thinking_config
    assert config is not None
    assert (config.thinking_budget, config.thinking_level) == (0, None)


async def test_instructions_are_one_text_and_later_ones_keep_their_place(
    server: ModelServer, model: LLMAdapter
) -> None:
    messages = ChatMessage.system("First."), ChatMessage.user("Hi"), ChatMessage.system("Now in French.")
    body = await sent(server, model, *messages, instructions="Zero.")
    assert body["systemInstruction"]["parts"] == [{"text": "Zero.\n\nFirst."}]
    assert body["contents"][1]["parts"] == [{"text": "<instructions>\nNow in French.\n</instructions>"}]
