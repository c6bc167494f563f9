"""``agentic pipelines try`` on a shop on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.commands import invoke
from tests.integration.executors.browser.finding import require_browser
from typer.testing import Result

from agentic.core.cli.main import build_app
from agentic.core.services import free_port
from agentic.executors.testing.sites import Site
from agentic.fakes.server import FakeServer

pytestmark = pytest.mark.integration


@pytest.fixture
def shop() -> Iterator[str]:
    with FakeServer(seed=1, stories=1, products=30) as server:
        yield server.shop_url


def run_trying(url: str, *words: str) -> Result:
    return invoke(build_app(), ["pipelines", "try", url, "--allow-private-host", "127.0.0.1", *words])


def tried(url: str, *words: str) -> Any:
    result = run_trying(url, *words, "--json")
    assert result.exit_code == 0, result.exception
    return json.loads(result.output)


def test_without_selectors_the_page_itself_is_told(shop: str) -> None:
    found = tried(shop)
    assert found["items"] == []
    assert (found["page"]["status"], found["page"]["final_url"]) == (200, shop)
    assert found["page"]["title"] == "The Small Shop"
    assert found["page"]["links"] > 3


def test_every_text_that_fits_a_selector_is_printed(shop: str) -> None:
    found = tried(f"{shop}product/1", "--select", "h1", "--select", ".nothing")
    assert [item["selector"] for item in found["items"]] == ["h1"]
    shown = run_trying(f"{shop}product/1", "--select", "h1").output
    assert found["items"][0]["found"] in shown


@pytest.mark.parametrize(
    ("words", "unfit"),
    [
        (["--select", ".none"], [".none"]),
        (["--select", ".none", "--select", "h1", "--select", "[x]"], [".none", "[x]"]),
        (["--item", "li.none", "--field", "title=a"], ["li.none"]),
    ],
)
def test_what_fits_nothing_is_told(shop: str, words: list[str], unfit: list[str]) -> None:
    result = run_trying(f"{shop}product/1", *words)
    assert result.exit_code == 0
    said = "".join(result.output.split())
    for selector in unfit:
        assert f"'{selector}'matchesnothing" in said
    assert "'h1'" not in said


def test_the_facts_of_a_page_are_a_line_each(shop: str) -> None:
    address, *facts = run_trying(shop).output.splitlines()
    assert address == shop
    assert "  title         The Small Shop" in facts
    assert not any("final url" in fact for fact in facts)


def test_items_are_a_line_each_and_the_first_of_many(shop: str) -> None:
    page = f"{shop}search?q=a"
    said = run_trying(page, "--item", "ul.products li", "--field", "title=a").output.splitlines()
    title, *_, last = [line for line in said if line.strip()]
    assert title.strip() == f"{page} (first 10 of 20)"
    assert last.split()[-1].startswith(f"{shop}product/")
    assert said[2].split() == ["title", "url"]  # addresses are long, so they come last


def test_a_field_that_no_item_has_is_told_with_its_selector(shop: str) -> None:
    fields = ["--field", "title=a", "--field", "price=.prize"]
    said = run_trying(f"{shop}search?q=a", "--item", "ul.products li", *fields).output
    assert said.splitlines()[-1] == "'price' is empty in all 20 items: '.prize' matches nothing"
    rule = '{"selector": "h7", "type": "number"}'
    said = run_trying(f"{shop}product/1", "--field", "title=h1", "--field", f"price={rule}").output
    assert said.splitlines()[-1] == f"'price' is empty: {rule} matches nothing"


def test_a_page_with_scripts_that_lacks_an_element_points_to_the_browser(shop: str) -> None:
    hint = "if scripts build this page, add --mode browser"
    assert hint in run_trying(f"{shop}scripted/category/lamps", "--select", "a.product").output
    assert hint not in run_trying(f"{shop}scripted/category/lamps", "--select", "title").output
    assert hint not in run_trying(f"{shop}product/1", "--select", ".none").output  # has no script


def test_a_private_address_names_the_option_that_allows_it(shop: str) -> None:
    result = invoke(build_app(), ["pipelines", "try", shop])
    said = str(result.exception)
    assert said.startswith(f"{shop} was not fetched (private_address): 127.0.0.1 is not a public address")
    assert said.endswith("here with --allow-private-host")


def test_a_site_that_is_down_is_told_in_the_words_of_the_system() -> None:
    url = f"http://127.0.0.1:{free_port()}/"
    said = str(run_trying(url).exception)
    assert said.startswith(f"{url} was not fetched (connect): no connection (Connection refused); check the")


def test_what_fits_nothing_is_an_empty_list_in_json(shop: str) -> None:
    assert tried(f"{shop}product/1", "--select", ".none")["items"] == []


def test_fields_make_an_item(shop: str) -> None:
    price = 'price={"selector": ".price", "type": "number"}'
    [item] = tried(f"{shop}product/1", "--field", "title=h1", "--field", price)["items"]
    assert (item["url"], type(item["price"])) == (f"{shop}product/1", float)


def test_fields_within_items_make_many(shop: str) -> None:
    words = ["--item", "ul.products li"]
    page = f"{shop}search?q=a"
    items = tried(page, *words, "--field", "title=a")["items"]
    assert len(items) == 20
    assert all(item["title"] for item in items)
    assert [item["url"] for item in items] == [item["url"] for item in tried(page, *words)["items"]]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--select", "h1["], "this cannot be tried: 'h1[' is not a CSS selector"),
        (["--select", "h1", "--item", "li"], "--select prints matching texts"),
        (["--field", "title"], "--field takes NAME=CSS or @FILE, such as title=h1; 'title' has no '='"),
    ],
)
def test_what_cannot_be_tried_is_one_clear_error(shop: str, words: list[str], said: str) -> None:
    assert said in str(run_trying(shop, *words).exception)


@pytest.fixture
def api() -> Iterator[str]:
    rows = [{"title": "One", "by": {"name": "a"}, "tags": ["x"]}, {"title": "Two", "tags": []}]
    with Site() as site:
        site.serve("/search.json", {"hits": rows, "total": 2})
        site.serve("/list.txt", "[1, 2, 3]", headers={"Content-Type": "text/plain"})
        yield site.url


def test_json_is_told_by_what_it_holds(api: str) -> None:
    found = tried(f"{api}/search.json")
    assert (found["page"]["content_type"], found["items"]) == ("application/json", [])
    assert found["page"]["json"] == "hits: list of 2, total"
    assert tried(f"{api}/list.txt")["page"]["json"] == "list of 3"


def test_values_of_json_are_printed_by_jmespath(api: str) -> None:
    found = tried(
        f"{api}/search.json", "--select", "hits[].title", "--select", "hits[0].by", "--select", "no"
    )
    assert found["items"] == [
        {"selector": "hits[].title", "found": "One"},
        {"selector": "hits[].title", "found": "Two"},
        {"selector": "hits[0].by", "found": {"name": "a"}},
    ]
    assert "'no' matches nothing" in run_trying(f"{api}/search.json", "--select", "no").output


def test_items_of_json_have_fields_by_jmespath(api: str) -> None:
    fields = ["--field", "name=title", "--field", 'tag={"json": "tags[0]", "type": "string"}']
    assert tried(f"{api}/search.json", "--item", "hits", *fields)["items"] == [
        {"name": "One", "tag": "x"},
        {"name": "Two", "tag": None},
    ]
    assert tried(f"{api}/search.json", *fields[:2])["items"][0]["name"] is None


@pytest.fixture
def late() -> Iterator[str]:
    """A page that fills itself after a while."""
    script = "setTimeout(() => { document.body.innerHTML = '<h1>Late</h1>' }, 700)"
    with Site() as site:
        site.serve("/", f"<body><p>wait</p><script>{script}</script>", headers={"Content-Type": "text/html"})
        yield f"{site.url}/"


def test_a_browser_waits_for_what_is_selected(late: str) -> None:
    require_browser()
    shown = tried(late, "--mode", "browser", "--select", "h1")
    assert shown["items"] == [{"selector": "h1", "found": "Late"}]
    shown = tried(late, "--mode", "browser", "--wait-for", "h1", "--field", 'none={"meta": "x"}')
    assert shown["page"]["fetched_by"] == "browser"


def test_robots_txt_is_asked(shop: str) -> None:
    assert "robots.txt disallows" in str(run_trying(f"{shop}private/1").exception)
