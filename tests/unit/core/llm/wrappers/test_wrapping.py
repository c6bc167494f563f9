"""All wrappers: models themselves, whose streams flow and are closed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, cast

import pytest
from tests.unit.core.llm.wrappers.streams import PiecewiseModel, asked, shown_delta

from agentic.core.llm import (
    Budget,
    BudgetModel,
    CacheModel,
    ChatMessage,
    FallbackModel,
    LLMAdapter,
    ModelDelta,
    ModelPrice,
    ModelReply,
    ModelRequest,
    ModelWrapper,
    PricedModel,
    ReplayModel,
    RetryingModel,
    ScriptedModel,
    TieredModel,
)

pytestmark = pytest.mark.requirement("LM01")

Wrap = Callable[[LLMAdapter], LLMAdapter]


@pytest.fixture(
    params=["plain", "retrying", "fallback", "fast", "smart", "cache", "budget", "priced", "replay"]
)
def wrap(request: pytest.FixtureRequest, tmp_path: Path) -> Wrap:
    other = ScriptedModel([], name="piecewise:model")
    wraps: dict[str, Wrap] = {
        "plain": ModelWrapper,
        "retrying": RetryingModel,
        "fallback": lambda model: FallbackModel(model, other),
        "fast": lambda model: TieredModel(model, other),
        "smart": lambda model: TieredModel(other, model, lambda _: "smart"),
        "cache": CacheModel,
        "budget": lambda model: BudgetModel(model, Budget(max_usd=1)),
        "priced": lambda model: PricedModel(model, {"piecewise:*": ModelPrice(input_usd=1, output_usd=1)}),
        "replay": lambda model: ReplayModel(tmp_path / "replies.jsonl", model),
    }
    return wraps[str(request.param)]


async def test_pieces_flow_as_they_come_and_the_last_one_has_the_reply(wrap: Wrap) -> None:
    seen: list[str] = []
    inner = PiecewiseModel(["Hel", lambda: seen.append("between"), "lo."])
    async for delta in wrap(inner).stream(asked()):
        seen.append(shown_delta(delta))  # noqa: PERF401  # the order of both counts
    assert seen == ["Hel", "between", "lo.", "<reply: Hello.>"]
    assert inner.requests == [asked()]


async def test_a_whole_reply_is_the_models(wrap: Wrap) -> None:
    reply = await wrap(PiecewiseModel(["Hel", "lo."])).complete(asked())
    assert (reply.text, reply.usage.total_tokens, reply.usage.cost_usd) == ("Hello.", 15, 15e-6)
    assert reply.replied_by in ("", "piecewise:model")


async def test_a_reader_that_stops_closes_the_stream_of_the_model(wrap: Wrap) -> None:
    inner = PiecewiseModel(["Hel", "lo."])
    stream = wrap(inner).stream(asked())
    assert await anext(stream) == ModelDelta(text="Hel")
    await stream.aclose()  # type: ignore[attr-defined]  # a generator
    assert inner.closed_count == 1


async def test_text_in_the_last_piece_is_not_lost(wrap: Wrap) -> None:
    class AtOnce(PiecewiseModel):
        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
            yield ModelDelta(text="Hello.", reply=ModelReply(message=ChatMessage.assistant("Hello.")))

    deltas = [delta async for delta in wrap(AtOnce()).stream(asked())]
    assert "".join(delta.text for delta in deltas) == "Hello."
    assert deltas[-1].reply is not None


async def test_a_wrapper_has_the_name_of_its_model_and_can_be_wrapped_and_closed(wrap: Wrap) -> None:
    inner = PiecewiseModel(["Hello."])
    async with RetryingModel(wrap(inner)) as model:
        assert (model.name, model.provider) == ("piecewise:model", "piecewise")
        assert model.capabilities == inner.capabilities
        assert await model.generate("", "Hello?") == "Hello."


def test_a_wrapper_takes_names_of_models_and_refuses_anything_else(tmp_path: Path) -> None:
    table = {"ollama:*": ModelPrice(input_usd=1, output_usd=1)}
    makers: list[Callable[[Any], LLMAdapter]] = [
        FallbackModel,
        RetryingModel,
        CacheModel,
        lambda model: TieredModel(model, model),
        lambda model: PricedModel(model, table),
        lambda model: BudgetModel(model, Budget(max_tokens=1_000)),
        lambda model: ReplayModel(tmp_path / "replies.jsonl", model),
    ]
    for make in makers:
        assert make("ollama:tiny").name == "ollama:tiny"
        with pytest.raises(TypeError, match=r"a model is an LLMAdapter or its name .*, not int"):
            make(3)
    with pytest.raises(ValueError, match="no mode 'repaly'; use one of: record, replay, auto"):
        ReplayModel(tmp_path / "replies.jsonl", "ollama:tiny", mode=cast(Any, "repaly"))
    with pytest.raises(LookupError, match="'ollama' is a provider without a model; write 'ollama:NAME'"):
        FallbackModel("ollama")


def test_a_script_that_is_one_line_and_a_line_that_is_none_are_refused() -> None:
    with pytest.raises(TypeError, match="is a list of lines, not one line: 'Hello'"):
        ScriptedModel("Hello")
    with pytest.raises(TypeError, match=r"a line is a text, .* not 5"):
        asyncio.run(ScriptedModel([cast(Any, 5)]).generate("", "Hi?"))
