"""Prices: the user's table first, then the listed ones, and None instead of a guess."""

from __future__ import annotations

import sys

import pytest
from tests.unit.core.llm.wrappers.streams import PiecewiseModel, asked, shown

from agentic.core.llm import ModelPrice, PricedModel, ScriptedModel, TokenUsage, price_of

pytestmark = pytest.mark.requirement("LM08")

USAGE = TokenUsage(
    input_tokens=1_000_000, cache_read_tokens=500_000, cache_write_tokens=100_000, output_tokens=2_000_000
)


def test_a_price_counts_tokens_from_and_into_the_cache_apart() -> None:
    price = ModelPrice(input_usd=1, output_usd=10, cache_read_usd=0.1, cache_write_usd=2)
    assert price.of(USAGE) == pytest.approx(0.4 + 0.05 + 0.2 + 20)
    assert ModelPrice(input_usd=1, output_usd=10).of(USAGE) == pytest.approx(21)


def test_the_table_counts_first_by_model_then_by_provider() -> None:
    table = {
        "openai:gpt-5": ModelPrice(input_usd=1, output_usd=0),
        "openai:*": ModelPrice(input_usd=2, output_usd=0),
    }
    assert [price_of(f"openai:{name}", USAGE, table) for name in ("gpt-5", "gpt-5-mini")] == [1, 2]


def test_a_local_model_is_free() -> None:
    assert price_of("ollama:llama3.2:8b", USAGE) == 0
    table = {"ollama:*": ModelPrice(input_usd=3, output_usd=0)}
    assert price_of("ollama:llama3.2:8b", USAGE, table) == 3


@pytest.mark.parametrize("model", ["openai:no-such-model", "nowhere:gpt-5", "scripted:model"])
def test_a_model_without_a_price_has_none(model: str) -> None:
    assert price_of(model, USAGE) is None


def test_listed_prices_are_used() -> None:
    usage = TokenUsage(input_tokens=1_000, cache_read_tokens=500, output_tokens=100)
    cost = price_of("openai:gpt-5", usage)
    assert cost is not None
    assert 0.0001 < cost < 0.01
    dearer = price_of("openai:gpt-5", usage.model_copy(update={"cache_read_tokens": 0}))
    assert dearer is not None
    assert dearer > cost


def test_counts_that_do_not_fit_each_other_have_a_price_all_the_same() -> None:
    assert price_of("openai:gpt-5", TokenUsage(input_tokens=10, cache_read_tokens=500)) is not None


def test_without_the_library_a_price_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    assert price_of("openai:gpt-5", USAGE) is None


async def test_a_table_takes_the_place_of_the_cost_that_a_model_reports() -> None:
    inner = ScriptedModel(["Yes."], name="lab:secret", cost_usd=None)
    model = PricedModel(inner, {"lab:*": ModelPrice(input_usd=0, output_usd=1_000_000)})
    reply = await model.complete(asked())
    assert reply.usage.cost_usd == reply.usage.output_tokens == model.cost_of(reply.usage)
    streamed = PricedModel(
        PiecewiseModel(["a", "b"]), {"piecewise:model": ModelPrice(input_usd=1e6, output_usd=0)}
    )
    deltas = [delta async for delta in streamed.stream(asked())]
    assert [delta.text for delta in deltas] == ["a", "b", ""]
    assert deltas[-1].reply is not None
    assert deltas[-1].reply.usage.cost_usd == 10


async def test_a_model_that_is_not_in_the_table_keeps_its_cost() -> None:
    model = PricedModel(
        ScriptedModel(["Yes."], cost_usd=0.5), {"lab:*": ModelPrice(input_usd=1, output_usd=1)}
    )
    assert (await model.complete(asked())).usage.cost_usd == 0.5
    assert model.cost_of(USAGE) == 0.5
    assert await shown(PricedModel(PiecewiseModel(["a"]), {})) == ["a", "<reply: a>"]
