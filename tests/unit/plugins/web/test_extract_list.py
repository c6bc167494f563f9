"""Links of a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import ValidationError

from agentic.core.actors import ActorContext, ActorError
from agentic.core.http import Fetcher, FetchError, Headers, HttpPolicy, HttpRequest, HttpResponse
from agentic.core.pipeline.spec.spec import CrawlStep
from agentic.plugins.web.actors.extract_list import ExtractListActor, ExtractListInput, ListOutput

LIST = """<title> All
  lamps </title>
<ul><li class="job-card"><h2>One</h2><a href="../product/1#reviews">more</a></li>
<li class="job-card"><a href="/product/2?utm_source=list">more</a></li>
<li class="job-card">sold out</li>
<li class="job-card"><a href="mailto:shop@example.org">ask</a></li>
<li class="job-card"><a href="http://SHOP.example:80/product/1">again</a></li></ul>
<a class="next" href="?page=2">next</a>"""


@pytest.mark.requirement("SP17")
async def test_the_links_of_items_are_absolute_and_each_page_is_there_once(act: Any, page: Any) -> None:
    found = await act(ExtractListActor, page=page(LIST), item_selector=".job-card", next_selector="a.next")
    assert found.list_item_urls == (
        "http://shop.example/product/1",
        "http://shop.example/product/2?utm_source=list",  # as the page has it
    )
    assert found.next_url == "http://shop.example/list/?page=2"
    assert found.title == "All lamps"


async def test_an_item_may_itself_be_the_link(act: Any, page: Any) -> None:
    found = await act(
        ExtractListActor, page=page("<a href=a>1</a><a href=b>2</a><a>3</a>"), item_selector="a"
    )
    assert found.list_item_urls == ("http://shop.example/list/a", "http://shop.example/list/b")


async def test_links_are_relative_to_the_base_of_the_page(act: Any, page: Any) -> None:
    html = '<base href="/docs/"><a href="a.html">a</a>'
    found = await act(ExtractListActor, page=page(html), item_selector="a[href]")
    assert found.list_item_urls == ("http://shop.example/docs/a.html",)


async def test_items_reach_to_the_next_one(act: Any, page: Any) -> None:
    html = """<base href="/x/"><dl><dt><a href=1>One</a></dt><dd>first</dd><dd>more</dd>
    <dt>Two</dt><dt><a href=3>Three</a></dt><dd>third</dd></dl>
    <table><tr class=head><td>A</td></tr><tr><td>a</td></tr>
    <tr class=head><td>B</td></tr><tr><td>b</td></tr></table>"""
    fields = {"title": "dt", "text": ":scope > dd:nth-of-type(1)"}
    found = await act(ExtractListActor, page=page(html), item_selector="dt", fields=fields, reaches_next=True)
    assert [(item["title"], item["text"]) for item in found.items] == [
        ("One", "first"),
        ("Two", None),
        ("Three", "third"),
    ]
    assert found.list_item_urls == ("http://shop.example/x/1", "http://shop.example/x/3")
    rows = await act(
        ExtractListActor,
        page=page(html),
        item_selector="tr.head",
        fields={"text": "tr:nth-of-type(2) td"},
        reaches_next=True,
    )
    assert [item["text"] for item in rows.items] == ["a", "b"]


async def test_next_page_may_stand_in_an_attribute_of_a_button(act: Any, page: Any) -> None:
    html = '<a class=item href=1>1</a><button data-next-url="?offset=20">More</button>'
    found = await act(ExtractListActor, page=page(html), item_selector="a.item", next_selector="button")
    assert found.next_url == "http://shop.example/list/?offset=20"


async def test_a_page_without_items_gives_none(act: Any, page: Any) -> None:
    found = await act(ExtractListActor, page=page(""), item_selector=".job-card", next_selector=".next")
    assert (found.list_item_urls, found.next_url, found.title) == ((), None, None)


async def test_a_page_without_items_can_be_a_failure(act: Any, page: Any) -> None:
    with pytest.raises(ActorError, match="nothing on http://shop") as caught:
        await act(ExtractListActor, page=page(LIST), item_selector=".jobs", required=True)
    assert caught.value.failure_class == "selector_missing"


@pytest.mark.parametrize(
    ("html", "fetched_by", "is_said"),
    [
        ("<div id=app></div><script>show()</script>", "http", True),
        ("<div id=app></div><script>show()</script>", "browser", False),
        ("<p>Sold out</p>", "http", False),
        (LIST, "http", False),
    ],
)
async def test_a_list_that_scripts_seem_to_build_is_told_with_what_helps(
    act: Any, page: Any, html: str, fetched_by: str, is_said: bool
) -> None:
    given = page(html).model_copy(update={"fetched_by": fetched_by})
    with pytest.raises(ActorError, match=r"'\.jobs' matches nothing on http://shop") as caught:
        await act(ExtractListActor, page=given, item_selector=".jobs", required=True)
    assert ("scripts seem to build this page, so fetch it with mode: auto" in str(caught.value)) == is_said


async def test_a_page_that_is_no_html_is_a_failure(act: Any, page: Any) -> None:
    with pytest.raises(ActorError, match="application/pdf, not HTML") as caught:
        await act(ExtractListActor, page=page("", content_type="application/pdf"), item_selector="a")
    assert caught.value.failure_class == "not_html"


@pytest.mark.parametrize("selector", ["", "a[", "div >"])
async def test_a_selector_that_is_none_is_refused_before_anything_runs(
    act: Any, page: Any, selector: str
) -> None:
    with pytest.raises(ValidationError, match="is not a CSS selector"):
        await act(ExtractListActor, page=page(LIST), item_selector=selector)


async def test_items_have_the_fields_of_the_list_and_the_address_they_link_to(act: Any, page: Any) -> None:
    html = """<li><a href="/1">One</a><i>1,50 EUR</i></li><li><a href="/2">Two</a></li><li>ask</li>"""
    fields = {"title": "a", "price": {"selector": "i", "type": "number"}}
    found = await act(ExtractListActor, page=page(html), item_selector="li", fields=fields)
    assert found.items == (
        {"url": "http://shop.example/1", "title": "One", "price": 1.5},
        {"url": "http://shop.example/2", "title": "Two", "price": None},
        {"url": None, "title": None, "price": None},
    )
    assert found.list_item_urls == ("http://shop.example/1", "http://shop.example/2")


async def test_a_required_field_of_another_type_is_a_failure(act: Any, page: Any) -> None:
    fields = {"price": {"selector": "h2", "type": "number", "required": True}}
    with pytest.raises(ActorError, match="'One' on http://shop") as caught:
        await act(ExtractListActor, page=page(LIST), item_selector=".job-card", fields=fields)
    assert caught.value.failure_class == "schema_invalid"


async def test_without_fields_there_is_no_result_called_items(act: Any, page: Any) -> None:
    found = await act(ExtractListActor, page=page(LIST), item_selector=".job-card")
    assert set(found.model_dump(mode="json")) == {"list_item_urls", "next_url", "title"}


class Book:
    """Serves the pages of a list; each links to the next, the last one to the first."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.asked: list[str] = []

    async def send(self, request: HttpRequest, *, timeout_s: float, max_bytes: int) -> HttpResponse:
        self.asked.append(request.url)
        body = self.text(int(request.url.rpartition("/")[2])).encode()
        headers = Headers([("content-type", "text/html")])
        return HttpResponse(url=request.url, status=200, headers=headers, body=body)

    def text(self, number: int) -> str:
        following = number % self.count + 1
        items = "".join(f"<li><a href=/i/{n}>{n}</a></li>" for n in (0, number))
        return f"<title>{number}</title>{items}<a rel=next href=/{following}>more</a>"


@pytest.mark.parametrize(
    ("pages", "asked", "following"), [(1, [], "2"), (3, ["2", "3"], "4"), (9, ["2", "3", "4"], "1")]
)
async def test_a_list_is_read_on_to_so_many_pages_and_not_in_circles(
    page: Any, pages: int, asked: list[str], following: str
) -> None:
    book = Book(4)
    first = page(book.text(1), url="http://shop.example/1")
    context = ActorContext(http=Fetcher(HttpPolicy(obey_robots=False), book))
    config = {"item_selector": "li", "fields": {"name": "a"}, "pages": pages, "next_selector": "[rel=next]"}
    found = await ExtractListActor().run(context, ExtractListInput.model_validate({"page": first, **config}))
    assert book.asked == [f"http://shop.example/{number}" for number in asked]
    numbers = ["1", *asked]
    assert found.list_item_urls == tuple(f"http://shop.example/i/{number}" for number in ["0", *numbers])
    assert [item["name"] for item in found.items or ()] == [name for n in numbers for name in ("0", n)]
    assert (found.title, found.next_url) == ("1", f"http://shop.example/{following}")


class Ending(Book):
    """A list of numbered pages, each linking to the next; other addresses lead to one, or are answered so."""

    def __init__(self, status: int, leads: Mapping[int, int]) -> None:
        super().__init__(2)
        self.status = status
        self.leads = leads

    async def send(self, request: HttpRequest, *, timeout_s: float, max_bytes: int) -> HttpResponse:
        number = int(request.url.rpartition("/")[2])
        if number in self.leads:
            headers = Headers([("location", f"/{self.leads[number]}")])
            return HttpResponse(url=request.url, status=302, headers=headers, body=b"")
        if number > self.count:
            return HttpResponse(url=request.url, status=self.status, headers=Headers([]), body=b"")
        return await super().send(request, timeout_s=timeout_s, max_bytes=max_bytes)

    def text(self, number: int) -> str:
        return f"<li><a href=/i/{number}>{number}</a></li><a rel=next href=/{number + 1}>more</a>"


async def read_on(book: Ending, page: Any) -> ListOutput:
    first = page(book.text(1), url="http://shop.example/1")
    context = ActorContext(http=Fetcher(HttpPolicy(obey_robots=False), book))
    config = {"page": first, "item_selector": "li", "fields": {"name": "a"}, "pages": 9}
    return await ExtractListActor().run(context, ExtractListInput.model_validate(config))


@pytest.mark.parametrize(("status", "leads"), [(404, {}), (410, {}), (200, {3: 1}), (200, {3: 2})])
async def test_a_list_ends_where_the_next_page_is_gone_or_leads_back(
    page: Any, status: int, leads: dict[int, int]
) -> None:
    found = await read_on(Ending(status, leads), page)
    assert [item["name"] for item in found.items or ()] == ["1", "2"]
    assert found.next_url is None


async def test_a_page_reached_by_a_redirect_is_not_read_again_by_its_own_address(page: Any) -> None:
    book = Ending(200, {2: 9})
    book.count = 9
    book.text = lambda number: Ending.text(book, 8 if number == 9 else number)  # type: ignore[method-assign]
    found = await read_on(book, page)
    assert [item["name"] for item in found.items or ()] == ["1", "8"]


@pytest.mark.parametrize("status", [403, 500])
async def test_a_next_page_that_is_refused_is_a_failure(page: Any, status: int) -> None:
    with pytest.raises(FetchError) as caught:
        await read_on(Ending(status, {}), page)
    assert caught.value.status == status


def test_only_a_list_of_several_pages_needs_the_network() -> None:
    assert ExtractListActor.needs({"item_selector": "a"}) == frozenset()
    assert ExtractListActor.needs({"item_selector": "a", "pages": 2}) == {"network"}


HALF = "<a href=/1>1</a><a href=/2 rel='UGC NoFollow'>2</a><a href=/3 rel=nofollow>3</a><a href=/3>3</a>"
NEXT_PAGE = "<a class=next href=/4>4</a>"
ALL = ("1", "2", "3", "4")


@pytest.mark.parametrize(
    ("html", "header", "left"),
    [
        (HALF, "", ("1", "3", "4")),
        (HALF, "otherbot: nofollow", ("1", "3", "4")),
        (HALF, "noindex, nofollow", ()),
        ("<META NAME=ROBOTS CONTENT=None>" + HALF, "", ()),
        ("<meta name=robots content='index, follow'>" + HALF, "", ("1", "3", "4")),
        (HALF.replace("rel", "data-rel"), "", ALL),
    ],
)
async def test_what_a_page_asks_crawlers_not_to_follow_can_be_left_out(
    act: Any, page: Any, html: str, header: str, left: tuple[str, ...]
) -> None:
    asking = page(html + NEXT_PAGE).model_copy(update={"robots": header})
    config = {"page": asking, "item_selector": "a", "next_selector": ".next", "fields": {"text": "a"}}
    found = await act(ExtractListActor, obey_nofollow=True, **config)
    assert found.list_item_urls == tuple(f"http://shop.example/{number}" for number in left)
    assert found.next_url == ("http://shop.example/4" if left else None)
    assert len(found.items) == html.count("<a ") + 1
    found = await act(ExtractListActor, **config)
    assert found.list_item_urls == tuple(f"http://shop.example/{number}" for number in ALL)


@pytest.mark.parametrize(
    ("markup", "found"),
    [
        ("<frameset cols='*'><frame src=/menu><frame src='/news#top'></frameset>", ["/menu", "/news"]),
        ("<p>Shop</p><iframe src='/list'></iframe><iframe></iframe>", ["/list"]),
        ("<a href=/a>a</a><iframe src='/advert'></iframe>", ["/a"]),
        ("<link rel=next href='/2'><a href=/a>a</a><link rel=stylesheet href=/s>", ["/a", "/2"]),
        ("<link rel='prefetch next' href='2'>", ["/list/2"]),
    ],
)
async def test_a_crawl_finds_the_pages_that_a_page_shows_or_continues_with(
    act: Any, page: Any, markup: str, found: list[str]
) -> None:
    links = CrawlStep(type="crawl", start="http://shop.example/").links.config
    output = await act(ExtractListActor, page=page(markup), **links)
    assert output.list_item_urls == tuple(f"http://shop.example{path}" for path in found)


async def test_the_frames_of_a_page_that_forbids_following_are_not_followed(act: Any, page: Any) -> None:
    markup = "<meta name=robots content=nofollow><link rel=next href=/2><iframe src=/a></iframe>"
    links = CrawlStep(type="crawl", start="http://shop.example/").links.config
    output = await act(ExtractListActor, page=page(markup), obey_nofollow=True, **links)
    assert output.list_item_urls == ()


async def test_frames_are_no_items_of_a_list(act: Any, page: Any) -> None:
    output = await act(ExtractListActor, page=page("<iframe src=/a></iframe>"), item_selector=".item a")
    assert output.list_item_urls == ()


async def test_one_link_that_is_too_long_costs_no_other(act: Any, page: Any) -> None:
    markup = f"<a href='/{'x' * 20_000}'>x</a><a href='/{'ä' * 6_000}'>y</a><a href=/z>z</a>"
    output = await act(ExtractListActor, page=page(markup), item_selector="a")
    assert output.list_item_urls == ("http://shop.example/z",)
