"""When to poll a feed again: plain functions of a clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from agentic.core.http import FailureClass, FetchError, HttpError, HttpResponse, canonical_url, url_key
from agentic.core.linear import LinearPattern
from agentic.core.reading.feeds import Feed
from agentic.core.settings import safe_url
from agentic.mappers.content import clean_text
from agentic.plugins.feed.polls import FeedState, Poll, PollOutcome, WatchList

LONGEST_S = 86_400.0
"""Longest accepted poll interval of a feed: most longer ones are mistakes."""

NEVER = datetime.min.replace(tzinfo=UTC)

PASSING = frozenset({FailureClass.RATE_LIMITED, FailureClass.ROBOTS_DENIED})
"""Failures that only postpone a poll, if their end is known: a limit or an unreadable robots.txt."""

MAX_AGE = LinearPattern(r"(?:^|[\s,])max-age\s*=\s*\"?(\d{1,9})", ignore_case=True)
NO_CACHE = LinearPattern(r"(?:^|[\s,])no-(?:cache|store)\b", ignore_case=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """Feeds to poll now; others are not due (``skipped``), too many (``waiting``), or gone."""

    feeds: tuple[FeedState, ...]
    skipped: int
    waiting: int
    disabled: int


def watched(urls: Iterable[str], stored: Sequence[FeedState]) -> tuple[list[FeedState], list[str]]:
    """Return the states of the feeds at ``urls``, each once, and a warning for each that moved to another.

    A moved feed is known by its first URL, and by its current one.
    """
    by_id = {feed.id: feed for feed in stored}
    by_url = {url_key(feed.url): feed for feed in stored}
    found: dict[str, FeedState] = {}
    warnings = []
    for url in urls:
        key = url_key(url)
        feed = by_id.get(key) or by_url.get(key) or FeedState(id=key, url=url)
        place = url_key(feed.url)
        known = found.setdefault(place, feed)
        if known.id != feed.id:
            warnings.append(
                f"{safe_url(url)} moved to {safe_url(feed.url)}, which is watched too; remove it from the "
                "list"
            )
            found[place] = min(known, feed, key=lambda one: one.id != place)
    return list(found.values()), warnings


def due(feeds: Sequence[FeedState], wanted: WatchList, now: datetime) -> Due:
    """Return the ``feeds`` to poll at ``now``, the longest waiting first."""
    living = [feed for feed in feeds if wanted.ask_disabled or feed.disabled_at is None]
    asked = [feed for feed in living if wanted.ignore_schedule or is_due(feed, now)]
    chosen = sorted(asked, key=lambda feed: feed.next_poll_at or NEVER)[: wanted.max_polls]
    return Due(
        feeds=tuple(chosen),
        skipped=len(living) - len(asked),
        waiting=len(asked) - len(chosen),
        disabled=len(feeds) - len(living),
    )


def is_due(feed: FeedState, now: datetime) -> bool:
    """Whether ``feed`` may be polled at ``now``; a gone feed counts as due."""
    return feed.next_poll_at is None or feed.disabled_at is not None or feed.next_poll_at <= now


def read(
    feed: FeedState, response: HttpResponse, found: Feed, now: datetime, *, floor_s: float, max_entries: int
) -> Poll:
    """Return the poll that found ``found``."""
    headers = response.headers
    after = _answered(feed, response, now, floor_s, found.interval_s).model_copy(
        update={
            "title": found.title or feed.title,
            "home_url": found.url or feed.home_url,
            "language": found.language or feed.language,
            # A confirmed answer (304) would never bring the rest of an answer that was cut off.
            "etag": None if found.is_cut else _sound(headers.get("etag")),
            "last_modified": None if found.is_cut else _sound(headers.get("last-modified")),
            "changed_at": now,
        }
    )
    left_out = max(len(found.items) - max_entries, 0)
    return Poll(
        feed=after,
        outcome=PollOutcome.READ,
        entries=found.items[:max_entries],
        left_out=left_out,
        warnings=(
            *_moved(feed, after),
            *(f"{after.name}: {clean_text(note)}" for note in found.notes),
            *_left_out(after, len(found.items), left_out),
        ),
    )


def unchanged(feed: FeedState, response: HttpResponse, now: datetime, *, floor_s: float) -> Poll:
    """Return the poll with a 304 answer."""
    headers = response.headers
    after = _answered(feed, response, now, floor_s, feed.interval_s).model_copy(
        update={
            "etag": _sound(headers.get("etag", feed.etag)),
            "last_modified": _sound(headers.get("last-modified", feed.last_modified)),
        }
    )
    return Poll(feed=after, outcome=PollOutcome.UNCHANGED, warnings=_moved(feed, after))


def failed(feed: FeedState, error: Exception, now: datetime, *, floor_s: float) -> Poll:
    """Return the poll that failed with ``error``."""
    if isinstance(error, FetchError):
        if error.failure_class == FailureClass.GONE:
            return _gone(feed, error, now)
        if error.failure_class in PASSING and error.retry_after_s is not None:
            return _postponed(feed, error, now, floor_s)
    failures = feed.failures + 1
    wish_s = getattr(error, "retry_after_s", None) or 0.0
    wait_s = wait_after(floor_s, [floor_s * 2.0 ** min(failures, 16), wish_s])
    after = feed.model_copy(
        update={
            "polled_at": now,
            "next_poll_at": now + timedelta(seconds=wait_s),
            "failures": failures,
            "last_error": clean_text(str(error)),
        }
    )
    told = f"{feed.name} failed ({failures} in a row), next attempt in {_span(wait_s)}: {after.last_error}"
    return Poll(feed=after, outcome=PollOutcome.FAILED, warnings=(told,))


def wait_after(floor_s: float, wishes_s: Iterable[float | None]) -> float:
    """Return the seconds until the next poll: the longest wish, between the floor and a day."""
    return min(max([floor_s, *(wish for wish in wishes_s if wish)]), LONGEST_S)


def max_age_s(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds an answer stays valid; None if it does not say."""
    control = headers.get("cache-control", "")
    found = MAX_AGE.search(control)
    return float(found[1]) if found and not NO_CACHE.search(control) else None


def _answered(
    feed: FeedState, response: HttpResponse, now: datetime, floor_s: float, interval_s: int | None
) -> FeedState:
    wait_s = wait_after(floor_s, [interval_s, max_age_s(response.headers)])
    return feed.model_copy(
        update={
            "url": _place(response.moved_to) or feed.url,
            "interval_s": interval_s,
            "polled_at": now,
            "next_poll_at": now + timedelta(seconds=wait_s),
            "failures": 0,
            "last_error": None,
            "disabled_at": None,
        }
    )


def _moved(before: FeedState, after: FeedState) -> tuple[str, ...]:
    told = []
    if before.url != after.url:
        told.append(
            f"{before.name} moved permanently to {safe_url(after.url)}; it is polled there from now on, "
            "and the list may use either URL"
        )
    if before.disabled_at is not None:
        told.append(f"{before.name} is back; it is watched again")
    return tuple(told)


def _left_out(feed: FeedState, count: int, left_out: int) -> tuple[str, ...]:
    if not left_out:
        return ()
    return (f"{feed.name} has {count:,} entries, {left_out:,} of them were skipped; raise max_entries",)


def _gone(feed: FeedState, error: FetchError, now: datetime) -> Poll:
    after = feed.model_copy(
        update={"polled_at": now, "disabled_at": now, "last_error": clean_text(str(error))}
    )
    told = f"{feed.name} is gone (410) and no longer polled; remove it from the list, or set ask_disabled"
    return Poll(feed=after, outcome=PollOutcome.GONE, warnings=(told,))


def _postponed(feed: FeedState, error: FetchError, now: datetime, floor_s: float) -> Poll:
    """Return the poll that its host postponed: not a failure of the feed, which may not have been asked."""
    # Without a status, the pause began for another caller, here or on another worker: it ends then.
    is_others = error.status is None and error.failure_class == FailureClass.RATE_LIMITED
    wait_s = wait_after(0.0 if is_others else floor_s, [error.retry_after_s])
    after = feed.model_copy(update={"next_poll_at": now + timedelta(seconds=wait_s)})
    told = f"{feed.name} was postponed, next attempt in {_span(wait_s)}: {clean_text(str(error))}"
    return Poll(feed=after, outcome=PollOutcome.POSTPONED, warnings=(told,))


def _place(url: str | None) -> str | None:
    """Return the new URL of a moved feed; None if it has not moved, or cannot be watched there."""
    try:
        return url if _sound(url) and canonical_url(url or "") else None
    except HttpError:
        return None


def _sound(text: str | None) -> str | None:
    """Return the text of a header; None if it is not text: messages and rows could not hold it."""
    return text if text is not None and clean_text(text) == text else None


def _span(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 60 else f"{seconds:.0f} s"
