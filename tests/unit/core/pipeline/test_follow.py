"""The borders of a crawl."""

from __future__ import annotations

import pytest

from agentic.core.pipeline import CrawlStep
from agentic.core.pipeline.crawl.follow import CrawlScope, fits, scope_of

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
    assert [link.url for link in scope().links(urls, 1)] == ["http://shop/a", "http://shop/b"]
