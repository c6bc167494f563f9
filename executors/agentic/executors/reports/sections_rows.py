"""Sections about the results: changes, rows, samples of them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from agentic.core.ids import SHORT_CHARS
from agentic.executors.reports.changes import ChangeReport, PageChange
from agentic.executors.reports.facts import TableSample
from agentic.executors.reports.markup import Html, element, joined, link
from agentic.executors.reports.parts import (
    BarPart,
    Section,
    and_more,
    big_bar,
    bullets,
    folded,
    shortened,
    table,
)
from agentic.executors.reports.scales import counted, number

LINK_CHARS = 200

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?([+-]\d\d:\d\d|Z)?")
_ROWS = {"inserted": "ok", "updated": "", "unchanged": "gray", "rejected": "bad"}
_CHANGES = {
    PageChange.NEW: "ok",
    PageChange.CHANGED: "",
    PageChange.GONE: "bad",
    PageChange.UNKNOWN: "warn",
    PageChange.UNCHANGED: "gray",
}


def changes_section(changes: ChangeReport) -> Section:
    """Show the changes since the previous crawl."""
    bar = big_bar(
        [BarPart(str(change), changes.counts.get(change, 0), colour) for change, colour in _CHANGES.items()]
    )
    about = (
        f"Pages compared with those of execution {changes.against_id[:SHORT_CHARS]}, by the hashes of "
        "their bodies"
    )
    if not changes.is_whole:
        about += "; not every known page was fetched, so missing pages do not count as gone"
    lists = [
        folded(
            f"{str(change).capitalize()}: {counted(changes.counts[change], 'page')}",
            bullets(_changed(page.url, page.reason) for page in pages),
            and_more(len(pages), changes.counts[change]),
        )
        for change, pages in changes.pages.items()
    ]
    return Section("changes", "Since the last crawl", f"{about}.", joined([bar, *lists]))


def _changed(url: str, reason: str) -> Html:
    return joined([link(url), element("span", f"  {reason}", class_="said")] if reason else [link(url)])


def rows_section(counts: Mapping[str, int], tables: Sequence[TableSample]) -> Section:
    """Show the stored rows, with samples."""
    parts = [BarPart(name, counts.get(name, 0), colour) for name, colour in _ROWS.items()]
    bar = [big_bar(parts)] if sum(part.count for part in parts) else []
    shown = [joined([element("h3", _heading(main)), _sample(main)]) for main in tables[-1:]]
    shown += [folded(_heading(sample), _sample(sample)) for sample in tables[:-1]]
    about = "Stored rows by result, and a sample."
    return Section("rows", "Rows", about, joined([*bar, *shown]))


def _sample(sample: TableSample) -> Html:
    told = [name for name in sample.columns if any(row.get(name) is not None for row in sample.rows)]
    rows = [[_value(row.get(name)) for name in told] for row in sample.rows]
    numeric = [name for name in told if all(_is_number(row.get(name)) for row in sample.rows)]
    return table(told, rows, numeric=numeric)


def _heading(sample: TableSample) -> str:
    return f"{sample.name} · {len(sample.rows)} of {number(sample.total)}"


def _value(value: object) -> str:
    match value:
        case None:
            return ""
        case str() if value.startswith(("http://", "https://")) and len(value) <= LINK_CHARS:
            return link(value)
        case str() if _TIME.fullmatch(value):
            return element("span", f"{value[:10]} {value[11:19]}", class_="word", title=value)
        case str():
            return shortened(value)
        case bool() | int() | float():
            return str(value)
    return shortened(json.dumps(value, ensure_ascii=False, default=str))


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
