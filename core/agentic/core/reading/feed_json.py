"""JSON Feed (https://jsonfeed.org/version/1.1), also if it is cut off or has values of other types."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from agentic.core.reading.lenient_xml import xml_text
from agentic.core.reading.loose_json import read_loose_json
from agentic.core.types import JSONValue

MARK = "\ufeff"
VERSION = b"jsonfeed.org/version"
HEAD_BYTES = 16 * 1024
PIECE_CHARACTERS = 512
"""Length of the summary of a plain text."""

Json = Mapping[str, JSONValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonFeed:
    """A feed in JSON.

    Attributes:
        values: Its own fields.
        items: Its whole items.
        left_out: Items that are not objects.
        is_cut: It ends before its end: the rest is missing.
    """

    values: Json
    items: tuple[Json, ...]
    left_out: int
    is_cut: bool


def json_start(body: bytes) -> int | None:
    """Return where JSON begins in a body; None for something else.

    A warning of PHP, or the name of a function, may stand before a feed that names its format.
    """
    if body[:64].lstrip(b"\xef\xbb\xbf\xff\xfe\0 \t\r\n")[:1] == b"{":
        return 0
    start = body.find(b"{", 0, HEAD_BYTES)
    if start < 0 or VERSION not in body[start : start + HEAD_BYTES]:
        return None
    # A page, or another feed, may be about JSON Feed.
    is_other = any(
        mark in body[:start].lower() for mark in (b"<?xml", b"<rss", b"<feed", b"<rdf", b"<html", b"<!doc")
    )
    return None if is_other else start


def read_json_feed(body: bytes, content_type: str | None = None) -> JsonFeed | None:
    """Return a JSON Feed, None if it is not one.

    Args:
        body: As it came.
        content_type: The header of that name.
    """
    codec = json.detect_encoding(body)
    is_wide = codec.startswith(("utf-16", "utf-32"))
    text = body.decode(codec, "replace") if is_wide else xml_text(body, content_type)[0]
    text = text.lstrip(MARK + "\0 \t\r\n")
    values, is_cut = _parsed(text)
    items = values.get("items")
    version = values.get("version")
    is_feed = isinstance(items, list | dict) or (isinstance(version, str) and "jsonfeed.org" in version)
    if not is_feed:
        return None
    if isinstance(items, dict):  # PHP writes a list with gaps so
        items = list(items.values())
    listed = items if isinstance(items, list) else []
    found = tuple(item for item in listed if isinstance(item, dict))
    return JsonFeed(values=values, items=found, left_out=len(listed) - len(found), is_cut=is_cut)


def json_entry(item: Json) -> dict[str, object]:
    """Return an item with the names of the other formats."""
    page, plain = _text(item.get("content_html")), _text(item.get("content_text"))
    summary = _text(item.get("summary"))
    link = _text(item.get("url"))
    return {
        "id": _id(item.get("id")) or link,
        "title": _text(item.get("title")),
        "link": link or _text(item.get("external_url")),
        "published": _id(item.get("date_published")),
        "updated": _id(item.get("date_modified")),
        "author": author_of(item),
        "summary": summary or (None if page else (plain or "")[:PIECE_CHARACTERS]),
        "content": [{"value": page or plain}] if page or plain else [],
        "tags": [{"term": term} for tag in _list(item.get("tags")) if (term := _text(tag))],
        "enclosures": [
            {"url": url, "type": one.get("mime_type"), "length": one.get("size_in_bytes")}
            for one in _list(item.get("attachments"))
            if isinstance(one, dict) and (url := _text(one.get("url")))
        ],
    }


def author_of(item: Json) -> str | None:
    """Return the name of the first author: 1.0 had one."""
    for author in (*_list(item.get("authors")), item.get("author")):
        name = author.get("name") if isinstance(author, dict) else author
        if found := _text(name):
            return found
    return None


def _parsed(text: str) -> tuple[dict[str, JSONValue], bool]:
    """Return the object that ``text`` is or begins with, and whether it ends in the middle of it."""
    decoder = json.JSONDecoder(strict=False)  # a raw line feed in a text is no reason to lose it
    try:
        found, _ = decoder.raw_decode(text)
    except (ValueError, RecursionError):
        return _mended(text) or (_begun(text, decoder), True)
    return (cast("dict[str, JSONValue]", found) if isinstance(found, dict) else {}), False


def _mended(text: str) -> tuple[dict[str, JSONValue], bool] | None:
    """Return an object with small faults, such as a comma too many; None if it cannot be read to its end."""
    if text.rstrip()[-1:] != "}":
        return None
    found = read_loose_json(text)
    value = found.values[0] if len(found.values) == 1 and not found.fault else None
    return (value, False) if isinstance(value, dict) else None


def _begun(text: str, decoder: json.JSONDecoder) -> dict[str, JSONValue]:
    """Return the whole values of an object whose text is not whole."""
    values: dict[str, JSONValue] = {}
    place = 1
    try:
        while True:
            name, place = decoder.raw_decode(text, _skipped(text, place, ","))
            place = _skipped(text, place, ":")
            if name == "items" and text[place : place + 1] == "[":
                values[name] = items = []
                place += 1
                while True:
                    value, place = decoder.raw_decode(text, _skipped(text, place, ","))
                    items.append(value)
            value, place = decoder.raw_decode(text, place)
            if place >= len(text.rstrip()):  # a number may go on
                break
            values[str(name)] = value
    except (ValueError, RecursionError, IndexError):
        pass
    return values


def _skipped(text: str, place: int, mark: str) -> int:
    """Return the place after blanks, and after one ``mark`` among them."""
    while text[place] in " \t\r\n":
        place += 1
    if text[place] != mark:
        return place
    place += 1
    while text[place] in " \t\r\n":
        place += 1
    return place


def _list(value: JSONValue) -> list[JSONValue]:
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def _id(value: JSONValue) -> str | None:
    """Return an id, or a time; the format says that a number becomes a text."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        is_whole = isinstance(value, float) and value.is_integer()
        return str(int(value) if is_whole else value)
    return _text(value)


def _text(value: object) -> str | None:
    return value.strip() or None if isinstance(value, str) else None
