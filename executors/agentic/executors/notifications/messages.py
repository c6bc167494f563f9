"""The texts of notifications: short, plain, with the next command. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from agentic.core.ids import SHORT_CHARS
from agentic.core.masking import mask_known, masked_data
from agentic.core.types import JSONValue
from agentic.mappers.tables.notifications import NotificationEvent

MAX_SHOWN = 10
"""Executions in a message; it counts the others."""

MAX_TITLE = 150
TYPE = "agentic.notification"

_COUNTS = ("inserted", "updated", "unchanged", "rejected", "failed")
_ABOUT_ROWS = (NotificationEvent.NEW, NotificationEvent.CHANGED, NotificationEvent.FEWER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """An event to report.

    Attributes:
        event: Its kind.
        execution_id: The execution that ended.
        facts: As stored in the outbox.
        at: When it ended, in ISO format.
    """

    event: NotificationEvent
    execution_id: str
    facts: Mapping[str, JSONValue]
    at: str = ""

    def fact(self, name: str) -> str:
        """Return a fact as text; "" without one."""
        value = self.facts.get(name)
        return "" if value is None else str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationMessage:
    """A message about one or more events.

    Attributes:
        id: Names the delivery.
        title: One line.
        text: Plain text.
        data: The same as JSON, for programs.
    """

    id: str
    title: str
    text: str
    data: Mapping[str, JSONValue]


def message_of(message_id: str, rule: str, notices: Sequence[Notice]) -> NotificationMessage:
    """Return the message about events of a rule: the first ones in full, and the number of the others."""
    groups = _groups(notices)
    shown, left_out = groups[:MAX_SHOWN], sum(len(group) for group in groups[MAX_SHOWN:])
    title = mask_known(_title(groups))
    parts = ["\n".join(_lines(group)) for group in shown]
    if left_out:
        parts.append(f"and {left_out} more: agentic notifications deliveries {rule}")
    text = mask_known("\n\n".join(parts))
    events: list[JSONValue] = [_data(notice) for group in shown for notice in group]
    data: Mapping[str, JSONValue] = {
        "type": TYPE,
        "id": message_id,
        "rule": rule,
        "title": title,
        "text": text,
        "events": events,
        "left_out": left_out,
    }
    return NotificationMessage(id=message_id, title=title, text=text, data=masked_data(data))


def sample_message(message_id: str, rule: str, project: str) -> NotificationMessage:
    """Return the message of ``agentic notifications test``."""
    title = f"Test of notification {rule}"
    text = f"Notification {rule} of project {project} arrives here. No execution has ended."
    data: Mapping[str, JSONValue] = {
        "type": f"{TYPE}.test",
        "id": message_id,
        "rule": rule,
        "title": title,
        "text": text,
        "events": [],
        "left_out": 0,
    }
    return NotificationMessage(id=message_id, title=title, text=text, data=data)


def _groups(notices: Sequence[Notice]) -> list[list[Notice]]:
    """Return the events of each end of an execution, in the order of their ends."""

    def key(notice: Notice) -> tuple[str, str]:
        return notice.execution_id, notice.fact("attempt")

    order = {found: index for index, found in reversed([*enumerate(map(key, notices))])}
    sorted_ones = sorted(notices, key=lambda notice: order[key(notice)])
    return [list(group) for _, group in groupby(sorted_ones, key)]


def _title(groups: Sequence[Sequence[Notice]]) -> str:
    if len(groups) == 1:
        [group] = groups
        title = f"{group[0].fact('agent')}: {', '.join(_headline(notice) for notice in group)}"
    else:
        counts = Counter(group[0].fact("agent") for group in groups)
        named = ", ".join(f"{agent} ({count})" for agent, count in counts.items())
        title = f"{len(groups)} executions: {named}"
    one_line = " ".join(title.split())
    return one_line if len(one_line) <= MAX_TITLE else f"{one_line[:MAX_TITLE]}…"


def _headline(notice: Notice) -> str:
    count = notice.fact("row_count")
    match notice.event:
        case NotificationEvent.NEW | NotificationEvent.CHANGED:
            return f"{count} {notice.event} {'row' if count == '1' else 'rows'}"
        case NotificationEvent.FEWER:
            return f"only {count} rows, usually {_number(notice.facts.get('usual_count'))}"
        case _:
            return str(notice.event)


def _lines(group: Sequence[Notice]) -> Iterator[str]:
    """Yield the lines about one end of an execution."""
    first = group[0]
    reason = first.fact("reason")
    yield (
        f"{first.fact('agent')} (project {first.fact('project')}): {first.fact('status')}"
        f"{f', {reason}' if reason else ''}"
    )
    if counts := _counts(first.facts.get("counts")):
        yield f"  rows: {counts}"
    failure = first.facts.get("first_failure")
    if isinstance(failure, Mapping):
        yield f"  first failure: {failure['where']} ({failure['failure_class']}): {failure['message']}"
    for notice in group:
        if notice.event in _ABOUT_ROWS:
            yield from _row_lines(notice)
    yield f"  more: agentic executions report {first.execution_id[:SHORT_CHARS]}"


def _row_lines(notice: Notice) -> Iterator[str]:
    if notice.event is NotificationEvent.FEWER:
        yield f"  {_headline(notice)} (median of the last {notice.fact('compared')} executions)"
        return
    yield f"  {_headline(notice)} in {notice.fact('table')}:"
    rows = notice.facts.get("rows")
    shown = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
    for row in shown:
        yield f"    - {_row(row)}"
    count = notice.facts.get("row_count")
    if isinstance(count, int) and count > len(shown):
        yield f"    and {count - len(shown)} more"


def _row(sample: Mapping[str, JSONValue]) -> str:
    fields, before = sample.get("row"), sample.get("before")
    was = before if isinstance(before, Mapping) else {}
    named = fields if isinstance(fields, Mapping) else {}
    return ", ".join(
        f"{name}: {_value(value)}{f' (was {_value(was[name])})' if name in was else ''}"
        for name, value in named.items()
    )


def _value(value: JSONValue) -> str:
    return "none" if value is None else " ".join(str(value).split())


def _counts(counts: JSONValue) -> str:
    found = counts if isinstance(counts, Mapping) else {}
    return ", ".join(f"{found[name]} {name}" for name in _COUNTS if found.get(name))


def _number(value: JSONValue) -> str:
    return f"{value:g}" if isinstance(value, int | float) else ""


def _data(notice: Notice) -> JSONValue:
    return {
        "id": f"{notice.execution_id}.{notice.fact('attempt')}.{notice.event}",
        "event": str(notice.event),
        "execution_id": notice.execution_id,
        "at": notice.at,
        **notice.facts,
    }
