"""Searches beyond a thousand hits, as a plain function of what each slice gives."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.plugins.hackernews.slices import Moment, Sweep, Window

Crowds = tuple[int, list[int]]


def crowds(extra: int = 0) -> st.SearchStrategy[Crowds]:
    """How many hits a slice gives, and how many each second has: up to ``extra`` more than that."""
    return st.integers(1, 6).flatmap(
        lambda most: st.tuples(st.just(most), st.lists(st.integers(0, most + extra), max_size=12))
    )


def times_of(counts: Sequence[int]) -> list[int]:
    return [second for second, count in enumerate(counts) for _ in range(count)]


def swept(times: Sequence[int], sweep: Sweep, most: int) -> list[str]:
    """Return the ids that a sweep finds, where the hits are what is made at ``times``."""
    newest = [Moment(str(number), time) for number, time in enumerate(times)][::-1]
    found: list[str] = []
    while (window := sweep.window) is not None:
        inside = [moment for moment in newest if is_in(window, moment.time)]
        given_ = inside[:most]
        new = sweep.fresh(given_)
        found += [moment.id for moment, is_new in zip(given_, new, strict=True) if is_new]
        sweep.advance(given_, len(inside))
    return found


def is_in(window: Window, time: int) -> bool:
    return (window.since is None or time >= window.since) and (window.until is None or time <= window.until)


@given(crowds())
def test_all_hits_are_found_once_and_newest_first_whatever_their_times(made: Crowds) -> None:
    most, counts = made
    times = times_of(counts)
    sweep = Sweep(most=most)
    assert swept(times, sweep, most) == [str(number) for number in range(len(times))][::-1]
    assert sweep.lost_count == 0


@given(crowds(extra=4), st.integers(-1, 12), st.integers(-1, 12))
def test_every_hit_between_two_times_is_found_or_counted_as_lost(
    made: Crowds, since: int, until: int
) -> None:
    most, counts = made
    times = times_of(counts)
    sweep = Sweep(since, until, most=most)
    found = swept(times, sweep, most)
    wanted = [str(number) for number, time in enumerate(times) if since <= time <= until]
    assert len(found) == len(set(found))
    assert set(found) <= set(wanted)
    assert len(found) + sweep.lost_count == len(wanted)


def test_a_second_with_more_hits_than_a_slice_gives_holds_nothing_up() -> None:
    sweep = Sweep(most=2)
    assert swept([1, 5, 5, 5, 5, 9], sweep, 2) == ["5", "4", "3", "0"]
    assert sweep.lost_count == 2


@pytest.mark.parametrize(
    ("window", "filters"),
    [
        (Window(), []),
        (Window(since=5), ["created_at_i>=5"]),
        (Window(5, 9), ["created_at_i>=5", "created_at_i<=9"]),
    ],
)
def test_a_slice_is_told_as_numeric_filters(window: Window, filters: list[str]) -> None:
    assert window.filters() == filters
