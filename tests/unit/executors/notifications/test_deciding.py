"""What is told, and when it is due: decided without a clock or a database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.executors.notifications.deciding import (
    MAX_TRIES,
    RETRY_S,
    FewerRows,
    PendingEvent,
    RowChanges,
    events_for,
    find_fewer,
    may_be_sent,
    next_turn,
    pause_after,
    row_total,
)
from agentic.mappers import ExecutionStatus

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
ALL = ("failed", "partial", "succeeded", "cancelled", "new", "changed", "fewer")
FELL = FewerRows(1, 10, 5)


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("status", "changes", "fewer", "found"),
    [
        ("failed", RowChanges(), None, ["failed"]),
        ("succeeded", RowChanges(new=2), None, ["succeeded", "new"]),
        ("partial", RowChanges(new=1, changed=1), FELL, ["partial", "new", "changed", "fewer"]),
        ("cancelled", RowChanges(changed=3), None, ["cancelled", "changed"]),
    ],
)
def test_an_end_brings_its_status_its_rows_and_its_drift(
    status: str, changes: RowChanges, fewer: FewerRows | None, found: list[str]
) -> None:
    assert list(events_for(ALL, ExecutionStatus(status), changes, fewer)) == found


def test_a_rule_gets_what_it_wants_alone() -> None:
    happened = (ExecutionStatus.PARTIAL, RowChanges(new=1), FELL)
    assert list(events_for(("new", "fewer"), *happened)) == ["new", "fewer"]
    assert list(events_for(("failed", "changed"), *happened)) == []


@pytest.mark.parametrize(
    ("rows", "earlier", "is_fewer"),
    [
        (50, [100], True),
        (51, [100], False),
        (0, [1, 1, 1], True),
        (0, [], False),
        (0, [0, 0], False),
        (49, [100, 100, 100, 3, 4], True),
        (10, [100, 100, 10, 10, 10], False),
        (1, [2, 3], True),
    ],
)
def test_a_count_is_fewer_at_half_of_the_median_or_less(
    rows: int, earlier: list[int], is_fewer: bool
) -> None:
    assert (find_fewer(rows, earlier) is not None) is is_fewer


def test_rows_that_were_refused_or_failed_are_not_counted() -> None:
    assert row_total({"inserted": 1, "updated": 2, "unchanged": 3, "rejected": 50, "failed": 70}) == 6
    assert row_total({}) == 0


def test_a_digest_waits_for_its_first_event_and_takes_the_others_along() -> None:
    digest = [PendingEvent(at(60)), PendingEvent(at(3_600))]
    assert not may_be_sent(digest, [], 20, at(59))
    assert may_be_sent(digest, [], 20, at(60))


def test_nothing_is_due_without_events() -> None:
    assert not may_be_sent([], [], 20, NOW)


def test_a_new_event_does_not_shorten_the_pause_of_a_target_that_is_away() -> None:
    waiting = [PendingEvent(at(60), tries=1), PendingEvent(at(-1))]
    assert not may_be_sent(waiting, [], 20, NOW)
    assert may_be_sent(waiting, [], 20, at(60))


def test_the_limit_of_an_hour_lets_the_next_message_out_when_the_oldest_is_an_hour_old() -> None:
    sent = [at(0), at(600), at(1_200)]
    assert next_turn(sent, 3, at(1_300)) == at(3_600)
    assert next_turn(sent, 2, at(1_300)) == at(4_200)
    assert next_turn(sent, 4, at(1_300)) == at(1_300)
    assert not may_be_sent([PendingEvent(at(1_300))], sent, 3, at(3_599))
    assert may_be_sent([PendingEvent(at(1_300))], sent, 3, at(3_600))


@given(st.lists(st.integers(min_value=0, max_value=20_000), max_size=60), st.integers(1, 5))
def test_no_hour_has_more_messages_than_its_limit(events: list[int], limit: int) -> None:
    sent: list[datetime] = []
    for second in sorted(events):
        if may_be_sent([PendingEvent(at(second))], sent, limit, at(second)):
            sent.append(at(second))
    for start in sent:
        assert len([each for each in sent if start <= each < start + timedelta(hours=1)]) <= limit


def test_pauses_grow_and_a_target_may_ask_for_more() -> None:
    pauses = [pause_after(tries, None) for tries in range(1, MAX_TRIES)]
    assert tuple(pauses) == RETRY_S
    assert pauses == sorted(pauses)
    assert pause_after(1, 120.0) == 120.0
    assert pause_after(5, 1.0) == RETRY_S[-1]
    assert pause_after(99, None) == RETRY_S[-1]
