from __future__ import annotations

import json
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

import pytest
from selectolax.lexbor import LexborHTMLParser

from agentic.fakes.pages import Page
from agentic.fakes.shop.site import Shop

BASE = "http://shop.test/shop"


@pytest.fixture(scope="module")
def shop() -> Shop:
    return Shop(seed=3, products=150)


def get(shop: Shop, path: str) -> Page:
    parts = urlsplit(path)
    page = shop.page(parts.path, parts.query, BASE)
    assert page is not None, path
    return page


def html(shop: Shop, path: str) -> LexborHTMLParser:
    return LexborHTMLParser(get(shop, path).body)


def titles(page: LexborHTMLParser) -> list[str]:
    return [node.text() for node in page.css("ul.products a.product")]


def test_the_home_page_has_a_search_form_and_names_its_description(shop: Shop) -> None:
    home = html(shop, "/")
    form = home.css("form[role=search]")[0]
    assert (form.attributes["action"], form.attributes["method"]) == ("search", "get")
    assert home.css("form input[type=search]")[0].attributes["name"] == "q"
    link = home.css("link[rel=search]")[0]
    assert link.attributes["href"] == "opensearch.xml"
    description = get(shop, "/opensearch.xml")
    assert description.content_type == link.attributes["type"]
    urls = ET.fromstring(description.body).findall("{http://a9.com/-/spec/opensearch/1.1/}Url")
    assert [url.attrib["template"] for url in urls] == [f"{BASE}/search?q={{searchTerms}}"]


def test_a_search_finds_what_has_every_word_and_leads_to_its_pages(shop: Shop) -> None:
    page = html(shop, "/search?q=Queue+copper")
    links = [node.attributes["href"] or "" for node in page.css("ul.products a.product")]
    assert len(links) == 20 <= int(page.css(".count")[0].text())
    for link in links:
        text = html(shop, f"/{link}").css("article")[0].text().casefold()
        assert "queue" in text
        assert "copper" in text


def test_a_search_goes_on_page_by_page_until_all_is_shown(shop: Shop) -> None:
    path, seen = "/search?q=", list[str]()
    while path:
        page = html(shop, path)
        seen += [node.attributes["href"] or "" for node in page.css("a.product")]
        following = page.css("a.next")
        path = f"/search{following[0].attributes['href']}" if following else ""
    assert len(seen) == len(set(seen)) == 150


def test_a_search_for_what_is_not_there_finds_nothing(shop: Shop) -> None:
    page = html(shop, "/search?q=<b>nothing")
    assert titles(page) == []
    assert page.css("b") == []


@pytest.mark.parametrize("source", ["", "&source=fetch"])
def test_a_scripted_list_holds_no_article_before_its_script_has_run(shop: Shop, source: str) -> None:
    page = html(shop, f"/scripted/category/lamps?page=1{source}")
    assert page.css(".product") == []
    assert page.css("#app")[0].text(strip=True) == ""
    assert (page.css_first("script#catalogue") is None) == bool(source)


def test_the_data_of_a_scripted_list_is_that_of_the_plain_list(shop: Shop) -> None:
    data = json.loads(get(shop, "/scripted/data/lamps.json?page=2").body)
    embedded = html(shop, "/scripted/category/lamps?page=2").css("script#catalogue")[0].text()
    assert json.loads(embedded) == data
    assert [product["title"] for product in data["products"]] == titles(html(shop, "/category/lamps?page=2"))
    assert data["next"] is None
    assert json.loads(get(shop, "/scripted/data/lamps.json").body)["next"] == "?page=2&source=fetch"


@pytest.mark.parametrize("path", ["/scripted/category/hats", "/scripted/data/lamps", "/scripted/"])
def test_other_scripted_paths_do_not_exist(shop: Shop, path: str) -> None:
    assert shop.page(path, "", BASE) is None


def test_a_scripted_list_ends_where_the_plain_one_does(shop: Shop) -> None:
    assert shop.page("/scripted/category/lamps", "page=3", BASE) is None
