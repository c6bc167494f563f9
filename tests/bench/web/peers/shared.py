"""Shared by the programs for both peers: a store of rows, and the libraries that their users add.

These libraries are imported where they are used, because each takes longer than a case.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from logging import Logger
from pathlib import Path
from typing import Any, Self

from tests.bench.web.listing import CASES
from tests.bench.web.model import Case


@dataclass(slots=True)
class Store:
    """Rows by their key in a file: a later row replaces an earlier one."""

    file: Path
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)

    def put(self, row: Mapping[str, Any]) -> None:
        """Add a row, or replace the one with its key; a row without one is left out."""
        if key := row.get("id") or row.get("url"):
            self.rows[key] = dict(row)

    def save(self) -> None:
        """Write the file."""
        self.file.write_text(json.dumps(self.rows), encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Task:
    """A case, the addresses of its sites, and the store of its rows."""

    case: Case
    store: Store
    places: Mapping[str, str]

    @classmethod
    def of_arguments(cls, arguments: Sequence[str]) -> Self:
        """Read the command line: the name of a case, a file, and ``name=address`` for each site."""
        name, file, *places = arguments
        path = Path(file)
        rows = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        return cls(CASES[name], Store(path, rows), dict(place.split("=", 1) for place in places))

    def fill(self, text: str) -> str:
        """Return a text with the addresses in the places of their names."""
        for name, address in self.places.items():
            text = text.replace(f"{{{name}}}", address)
        return text


def read_price(text: str) -> dict[str, Any]:
    """Return a price as a value of a row."""
    from price_parser import Price

    price = Price.fromstring(text)
    return {"amount": price.amount_float, "currency": price.currency}


def read_moment(text: str) -> datetime | None:
    """Return a date with its time."""
    import dateparser

    return dateparser.parse(text)


def jsonld_value(text: str, path: str) -> Any:
    """Return the value at a path that begins with a type, None without one."""
    import extruct

    kind, *keys = path.split(".")
    found = extruct.extract(text, syntaxes=["json-ld"], errors="log").get("json-ld", [])
    value: Any = next((one for one in found if one.get("@type") == kind), {})
    for key in keys:
        value = value.get(key, {})
    return value or None


def read_feed(body: bytes, media_type: str, url: str, log: Logger) -> Iterator[dict[str, Any]]:
    """Yield the entries of a feed; a fault that feedparser found is a warning."""
    import feedparser

    headers = {"content-type": media_type, "content-location": url}
    parsed = feedparser.parse(body, response_headers=headers)
    if parsed.bozo:
        log.warning("the feed %s is not well-formed: %s", url, parsed.bozo_exception)
    for entry in parsed.entries:
        time = entry.get("published_parsed")
        yield {
            "id": entry.get("id") or entry.get("link"),
            "title": entry.get("title"),
            "link": entry.get("link"),
            "published": datetime(*time[:6], tzinfo=UTC).isoformat() if time else None,
        }


def json_entries(body: bytes) -> Iterator[dict[str, Any]]:
    """Yield the entries of a JSON Feed."""
    for item in json.loads(body)["items"]:
        yield {
            "id": item["id"],
            "title": item.get("title"),
            "link": item.get("url"),
            "published": item.get("date_published"),
        }
