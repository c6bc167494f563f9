from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from agentic.core.http import HostBudget
from agentic.core.http.budget import MAX_HOSTS, HostTimes, still_waiting

steps = st.floats(min_value=0, max_value=10, allow_nan=False)


def granted(budget: HostBudget, moments: list[float], interval_s: float) -> list[float]:
    return [now for now in moments if budget.take("h", now, interval_s) == 0]


def moments_of(gaps: list[float]) -> list[float]:
    now, moments = 1_000.0, []
    for gap in gaps:
        now += gap
        moments.append(now)
    return moments


@given(st.lists(steps, max_size=60), st.floats(min_value=0.01, max_value=5))
def test_turns_are_never_closer_than_the_interval(gaps: list[float], interval_s: float) -> None:
    turns = granted(HostBudget(), moments_of(gaps), interval_s)
    assert all(later - earlier >= interval_s * 0.999_999 for earlier, later in pairwise(turns))


@given(st.lists(steps, min_size=1, max_size=60), st.floats(min_value=0.01, max_value=5))
def test_whoever_waits_as_told_gets_a_turn(gaps: list[float], interval_s: float) -> None:
    budget, now = HostBudget(), 0.0
    for now in moments_of(gaps):
        wait_s = budget.take("h", now, interval_s)
        assert wait_s <= interval_s * 1.000_001
    assert budget.take("h", now + interval_s * 1.000_001, interval_s) == 0


@given(st.lists(st.tuples(steps, st.floats(min_value=0, max_value=20)), max_size=40))
def test_nobody_gets_a_turn_before_the_longest_wish_of_the_host_has_passed(
    refusals: list[tuple[float, float]],
) -> None:
    budget, now, until = HostBudget(), 1_000.0, 0.0
    for gap, retry_after_s in refusals:
        now += gap
        budget.block("h", now, retry_after_s)
        until = max(until, now + retry_after_s)
        assert (budget.take("h", now, 0) == 0) == (now >= until)


def test_one_host_does_not_wait_for_another() -> None:
    budget = HostBudget()
    budget.block("slow", 0, 60)
    assert budget.take("slow", 1, 0) == 59
    assert budget.take("quick", 1, 0) == 0


def test_without_a_rate_every_turn_is_due() -> None:
    assert granted(HostBudget(), [5.0] * 4, 0) == [5.0] * 4


def test_a_host_with_nothing_to_wait_for_need_not_be_remembered() -> None:
    times = {
        "due": HostTimes(next_at=5),
        "blocked": HostTimes(blocked_until=7),
        "paced": HostTimes(next_at=6),
    }
    assert still_waiting(times, 5) == {"blocked": times["blocked"], "paced": times["paced"]}


def test_turns_are_kept_apart_for_more_hosts_than_are_remembered() -> None:
    budget = HostBudget()
    for number in range(MAX_HOSTS + 10):
        assert budget.take(f"h{number}", 5.0, 1.0) == 0
    assert budget.take(f"h{MAX_HOSTS + 9}", 5.0, 1.0) == 1
