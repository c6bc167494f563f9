"""A case: the answers of a site, and the rows that a careful user expects. Standard library only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

FieldKind = Literal["text", "number", "price", "date", "datetime"]

HTML = "text/html; charset=utf-8"

Value = str | float | Mapping[str, "Value"] | None
Row = Mapping[str, Value]
"""The fields of an item; a price is ``{"amount": ..., "currency": ...}``, a date is in ISO 8601."""


@dataclass(frozen=True, slots=True)
class OneOf:
    """Several values that are all right."""

    values: tuple[Value, ...]


ExpectedRow = Mapping[str, Value | OneOf]


@dataclass(frozen=True, slots=True)
class Field:
    """Where a field of an item is on its page: a CSS selector, or a type and keys in JSON-LD."""

    css: str = ""
    kind: FieldKind = "text"
    jsonld: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer of a site.

    In a body in text and in header fields, ``{here}`` is the address of the site, ``{next_door}`` is the
    address of the second site, on another port of the same host, and ``{other}`` is the second site under
    another host name.

    Attributes:
        body: Text is encoded as ``charset`` says, bytes are sent as they are.
        media_type: The header field ``Content-Type``; "" leaves it out.
        fields: Further header fields, one a line.
        pack: Applied to the encoded body.
        length: Value of ``Content-Length`` if it is not the true one; -1 leaves it out.
    """

    body: str | bytes = ""
    media_type: str = HTML
    status: str = "200 OK"
    fields: tuple[str | bytes, ...] = ()
    charset: str = "utf-8"
    pack: Callable[[bytes], bytes] | None = None
    length: int | None = None


@dataclass(frozen=True, slots=True)
class Walled:
    """An answer for visitors who bring a cookie; all others get ``outside``, which sets it."""

    cookie: str
    inside: Answer
    outside: Answer


Answers = Answer | Walled | tuple[Answer, ...]
"""One answer for all rounds, or an answer for each round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A site with a fault, the task, and the expected rows.

    Attributes:
        name: Unique among all cases.
        kind: Cases of one kind stand together in the table.
        trouble: A phrase for the table: the fault.
        expects: A phrase for the table: the expectation of a careful user.
        routes: Path and query as requested -> answer; all others are 404.
        beside: The same for a second site; it runs only if there are any.
        start: Where the crawl starts.
        feed: The path of a feed; the case is then a poll of this feed instead of a crawl.
        sitemap: The path of the sitemap that the user names, too.
        fields: Fields of the item that every page has.
        max_pages: The limit that the user sets for the crawl.
        rounds: How often the task runs; rows of a later round replace those of the same page or entry.
        rows: The rows after the last round, in any order.
        never: Requests that a careful user does not forgive.
        named_by: Words of a report about the fault; any one is enough.
        must_report: Whether the right rows are enough, or a report must come with them.
    """

    name: str
    kind: str
    trouble: str
    expects: str
    routes: Mapping[str, Answers]
    rows: Sequence[ExpectedRow]
    named_by: tuple[str, ...]
    beside: Mapping[str, Answers] = field(default_factory=dict)
    start: str = "{here}/"
    feed: str = ""
    sitemap: str = ""
    fields: Mapping[str, Field] = field(default_factory=lambda: {"title": Field("h1")})
    max_pages: int | None = None
    rounds: int = 1
    never: frozenset[str] = frozenset()
    must_report: bool = False


def page(body: str, head: str = "") -> str:
    """Return a page."""
    return f"<!doctype html><html><head><title>t</title>{head}</head><body>{body}</body></html>"


def titled(title: str, *links: str) -> str:
    """Return a page with a heading and links; the addresses are written as given."""
    anchors = "".join(f'<p><a href="{link}">more</a></p>' for link in links)
    return page(f"<h1>{title}</h1>{anchors}")


def rows_of(*titles: str) -> tuple[ExpectedRow, ...]:
    """Return the rows of pages with these headings."""
    return tuple({"title": title} for title in titles)
