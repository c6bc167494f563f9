from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.executors.reports.scales import clock, duration, nice_ticks, number, share, time_ticks


@given(st.floats(min_value=1e-6, max_value=1e12))
def test_ticks_begin_at_zero_reach_the_most_and_are_few(most: float) -> None:
    ticks = nice_ticks(most)
    assert ticks[0] == 0
    assert ticks[-1] >= most * (1 - 1e-6)
    assert 2 <= len(ticks) <= 6


@given(st.floats(min_value=0.01, max_value=1e8))
def test_moments_lie_within_the_run_and_are_few(span_s: float) -> None:
    ticks = time_ticks(span_s)
    assert ticks[0] == 0
    assert all(0 <= tick <= span_s * (1 + 1e-9) for tick in ticks)
    assert len(ticks) <= 9


@pytest.mark.parametrize(
    ("most", "ticks"), [(252, [0, 100, 200, 300]), (0, [0, 1]), (1, [0, 0.25, 0.5, 0.75, 1])]
)
def test_ticks_are_round(most: float, ticks: list[float]) -> None:
    assert nice_ticks(most) == ticks


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0042, "4.2 ms"),
        (0.25, "250 ms"),
        (3.21, "3.2 s"),
        (59.97, "1 min"),
        (320, "5 min 20 s"),
        (7_500, "2 h 5 min"),
    ],
)
def test_durations_are_told_as_people_say_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.5, "0.5 s"), (12, "12 s"), (200, "3:20"), (7_500, "2:05:00")]
)
def test_moments_are_told_short(seconds: float, text: str) -> None:
    assert clock(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"), [(1_250, "1,250"), (12.345, "12.3"), (0.0312, "0.031"), (0, "0"), (1234.5, "1,234")]
)
def test_numbers_have_the_decimals_that_tell_something(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [(0, 5, "0 %"), (1, 3, "33 %"), (1, 100, "1.0 %"), (1, 10_000, "<0.1 %"), (1, 0, "0 %"), (5, 5, "100 %")],
)
def test_shares_are_told_in_per_cent(part: float, whole: float, text: str) -> None:
    assert share(part, whole) == text
