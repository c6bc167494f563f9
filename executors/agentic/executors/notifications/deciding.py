"""Decides what to notify about, and when to send it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from agentic.core.types import JSONValue
from agentic.mappers import ExecutionStatus
from agentic.mappers.tables.notifications import NotificationEvent

HOUR_S = 3_600.0

COMPARED = 5
"""Earlier executions that row counts are compared with."""

STORED = ("inserted", "updated", "unchanged")
"""Counts of rows that an execution read and stored."""

COMPLETED = (ExecutionStatus.SUCCEEDED, ExecutionStatus.PARTIAL)
"""Statuses with results."""

RETRY_S = (10.0, 60.0, 300.0, 900.0, 3_600.0)
"""Pauses after tries that certainly did not arrive; the event fails with the try after the last pause."""

MAX_TRIES = len(RETRY_S) + 1


@dataclass(frozen=True, slots=True)
class FewerRows:
    """A fall of the row count.

    Attributes:
        rows: Rows of this execution.
        usual: Median of the earlier ones.
        compared: How many earlier ones.
    """

    rows: int
    usual: float
    compared: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChanges:
    """New and changed rows that a rule counts."""

    table: str = ""
    new: int = 0
    changed: int = 0
    samples: tuple[JSONValue, ...] = ()


def events_for(
    wanted: Collection[str], status: ExecutionStatus, changes: RowChanges, fewer: FewerRows | None
) -> Iterator[NotificationEvent]:
    """Yield the events that a rule wants, of those that the end of an execution brings."""
    happened = [NotificationEvent(status)]
    happened += [NotificationEvent.NEW] if changes.new else []
    happened += [NotificationEvent.CHANGED] if changes.changed else []
    happened += [NotificationEvent.FEWER] if fewer is not None else []
    return (event for event in happened if event in wanted)


def row_total(counts: Mapping[str, JSONValue]) -> int:
    """Return how many rows an execution read and stored."""
    return sum(count for name in STORED if isinstance(count := counts.get(name), int))


def find_fewer(rows: int, earlier: Sequence[int]) -> FewerRows | None:
    """Return the fall of a row count to half of the usual count or less; None if it has not fallen."""
    if not earlier:
        return None
    usual = median(earlier)
    return FewerRows(rows, usual, len(earlier)) if usual > 0 and rows * 2 <= usual else None


@dataclass(frozen=True, slots=True)
class PendingEvent:
    """An event in the outbox."""

    due_at: datetime
    tries: int = 0


def may_be_sent(
    waiting: Collection[PendingEvent], sent: Sequence[datetime], max_per_hour: int, now: datetime
) -> bool:
    """Whether the events of a rule are due, as one message.

    Args:
        waiting: The events. The first that is due takes the others along; but while one waits to be tried
            again, its target is unavailable, so that all wait.
        sent: When messages of the rule were sent in the last hour.
        max_per_hour: Limit of messages.
        now: The time.
    """
    is_due = any(event.due_at <= now for event in waiting)
    is_backing_off = any(event.tries and event.due_at > now for event in waiting)
    return is_due and not is_backing_off and next_turn(sent, max_per_hour, now) <= now


def next_turn(sent: Sequence[datetime], max_per_hour: int, now: datetime) -> datetime:
    """Return when a rule may send its next message."""
    hour = timedelta(seconds=HOUR_S)
    recent = sorted(moment for moment in sent if moment + hour > now)
    return now if len(recent) < max_per_hour else recent[-max_per_hour] + hour


def pause_after(tries: int, retry_after_s: float | None) -> float:
    """Return the pause after a try that did not arrive.

    Args:
        tries: Failed tries, this one included.
        retry_after_s: Pause that the target asks for.
    """
    pause_s = RETRY_S[min(tries, len(RETRY_S)) - 1]
    return max(pause_s, retry_after_s or 0.0)
