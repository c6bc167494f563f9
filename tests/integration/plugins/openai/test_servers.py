"""What servers with the same API do in their own way, and what goes to OpenAI only."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import pytest
from tests.integration.plugins.openai.wire import OpenAIWire

from agentic.core.llm import (
    ChatMessage,
    ModelError,
    ModelReply,
    ModelRequest,
    ModelSettings,
    TextPart,
    ToolDefinition,
    llm,
)
from agentic.core.testing.llm import KEY, ModelServer, WireAnswer, WireRequest, serving, sse

pytestmark = pytest.mark.integration


class LenientWire(OpenAIWire):
    """A server that accepts everything."""

    def problems(self, request: WireRequest) -> Iterator[str]:
        return iter(())


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with serving(LenientWire()) as server:
        yield server


def chunks(*deltas: dict[str, Any], finish: str = "stop") -> WireAnswer:
    events = [{"id": "1", "model": "m", "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}
    return WireAnswer(kind="text/event-stream", body=sse(*events, end, end="[DONE]"))


async def ask(server: ModelServer, answer: WireAnswer, *messages: ChatMessage, **options: Any) -> ModelReply:
    server.script(answer)
    async with llm("openai:m", base_url=f"{server.url}/v1", **options) as model:
        request = ModelRequest(
            messages=messages or (ChatMessage.user("Hi"),), tools=(ToolDefinition(name="now"),)
        )
        return await model.complete(request)


async def test_a_private_server_gets_no_key_and_nothing_of_openais_accounts(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_ORG_ID", "org-mine")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-mine")
    assert (await ask(server, chunks({"content": "Yes."}))).text == "Yes."
    sent = str(server.requests[0].headers)
    assert "authorization" not in server.requests[0].headers
    assert not any(secret in sent for secret in (KEY, "org-mine", "proj-mine"))


@pytest.mark.parametrize("key", [None, "sk-of-this-server"])
async def test_another_server_gets_no_headers_of_the_environment(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch, key: str | None
) -> None:
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer gateway\nX-Gateway: gateway")
    await ask(server, chunks({"content": "Yes."}), **({"api_key": key} if key else {}))
    headers = server.requests[0].headers
    assert headers.get("authorization") == (f"Bearer {key}" if key else None)
    assert "gateway" not in str(headers)


async def test_the_gateway_of_the_environment_gets_its_headers(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway: gateway")
    await ask(server, chunks({"content": "Yes."}))
    assert server.requests[0].headers["x-gateway"] == "gateway"


async def test_a_server_without_usage_gives_a_reply_without_counts(server: ModelServer) -> None:
    usage = (await ask(server, chunks({"content": "Yes."}))).usage
    assert (usage.input_tokens, usage.requests, usage.cost_usd) == (0, 1, None)


async def test_a_server_that_does_not_stream_gives_a_reply(server: ModelServer) -> None:
    message = {"role": "assistant", "content": "Yes.", "tool_calls": None}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    body = {
        "id": "1",
        "model": "m",
        "choices": [choice],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    }
    reply = await ask(server, WireAnswer(body=json.dumps(body).encode()))
    assert (reply.text, reply.usage.total_tokens) == ("Yes.", 4)


@pytest.mark.parametrize("indexes", [[0, 1], [0, 0], [None, None]], ids=["right", "all 0", "none"])
async def test_calls_are_told_apart_by_index_or_id(server: ModelServer, indexes: list[int | None]) -> None:
    def piece(number: int, **function: str) -> dict[str, Any]:
        named = {"id": f"call-{number}"} if "name" in function else {}
        index = {} if indexes[number] is None else {"index": indexes[number]}
        return {"tool_calls": [{**index, **named, "type": "function", "function": function}]}

    deltas = [piece(0, name="now", arguments='{"a"'), piece(0, arguments=": 1}")]
    deltas += [piece(1, name="now", arguments='{"b": '), piece(1, arguments="2}")]
    if indexes == [0, 0]:  # these servers send each call whole
        deltas = [piece(0, name="now", arguments='{"a": 1}'), piece(1, name="now", arguments='{"b": 2}')]
    calls = (await ask(server, chunks(*deltas, finish="tool_calls"))).tool_calls
    assert [(call.id, call.arguments) for call in calls] == [("call-0", {"a": 1}), ("call-1", {"b": 2})]


async def test_details_of_thoughts_go_back_to_their_server_only(server: ModelServer) -> None:
    details = [{"type": "reasoning.encrypted", "data": "abc", "id": "r1"}]
    answer = chunks(
        {"reasoning": "Hmm."}, {"reasoning": " So.", "reasoning_details": details}, {"content": "Yes."}
    )
    reply = await ask(server, answer)
    assert reply.message.thinking == "Hmm. So."
    await ask(
        server, chunks({"content": "Good."}), ChatMessage.user("Hi"), reply.message, ChatMessage.user("?")
    )
    assert server.requests[-1].body["messages"][1]["reasoning_details"] == details
    server.script(chunks({"content": "Good."}))
    async with llm("openai:m", base_url=f"{server.url.replace('127.0.0.1', 'localhost')}/v1") as other:
        await other.chat("", [ChatMessage.user("Hi"), reply.message, ChatMessage.user("?")])
    assert server.requests[-1].body["messages"][1] == {"role": "assistant", "content": "Yes."}


async def test_words_of_refusal_are_the_reply(server: ModelServer) -> None:
    reply = await ask(server, chunks({"refusal": "I can"}, {"refusal": "not."}))
    assert (reply.text, reply.stop_reason) == ("I cannot.", "refused")


async def test_an_injected_client_is_used_and_left_open() -> None:
    seen: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        body = chunks({"content": "Yes."}).body
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body)

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as client:
        async with llm("openai:m", api_key=KEY, http_client=client) as model:
            request = ModelRequest(
                messages=(ChatMessage.user("Hi"),),
                settings=ModelSettings(max_tokens=5, seed=7, thinking="high", extra={"store": False}),
            )
            assert (await model.complete(request)).message.parts == (TextPart(text="Yes."),)
        assert not client.is_closed
    assert str(seen[0].url) == "https://api.openai.com/v1/chat/completions"
    body = json.loads(seen[0].content)
    assert (body["max_completion_tokens"], body["seed"], body["reasoning_effort"], body["store"]) == (
        5,
        7,
        "high",
        False,
    )


async def test_the_prompt_begins_alike_in_each_turn(server: ModelServer) -> None:
    messages = [ChatMessage.user("One"), ChatMessage.assistant("Two"), ChatMessage.user("Three")]
    for count in (1, 3):
        await ask(server, chunks({"content": "Yes."}), *messages[:count])
    first, second = (request.body for request in server.requests)
    assert second["messages"][: len(first["messages"])] == first["messages"]
    assert second["tools"] == first["tools"]


@pytest.mark.parametrize("given", [False, True], ids=["own client", "client of the user"])
async def test_an_answer_that_is_not_streamed_is_read_to_a_limit(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch, *, given: bool
) -> None:
    monkeypatch.setattr("agentic.core.llm.adapting.bounding.MAX_ANSWER_BYTES", 50_000)
    async with httpx2.AsyncClient() as client:
        mine = {"http_client": client} if given else {}
        with pytest.raises(ModelError, match="longer than") as caught:
            await ask(server, WireAnswer(body=b'{"id": "' + b"x" * 200_000, stalls=True), **mine)
        assert not caught.value.is_retriable
        assert (await ask(server, chunks({"content": "x" * 100_000}), **mine)).text == "x" * 100_000
        assert client.event_hooks == {"request": [], "response": []}


async def test_an_encoding_that_was_not_asked_for_is_an_error(server: ModelServer) -> None:
    for encoding in ("br", "gzip, gzip"):
        with pytest.raises(ModelError, match="accepts only gzip"):
            await ask(server, WireAnswer(body=b"x", headers={"Content-Encoding": encoding}))
    assert server.requests[0].headers["accept-encoding"] == "gzip, deflate"
