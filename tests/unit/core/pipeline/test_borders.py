"""What a crawl says of its borders."""

from __future__ import annotations

import pytest

from agentic.core.pipeline import CrawlStep, FrontierCounts
from agentic.core.pipeline.crawl.borders import border_notes
from agentic.core.pipeline.crawl.store import SiteMove

SHOP = "http://shop.example/"


def notes(counts: FrontierCounts, **rules: object) -> list[str]:
    step = CrawlStep.model_validate({"type": "crawl", "start": SHOP, **rules})
    return list(border_notes(step, counts))


def test_a_whole_crawl_says_nothing() -> None:
    assert notes(FrontierCounts(total=9, done=8, failed=1, outside=40)) == []


def test_each_limit_that_kept_pages_out_is_named_with_their_number() -> None:
    counts = FrontierCounts(total=31, done=10, beyond=1)
    pages, depth = notes(counts, max_pages=10, max_depth=2)
    assert pages.startswith("21 known pages were left because of max_pages (10)")
    assert depth.startswith("1 page was left because of max_depth (2)")


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        ({}, "lead to other hosts or fit no rule of follow"),
        ({"follow": {"same_host": False, "include": ["/a/*"]}}, "fit no rule of follow"),
    ],
)
def test_a_crawl_that_could_follow_no_link_says_why(rules: dict[str, object], why: str) -> None:
    counts = FrontierCounts(total=1, done=1, outside=12)
    assert notes(counts, **rules) == [f"no link was followed: all 12 links of the pages {why}"]


def test_a_crawl_of_its_start_pages_alone_may_be_intended() -> None:
    assert notes(FrontierCounts(total=1, done=1, outside=12), follow={"include": []}) == []


@pytest.mark.parametrize(
    ("start", "to", "is_told"),
    [
        (SHOP, "https://www.shop.example/de/", False),
        (SHOP, "https://m.shop.example/", False),
        ("http://shop.example.co.uk/", "http://other.co.uk/", True),
        (SHOP, "https://shop.example.org/?token=hunter2", True),
        ("http://a.github.io/", "http://b.github.io/", True),
        ("http://localhost:80/", "http://localhost:81/", False),
        ("http://127.0.0.1/", "http://127.0.0.2/", True),
    ],
)
def test_a_crawl_that_moved_to_another_site_says_so(start: str, to: str, is_told: bool) -> None:
    found = notes(FrontierCounts(total=1, done=1, moves=(SiteMove(start, to),)))
    assert len(found) == is_told
    assert not any("hunter2" in note for note in found)
