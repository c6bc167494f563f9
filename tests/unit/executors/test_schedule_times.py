"""What of a schedule is due, and what of it is fired now."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.executors.schedules.cron import ScheduleTimesError
from agentic.executors.schedules.times import BATCH_SIZE, PACE_S, Calendar, FiringPlan, plan, read_interval
from agentic.mappers import CatchUp

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


def calendar(every_s: int | None = None, cron: str | None = None, jitter_s: int = 0) -> Calendar:
    return Calendar(schedule_id="some-id", anchor=NOON, every_s=every_s, cron=cron, jitter_s=jitter_s)


calendars = st.one_of(
    st.builds(calendar, every_s=st.integers(1, 100_000), jitter_s=st.integers(0, 10_000)),
    st.builds(
        calendar,
        cron=st.sampled_from(["* * * * *", "*/7 * * * *", "0 3 * * *", "30 2 1 * *"]),
        jitter_s=st.integers(0, 10_000),
    ),
)
spans = st.integers(0, 10**7).map(lambda seconds: timedelta(seconds=seconds))


def test_an_interval_is_counted_from_its_anchor_and_does_not_drift() -> None:
    late = NOON + timedelta(seconds=95)
    assert list(islice(calendar(every_s=30).due_after(late), 2)) == [
        NOON + timedelta(seconds=120),
        NOON + timedelta(seconds=150),
    ]
    assert next(calendar(every_s=30).due_after(NOON)) == NOON + timedelta(seconds=30)
    assert next(calendar(every_s=30).due_after(NOON - HOUR)) == NOON + timedelta(seconds=30)


@given(calendars)
def test_jitter_keeps_due_times_in_order_and_ends_before_the_next(times: Calendar) -> None:
    firings = list(islice(times.firings_after(NOON), 20))

    assert all(early.due < late.due for early, late in pairwise(firings))
    assert all(early.due <= early.at <= late.due for early, late in pairwise(firings))
    assert all(firing.at - firing.due <= timedelta(seconds=times.jitter_s) for firing in firings)


def test_jitter_spreads_and_is_the_same_whenever_it_is_asked_for() -> None:
    times = calendar(every_s=600, jitter_s=60)
    firings = list(islice(times.firings_after(NOON), 50))

    assert [next(times.firings_after(firing.due - MINUTE)) for firing in firings] == firings
    delays = [(firing.at - firing.due).total_seconds() for firing in firings]
    assert min(delays) < 15
    assert max(delays) > 45


def test_two_schedules_of_the_same_times_have_their_own_jitter() -> None:
    one, other = (
        Calendar(schedule_id=name, anchor=NOON, every_s=600, jitter_s=60) for name in ("one", "other")
    )
    assert next(one.firings_after(NOON)).at != next(other.firings_after(NOON)).at


def test_nothing_is_fired_before_its_time() -> None:
    first = NOON + HOUR
    for policy in CatchUp:
        assert plan(calendar(every_s=3600), policy, NOON, first - MINUTE) == FiringPlan(next_at=first)


def test_what_is_due_now_is_fired_under_every_policy() -> None:
    first = NOON + HOUR
    for policy in CatchUp:
        planned = plan(calendar(every_s=3600), policy, NOON, first)
        assert planned == FiringPlan(due=(first,), next_at=first + HOUR)


def test_what_waits_for_its_jitter_is_not_fired_yet() -> None:
    times = calendar(every_s=3600, jitter_s=1800)
    firing = next(times.firings_after(NOON))

    assert plan(times, CatchUp.LAST, NOON, firing.at - timedelta(seconds=1)) == FiringPlan(next_at=firing.at)
    assert plan(times, CatchUp.LAST, NOON, firing.at).due == (firing.due,)


@pytest.mark.parametrize(
    ("policy", "fired", "missed"),
    [(CatchUp.NONE, [], 5), (CatchUp.LAST, [5], None), (CatchUp.ALL, [1, 2, 3, 4, 5], None)],
)
def test_a_policy_says_what_is_fired_after_a_pause_of_beat(
    policy: CatchUp, fired: list[int], missed: int | None
) -> None:
    planned = plan(calendar(every_s=3600), policy, NOON, NOON + 5 * HOUR + 30 * MINUTE)

    assert planned == FiringPlan(
        due=tuple(NOON + number * HOUR for number in fired),
        missed=None if missed is None else NOON + missed * HOUR,
        next_at=NOON + 6 * HOUR,
    )


def test_a_minute_late_is_not_missed() -> None:
    first = NOON + HOUR
    assert plan(calendar(every_s=3600), CatchUp.NONE, NOON, first + MINUTE).due == (first,)
    later = first + MINUTE + timedelta(seconds=1)
    assert plan(calendar(every_s=3600), CatchUp.NONE, NOON, later).missed == first


def test_of_several_due_times_within_that_minute_only_the_newest_is_fired() -> None:
    planned = plan(calendar(every_s=1), CatchUp.NONE, NOON, NOON + timedelta(seconds=40))
    assert planned.due == (NOON + timedelta(seconds=40),)


def test_all_that_was_missed_in_a_year_is_fired_a_few_at_a_time() -> None:
    times = calendar(cron="* * * * *")
    now = NOON + timedelta(days=365)

    planned = plan(times, CatchUp.ALL, NOON, now)

    assert planned.due == tuple(NOON + (number + 1) * MINUTE for number in range(BATCH_SIZE))
    assert planned.next_at == now + timedelta(seconds=PACE_S)


@pytest.mark.parametrize("policy", [CatchUp.NONE, CatchUp.LAST])
def test_the_newest_of_a_year_of_seconds_is_found_at_once(policy: CatchUp) -> None:
    planned = plan(calendar(every_s=1), policy, NOON, NOON + timedelta(days=365))
    assert planned.due == (NOON + timedelta(days=365),)


@pytest.mark.requirement("BR07")
@given(calendars, spans, st.lists(spans, max_size=8), st.sampled_from(CatchUp))
def test_whenever_beat_looks_no_due_time_comes_twice_and_policies_are_kept(
    times: Calendar, up_to: timedelta, looks: list[timedelta], policy: CatchUp
) -> None:
    settled, fired = NOON, list[datetime]()
    for look in (*sorted(NOON + look for look in looks), NOON + up_to):
        planned = plan(times, policy, settled, look)
        for due in planned.due:
            assert settled < due <= look
            fired.append(due)
            settled = due
        settled = planned.missed or settled
        assert planned.next_at is not None
        assert planned.next_at > look
        assert len(planned.due) <= (BATCH_SIZE if policy is CatchUp.ALL else 1)
    if policy is CatchUp.ALL:
        assert fired == list(islice(times.due_after(NOON), len(fired)))


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("15m", 900), ("1h", 3600), ("2d", 172_800), (" 1s ", 1)]
)
def test_an_interval_is_read(text: str, seconds: int) -> None:
    assert read_interval(text) == seconds


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("5", "'5' is not an interval; give whole seconds"),
        ("0.5s", "'0.5s' is not an interval"),
        ("-5s", "is not an interval"),
        ("5 minutes", "is not an interval"),
        ("0s", "the interval '0s' is not between 1s and 366d"),
        ("367d", "not between"),
    ],
)
def test_a_bad_interval_is_refused_with_the_next_step(text: str, reason: str) -> None:
    with pytest.raises(ScheduleTimesError, match=reason):
        read_interval(text)


def test_a_schedule_without_times_is_refused() -> None:
    with pytest.raises(ScheduleTimesError, match="needs a cron line or an interval"):
        plan(calendar(), CatchUp.LAST, NOON, NOON)
