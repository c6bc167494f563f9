"""Marks for the prompt cache, thoughts that are hidden, and what this API refuses."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any

import pytest
from tests.integration.plugins.anthropic.wire import AnthropicWire

from agentic.core.llm import (
    BadModelRequestError,
    ChatMessage,
    DataPart,
    LLMAdapter,
    ModelError,
    ModelRequest,
    ModelSettings,
    OutputFormat,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolDefinition,
    ToolResult,
)
from agentic.core.testing.llm import KEY, ModelServer, WireAnswer, serving, sse
from agentic.core.testing.llm.contract import said

pytestmark = pytest.mark.integration


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with serving(AnthropicWire()) as server:
        yield server
    assert server.problems == []


@pytest.fixture
async def model(server: ModelServer) -> AsyncIterator[LLMAdapter]:
    async with server.wire.adapter(server.url) as model:
        yield model


async def sent(server: ModelServer, model: LLMAdapter, request: ModelRequest) -> Any:
    server.script(server.wire.streamed(said(TextPart(text="Yes.")), [4]))
    await model.complete(request)
    return server.requests[-1].body


async def test_tools_instructions_and_the_last_two_turns_are_marked_for_the_cache(
    server: ModelServer, model: LLMAdapter
) -> None:
    history = [ChatMessage.user("One")]
    bodies = []
    for number in range(4):
        request = ModelRequest(
            instructions="Be brief.",
            messages=tuple(history),
            tools=(ToolDefinition(name="a"), ToolDefinition(name="b")),
        )
        bodies.append(await sent(server, model, request))
        call = ToolCall(id=f"c{number}", name="a")
        history += [
            ChatMessage.assistant("", call),
            ChatMessage.tool(ToolResult(call_id=call.id, name="a", content="x")),
        ]
    assert [places_of_marks(body) for body in bodies] == [
        ["tools.1", "system.0", "messages.0"],
        ["tools.1", "system.0", "messages.0", "messages.2"],
        ["tools.1", "system.0", "messages.2", "messages.4"],
        ["tools.1", "system.0", "messages.4", "messages.6"],
    ]
    for before, after in pairwise(bodies):
        first, second = unmarked(before), unmarked(after)
        assert (first["tools"], first["system"]) == (second["tools"], second["system"])
        assert second["messages"][: len(first["messages"])] == first["messages"]


def places_of_marks(body: Any) -> list[str]:
    blocks = [
        (f"{name}.{index}", one) for name in ("tools", "system") for index, one in enumerate(body[name])
    ]
    blocks += [
        (f"messages.{index}", one) for index, turn in enumerate(body["messages"]) for one in turn["content"]
    ]
    return [place for place, block in blocks if "cache_control" in block]


def unmarked(value: Any) -> Any:
    if isinstance(value, list):
        return [unmarked(one) for one in value]
    if isinstance(value, dict):
        return {name: unmarked(one) for name, one in value.items() if name != "cache_control"}
    return value


async def test_system_messages_at_the_top_are_instructions_and_later_ones_keep_their_place(
    server: ModelServer, model: LLMAdapter
) -> None:
    messages = (ChatMessage.system("First."), ChatMessage.user("Hi"), ChatMessage.system("Now in French."))
    body = await sent(server, model, ModelRequest(instructions="Zero.", messages=messages))
    assert [block["text"] for block in body["system"]] == ["Zero.", "First."]
    texts = [block["text"] for block in body["messages"][0]["content"]]
    assert texts == ["Hi", "<instructions>\nNow in French.\n</instructions>"]


async def test_hidden_thoughts_and_empty_ones_come_back_as_they_are(
    server: ModelServer, model: LLMAdapter
) -> None:
    usage = {"input_tokens": 5, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "x", "content": [], "usage": usage}
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
        ({"type": "redacted_thinking", "data": "abc=="}, []),
        (
            {"type": "thinking", "thinking": "", "signature": ""},
            [{"type": "signature_delta", "signature": "s1"}, {"type": "signature_delta", "signature": "s2"}],
        ),
        ({"type": "text", "text": ""}, [{"type": "text_delta", "text": "Yes."}]),
        ({"type": "server_tool_use", "id": "t", "name": "web_search", "input": {}}, []),
    ]
    events: list[dict[str, Any]] = [{"type": "message_start", "message": message}]
    for index, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    events += [
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]
    server.script(WireAnswer(kind="text/event-stream", body=sse(*events, names=True)))
    reply = await model.complete(ModelRequest(messages=(ChatMessage.user("Hi"),)))
    assert reply.message.parts == (
        ThinkingPart(opaque={"anthropic": {"redacted": "abc=="}}),
        ThinkingPart(opaque={"anthropic": {"signature": "s1s2"}}),
        TextPart(text="Yes."),
    )
    messages = (ChatMessage.user("Hi"), reply.message, ChatMessage.user("?"))
    body = await sent(server, model, ModelRequest(messages=messages))
    assert body["messages"][1]["content"] == [
        {"type": "redacted_thinking", "data": "abc=="},
        {"type": "thinking", "thinking": "", "signature": "s1s2"},
        {"type": "text", "text": "Yes."},
    ]


async def test_another_server_gets_no_headers_of_the_environment(
    server: ModelServer, model: LLMAdapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "Authorization: Bearer gateway\nX-Gateway: gateway")
    await sent(server, model, ModelRequest(messages=(ChatMessage.user("Hi"),)))
    headers = server.requests[0].headers
    assert headers["authorization"] == f"Bearer {KEY}"
    assert "gateway" not in str(headers)


async def test_a_refusal_is_a_reply_with_its_explanation(server: ModelServer, model: LLMAdapter) -> None:
    usage = {"input_tokens": 5, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "x", "content": [], "usage": usage}
    details = {"type": "refusal", "category": "cyber", "explanation": "It could do harm."}
    end = {"stop_reason": "refusal", "stop_details": details}
    events = [
        {"type": "message_start", "message": message},
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
    server.script(WireAnswer(kind="text/event-stream", body=sse(*events, names=True)))
    reply = await model.complete(ModelRequest(messages=(ChatMessage.user("Hi"),)))
    assert (reply.stop_reason, reply.text) == ("refused", "It could do harm.")


async def test_settings_that_the_api_refuses_are_left_out_and_thoughts_are_an_effort(
    server: ModelServer, model: LLMAdapter
) -> None:
    settings = ModelSettings(
        temperature=0, top_p=0.5, seed=1, thinking="high", extra={"service_tier": "auto"}
    )
    body = await sent(server, model, ModelRequest(messages=(ChatMessage.user("Hi"),), settings=settings))
    assert not body.keys() & {"temperature", "top_p", "seed"}
    assert body["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert (body["output_config"], body["service_tier"]) == ({"effort": "high"}, "auto")


async def test_many_tools_or_free_schemas_are_not_strict(server: ModelServer, model: LLMAdapter) -> None:
    closed: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    tools = [ToolDefinition(name=f"t{number}", parameters=closed) for number in range(21)]
    free = ToolDefinition(name="free", parameters={"type": "object"})
    request = ModelRequest(messages=(ChatMessage.user("Hi"),), tools=(*tools[:20], free))
    strict = [tool.get("strict", False) for tool in (await sent(server, model, request))["tools"]]
    assert strict == [True] * 20 + [False]
    request = request.model_copy(update={"tools": tuple(tools)})
    assert not any("strict" in tool for tool in (await sent(server, model, request))["tools"])


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "object"}}},
        {"$ref": "#/$defs/A", "$defs": {"A": {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}}}},
    ],
    ids=["free keys", "recursive"],
)
async def test_an_output_that_cannot_be_enforced_is_refused_with_the_next_step(
    server: ModelServer, model: LLMAdapter, schema: dict[str, Any]
) -> None:
    request = ModelRequest(messages=(ChatMessage.user("Hi"),), output=OutputFormat(schema=schema))
    with pytest.raises(BadModelRequestError, match="structured='tool'"):
        await model.complete(request)
    assert server.requests == []


async def test_a_file_of_text_a_pdf_and_a_picture_by_url_are_read(
    server: ModelServer, model: LLMAdapter
) -> None:
    files = (
        DataPart(media_type="text/plain", data="SGk=", name="hi.txt"),
        DataPart(media_type="application/pdf", data="JVBERg==", name="a.pdf"),
        DataPart(media_type="image/png", url="https://example.com/a.png"),
    )
    body = await sent(server, model, ModelRequest(messages=(ChatMessage.user("See:", *files),)))
    text, pdf, image = body["messages"][0]["content"][1:]
    assert text["text"] == "hi.txt:\nHi"
    assert json.loads(json.dumps(pdf["source"]))["media_type"] == "application/pdf"
    assert image["source"] == {"type": "url", "url": "https://example.com/a.png"}


async def test_an_event_without_end_is_read_to_a_limit(
    server: ModelServer, model: LLMAdapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentic.core.llm.adapting.sse.MAX_EVENT_BYTES", 50_000)
    endless = [b'data: {"type": "ping", "x": "' + b"x" * 200_000, b'data: "x"\n' * 20_000]
    for body in endless:
        server.script(WireAnswer(kind="text/event-stream", body=body, stalls=True))
        with pytest.raises(ModelError, match="longer than") as caught:
            await model.complete(ModelRequest(messages=(ChatMessage.user("Hi"),)))
        assert not caught.value.is_retriable


async def test_an_event_that_is_not_an_object_is_an_error_of_the_model(
    server: ModelServer, model: LLMAdapter
) -> None:
    for data in (b"{", b"[" * 100_000, b"[]", b"null"):
        server.script(WireAnswer(kind="text/event-stream", body=b"data: " + data + b"\n\n"))
        with pytest.raises(ModelError, match="not a JSON object"):
            await model.complete(ModelRequest(messages=(ChatMessage.user("Hi"),)))
