"""Feeds as data, whatever they are written in."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentic.core.reading import feeds, isolated
from agentic.core.reading.feeds import read_feed
from agentic.core.reading.markup import MarkupError, elements
from agentic.fakes.feeds.site import Feeds

BASE = "http://a.example/feeds"
EMPTY = b"<rss version='2.0'><channel><title>Nothing yet</title></channel></rss>"
ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="de" xml:base="/blog/"><title>T</title>
<entry><id>1</id><title>One</title><link href="one"/>
<link rel="enclosure" href="a.mp3" type="audio/mpeg"/><updated>2026-10-31T14:04:00Z</updated></entry>
</feed>"""
BOMB = b"""<!DOCTYPE rss [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
<rss version="2.0"><channel><item><title>&b;</title></item></channel></rss>"""

HALF = b"<rss version='2.0'><channel><item><title>&#xD800; & b</title></item></channel></rss>"
TAGS = b"<item><title>a <b>c</title></item>"


def served(name: str) -> bytes:
    page = Feeds(seed=1, entries=10).page(f"/{name}", "", BASE)
    assert page is not None
    return page.body


@pytest.mark.parametrize(
    "name",
    ["rss.xml", "rdf.xml", "atom.xml", "feed.json", "podcast.xml", "relative.xml", "wrong-charset.xml"],
)
def test_every_format_gives_the_same_entries(name: str) -> None:
    feed, wanted = read_feed(served(name), f"{BASE}/{name}"), read_feed(served("rss.xml"), f"{BASE}/rss.xml")
    assert (feed.title, len(feed.items)) == ("Notes from the Workshop", 10)
    for item, same in zip(feed.items, wanted.items, strict=True):
        assert [item[key] for key in ("title", "url", "published", "author", "summary")] == [
            same[key] for key in ("title", "url", "published", "author", "summary")
        ]


def test_an_item_has_all_that_its_feed_tells() -> None:
    item = read_feed(served("podcast.xml"), f"{BASE}/podcast.xml").items[0]
    assert {key: item[key] for key in ("id", "url", "updated", "tags", "enclosures")} == {
        "id": "workshop-10",
        "url": f"{BASE}/entry/10",
        "updated": None,
        "tags": ["graphs"],
        "enclosures": [{"url": f"{BASE}/audio/10.mp3", "type": "audio/mpeg", "length": 17177649}],
    }


def test_addresses_count_from_the_base_that_the_feed_names() -> None:
    feed = read_feed(ATOM, "http://a.example/feed")
    assert (feed.language, feed.items[0]["url"]) == ("de", "http://a.example/blog/one")
    assert feed.items[0]["enclosures"] == [
        {"url": "http://a.example/blog/a.mp3", "type": "audio/mpeg", "length": None}
    ]


def test_a_malformed_feed_loses_nothing() -> None:
    feed = read_feed(served("malformed.xml"), f"{BASE}/malformed.xml")
    assert len(feed.items) == 10
    assert str(feed.items[0]["title"]).startswith("Q & A: ")


@pytest.mark.parametrize("name", ["title", "summary"])
def test_markup_in_a_text_is_kept(name: str) -> None:
    told = f"<{name} type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'>on <b>n</b></div></{name}>"
    body = f"<feed xmlns='http://www.w3.org/2005/Atom'><entry><id>1</id>{told}</entry></feed>"
    assert "on <b>n</b>" in str(read_feed(body.encode(), BASE).items[0][name])


@pytest.mark.parametrize(("name", "field"), [("description", "summary"), ("body", "content")])
def test_markup_that_nobody_escaped_is_kept(name: str, field: str) -> None:
    body = f"<rss version='2.0'><channel><item><{name}>on <b>n</b></{name}></item></channel></rss>"
    assert read_feed(body.encode(), BASE).items[0][field] == "on <b>n</b>"


def test_a_text_in_base64_is_decoded() -> None:
    body = b"""<feed version="0.3" xmlns="http://purl.org/atom/ns#"><entry><id>1</id>
    <title type="text/html" mode="base64">T25lICZhbXA7IHR3bw==</title></entry></feed>"""
    assert read_feed(body, BASE).items[0]["title"] == "One &amp; two"


def test_an_entry_without_an_id_is_known_by_the_same_word_when_its_feed_is_broken_for_a_day() -> None:
    items = "<item><link>http://A.example/1?b=2&amp;a=1</link></item><item><title>%s</title></item>"
    whole, broken = (
        read_feed(f"<rss version='2.0'><channel>{items % title}</channel></rss>".encode(), BASE)
        for title in ("a &amp; b", "a & b")
    )
    assert [item["id"] for item in whole.items] == [item["id"] for item in broken.items]


def test_half_a_character_becomes_a_question_mark() -> None:
    assert read_feed(HALF, BASE).items[0]["title"] == "? & b"
    body = b'{"version": "https://jsonfeed.org/version/1.1", "items": [{"id": "1", "title": "a\\ud83d"}]}'
    assert read_feed(body, BASE).items[0]["title"] == "a?"


def test_a_feed_may_be_empty() -> None:
    assert (read_feed(EMPTY, BASE).title, read_feed(EMPTY, BASE).items) == ("Nothing yet", ())
    empty_json = b'{"version": "https://jsonfeed.org/version/1.1", "title": "T", "items": []}'
    assert read_feed(empty_json, BASE).items == ()


@pytest.mark.parametrize("body", [b"", b"<html><body>hi</body></html>", b'{"a": 1}', b"\x00\xff", b"plain"])
def test_what_is_no_feed_is_refused(body: bytes) -> None:
    with pytest.raises(MarkupError, match="neither RSS, Atom, RDF nor JSON Feed"):
        read_feed(body, BASE)


def test_entities_are_refused_by_their_name_also_behind_a_long_comment() -> None:
    with pytest.raises(MarkupError, match="it declares the entity 'a'"):
        read_feed(BOMB, BASE)
    with pytest.raises(MarkupError):
        read_feed(b"<!--" + b"x" * 50_000 + b"-->" + BOMB, BASE)


def test_a_broken_feed_that_would_take_minutes_is_refused_with_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(feeds, "MAX_BROKEN_BYTES", 1_000)
    assert read_feed(
        b"<rss version='2.0'><channel><item><title>a & b</title></item></channel></rss>", BASE
    ).items
    whole = EMPTY.replace(b"</channel>", b"<item><title>a</title></item>" * 100 + b"</channel>")
    assert len(read_feed(whole, BASE).items) == 100
    with pytest.raises(MarkupError, match="the limit for such feeds is 1000 bytes"):
        read_feed(whole.replace(b"</channel>", TAGS + b"</channel>"), BASE)


@pytest.mark.parametrize(
    "body",
    [
        EMPTY.replace(b"</channel>", b"<item><author>" + b"a" * 50_000 + b"</author></item>" + TAGS),
        EMPTY.replace(b"</channel>", b"<item><author>" + b"a." * 25_000 + b"</author></item>" + TAGS),
    ],
)
def test_a_feed_that_keeps_its_library_busy_for_minutes_is_refused(
    body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolated, "CPU_S", 1)
    with pytest.raises(MarkupError, match="it is broken, and reading it took more than 1 s of CPU time"):
        read_feed(body, BASE)


def test_elements_are_read_as_they_come_also_from_one_large_piece() -> None:
    reading = elements([b"<a><b/>" + b" " * 200_000 + b"</wrong>"])
    assert next(reading).path == ("a", "b")
    with pytest.raises(MarkupError):
        next(reading)


def test_a_body_that_looks_like_a_path_opens_no_file(tmp_path: Path) -> None:
    secret = tmp_path / "feed.xml"
    secret.write_bytes(EMPTY)
    with pytest.raises(MarkupError):
        read_feed(str(secret).encode(), BASE)


def test_a_video_has_its_id_and_how_often_it_was_seen() -> None:
    item = read_feed(served("youtube.xml"), f"{BASE}/youtube.xml").items[0]
    assert (item["id"], item["video_id"], item["views"]) == ("yt:video:video-0010", "video-0010", 17177)
    assert "video_id" not in read_feed(served("atom.xml"), f"{BASE}/atom.xml").items[0]


@pytest.mark.parametrize(
    ("told", "wanted_s"),
    [
        ("", None),
        ("<ttl>60</ttl>", 3_600),
        ("<ttl> soon </ttl>", None),
        ("<ttl>0</ttl>", None),
        ("<sy:updatePeriod>hourly</sy:updatePeriod>", 3_600),
        ("<sy:updatePeriod> daily </sy:updatePeriod><sy:updateFrequency>4</sy:updateFrequency>", 21_600),
        ("<sy:updateFrequency>2</sy:updateFrequency>", 43_200),
        ("<sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>0</sy:updateFrequency>", 3_600),
        ("<ttl>30</ttl><sy:updatePeriod>hourly</sy:updatePeriod>", 3_600),
        ("<sy:updatePeriod>now and then</sy:updatePeriod>", None),
    ],
)
def test_a_feed_tells_how_long_it_wants_to_be_left_alone(told: str, wanted_s: int | None) -> None:
    namespace = "xmlns:sy='http://purl.org/rss/1.0/modules/syndication/'"
    body = f"<rss version='2.0' {namespace}><channel><title>T</title>{told}</channel></rss>"
    assert read_feed(body.encode(), BASE).interval_s == wanted_s
