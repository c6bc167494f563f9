"""Embeddings of servers with OpenAI's API."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence

import pytest
from tests.integration.plugins.openai.test_servers import LenientWire

from agentic.core.agents import (
    AgentMemoryError,
    InMemoryVectorIndex,
    Memory,
    MemoryScope,
    SemanticMemoryProvider,
)
from agentic.core.llm import ChatMessage, MissingKeyError, ModelError, RateLimitedError
from agentic.core.testing.llm import KEY, ModelServer, WireAnswer, serving
from agentic.plugins.openai import openai_embedder
from agentic.plugins.openai.embedder import OpenAIEmbedder

pytestmark = pytest.mark.integration


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with serving(LenientWire()) as server:
        yield server


def answer(*vectors: Sequence[float]) -> WireAnswer:
    """Return an answer; the server gives the vectors in reverse."""
    data = [
        {"object": "embedding", "index": number, "embedding": vector} for number, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": 3, "total_tokens": 3}
    body = {"object": "list", "model": "m", "data": data[::-1], "usage": usage}
    return WireAnswer(kind="application/json", body=json.dumps(body).encode())


async def embed(
    server: ModelServer, *texts: str, dimension: int = 2, shortens: bool = False, key: str | None = KEY
) -> Sequence[Sequence[float]]:
    embedder = openai_embedder(
        "m", dimension=dimension, shortens=shortens, api_key=key, base_url=f"{server.url}/v1"
    )
    assert isinstance(embedder, OpenAIEmbedder)
    assert embedder.name == f"openai:m/{dimension}"
    try:
        return await embedder.embed(texts)
    finally:
        await embedder.aclose()


async def test_each_text_has_its_vector(server: ModelServer) -> None:
    server.script(answer([1.0, 0.5], [0.0, 1.0]))
    assert await embed(server, "one", "two") == [[1.0, 0.5], [0.0, 1.0]]
    [request] = server.requests
    assert (request.method, request.path) == ("POST", "/v1/embeddings")
    assert request.body == {"model": "m", "input": ["one", "two"], "encoding_format": "float"}
    assert request.headers["authorization"] == f"Bearer {KEY}"


async def test_vectors_are_shortened_by_the_server_if_wanted(server: ModelServer) -> None:
    server.script(answer([1.0, 0.5]))
    await embed(server, "one", shortens=True)
    assert server.requests[0].body["dimensions"] == 2


async def test_a_private_server_gets_no_key(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.script(answer([1.0, 0.5]))
    await embed(server, "one", key=None)
    assert "authorization" not in server.requests[0].headers


async def test_a_wrong_dimension_is_an_error_that_names_the_right_one(server: ModelServer) -> None:
    server.script(answer([1.0, 0.5, 0.1]))
    with pytest.raises(ModelError, match="its vectors have 3 numbers, not 2; give dimension=3"):
        await embed(server, "one")


async def test_failures_are_the_errors_of_models_without_the_key(server: ModelServer) -> None:
    server.script(WireAnswer(status=429, body=LenientWire().error(429, f"slow down, {KEY}")))
    with pytest.raises(RateLimitedError, match="slow down") as caught:
        await embed(server, "one")
    assert KEY not in str(caught.value)
    assert caught.value.__context__ is None


async def test_a_missing_key_and_an_impossible_dimension_are_reported_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(MissingKeyError):
        openai_embedder("m", dimension=2)
    with pytest.raises(ValueError, match="a vector cannot have 0 numbers"):
        openai_embedder("m", dimension=0, api_key=KEY)


@pytest.mark.requirement("ME06")
async def test_memories_are_found_by_the_vectors_of_a_server(server: ModelServer) -> None:
    embedder = openai_embedder("m", dimension=2, api_key=KEY, base_url=f"{server.url}/v1")
    assert isinstance(embedder, OpenAIEmbedder)
    memory = SemanticMemoryProvider(InMemoryVectorIndex(embedder), embedder)
    server.script(answer([1.0, 0.0], [0.0, 1.0]))
    await memory.store_memories("host", "ada", [Memory.of("Has a puppy", 1.0), Memory.of("Likes jazz", 1.0)])
    server.script(answer([0.9, 0.1]))
    ada = MemoryScope(agent="host", user_id="ada")
    found = await memory.before_invoke(ada, [ChatMessage.user("How is my dog?")])
    assert [one.content for one in found.retrieved_memories] == ["Has a puppy", "Likes jazz"]
    server.script(WireAnswer(status=500, body=LenientWire().error(500, "broken")))
    with pytest.raises(AgentMemoryError, match="the embedder openai:m/2 failed: "):
        await memory.store_memory("host", "ada", Memory.of("Likes tea", 1.0))
    await embedder.aclose()
