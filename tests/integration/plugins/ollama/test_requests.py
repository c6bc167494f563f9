"""Settings, schemas and keys as Ollama gets them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from tests.integration.plugins.ollama.wire import OllamaWire

from agentic.core.llm import (
    BadModelRequestError,
    ChatMessage,
    ModelRequest,
    ModelSettings,
    OutputFormat,
    TextPart,
    ToolDefinition,
    llm,
)
from agentic.core.testing.llm import KEY, ModelServer, WireRequest, serving
from agentic.core.testing.llm.contract import SCHEMA, said
from agentic.plugins.ollama.adapter import address

pytestmark = pytest.mark.integration


class KeylessWire(OllamaWire):
    """A server that wants no key."""

    def problems(self, request: WireRequest) -> Any:
        return [one for one in super().problems(request) if one != "wrong key"]


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with serving(KeylessWire()) as server:
        yield server
    assert server.problems == []


async def sent(server: ModelServer, **request: Any) -> WireRequest:
    server.script(server.wire.streamed(said(TextPart(text="Yes.")), [4]))
    async with llm("ollama:model-1", base_url=server.url) as model:
        await model.complete(ModelRequest(messages=(ChatMessage.user("Hi"),), **request))
    return server.requests[-1]


@pytest.mark.requirement("LM05")
async def test_schemas_of_tools_and_output_arrive_whole(server: ModelServer) -> None:
    tool = ToolDefinition(name="find", parameters=SCHEMA)
    body = (await sent(server, tools=(tool,), output=OutputFormat(schema=SCHEMA))).body
    assert body["tools"][0]["function"]["parameters"] == SCHEMA
    assert body["format"] == SCHEMA


async def test_settings_are_options_and_more_can_be_added(server: ModelServer) -> None:
    settings = ModelSettings(
        temperature=0,
        max_tokens=9,
        seed=3,
        thinking="off",
        extra={"options": {"num_ctx": 8_192}, "keep_alive": "5m"},
    )
    body = (await sent(server, settings=settings)).body
    assert body["options"] == {"temperature": 0, "num_predict": 9, "seed": 3, "num_ctx": 8_192}
    assert (body["think"], body["keep_alive"]) == (False, "5m")


async def test_the_key_of_the_environment_stays_away_from_local_servers(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", KEY)
    assert KEY not in str((await sent(server)).headers)


async def test_no_tools_are_sent_if_none_may_be_called_and_none_can_be_demanded(server: ModelServer) -> None:
    tool = ToolDefinition(name="now")
    assert "tools" not in (await sent(server, tools=(tool,), tool_choice="none")).body
    for choice in ("required", "now"):
        with pytest.raises(BadModelRequestError, match="cannot demand a call"):
            await sent(server, tools=(tool,), tool_choice=choice)


async def test_a_transport_can_be_given() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert str(request.url) == "http://ollama:11434/api/chat"
        return httpx.Response(200, content=b'{"message":{"content":"Yes."},"done":true}')

    async with llm(
        "ollama:m", base_url="http://ollama:11434", transport=httpx.MockTransport(answer)
    ) as model:
        assert await model.generate("", "Hi") == "Yes."


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:5000", "http://127.0.0.1:5000"),
        (":5000", "http://127.0.0.1:5000"),
        ("gpu:5000", "http://gpu:5000"),
        ("gpu", "http://gpu:11434"),
        ("[::1]", "http://[::1]:11434"),
        ("[::]:5000", "http://127.0.0.1:5000"),
        ("::1", "http://[::1]:11434"),
        ("https://ollama.com", "https://ollama.com"),
    ],
)
def test_the_address_is_the_one_of_the_environment(host: str, url: str) -> None:
    assert address(host) == url
