"""Budgets and replies of models in a bucket: in memory and on NATS."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from structlog.testing import capture_logs
from tests.unit.core.llm.wrappers.streams import asked

from agentic.core.bus import BusUnavailableError, KeyValue, MemoryKeyValue
from agentic.core.bus.nats.bus import NatsBus
from agentic.core.llm import (
    Budget,
    BudgetAccount,
    BudgetAmount,
    BudgetExceededError,
    BudgetModel,
    BudgetStore,
    CacheModel,
    FunctionModel,
    MemoryBudgetStore,
    ScriptedModel,
)
from agentic.core.services import ServiceSupervisor, free_port, nats_service
from agentic.core.stores.key_value_models import KeyValueBudgetStore, KeyValueReplyCache

pytestmark = [pytest.mark.integration, pytest.mark.requirement("LM08")]

DOLLAR = BudgetAmount.of(10, 1.0)


@pytest.fixture
async def nats_bus(tmp_path: Path) -> AsyncIterator[NatsBus]:
    """Return a bus on an embedded server of this test's own."""
    async with ServiceSupervisor(tmp_path, [nats_service(tmp_path)]) as supervisor:
        bus = NatsBus(supervisor.urls["nats"])
        yield bus
        await bus.aclose()


@pytest.fixture(params=["memory", "nats"])
def bucket(request: pytest.FixtureRequest) -> KeyValue:
    return opened_bucket(request)


def opened_bucket(request: pytest.FixtureRequest) -> KeyValue:
    if request.param == "memory":
        return MemoryKeyValue()
    bus: NatsBus = request.getfixturevalue("nats_bus")
    return bus.bucket("MODELS", project="shop")


@pytest.fixture(params=["alone", "memory", "nats"])
def make_store(request: pytest.FixtureRequest) -> Callable[[], BudgetStore]:
    """Return a function that makes stores of one place, as several processes do."""
    if request.param == "alone":
        store = MemoryBudgetStore()
        return lambda: store
    bucket = opened_bucket(request)
    return lambda: KeyValueBudgetStore(bucket)


async def test_an_account_without_a_change_is_empty(make_store: Callable[[], BudgetStore]) -> None:
    assert await make_store().load("run 1/ä") == BudgetAccount()


async def test_reservations_of_all_processes_count(make_store: Callable[[], BudgetStore]) -> None:
    first, second = (Budget(max_usd=2, name="run 1/ä", store=make_store()) for _ in range(2))
    await first.reserve(DOLLAR, "a:b")
    await second.reserve(DOLLAR, "a:b")
    for budget in (first, second):
        with pytest.raises(BudgetExceededError, match=r"\$0 spent and \$2 reserved of \$2"):
            await budget.reserve(DOLLAR, "a:b")
    await first.settle(DOLLAR, BudgetAmount.of(7, 0.25))
    await second.reserve(BudgetAmount.of(1, 0.75), "a:b")
    assert await first.account() == BudgetAccount(
        spent=BudgetAmount.of(7, 0.25), reserved=BudgetAmount.of(11, 1.75)
    )


async def test_accounts_of_other_names_are_apart(make_store: Callable[[], BudgetStore]) -> None:
    store = make_store()
    await Budget(max_usd=2, name="a.b", store=store).reserve(DOLLAR, "a:b")
    for name in ("a", "a b", "a-b", "b"):
        assert await store.load(name) == BudgetAccount()


async def test_changes_at_once_are_all_made(make_store: Callable[[], BudgetStore]) -> None:
    budgets = [Budget(max_usd=20, name="run", store=make_store()) for _ in range(3)]
    results = await asyncio.gather(
        *(budgets[number % 3].reserve(DOLLAR, "a:b") for number in range(30)), return_exceptions=True
    )
    assert sum(result is None for result in results) == 20
    assert {type(result) for result in results if result} == {BudgetExceededError}
    assert (await budgets[0].account()).reserved.usd == 20


async def test_an_account_of_a_later_version_is_refused() -> None:
    bucket = MemoryKeyValue()
    await bucket.put("budget.run", b'{"format": 2}')
    with pytest.raises(ValueError, match="stored in format 2, and this version reads 1"):
        await KeyValueBudgetStore(bucket).load("run")


async def test_a_budget_whose_server_is_away_lets_no_call_through() -> None:
    bus = NatsBus(f"nats://127.0.0.1:{free_port()}")
    inner = ScriptedModel(["never"])
    store = KeyValueBudgetStore(bus.bucket("MODELS", project="shop"))
    with pytest.raises(BusUnavailableError):
        await BudgetModel(inner, Budget(max_usd=1, store=store)).complete(asked())
    assert inner.requests == []
    await bus.aclose()


async def test_replies_are_kept_for_all_processes(bucket: KeyValue) -> None:
    inner = FunctionModel(lambda _: "Yes.")
    first, second = (CacheModel(inner, KeyValueReplyCache(bucket)) for _ in range(2))
    assert not (await first.complete(asked())).is_cached
    assert (await second.complete(asked())).is_cached


async def test_a_cache_whose_server_is_away_is_like_an_empty_one() -> None:
    bus = NatsBus(f"nats://127.0.0.1:{free_port()}")
    model = CacheModel(ScriptedModel(["Yes."]), KeyValueReplyCache(bus.bucket("MODELS", project="shop")))
    with capture_logs() as logs:
        assert (await model.complete(asked())).text == "Yes."
    assert {entry["event"] for entry in logs if entry["event"].startswith("model")} == {
        "model_cache.unavailable"
    }
    await bus.aclose()


async def test_a_reply_that_is_too_large_for_the_bucket_is_not_kept(nats_bus: NatsBus) -> None:
    cache = KeyValueReplyCache(nats_bus.bucket("MODELS", project="shop"))
    model = CacheModel(ScriptedModel(["x" * 20_000_000, "short"]), cache)
    with capture_logs() as logs:
        await model.complete(asked())
    assert [entry["event"] for entry in logs] == ["model_cache.too_large"]
    assert (await model.complete(asked())).text == "short"
