from __future__ import annotations

import gzip
import json
from io import BytesIO
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

import imagesize
import pytest
from selectolax.lexbor import LexborHTMLParser

from agentic.fakes.news.revisions import Revision, Revisions
from agentic.fakes.news.site import News
from agentic.fakes.pages import Page

BASE = "http://news.test/news"
SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
NEWS = "{http://www.google.com/schemas/sitemap-news/0.9}"


@pytest.fixture
def revisions() -> Revisions:
    return Revisions()


@pytest.fixture
def news(revisions: Revisions) -> News:
    return News(6, revisions)


def get(news: News, path: str) -> Page:
    parts = urlsplit(path)
    page = news.page(parts.path, parts.query, BASE)
    assert page is not None, path
    return page


def html(news: News, path: str) -> LexborHTMLParser:
    return LexborHTMLParser(get(news, path).body)


def locations(body: bytes) -> list[str]:
    return [found.text or "" for found in ET.fromstring(body).iter(f"{SITEMAP}loc")]


def test_sections_lead_to_every_article(news: News) -> None:
    found = set[str]()
    for link in html(news, "/").css("nav a"):
        path: str | None = (link.attributes["href"] or "").removeprefix(BASE)
        while path:
            page = html(news, path)
            found |= {(node.attributes["href"] or "").removeprefix(BASE) for node in page.css("a.article")}
            following = page.css("a.next")
            path = path.partition("?")[0] + (following[0].attributes["href"] or "") if following else None
    assert found == set(news.paths())


def test_an_article_describes_itself_with_opengraph_and_json_ld(news: News) -> None:
    page = html(news, news.paths()[0])
    posting = json.loads(page.css("script[type='application/ld+json']")[0].text())
    title = page.css("article h1")[0].text()
    assert posting["@type"] == "NewsArticle"
    assert posting["headline"] == title
    assert page.css("meta[property='og:title']")[0].attributes["content"] == title
    assert page.css("link[rel=canonical]")[0].attributes["href"] == BASE + news.paths()[0]
    languages = [node.attributes["hreflang"] for node in page.css("link[rel=alternate]")]
    assert languages == ["en", "de"]


def test_the_picture_that_an_article_names_is_a_png_of_its_own(news: News) -> None:
    nodes = [html(news, path).css('meta[property="og:image"]') for path in news.paths()[:2]]
    first, second = (node.attributes["content"] or "" for [node] in nodes)
    page = get(news, first.removeprefix(BASE))
    assert (page.content_type, page.status) == ("image/png", 200)
    assert imagesize.get(BytesIO(page.body)) == (160, 90)
    assert page.body != get(news, second.removeprefix(BASE)).body
    assert news.page("/image/1-nothing.png", "", BASE) is None


def test_an_article_stands_among_what_is_not_the_article(news: News) -> None:
    page = html(news, news.paths()[0])
    for around in ("nav", "aside", "footer", ".ad", ".comments"):
        assert page.css(around)
        assert page.css(f"article {around}") == []
    assert len(page.css("article .body p")) >= 4


@pytest.mark.parametrize(
    ("kind", "scope", "attribute"),
    [
        ("microdata", "[itemtype='https://schema.org/NewsArticle']", "itemprop"),
        ("rdfa", "[typeof=NewsArticle]", "property"),
    ],
)
def test_variants_describe_an_article_in_one_vocabulary(
    news: News, kind: str, scope: str, attribute: str
) -> None:
    path = news.paths()[0]
    page = html(news, path.replace("article", kind))
    plain = html(news, path)
    assert page.css("script, meta[property]") == []
    for part, selector in (("headline", "article h1"), ("author", ".author"), ("articleBody", ".body")):
        assert page.css(f"{scope} [{attribute}={part}]")[0].text() == plain.css(selector)[0].text()
    assert page.css("link[rel=canonical]")[0].attributes["href"] == BASE + path


def test_the_german_address_has_its_own_canonical_link_and_language(news: News) -> None:
    path = f"/de{news.paths()[0]}"
    page = html(news, path)
    assert page.css("html")[0].attributes["lang"] == "de"
    assert page.css("link[rel=canonical]")[0].attributes["href"] == BASE + path


def test_the_sitemaps_of_the_index_name_every_article_once(news: News) -> None:
    found = list[str]()
    for sitemap in locations(get(news, "/sitemap_index.xml").body):
        body = get(news, sitemap.removeprefix(BASE)).body
        if sitemap.endswith((".gz", "recent.xml")):
            found += locations(gzip.decompress(body) if sitemap.endswith(".gz") else body)
    assert found == [BASE + path for path in news.paths()]


def test_the_news_sitemap_holds_two_days_with_titles(news: News) -> None:
    root = ET.fromstring(get(news, "/sitemap-news.xml").body)
    titles = [title.text for title in root.iter(f"{NEWS}title")]
    assert titles == [html(news, path).css("article h1")[0].text() for path in news.paths()[:8]]


def test_the_text_sitemap_has_an_address_a_line(news: News) -> None:
    lines = get(news, "/sitemap-sections.txt").body.decode().splitlines()
    assert len(lines) == 4
    for line in lines:
        get(news, line.removeprefix(BASE))


def test_a_revision_changes_text_and_dates_of_one_article(news: News, revisions: Revisions) -> None:
    first, second = news.paths()[:2]
    before, other = get(news, first), get(news, second)
    revisions.add(Revision(path=f"/news{first}", times=2))
    after = get(news, first)
    assert before.modified is not None
    assert after.modified is not None
    assert after.modified > before.modified
    assert b"Update 2:" in after.body
    assert b"Update" not in before.body
    assert get(news, second) == other
    assert after.modified.isoformat().encode() in get(news, "/sitemap-recent.xml").body
    revisions.reset()
    assert get(news, first) == before


@pytest.mark.parametrize("path", ["/article/1-x", "/article/", "/section/none", "/sitemap-x.xml", "/fr/"])
def test_other_paths_do_not_exist(news: News, path: str) -> None:
    assert news.page(path, "", BASE) is None


def test_the_same_seed_gives_the_same_bytes(news: News) -> None:
    again = News(6, Revisions())
    assert [get(news, path) for path in news.paths()] == [get(again, path) for path in again.paths()]
