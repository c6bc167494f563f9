"""Other models for the time that one does not reply."""

from __future__ import annotations

import pytest
from tests.unit.core.llm.wrappers.streams import PiecewiseModel, asked, shown

from agentic.core.llm import (
    BadModelRequestError,
    Budget,
    BudgetModel,
    ContentRefusedError,
    CutReplyError,
    FallbackModel,
    ModelAuthError,
    ModelCapabilities,
    ModelError,
    ModelPrice,
    OverloadedError,
    PricedModel,
    QuotaExhaustedError,
    ScriptedModel,
    TieredModel,
    TokenUsage,
    UnknownModelError,
)

pytestmark = pytest.mark.requirement("LM01")


def first(*script: str | Exception) -> ScriptedModel:
    return ScriptedModel(script, name="a:first")


def second(*script: str | Exception) -> ScriptedModel:
    return ScriptedModel(script, name="b:second")


@pytest.mark.parametrize("cls", [OverloadedError, QuotaExhaustedError, ModelAuthError, UnknownModelError])
async def test_the_next_model_is_asked_and_the_reply_names_it(cls: type[ModelError]) -> None:
    for streamed in (False, True):
        model = FallbackModel(first(cls("a:first", "no")), second("Hello."))
        if streamed:
            assert await shown(model) == ["Hello.", "<reply: Hello.>"]
        else:
            reply = await model.complete(asked())
            assert (reply.text, reply.replied_by) == ("Hello.", "b:second")


async def test_the_first_model_is_named_too_and_the_innermost_one_if_they_are_nested() -> None:
    model = FallbackModel(FallbackModel(first(OverloadedError("a:first", "no")), second("Hello.")), first())
    assert (await model.complete(asked())).replied_by == "b:second"
    assert (await FallbackModel(first("Hi.")).complete(asked())).replied_by == "a:first"


@pytest.mark.parametrize("cls", [ContentRefusedError, BadModelRequestError])
async def test_what_every_model_would_refuse_is_not_sent_on(cls: type[ModelError]) -> None:
    other = second("Hello.")
    with pytest.raises(cls):
        await FallbackModel(first(cls("a:first", "no")), other).complete(asked())
    assert other.requests == []


async def test_other_errors_send_a_request_on_if_they_are_named() -> None:
    refused = ContentRefusedError("a:first", "no")
    model = FallbackModel(first(refused), second("Hello."), on=(ContentRefusedError,))
    assert (await model.complete(asked())).text == "Hello."


async def test_a_stream_that_breaks_begins_again_with_the_next_model() -> None:
    cut = CutReplyError("piecewise:model", "closed")
    model = FallbackModel(
        PiecewiseModel(["Goo", cut]), first(OverloadedError("a:first", "no")), second("Hi.")
    )
    assert await shown(model) == ["Goo", "<restarted>", "Hi.", "<reply: Hi.>"]


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_if_all_fail_the_first_error_that_may_pass_is_raised_with_the_others_as_notes(
    streamed: bool,
) -> None:
    auth, busy = ModelAuthError("a:first", "wrong key"), OverloadedError("b:second", "busy")
    model = FallbackModel(first(auth), second(busy), first(OverloadedError("a:first", "full")))
    with pytest.raises(OverloadedError, match="busy") as caught:
        await (shown(model) if streamed else model.complete(asked()))
    assert [note.partition(": ")[2][:7] for note in caught.value.__notes__] == ["a:first", "a:first"]


async def test_if_none_may_pass_the_first_error_is_raised() -> None:
    model = FallbackModel(first(ModelAuthError("a:first", "no")), second(UnknownModelError("b:second", "no")))
    with pytest.raises(ModelAuthError):
        await model.complete(asked())


def test_it_can_do_what_all_its_models_can_and_costs_what_the_dearest_costs() -> None:
    weak = ScriptedModel([], name="b:weak", structured="prompt", cost_usd=0.1)
    weak.capabilities = ModelCapabilities(structured="prompt", has_tools=False, context_tokens=8_000)
    strong = ScriptedModel([], name="a:strong", structured="tool", cost_usd=0.5)
    model = FallbackModel(strong, weak)
    assert model.name == "a:strong"
    assert model.capabilities == weak.capabilities
    assert model.cost_of(TokenUsage()) == 0.5
    assert FallbackModel(strong, ScriptedModel([], cost_usd=None)).cost_of(TokenUsage()) is None


def test_no_models_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one model"):
        FallbackModel()


async def test_closing_it_closes_all_its_models_even_if_one_fails_to_close() -> None:
    closed: list[str] = []

    class Closing(ScriptedModel):
        async def aclose(self) -> None:
            closed.append(self.name)
            if self.name == "b:second":
                raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        async with FallbackModel(Closing([], name="a:first"), Closing([], name="b:second")):
            pass
    assert sorted(closed) == ["a:first", "b:second"]


async def test_a_reply_costs_as_much_as_the_model_that_gave_it() -> None:
    prices = {
        "a:first": ModelPrice(input_usd=0, output_usd=100),
        "b:*": ModelPrice(input_usd=0, output_usd=7),
        "c:third": ModelPrice(input_usd=0, output_usd=1),
    }
    script = "Hello.", OverloadedError("a:first", "no")
    for streamed in (False, True):
        fallback = FallbackModel(first(*script), second("Hello."))
        tiered = TieredModel(fallback, ScriptedModel([], name="c:third"), lambda _: "fast")
        model = PricedModel(tiered, prices)
        budget = Budget(max_usd=1)
        asking = BudgetModel(model, budget, reply_tokens=50)
        found = []
        for _ in range(2):
            if streamed:
                found += [one.reply async for one in asking.stream(asked()) if one.reply]
            else:
                found.append(await asking.complete(asked()))
        costs = [(reply.usage.model, reply.usage.cost_usd) for reply in found]
        words = found[0].usage.output_tokens
        assert costs == [("a:first", words * 100 / 1e6), ("b:second", words * 7 / 1e6)]
        assert (await budget.account()).spent.usd == pytest.approx(words * 107 / 1e6)
        some = TokenUsage(output_tokens=1_000_000)
        assert model.cost_of(some) == 100
        assert model.cost_of(some.of_model("b:second")) == 7


async def test_a_use_is_the_sum_of_the_uses_of_its_models() -> None:
    call = TokenUsage(tool_calls=1)
    mine, other = (
        TokenUsage(input_tokens=3, requests=1, model="a:x"),
        TokenUsage(output_tokens=2, requests=1, model="b:y", cost_usd=None),
    )
    whole = mine + call + mine
    assert (whole.model, whole.by_model, whole.tool_calls) == ("a:x", {}, 1)
    assert dict(whole.models) == {"a:x": whole}
    for mixed in (whole + other + mine, other + whole + call + mine):
        assert (mixed.requests, mixed.model, mixed.cost_usd) == (4, "", None)
        assert set(mixed.models) == {"a:x", "b:y"}
        assert (mixed.models["a:x"].requests, mixed.models["b:y"].requests) == (3, 1)
        assert TokenUsage.model_validate_json(mixed.model_dump_json()) == mixed
    assert TokenUsage().models == {}
    assert set((TokenUsage(requests=1) + mine).models) == {"", "a:x"}
