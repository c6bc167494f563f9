"""When a crawl is looked at again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentic.plugins.firecrawl.actors.crawl_jobs import FIRST_PAUSE_S, LONGEST_PAUSE_S, pause_s

HOUR_S = 3_600.0
seconds = st.floats(min_value=-HOUR_S, max_value=2 * HOUR_S)


def test_pauses_grow_from_two_seconds_to_fifteen() -> None:
    pauses = [pause_s(elapsed_s, HOUR_S) for elapsed_s in (0, 8, 20, 60, 600)]
    assert pauses == [2, 2, 5, 15, 15]


@given(elapsed_s=seconds, deadline_s=seconds)
def test_a_pause_never_goes_beyond_the_deadline_nor_the_longest(elapsed_s: float, deadline_s: float) -> None:
    pause = pause_s(elapsed_s, deadline_s)
    assert 0 <= pause <= LONGEST_PAUSE_S
    assert pause <= max(deadline_s - elapsed_s, 0)


@given(elapsed_s=seconds)
def test_a_crawl_is_never_looked_at_without_a_pause(elapsed_s: float) -> None:
    """A clock that is behind that of the worker which began it makes no difference."""
    assert pause_s(elapsed_s, elapsed_s + HOUR_S) >= FIRST_PAUSE_S
