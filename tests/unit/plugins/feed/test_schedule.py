"""When feeds are asked again, by a clock that stands still."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.http import FetchError, Headers, HttpResponse, url_key
from agentic.core.reading.feeds import Feed, Item
from agentic.plugins.feed import schedule
from agentic.plugins.feed.polls import FeedState, PollOutcome, WatchList
from agentic.plugins.feed.schedule import LONGEST_S, due, max_age_s, wait_after, watched
from agentic.plugins.feed.settings import FeedSettings

NOW = datetime(2026, 11, 2, 9, tzinfo=UTC)
FLOOR_S = 900.0
URL = "https://blog.test/feed.xml"


def state(url: str = URL, **fields: object) -> FeedState:
    return FeedState.model_validate({"id": url_key(url), "url": url, **fields})


def answer(status: int = 200, moved_to: str | None = None, **headers: str) -> HttpResponse:
    fields = [(name.replace("_", "-"), value) for name, value in headers.items()]
    return HttpResponse(url=URL, status=status, headers=Headers(fields), body=b"", moved_to=moved_to)


def feed(interval_s: int | None = None, count: int = 0) -> Feed:
    items = tuple[Item, ...]({"id": str(number)} for number in range(count))
    return Feed(title="Blog", url=None, language=None, interval_s=interval_s, items=items)


def waited_s(after: FeedState) -> float:
    assert after.next_poll_at is not None
    return (after.next_poll_at - NOW).total_seconds()


@pytest.mark.parametrize(
    ("control", "age_s"),
    [
        ("max-age=3600", 3_600),
        ("public, Max-Age = 60", 60),
        ('max-age="90"', 90),
        ("s-maxage=60", None),
        ("no-cache, max-age=60", None),
        ("no-store", None),
        ("", None),
    ],
)
def test_an_answer_says_for_how_long_it_stays_right(control: str, age_s: float | None) -> None:
    assert max_age_s(Headers([("cache-control", control)])) == age_s


@pytest.mark.parametrize(
    ("interval_s", "control", "wait_s"),
    [
        (None, "", 900),
        (60, "max-age=30", 900),
        (7_200, "max-age=3600", 7_200),
        (1_200, "max-age=3600", 3_600),
        (31_536_000, "", LONGEST_S),
    ],
)
def test_the_longest_wish_counts_from_the_floor_to_a_day(
    interval_s: int | None, control: str, wait_s: float
) -> None:
    poll = schedule.read(
        state(), answer(cache_control=control), feed(interval_s), NOW, floor_s=FLOOR_S, max_entries=9
    )
    assert waited_s(poll.feed) == wait_s


@given(
    floor_s=st.floats(min_value=900, max_value=3_600),
    wishes=st.lists(st.none() | st.floats(min_value=0, max_value=1e9)),
)
def test_no_wish_leads_below_the_floor_or_beyond_a_day(floor_s: float, wishes: list[float | None]) -> None:
    assert floor_s <= wait_after(floor_s, wishes) <= LONGEST_S


def test_an_unchanged_feed_waits_as_it_once_said_and_keeps_its_validators() -> None:
    known = state(etag='"1"', last_modified="Mon", interval_s=7_200, failures=2, last_error="away")
    after = schedule.unchanged(known, answer(304), NOW, floor_s=FLOOR_S).feed
    assert waited_s(after) == 7_200
    assert (after.etag, after.last_modified, after.failures, after.last_error) == ('"1"', "Mon", 0, None)


def test_a_feed_that_was_read_loses_the_validators_it_no_longer_has() -> None:
    known = state(etag='"1"', last_modified="Mon")
    after = schedule.read(known, answer(etag='"2"'), feed(), NOW, floor_s=FLOOR_S, max_entries=9).feed
    assert (after.etag, after.last_modified, after.changed_at) == ('"2"', None, NOW)


@pytest.mark.parametrize("place", ["https://new.test/\udcff", "https://new test/", "https://new!/"])
def test_what_a_server_writes_that_is_no_text_or_no_place_is_not_kept(place: str) -> None:
    odd = answer(moved_to=place, etag='"\udcff"', last_modified="\0")
    after = schedule.read(state(), odd, feed(), NOW, floor_s=FLOOR_S, max_entries=9).feed
    assert (after.url, after.etag, after.last_modified) == (URL, None, None)
    failed = schedule.failed(state(), FetchError(URL, "http_500", "\udcff"), NOW, floor_s=FLOOR_S)
    assert failed.model_validate_json(failed.model_dump_json()) == failed


def test_a_feed_that_moved_keeps_its_id_and_says_where_it_is() -> None:
    poll = schedule.unchanged(state(), answer(304, moved_to="https://new.test/f"), NOW, floor_s=FLOOR_S)
    assert (poll.feed.id, poll.feed.url) == (url_key(URL), "https://new.test/f")
    assert "moved permanently to https://new.test/f" in poll.warnings[0]


def test_failures_are_counted_and_wait_twice_as_long_each_time() -> None:
    known, waits = state(), []
    for _ in range(9):
        known = schedule.failed(known, FetchError(URL, "http_500", "it fell over"), NOW, floor_s=FLOOR_S).feed
        waits.append(waited_s(known))
    assert waits[:6] == [1_800, 3_600, 7_200, 14_400, 28_800, 57_600]
    assert waits[6:] == [LONGEST_S] * 3
    assert known.failures == 9
    assert "it fell over" in (known.last_error or "")


def test_what_is_gone_is_disabled_and_no_other_failure_does_that() -> None:
    gone = schedule.failed(state(), FetchError(URL, "gone", "410", status=410), NOW, floor_s=FLOOR_S)
    missing = schedule.failed(state(), FetchError(URL, "http_404", "404", status=404), NOW, floor_s=FLOOR_S)
    assert (gone.outcome, gone.feed.disabled_at) == (PollOutcome.GONE, NOW)
    assert (missing.outcome, missing.feed.disabled_at) == (PollOutcome.FAILED, None)


@pytest.mark.parametrize(
    ("word", "status", "retry_after_s", "wait_s"),
    [
        ("rate_limited", 429, 7_200.0, 7_200),
        ("rate_limited", 503, 30.0, 900),
        ("rate_limited", None, 30.0, 30),
        ("robots_denied", None, 300.0, 900),
    ],
)
def test_a_host_that_wants_peace_gets_it_and_nothing_has_failed(
    word: str, status: int | None, retry_after_s: float, wait_s: float
) -> None:
    error = FetchError(URL, word, "slow down", status=status, retry_after_s=retry_after_s)
    poll = schedule.failed(state(failures=1), error, NOW, floor_s=FLOOR_S)
    assert (poll.outcome, poll.feed.failures) == (PollOutcome.POSTPONED, 1)
    assert waited_s(poll.feed) == wait_s


@pytest.mark.parametrize("word", ["rate_limited", "robots_denied"])
def test_a_limit_without_a_time_is_a_failure(word: str) -> None:
    error = FetchError(URL, word, "slow down")
    assert schedule.failed(state(), error, NOW, floor_s=FLOOR_S).outcome is PollOutcome.FAILED


def test_entries_beyond_the_limit_are_counted() -> None:
    poll = schedule.read(state(), answer(), feed(count=5), NOW, floor_s=FLOOR_S, max_entries=3)
    assert ([item["id"] for item in poll.entries], poll.left_out) == (["0", "1", "2"], 2)


def test_that_entries_were_left_out_is_a_warning_with_their_count() -> None:
    poll = schedule.read(state(), answer(), feed(count=5), NOW, floor_s=FLOOR_S, max_entries=3)
    (told,) = poll.warnings
    assert told.endswith(
        "at https://blog.test/feed.xml has 5 entries, 2 of them were skipped; raise max_entries"
    )
    whole = schedule.read(state(), answer(), feed(count=3), NOW, floor_s=FLOOR_S, max_entries=3)
    assert whole.warnings == ()


def test_a_floor_of_a_day_is_kept_by_feeds_that_answer_and_by_those_that_fail() -> None:
    day_s = float(FeedSettings(feeds=(URL,), min_interval_s=86_400).min_interval_s)
    read = schedule.read(state(), answer(), feed(60), NOW, floor_s=day_s, max_entries=3)
    failed = schedule.failed(state(), ValueError("away"), NOW, floor_s=day_s)
    assert (waited_s(read.feed), waited_s(failed.feed)) == (day_s, day_s)


@pytest.mark.parametrize(
    ("force", "asked", "skipped", "disabled"),
    [
        ({}, ["new", "late"], 1, 1),
        ({"ignore_schedule": True}, ["new", "late", "early"], 0, 1),
        ({"ask_disabled": True}, ["new", "late", "gone"], 1, 0),
    ],
)
def test_feeds_that_are_not_due_are_skipped_and_counted(
    force: dict[str, bool], asked: list[str], skipped: int, disabled: int
) -> None:
    feeds = [
        state("https://t.test/new"),
        state("https://t.test/late", next_poll_at=NOW),
        state("https://t.test/early", next_poll_at=NOW + timedelta(seconds=1)),
        state("https://t.test/gone", next_poll_at=NOW + timedelta(1), disabled_at=NOW),
    ]
    found = due(feeds, WatchList.model_validate(force), NOW)
    assert [one.url.rpartition("/")[2] for one in found.feeds] == asked
    assert (found.skipped, found.disabled) == (skipped, disabled)


def test_of_too_many_feeds_those_are_asked_that_wait_longest() -> None:
    feeds = [state(f"https://t.test/{age}", next_poll_at=NOW - timedelta(age)) for age in (1, 3, 2)]
    found = due([*feeds, state("https://t.test/new")], WatchList(max_polls=2), NOW)
    assert [one.url.rpartition("/")[2] for one in found.feeds] == ["new", "3"]
    assert (found.waiting, found.skipped) == (2, 0)


def test_a_feed_is_known_by_where_it_was_and_by_where_it_is() -> None:
    moved = FeedState(id=url_key(URL), url="https://new.test/f")
    for urls in ([URL], ["https://new.test/f"], [URL, "https://NEW.test/f#top"]):
        assert watched(urls, [moved]) == ([moved], [])


def test_a_feed_is_watched_once_however_often_it_is_listed() -> None:
    feeds, warnings = watched([URL, URL, f"{URL}#top"], [])
    assert ([one.url for one in feeds], warnings) == ([URL], [])


def test_a_feed_that_moved_to_where_another_one_is_watched_is_left_out_with_a_warning() -> None:
    other = state("https://new.test/f")
    moved = FeedState(id=url_key(URL), url="https://new.test/f")
    for urls in ([URL, other.url], [other.url, URL]):
        feeds, (warning,) = watched(urls, [moved, other])
        assert feeds == [other]
        assert "remove it from the list" in warning


def test_a_feed_is_named_by_its_title_and_shows_no_query() -> None:
    named = state("https://y.test/videos.xml?channel_id=secret", title="Chan").name
    assert named.endswith(" 'Chan' at https://y.test/videos.xml")


@pytest.mark.parametrize("is_cut", [True, False])
def test_a_cut_answer_is_asked_for_whole_the_next_time(is_cut: bool) -> None:
    found = replace(feed(count=1), is_cut=is_cut, notes=("a note",))
    response = answer(etag='"1"', last_modified="Mon, 02 Nov 2026 09:00:00 GMT")
    poll = schedule.read(state(etag='"0"'), response, found, NOW, floor_s=FLOOR_S, max_entries=5)
    assert [bool(poll.feed.etag), bool(poll.feed.last_modified)] == [not is_cut] * 2
    assert poll.warnings == (f"{poll.feed.name}: a note",)
