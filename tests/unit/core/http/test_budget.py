from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.http import HostBudget, ProcessBudget, open_budget
from agentic.core.http.politeness.budget import MAX_HOSTS, HostTimes, after_request, still_waiting
from agentic.core.http.politeness.redis_budget import RedisBudget
from agentic.core.testing.http_budget import HostBudgetContract

steps = st.floats(min_value=0, max_value=10, allow_nan=False)


class TestProcessBudget(HostBudgetContract):
    @pytest.fixture
    def clients(self) -> tuple[HostBudget, HostBudget]:
        budget = ProcessBudget()
        return budget, budget


class World:
    """A budget on a clock that is turned by hand."""

    def __init__(self, now: float = 1_000.0) -> None:
        self.now = now
        self.budget = ProcessBudget(clock=lambda: self.now)

    async def wait_s(self, interval_s: float, host: str = "h") -> float:
        return (await self.budget.take(host, interval_s)).wait_s


@given(st.lists(steps, max_size=60), st.floats(min_value=0.01, max_value=5))
async def test_turns_are_never_closer_than_the_interval(gaps: list[float], interval_s: float) -> None:
    world, turns = World(), []
    for gap in gaps:
        world.now += gap
        if await world.wait_s(interval_s) == 0:
            turns.append(world.now)
    assert all(later - earlier >= interval_s * 0.999_999 for earlier, later in pairwise(turns))


@given(st.lists(steps, min_size=1, max_size=60), st.floats(min_value=0.01, max_value=5))
async def test_whoever_waits_as_told_gets_a_turn(gaps: list[float], interval_s: float) -> None:
    world = World()
    for gap in gaps:
        world.now += gap
        assert await world.wait_s(interval_s) <= interval_s * 1.000_001
    world.now += interval_s * 1.000_001
    assert await world.wait_s(interval_s) == 0


@given(st.lists(st.tuples(steps, st.floats(min_value=0, max_value=20)), max_size=40))
async def test_nobody_gets_a_turn_before_the_longest_wish_of_the_host_has_passed(
    refusals: list[tuple[float, float]],
) -> None:
    world, until = World(), 0.0
    for gap, seconds in refusals:
        world.now += gap
        await world.budget.block("h", seconds)
        until = max(until, world.now + seconds)
        turn = await world.budget.take("h", 0)
        assert (turn.wait_s == 0) == (world.now >= until)
        assert turn.blocked_s == turn.wait_s


async def test_a_turn_says_how_much_of_the_wait_is_the_hosts_wish() -> None:
    world = World()
    await world.wait_s(60)
    await world.budget.block("h", 5)
    turn = await world.budget.take("h", 60)
    assert (turn.wait_s, turn.blocked_s) == (60, 5)


def test_a_host_with_nothing_to_wait_for_need_not_be_remembered() -> None:
    times = {
        "due": HostTimes(turns=((5, 0),)),
        "blocked": HostTimes(blocked_until=7),
        "paced": HostTimes(turns=((6, 0),)),
    }
    assert still_waiting(times, 5) == {"blocked": times["blocked"], "paced": times["paced"]}


@given(
    st.lists(
        st.tuples(steps, st.sampled_from([0.0, 0.01, 0.5, 1.0, 60.0, 3_600.0]) | st.floats(0.001, 5_000)),
        max_size=60,
    )
)
async def test_a_client_waits_for_its_own_interval_at_most_and_never_less(
    asked: list[tuple[float, float]],
) -> None:
    world, last = World(), dict[float, float]()
    for gap, interval_s in asked:
        world.now += gap
        wait_s = await world.wait_s(interval_s)
        assert wait_s <= interval_s * 1.000_001
        if wait_s == 0:
            assert interval_s == 0 or world.now - last.get(interval_s, -9e9) >= interval_s * 0.999_999
            last[interval_s] = world.now


@given(st.lists(st.tuples(steps, st.floats(0.001, 5_000)), max_size=200))
async def test_many_different_rates_of_one_host_take_little_room(asked: list[tuple[float, float]]) -> None:
    times, now = HostTimes(), 0.0
    for gap, interval_s in asked:
        now = max(now + gap, times.due_at(interval_s))
        times = after_request(times, now, interval_s)
        intervals = [kept for kept, _ in times.turns]
        assert all(kept > sum(intervals[at + 1 :]) * 0.999_999 for at, kept in enumerate(intervals))


async def test_turns_are_kept_apart_for_more_hosts_than_are_remembered() -> None:
    world = World()
    for number in range(MAX_HOSTS + 10):
        assert await world.wait_s(1.0, f"h{number}") == 0
    assert await world.wait_s(1.0, f"h{MAX_HOSTS + 9}") == 1


async def test_hosts_that_all_wait_are_not_looked_through_with_each_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_at: list[int] = []

    def counting(times: dict[str, HostTimes], now: float) -> dict[str, HostTimes]:
        looked_at.append(len(times))
        return still_waiting(times, now)

    monkeypatch.setattr("agentic.core.http.politeness.budget.still_waiting", counting)
    world = World()
    for number in range(5 * MAX_HOSTS):
        await world.wait_s(3_600, f"h{number}")
    assert sum(looked_at) < 10 * MAX_HOSTS
    world.now += 4_000
    for number in range(5 * MAX_HOSTS):
        await world.wait_s(0.001, f"other{number}")
    assert len(world.budget._times) <= 10 * MAX_HOSTS


@pytest.mark.parametrize("url", [None, "", "amqp://h", "memory://", "sqs://"])
def test_without_redis_the_budget_is_the_processes_own(url: str | None) -> None:
    assert open_budget(url) is open_budget()


@pytest.mark.parametrize("url", ["redis://h:6379/0", "rediss://:secret@h/1?ssl_cert_reqs=CERT_NONE"])
def test_with_redis_the_budget_is_shared(url: str) -> None:
    assert isinstance(open_budget(url), RedisBudget)
