from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest

from agentic.fakes.feeds.entries import build_entries
from agentic.fakes.feeds.orders import FeedOrder, FeedOrders
from agentic.fakes.feeds.site import Feeds
from agentic.fakes.pages import Page

BASE = "http://feeds.test/feeds"
ATOM = "{http://www.w3.org/2005/Atom}"
RSS_1 = "{http://purl.org/rss/1.0/}"
ITUNES = "{http://www.itunes.com/dtds/podcast-1.0.dtd}"
SOUND = ("/rss.xml", "/atom.xml", "/rdf.xml", "/podcast.xml", "/relative.xml")
TITLES = [entry.title for entry in build_entries(2)]


@pytest.fixture(scope="module")
def feeds() -> Feeds:
    return Feeds(seed=2)


def get(feeds: Feeds, path: str, query: str = "") -> Page:
    page = feeds.page(path, query, BASE)
    assert page is not None
    return page


def xml(feeds: Feeds, path: str, query: str = "") -> ET.Element:
    return ET.fromstring(get(feeds, path, query).body)


@pytest.mark.parametrize(
    ("path", "item"),
    [("/rss.xml", "item"), ("/podcast.xml", "item"), ("/relative.xml", "item"), ("/rdf.xml", f"{RSS_1}item")],
)
def test_every_rss_tells_of_the_same_entries(feeds: Feeds, path: str, item: str) -> None:
    title = item.replace("item", "title")
    assert [found.findtext(title) for found in xml(feeds, path).iter(item)] == TITLES


def test_json_feed_tells_of_the_same_entries(feeds: Feeds) -> None:
    feed = json.loads(get(feeds, "/feed.json").body)
    assert feed["version"] == "https://jsonfeed.org/version/1.1"
    assert [item["title"] for item in feed["items"]] == TITLES


def test_the_atom_archive_leads_back_to_the_oldest_entry(feeds: Feeds) -> None:
    query, found = "", list[str]()
    while True:
        feed = xml(feeds, "/atom.xml", query)
        found += [title for entry in feed.iter(f"{ATOM}entry") if (title := entry.findtext(f"{ATOM}title"))]
        earlier = [link for link in feed.iter(f"{ATOM}link") if link.attrib["rel"] == "prev-archive"]
        if not earlier:
            break
        query = earlier[0].attrib["href"].partition("?")[2]
    assert found == TITLES


def test_a_podcast_has_an_enclosure_of_a_known_size_in_every_item(feeds: Feeds) -> None:
    for item in xml(feeds, "/podcast.xml").iter("item"):
        enclosure = item.find("enclosure")
        assert enclosure is not None
        assert int(enclosure.attrib["length"]) > 0
        assert item.findtext(f"{ITUNES}duration", "").count(":") == 2


def test_the_malformed_feed_is_no_xml_and_still_has_every_item(feeds: Feeds) -> None:
    body = get(feeds, "/malformed.xml").body
    with pytest.raises(ET.ParseError):
        ET.fromstring(body)
    assert body.count(b"<item>") == len(TITLES)
    assert b"Q & A" in body
    assert not body.endswith(b"</rss>")


def test_the_relative_feed_counts_links_from_its_base(feeds: Feeds) -> None:
    root = xml(feeds, "/relative.xml")
    assert root.attrib["{http://www.w3.org/XML/1998/namespace}base"] == f"{BASE}/"
    assert all((item.findtext("link") or "").startswith("./entry/") for item in root.iter("item"))


def test_the_feed_of_a_wrong_charset_is_not_what_it_says(feeds: Feeds) -> None:
    page = get(feeds, "/wrong-charset.xml")
    assert "charset=utf-8" in page.content_type
    with pytest.raises(UnicodeDecodeError):
        page.body.decode()
    assert "Søren Berg" in page.body.decode("cp1252")


@pytest.mark.parametrize("path", [*SOUND, "/feed.json", "/malformed.xml", "/wrong-charset.xml", "/"])
def test_every_feed_says_when_it_changed_and_is_the_same_for_the_same_seed(feeds: Feeds, path: str) -> None:
    page = get(feeds, path)
    assert page.modified is not None
    assert page == get(Feeds(seed=2), path)


def test_entries_lead_to_pages_and_others_do_not_exist(feeds: Feeds) -> None:
    assert b"<article>" in get(feeds, "/entry/1").body
    for path, query in (("/entry/99", ""), ("/entry/0", ""), ("/atom.xml", "page=9"), ("/x", "")):
        assert feeds.page(path, query, BASE) is None


@pytest.mark.parametrize("entries", [0, 1, 20, 21, 40])
def test_atom_holds_any_number_of_entries(entries: int) -> None:
    feeds = Feeds(seed=1, entries=entries)
    count, query = 0, ""
    while True:
        feed = xml(feeds, "/atom.xml", query)
        count += len(feed.findall(f"{ATOM}entry"))
        earlier = feed.findall(f"{ATOM}link[@rel='prev-archive']")
        if not earlier:
            break
        query = earlier[0].attrib["href"].partition("?")[2]
    assert count == entries


def test_an_order_holds_entries_back_changes_titles_and_tells_how_often_to_ask() -> None:
    orders = FeedOrders()
    feeds = Feeds(seed=2, orders=orders)
    before = get(feeds, "/rss.xml")
    order = FeedOrder(
        held_back=2, titles={7: "New & better"}, ttl_minutes=60, update_period="daily", max_age_s=9
    )
    orders.change(order)
    page, root = get(feeds, "/rss.xml"), xml(feeds, "/rss.xml")
    titles = [item.findtext("title") for item in root.iter("item")]
    assert (len(titles), titles[-7]) == (len(TITLES) - 2, "New & better")
    assert root.findtext("channel/ttl") == "60"
    assert root.findtext("channel/{http://purl.org/rss/1.0/modules/syndication/}updatePeriod") == "daily"
    assert page.headers == (("cache-control", "max-age=9"),)
    orders.reset()
    assert get(feeds, "/rss.xml") == before


def test_a_channel_tells_of_its_newest_videos_and_how_often_they_were_seen() -> None:
    orders = FeedOrders()
    feeds = Feeds(seed=2, orders=orders)

    def views() -> list[int]:
        root = xml(feeds, "/youtube.xml")
        return [int(one.attrib["views"]) for one in root.iter("{http://search.yahoo.com/mrss/}statistics")]

    before = views()
    orders.change(FeedOrder(views=5))
    assert (len(before), [after - 5 for after in views()]) == (15, before)


def test_the_list_of_feeds_names_feeds_that_are_there(feeds: Feeds) -> None:
    urls = [
        one.attrib["xmlUrl"] for one in xml(feeds, "/subscriptions.opml").iter("outline") if one.get("type")
    ]
    assert len(urls) == 3
    for url in urls:
        assert feeds.page(url.removeprefix(BASE), "", BASE) is not None
