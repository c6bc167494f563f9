"""The borders of a crawl."""

from __future__ import annotations

import pytest

from agentic.core.http import url_key
from agentic.core.pipeline import CrawlStep
from agentic.core.pipeline.crawl.follow import CrawlScope, fits, scope_of
from agentic.core.pipeline.crawl.store import SiteMove

SHOP = "http://shop/"


def scope(**rules: object) -> CrawlScope:
    step = CrawlStep.model_validate({"type": "crawl", "start": SHOP, **rules})
    return scope_of(step, [SHOP])


@pytest.mark.parametrize(
    ("pattern", "url", "expected"),
    [
        ("/product/*", "http://shop/product/1", True),
        ("/product/*", "http://shop/en/product/1", False),
        ("*/product/*", "http://shop/en/product/1", True),
        ("/list?page=*", "http://shop/list?page=2", True),
        ("/list", "http://shop/list?page=2", False),
        ("/", "http://shop", True),
        ("http://shop/*", "https://shop/a", False),
    ],
)
def test_globs_are_held_against_the_path_or_the_whole_url(pattern: str, url: str, expected: bool) -> None:
    assert fits(url, [pattern]) is expected


def test_a_crawl_stays_on_the_hosts_of_its_start_pages() -> None:
    assert scope().covers("http://shop/a", 1)
    assert not scope().covers("http://shop:8080/a", 1)
    assert not scope().covers("http://partner/a", 1)
    assert scope(follow={"same_host": False}).covers("http://partner/a", 1)


@pytest.mark.parametrize(
    ("url", "is_inside"),
    [
        ("https://shop.example/a", True),
        ("http://www.shop.example/a", True),
        ("https://www.shop.example:443/a", True),
        ("http://SHOP.example:80/a", True),
        ("http://me@shop.example/a", True),
        ("http://shop.example:8080/a", False),
        ("http://en.shop.example/a", False),
        ("http://shop.example.org/a", False),
        ("http://www2.shop.example/a", False),
        ("http://other.example/www.shop.example/", False),
    ],
)
@pytest.mark.parametrize("start", ["http://shop.example/", "https://www.shop.example/de/"])
def test_a_site_has_two_schemes_and_may_have_a_www(start: str, url: str, is_inside: bool) -> None:
    step = CrawlStep.model_validate({"type": "crawl", "start": start})
    assert scope_of(step, [start]).covers(url, 1) is is_inside


def test_a_site_that_a_start_page_led_to_belongs_to_the_crawl() -> None:
    borders = scope()
    borders.join([SiteMove(SHOP, "https://www.other.example:8443/de/")])
    assert borders.covers("http://shop/a", 1)
    assert borders.covers("https://other.example:8443/de/a", 1)
    assert not borders.covers("https://third.example/", 1)


def test_a_crawl_of_all_hosts_stays_one_after_a_move() -> None:
    borders = scope(follow={"same_host": False})
    borders.join([SiteMove(SHOP, "http://other/")])
    assert borders.covers("http://third/", 1)


def test_links_that_are_left_out_are_counted_by_the_reason() -> None:
    rules = scope(max_depth=2, follow={"exclude": ["*.pdf"]})
    urls = ["http://shop/a", "http://shop/a#x", "http://shop/a.pdf", "http://partner/", "mailto:a@b"]
    found = rules.links(urls, 2)
    assert ([link.url for link in found.links], found.beyond, found.outside) == (["http://shop/a"], (), 2)
    found = rules.links(urls, 3)
    assert (found.links, found.beyond, found.outside) == ((), (url_key("http://shop/a"),), 2)


def test_a_page_must_fit_an_include_and_no_exclude() -> None:
    rules = scope(follow={"include": ["/a/*", "/b/*"], "exclude": ["*.pdf"]})
    urls = ["http://shop/a/1", "http://shop/b/1", "http://shop/c/1", "http://shop/a/1.pdf"]
    assert [rules.covers(url, 1) for url in urls] == [True, True, False, False]


def test_a_start_page_needs_to_fit_no_pattern() -> None:
    assert scope(follow={"include": ["/a/*"]}).covers(SHOP, 0)


def test_links_too_deep_are_left_alone() -> None:
    assert [scope(max_depth=2).covers("http://shop/a", depth) for depth in (1, 2, 3)] == [True, True, False]


def test_links_are_canonical_and_each_is_taken_once() -> None:
    urls = ["http://SHOP:80/a#x", "http://shop/a?utm_source=b", "mailto:a@b", "http://shop/b"]
    assert [link.url for link in scope().links(urls, 1).links] == ["http://shop/a", "http://shop/b"]
