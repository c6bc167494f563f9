"""Lists of feeds."""

from __future__ import annotations

import pytest

from agentic.fakes.feeds.site import Feeds
from agentic.plugins.feed.errors import UnreadableOpmlError
from agentic.plugins.feed.opml import read_opml

BASE = "http://feeds.test/feeds"


def opml(inside: str) -> bytes:
    return f'<opml version="1.0"><head/><body>{inside}</body></opml>'.encode()


def test_feeds_are_found_in_every_folder_in_the_order_of_the_list() -> None:
    page = Feeds().page("/subscriptions.opml", "", BASE)
    assert page is not None
    urls = [f"{BASE}/{name}" for name in ("rss.xml", "atom.xml", "feed.json")]
    assert read_opml(page.body, "x") == (urls, [])


def test_outlines_without_a_feed_are_folders() -> None:
    assert read_opml(opml('<outline text="a"><outline xmlurl="http://a.test/"/></outline>'), "x") == (
        ["http://a.test/"],
        [],
    )


@pytest.mark.parametrize("url", ["feed://a.test/", "a.test", "http://me:secret@a.test/"])
def test_what_cannot_be_asked_is_a_warning_and_the_others_are_kept(url: str) -> None:
    body = opml(f'<outline xmlUrl="{url}"/><outline xmlUrl="http://b.test/"/>')
    urls, (warning,) = read_opml(body, "x")
    assert urls == ["http://b.test/"]
    assert "a feed of the OPML" in warning
    assert "secret" not in warning


@pytest.mark.parametrize(
    "body", [b"", b"hello", b"<rss/>", b"<opml>", b'<!DOCTYPE opml [<!ENTITY a "b">]><opml>&a;</opml>']
)
def test_what_is_no_list_is_refused_by_its_place(body: bytes) -> None:
    with pytest.raises(UnreadableOpmlError, match=r"the OPML lists/mine\.opml cannot be read"):
        read_opml(body, "lists/mine.opml")


def test_a_list_of_more_than_a_thousand_is_refused() -> None:
    many = "".join(f'<outline xmlUrl="http://a.test/{number}"/>' for number in range(1_001))
    with pytest.raises(UnreadableOpmlError, match="1001 feeds"):
        read_opml(opml(many), "x")
