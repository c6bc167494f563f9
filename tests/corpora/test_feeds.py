"""Feeds that feedparser and reader test with, read by ours and held to what they expect."""

from __future__ import annotations

import ast
import calendar
import io
import re
import warnings
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from fnmatch import fnmatch
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.corpora.conftest import Line, Open
from tests.corpora.distributions import source_of

from agentic.core.reading.addresses import absolute
from agentic.core.reading.dates import as_utc, parse_moment
from agentic.core.reading.feeds import Feed, Item, read_feed
from agentic.core.reading.markup import MarkupError
from agentic.core.types import JSONValue
from agentic.plugins.feed.mapper import entry_row

pytestmark = [pytest.mark.corpus, pytest.mark.timeout(600)]
URL = "http://feeds.example/data/"
FIELDS = ("id", "title", "url", "published", "updated")
Values = Mapping[str, object]

# Where an expectation speaks of a field that we read.
EXPECTED = re.compile(
    rb"entries\[\d+\]\W+(title|link|id|guid|published|published_parsed|updated|updated_parsed)\b"
)
FILES = {"wellformed": 1_739, "illformed": 19, "encoding": 219, "entities": 256, "http": 9}
REFUSED = {
    "wellformed": 17,  # 15 of the Channel Definition Format of 1997, 2 that declare entities
    "illformed": 1,  # an empty file
    "encoding": 0,
    "entities": 0,
    "http": 1,  # an empty file
}

# Files and fields in which we differ from feedparser, and mean to.
DIFFERENT = {
    "an Atom id is no address": (
        "atom*/entry_id*.xml url",
        "base/http_entry_id_base_*.xml url",
        "lang/http_content_language_entry_title_inherit_2.xml url",
        "node_precedence/atom10_id.xml url",
    ),
    "a link of another kind is better than none": (
        "atom10/entry_link_length.xml url",
        "atom10/entry_link_rel_*.xml url",
    ),
    "dc:date is when it was published": (
        "rss/item_dc_date*.xml published",
        "rss/item_dc_date*.xml updated",
    ),
    "of two values for one thing it is the other": (
        "atom/entry_updated_multiple_values.xml updated",
        "media-rss/item_media_title2.xml title",
    ),
    "a title is no base64 in Atom 1.0": ("atom10/entry_title_base64*.xml title",),
    "an image's title is not the item's": ("rss/item_category_image.xml title",),
    "of RSS in a namespace the items are read, not what is said of the feed": (
        "namespace/rss2.0NSwithModules*.xml feed-title",
    ),
    "a text stands in an element that is none for texts, or is escaped and is not": (
        "*/*fullitem*.xml text",
        "atom10/entry_content_div_escaped_markup.xml text",
        "media-rss/media_group.xml text",
    ),
    "Atom's id and link are nothing in RSS": ("psc/rss2.0simplechapter.xml *",),
    "entities are read as browsers read them": ("lang.xml feed-title", "rang.xml feed-title"),
    "an entry that is cut off is not an entry": ("rss_incomplete_cdata.xml count",),
    "a charset that nothing names is guessed": ("chardet/*.xml *",),
    "a charset is that of browsers": (
        "bozo_invalid-bytes-with-bom.xml feed-title",
        "x80_*mac*.xml feed-title",
    ),
}


@pytest.mark.parametrize("kind", sorted(REFUSED))
def test_feeds_of_feedparser_are_read_as_it_reads_them(kind: str, line: Open) -> None:
    folder = source_of("feedparser", "6.0.14") / "tests" / kind
    told, expected, agreeing = line(f"feedparser 6.0.14, {kind}"), 0, 0
    different: set[str] = set()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        body = path.read_bytes()
        if (feed := _read(body, told)) is None:
            continue
        found = set(_differences(feed, body))
        different |= {f"{path.relative_to(folder).as_posix()} {field}" for field in found}
        if EXPECTED.search(body[:2_000]):
            expected, agreeing = expected + 1, agreeing + (not found)
    told.notes.append(f"{agreeing} of {expected} that expect something of our fields agree in all of them")
    told.notes.append(f"{len(different)} fields of all differ, as we mean it")
    assert (told.files, told.refused.total()) == (FILES[kind], REFUSED[kind])
    patterns = [pattern for patterns in DIFFERENT.values() for pattern in patterns]
    assert [one for one in sorted(different) if not any(fnmatch(one, pattern) for pattern in patterns)] == []
    if kind == "wellformed":
        used = [pattern for pattern in patterns if "/" in pattern and not pattern.startswith("chardet/")]
        assert [one for one in used if not any(fnmatch(each, one) for each in different)] == []


def test_feeds_of_reader_are_read_as_it_expects(line: Open) -> None:
    folder = source_of("reader", "3.26") / "tests" / "data"
    told = line("reader 3.26")
    different: list[str] = []
    compared = 0
    for path in sorted(folder.glob("*.*.py")):
        body = (folder / path.stem).read_bytes()
        if (feed := _read(body, told)) is None:
            continue
        nothing: Any = {}
        for item, wanted in zip_longest(feed.items, _expectations(path), fillvalue=nothing):
            ours, theirs = _ours(item), _wanted(wanted)
            compared += len(FIELDS)
            different += [f"{path.stem} {name}" for name in FIELDS if ours.get(name) != theirs.get(name)]
    told.notes.append(f"{compared - len(different)} of {compared} values are as it expects")
    # An id is no address.
    assert sorted(different) == ["relative.rss id"]
    assert told.refused.total() == 0


def _read(body: bytes, told: Line) -> Feed | None:
    """Read a feed and make rows of it, as the plugin does; None if it is refused."""
    told.files += 1
    try:
        feed = read_feed(body, URL)
    except MarkupError as exc:
        told.refused[str(exc)] += 1
        return None
    told.read += 1
    for item in feed.items:
        try:
            told.rows += bool(entry_row("0", item))
        except ValueError:  # nothing to know it by, as in most of the files that test something else
            told.rejected += 1
    return feed


def _differences(feed: Feed, body: bytes) -> Iterator[str]:
    """Yield the fields in which the feed or an entry of ours is not feedparser's."""
    feedparser: Any = import_module("feedparser")  # typed by nobody
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = feedparser.parse(io.BytesIO(body), sanitize_html=False, resolve_relative_uris=False)
        if _plain(feed.title) != _plain(found.feed.get("title")):
            yield "feed-title"
        if len(found.entries) != len(feed.items):
            yield "count"
            return
        for item, entry in zip(feed.items, found.entries, strict=True):
            ours, theirs = _ours(item), _theirs(entry)
            if theirs["id"] is None and ours["url"] == absolute(URL, str(ours["id"])):
                theirs["id"] = ours["id"]  # an entry without one is known by its link
            yield from (name for name in FIELDS if ours[name] != theirs[name])
            if _has_text(entry) and not (item["summary"] or item["content"]):
                yield "text"


def _has_text(entry: Any) -> bool:
    texts = [entry.get("summary"), *(part.get("value") for part in entry.get("content", ()))]
    return any(text and text.strip() for text in texts)


def _ours(item: Item) -> dict[str, object]:
    return {
        "id": item.get("id"),
        "title": _plain(item.get("title")),
        "url": item.get("url"),
        "published": _moment(item.get("published")),
        "updated": _moment(item.get("updated")),
    }


def _theirs(entry: Any) -> dict[str, object]:
    link = entry.get("link")
    return {
        "id": str(entry.get("id") or "").strip() or None,
        "title": _plain(entry.get("title")),
        "url": absolute(URL, link) if link else None,
        **{
            name: datetime.fromtimestamp(calendar.timegm(parsed), UTC)
            if name in entry and (parsed := entry.get(f"{name}_parsed"))
            else None
            for name in ("published", "updated")
        },
    }


def _wanted(entry: Any) -> dict[str, object]:
    if not entry:
        return {}
    told = vars(entry)
    link = told.get("link")
    return {**{name: told.get(name) for name in FIELDS}, "url": absolute(URL, link) if link else None}


def _expectations(path: Path) -> list[Any]:
    """Return the entries that a file of Python expects; it is made of calls of classes of reader."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tree.body = [node for node in tree.body if not isinstance(node, ast.ImportFrom)]
    classes = ("Content", "Enclosure", "EntrySource", "EntryData", "FeedData", "Author")
    names: dict[str, Any] = dict.fromkeys(classes, SimpleNamespace)
    names |= {"url_base": URL, "rel_base": URL}
    exec(compile(tree, path.name, "exec"), names)
    return list(names["entries"])


def _plain(title: object) -> str | None:
    """Return a title without attributes: feedparser orders them anew."""
    return re.sub(r"<([!/]?\w+)[^>]*>", r"<\1>", str(title)).strip() if title else None


def _moment(text: JSONValue) -> datetime | None:
    found: date | None = parse_moment(text) if isinstance(text, str) else None
    return as_utc(found).astimezone(UTC).replace(microsecond=0) if found else None
