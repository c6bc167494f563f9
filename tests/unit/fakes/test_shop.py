from __future__ import annotations

from urllib.parse import urljoin, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from agentic.core.http import canonical_url
from agentic.fakes.shop.site import Shop

BASE = "http://shop.test/shop"
FIELDS = (".title", ".price", ".currency", ".sku", ".stock", ".description")


@pytest.fixture(scope="module")
def shop() -> Shop:
    return Shop(seed=3, products=150)


def html(shop: Shop, path: str) -> LexborHTMLParser:
    parts = urlsplit(path)
    page = shop.page(parts.path, parts.query, BASE)
    assert page is not None, path
    assert page.content_type == "text/html; charset=utf-8"
    return LexborHTMLParser(page.body)


def links(shop: Shop, path: str) -> set[str]:
    """Return the canonical URLs a page links to, as a crawler would see them."""
    hrefs = [node.attributes["href"] or "" for node in html(shop, path).css("a[href]")]
    return {canonical_url(urljoin(f"{BASE}{path}", href)) for href in hrefs}


def crawl(shop: Shop) -> set[str]:
    """Return the paths reached by following links, staying on the site and out of /private/."""
    waiting, seen = ["/"], {"/"}
    while waiting:
        for url in links(shop, waiting.pop()):
            path = url.removeprefix(BASE)
            if url.startswith(f"{BASE}/") and not path.startswith("/private/") and path not in seen:
                seen.add(path)
                waiting.append(path)
    return seen


@settings(max_examples=15)
@given(st.integers(), st.integers(min_value=0, max_value=130))
def test_following_links_finds_each_page_worth_storing_once(seed: int, products: int) -> None:
    shop = Shop(seed, products)
    assert crawl(shop) == set(shop.paths())


def test_the_home_page_has_the_traps(shop: Shop) -> None:
    hrefs = [node.attributes["href"] or "" for node in html(shop, "/").css("a")]
    assert {"product/1", "product/1?utm_source=home&utm_medium=banner", "product/1#reviews"} <= set(hrefs)
    assert "https://partner.example/deals" in hrefs
    assert "private/orders" in hrefs


def test_a_list_leads_to_details_and_to_the_next_page(shop: Shop) -> None:
    first, last = html(shop, "/category/lamps"), html(shop, "/category/lamps?page=2")
    assert len(first.css("ul.products a.product")) == 20
    assert [node.attributes["href"] for node in first.css("a.next")] == ["?page=2"]
    assert len(last.css("ul.products a.product")) == 5
    assert last.css("a.next") == []


def test_a_detail_page_has_every_field_once(shop: Shop) -> None:
    for number in range(1, 151):
        page = html(shop, f"/product/{number}")
        for field in FIELDS:
            nodes = page.css(f"article {field}")
            assert len(nodes) == 1
            assert nodes[0].text(strip=True), (number, field)


def test_price_stock_and_rating_are_numbers_and_the_rating_may_be_missing(shop: Shop) -> None:
    ratings = []
    for number in range(1, 151):
        page = html(shop, f"/product/{number}")
        assert float(page.css("article .price")[0].text()) > 0
        assert int(page.css("article .stock")[0].text()) >= 0
        ratings += [float(node.text()) for node in page.css(".rating")]
    assert 0 < len(ratings) < 150
    assert all(1 <= rating <= 5 for rating in ratings)


def test_titles_survive_escaping_and_encoding(shop: Shop) -> None:
    titles = " ".join(html(shop, f"/product/{number}").css("h1.title")[0].text() for number in range(1, 151))
    assert {"R&D", "Straße", "日本", "<Tiny>"} <= set(titles.split())


def test_the_sitemap_has_every_page_with_its_whole_address(shop: Shop) -> None:
    page = shop.page("/sitemap.xml", "", BASE)
    assert page is not None
    assert page.body.count(b"<loc>") == len(shop.paths())
    assert b"<loc>http://shop.test/shop/category/lamps?page=2</loc>" in page.body


@pytest.mark.parametrize(
    "path",
    ["", "/nothing", "/category/", "/category/hats", "/category/lamps?page=3", "/product/0", "/product/151",
     "/product/01", "/product/x", "/product/1/", "/product/99999999999999"],
)  # fmt: skip
def test_other_paths_do_not_exist(shop: Shop, path: str) -> None:
    parts = urlsplit(path)
    assert shop.page(parts.path, parts.query, BASE) is None


@settings(max_examples=10)
@given(st.integers(), st.integers(min_value=0, max_value=40))
def test_the_same_seed_gives_the_same_bytes(seed: int, products: int) -> None:
    one, other = Shop(seed, products), Shop(seed, products)
    assert [one.page(path, "", BASE) for path in one.paths()] == [
        other.page(path, "", BASE) for path in other.paths()
    ]


def test_another_seed_gives_other_bytes() -> None:
    assert Shop(1).page("/product/1", "", BASE) != Shop(2).page("/product/1", "", BASE)
