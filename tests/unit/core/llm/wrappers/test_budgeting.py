"""Calls within a budget: reserved before, settled after, whatever happens in between."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs
from tests.unit.core.llm.wrappers.streams import PiecewiseModel, asked, shown

from agentic.core.bus import BusUnavailableError
from agentic.core.llm import (
    Budget,
    BudgetAccount,
    BudgetAmount,
    BudgetExceededError,
    BudgetModel,
    CacheModel,
    ChatMessage,
    CutReplyError,
    FallbackModel,
    LLMAdapter,
    MemoryBudgetStore,
    ModelDelta,
    ModelPrice,
    ModelReply,
    ModelRequest,
    ModelSettings,
    ModelTimeoutError,
    OverloadedError,
    PricedModel,
    ScriptedModel,
    TokenUsage,
    UnknownPriceError,
)
from agentic.core.llm.budget import AccountChange

pytestmark = pytest.mark.requirement("LM08")

ONE = ModelSettings(max_tokens=1)


class Costing(LLMAdapter):
    """Replies after a signal, if it has one, with the given use; a token costs a dollar."""

    name = "some:costing"

    def __init__(self, input_tokens: int = 1, output_tokens: int = 1, *, held: bool = False) -> None:
        self.usage = TokenUsage(
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            requests=1,
            cost_usd=float(input_tokens + output_tokens),
        )
        self.released = asyncio.Event()
        self.entered = asyncio.Event()
        self.calls = 0
        if not held:
            self.released.set()

    def cost_of(self, usage: TokenUsage) -> float:
        return float(usage.total_tokens)

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.calls += 1
        self.entered.set()
        await self.released.wait()
        return ModelReply(message=ChatMessage.assistant("Yes."), usage=self.usage)


class Silent(LLMAdapter):
    """A server that reports no usage."""

    name = "some:silent"

    async def complete(self, request: ModelRequest) -> ModelReply:
        return ModelReply(message=ChatMessage.assistant("word " * 20), usage=TokenUsage(requests=1))


def request_of(reply_tokens: int) -> ModelRequest:
    return ModelRequest(messages=(ChatMessage.user("Yes?"),), settings=ModelSettings(max_tokens=reply_tokens))


async def test_replies_of_a_server_without_usage_count_with_their_estimate() -> None:
    budget = Budget(max_tokens=500)
    model = BudgetModel(Silent(), budget)

    async def ask_often() -> None:
        for _ in range(50):
            await model.complete(request_of(50))

    with pytest.raises(BudgetExceededError):
        await ask_often()
    account = await budget.account()
    assert account.reserved == BudgetAmount()
    assert 400 < account.spent.tokens <= 500


async def test_a_call_reserves_its_estimate_and_settles_what_it_cost() -> None:
    inner, budget = Costing(3, 2, held=True), Budget(max_usd=100, max_tokens=1_000)
    call = asyncio.create_task(BudgetModel(inner, budget).complete(request_of(20)))
    await inner.entered.wait()
    reserved = (await budget.account()).reserved
    assert 20 < reserved.tokens < 40
    assert reserved.usd == reserved.tokens
    inner.released.set()
    await call
    assert await budget.account() == BudgetAccount(spent=BudgetAmount.of(5, 5.0))


async def test_a_call_without_room_is_refused_before_it_is_made_and_names_the_sums() -> None:
    inner = Costing(30, 10)
    budget = Budget(max_usd=80, name="run-1")
    model = BudgetModel(inner, budget)
    await model.complete(request_of(20))
    with pytest.raises(BudgetExceededError) as caught:
        await model.complete(request_of(50))
    error = pickle.loads(pickle.dumps(caught.value))
    assert str(error) == (
        "the budget 'run-1' has no room for a call of some:costing: $40 spent and $0 reserved of $80, and "
        f"the call may need ${error.needed:.0f}; raise max_usd, or lower max_tokens in the settings of the "
        "request"
    )
    assert (error.budget, error.unit, error.spent, error.reserved, error.cap) == ("run-1", "usd", 40, 0, 80)
    assert inner.calls == 1
    assert await budget.account() == BudgetAccount(spent=BudgetAmount.of(40, 40.0))


async def test_a_cap_in_tokens_needs_no_price() -> None:
    model = BudgetModel(ScriptedModel(["Yes."], cost_usd=None), Budget(max_tokens=100))
    with pytest.raises(
        BudgetExceededError, match=r"0 tokens reserved of 100 tokens, and .* raise max_tokens"
    ):
        await model.complete(request_of(5_000))
    assert (await model.complete(request_of(10))).text == "Yes."


async def test_a_reply_without_max_tokens_reserves_a_usual_one() -> None:
    with pytest.raises(BudgetExceededError, match=r"may need 4,1\d\d tokens"):
        await BudgetModel(Costing(), Budget(max_tokens=4_096)).complete(asked())
    model = BudgetModel(Costing(), Budget(max_tokens=4_096), reply_tokens=1_000)
    assert (await model.complete(asked())).text == "Yes."


async def test_models_and_tasks_share_an_account_and_reservations_of_others_count() -> None:
    held, other = Costing(held=True), Costing()
    budget = Budget(max_usd=100)
    first = asyncio.create_task(BudgetModel(held, budget).complete(request_of(60)))
    await held.entered.wait()
    with pytest.raises(BudgetExceededError, match=r"\$0 spent and \$66 reserved of \$100"):
        await BudgetModel(other, budget).complete(request_of(60))
    held.released.set()
    await first
    assert (await BudgetModel(other, budget).complete(request_of(60))).text == "Yes."


async def test_budgets_of_one_store_and_name_share_an_account() -> None:
    store = MemoryBudgetStore()
    await BudgetModel(Costing(30, 0), Budget(max_usd=50, name="day", store=store)).complete(request_of(1))
    same, other = (Budget(max_usd=50, name=name, store=store) for name in ("day", "other"))
    assert [(await budget.account()).spent.usd for budget in (same, other)] == [30, 0]


async def test_a_budget_of_a_run_inside_one_of_a_project_keeps_both() -> None:
    run, project = Budget(max_usd=20, name="run"), Budget(max_usd=1_000, name="project")
    model = BudgetModel(BudgetModel(Costing(5, 5), run), project)
    await model.complete(request_of(1))
    with pytest.raises(BudgetExceededError, match="the budget 'run' has no room"):
        await model.complete(request_of(100))
    for budget in (run, project):
        assert await budget.account() == BudgetAccount(spent=BudgetAmount.of(10, 10.0))


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_a_call_that_fails_costs_nothing(streamed: bool) -> None:
    budget = Budget(max_usd=1)
    model = BudgetModel(ScriptedModel([OverloadedError("scripted:model", "busy")]), budget)
    with pytest.raises(OverloadedError):
        await (shown(model) if streamed else model.complete(asked()))
    assert await budget.account() == BudgetAccount()


async def test_a_call_whose_end_is_not_known_counts_as_reserved() -> None:
    budget = Budget(max_tokens=10_000)
    model = BudgetModel(ScriptedModel([ModelTimeoutError("scripted:model", "120 s passed")]), budget)
    with pytest.raises(ModelTimeoutError):
        await model.complete(request_of(50))
    account = await budget.account()
    assert account.reserved == BudgetAmount()
    assert 50 < account.spent.tokens < 70


async def test_a_cancelled_call_counts_as_reserved() -> None:
    inner, budget = Costing(held=True), Budget(max_tokens=10_000)
    call = asyncio.create_task(BudgetModel(inner, budget).complete(request_of(50)))
    await inner.entered.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    account = await budget.account()
    assert account.reserved == BudgetAmount()
    assert 50 < account.spent.tokens < 70


@pytest.mark.parametrize("end", ["cut", "left"])
async def test_a_stream_that_breaks_or_is_left_counts_the_pieces_received(end: str) -> None:
    budget = Budget(max_tokens=100_000)
    cut = CutReplyError("piecewise:model", "closed")
    inner = PiecewiseModel(["word " * 70, cut] if end == "cut" else ["word " * 70, "more"])
    stream = BudgetModel(inner, budget).stream(request_of(50_000))
    await anext(stream)
    if end == "cut":
        with pytest.raises(CutReplyError):
            await anext(stream)
    else:
        await stream.aclose()  # type: ignore[attr-defined]  # a generator
    account = await budget.account()
    assert account.reserved == BudgetAmount()
    assert 100 < account.spent.tokens < 120
    assert inner.closed_count == 1


async def test_a_stream_flows_within_a_budget_and_is_settled() -> None:
    budget, seen = Budget(max_usd=1), list[str]()
    inner = PiecewiseModel(["Hel", lambda: seen.append("between"), "lo."])
    async for delta in BudgetModel(inner, budget).stream(request_of(10)):
        seen.append(delta.text)  # the order of both counts
    assert seen == ["Hel", "between", "lo.", ""]
    assert await budget.account() == BudgetAccount(spent=BudgetAmount.of(15, 15e-6))


async def test_a_kept_reply_costs_the_budget_nothing() -> None:
    budget = Budget(max_usd=100)
    model = BudgetModel(CacheModel(Costing(5, 5)), budget)
    for _ in range(3):
        await model.complete(request_of(1))
    assert (await budget.account()).spent.usd == 10


async def test_the_dearest_of_several_models_is_reserved_and_the_one_that_replied_is_settled() -> None:
    cheap = PricedModel(
        ScriptedModel(["Yes."], name="a:cheap", cost_usd=0),
        {"a:cheap": ModelPrice(input_usd=1, output_usd=1)},
    )
    dear = PricedModel(ScriptedModel([], name="b:dear"), {"b:*": ModelPrice(input_usd=0, output_usd=1_000)})
    with pytest.raises(BudgetExceededError, match=r"may need \$1"):
        await BudgetModel(FallbackModel(cheap, dear), Budget(max_usd=0.5)).complete(request_of(1_000))
    budget = Budget(max_usd=2)
    await BudgetModel(FallbackModel(cheap, dear), budget).complete(request_of(1_000))
    assert 0 < (await budget.account()).spent.usd < 0.001


def test_a_budget_in_dollars_for_a_model_without_a_price_is_refused_at_once() -> None:
    unknown = ScriptedModel([], name="lab:secret", cost_usd=None)
    with pytest.raises(UnknownPriceError, match=r"price of lab:secret is not known.*PricedModel.*max_tokens"):
        BudgetModel(FallbackModel(ScriptedModel([]), unknown), Budget(max_usd=1))
    BudgetModel(unknown, Budget(max_tokens=1))
    BudgetModel(PricedModel(unknown, {"lab:*": ModelPrice(input_usd=1, output_usd=1)}), Budget(max_usd=1))


@pytest.mark.parametrize(
    ("caps", "expected"),
    [
        ({}, "the budget 'budget' has no cap; give max_usd, max_tokens or both"),
        ({"max_usd": -1}, "max_usd of the budget 'budget' is -1; give 0 or more"),
        ({"max_usd": float("nan")}, "max_usd .* is nan"),
        ({"max_tokens": -5}, "max_tokens .* is -5"),
    ],
)
def test_a_budget_needs_a_cap_that_makes_sense(caps: dict[str, float], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        Budget(**caps)  # type: ignore[arg-type]  # numbers of any kind


class Random(LLMAdapter):
    """Does as a list of outcomes says; a token costs a dollar, and each reply has the most tokens allowed."""

    name = "some:random"

    def __init__(self, outcomes: list[str]) -> None:
        self.outcomes = outcomes
        self.charged = 0

    def cost_of(self, usage: TokenUsage) -> float:
        return float(usage.total_tokens)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        outcome = self.outcomes.pop() if self.outcomes else "reply"
        await asyncio.sleep(0)
        if outcome == "fail":
            raise OverloadedError(self.name, "busy")
        yield ModelDelta(text="x")
        await asyncio.sleep(0)
        most = request.settings.max_tokens or 0
        self.charged += 1 + most
        if outcome == "cut":
            raise CutReplyError(self.name, "closed")
        usage = TokenUsage(input_tokens=1, output_tokens=most, requests=1, cost_usd=1.0 + most)
        yield ModelDelta(reply=ModelReply(message=ChatMessage.assistant("x"), usage=usage))


async def test_a_call_that_is_cancelled_while_it_reserves_leaves_no_reservation() -> None:
    entered, released = asyncio.Event(), asyncio.Event()

    class Slow(MemoryBudgetStore):
        async def change(self, name: str, change: AccountChange) -> BudgetAccount:
            changed = await super().change(name, change)
            entered.set()
            await released.wait()
            return changed

    inner, budget = Costing(), Budget(max_tokens=1_000, store=Slow())
    call = asyncio.create_task(BudgetModel(inner, budget).complete(request_of(100)))
    await entered.wait()
    assert (await budget.account()).reserved.tokens > 100
    call.cancel()
    released.set()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await budget.account() == BudgetAccount()
    assert inner.calls == 0


async def test_a_reader_that_takes_the_reply_and_never_comes_back_has_paid() -> None:
    budget = Budget(max_usd=1)
    stream = BudgetModel(PiecewiseModel(["Hello."]), budget).stream(request_of(10))
    while (await anext(stream)).reply is None:
        pass
    assert await budget.account() == BudgetAccount(spent=BudgetAmount.of(15, 15e-6))
    await stream.aclose()  # type: ignore[attr-defined]  # a generator
    assert await budget.account() == BudgetAccount(spent=BudgetAmount.of(15, 15e-6))


async def test_a_paid_reply_is_not_lost_if_the_store_is_away_and_its_reservation_stays() -> None:
    class Away(MemoryBudgetStore):
        change_count = 0

        async def change(self, name: str, change: AccountChange) -> BudgetAccount:
            self.change_count += 1
            if self.change_count == 2:
                raise BusUnavailableError("nats://bus.example", "no answer")
            return await super().change(name, change)

    budget = Budget(max_tokens=1_000, store=Away())
    with capture_logs() as logs:
        assert (await BudgetModel(Costing(), budget).complete(request_of(100))).text == "Yes."
    assert (await budget.account()).reserved.tokens > 100
    assert [entry["event"] for entry in logs] == ["budget.unsettled"]


@given(
    cap=st.integers(min_value=0, max_value=300),
    sizes=st.lists(st.integers(min_value=1, max_value=60), min_size=1, max_size=12),
    outcomes=st.lists(st.sampled_from(["reply", "fail"]), max_size=12),
)
async def test_concurrent_calls_never_spend_more_than_the_cap(
    cap: int, sizes: list[int], outcomes: list[str]
) -> None:
    inner, budget = Random(outcomes), Budget(max_usd=cap)
    model = BudgetModel(inner, budget)
    results = await asyncio.gather(
        *(model.complete(request_of(size)) for size in sizes), return_exceptions=True
    )
    assert all(isinstance(result, ModelReply | BudgetExceededError | OverloadedError) for result in results)
    account = await budget.account()
    assert account.reserved == BudgetAmount()
    assert account.spent.usd == inner.charged <= cap


@given(st.lists(st.floats(min_value=0, max_value=0.1), max_size=30))
async def test_reservations_that_were_settled_leave_no_rest_of_rounding(costs: list[float]) -> None:
    budget = Budget(max_usd=100)
    amounts = [BudgetAmount.of(1, cost) for cost in costs]
    for amount in amounts:
        await budget.reserve(amount, "some:model")
    for amount in reversed(amounts):
        await budget.settle(amount, BudgetAmount())
    assert await budget.account() == BudgetAccount()
