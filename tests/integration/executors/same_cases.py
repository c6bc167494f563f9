"""A spec for every actor and every kind of step; what they are to come to is said by a run in process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agentic.fakes.control import Fault
from agentic.fakes.jobs.board import Board, page_of
from agentic.fakes.jobs.credentials import PASSWORD, USERNAME
from agentic.fakes.server import FakeServer

Steps = list[dict[str, Any]]

FORM = {"session_key": USERNAME, "session_password": PASSWORD}
WORDS = "fake:words"
TITLE = {"schema": {"title": "h1.title"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is run.

    Attributes:
        steps: Of the pipeline.
        rules: Its ``error_handling``.
        faults: What goes wrong at the site, each time it is run.
        retried: Steps that need more than one try.
        letters: How many dead letters are left.
        needs_browser: Whether a browser has to be there.
        timeout_s: Of its requests.
        key: Field that tells its items apart.
    """

    steps: Steps
    rules: Mapping[str, Mapping[str, Any]] | None = None
    faults: tuple[Fault, ...] = ()
    retried: int = 0
    letters: int = 0
    needs_browser: bool = False
    timeout_s: float = 30
    key: str = "key"


MakeCase = Callable[[FakeServer], Case]


def told(actor: str, *before: dict[str, Any], needs_browser: bool = False, **config: Any) -> Case:
    """Return a case of one actor, whose one item is what it gives."""
    call = {"actor": actor, "config": config, "save_as": "outcome"}
    item = {"key": actor, "outcome": "${outcome}"}
    kept = {"actor": "aggregate", "config": {"items": [item]}}
    return Case(steps=[*before, call, kept], needs_browser=needs_browser)


def page(url: str) -> dict[str, Any]:
    """Return the step that fetches a page."""
    return {"actor": "fetch", "config": {"url": url}}


def of_page(actor: str, url: str, **config: Any) -> Case:
    """Return a case of an actor that reads a page."""
    return told(actor, page(url), **config)


ACTORS: Mapping[str, MakeCase] = {
    "aggregate": lambda _: told("aggregate", items=[{"id": 2}, {"id": 1}], sort_by="id"),
    "article": lambda site: of_page("article", f"{site.news_url}"),
    "authenticate": lambda site: told(
        "authenticate",
        platform="board",
        login={"strategy": "form", "login_url": f"{site.jobs_url}login", "fields": FORM},
    ),
    "classify": lambda _: told("classify", model=WORDS, text="a river", labels=["river", "socket"]),
    "diff": lambda site: of_page("diff", f"{site.shop_url}product/1"),
    "download": lambda site: told("download", url=f"{site.shop_url}product/1", folder="memory://same"),
    "extract_detail": lambda site: of_page("extract_detail", f"{site.shop_url}product/1", **TITLE),
    "extract_list": lambda site: of_page("extract_list", site.shop_url, item_selector="a"),
    "feed": lambda site: told("feed", url=f"{site.feeds_url}rss.xml", max_items=3),
    "fetch": lambda site: told("fetch", url=f"{site.shop_url}product/2"),
    "firecrawl_crawl": lambda site: told("firecrawl_crawl", url=site.shop_url, max_pages=3),
    "firecrawl_map": lambda site: told("firecrawl_map", url=site.shop_url),
    "firecrawl_scrape": lambda site: told("firecrawl_scrape", url=f"{site.shop_url}product/1"),
    "firecrawl_search": lambda _: told("firecrawl_search", keywords="a", limit=3),
    "json": lambda site: told("json", url=f"{site.shop_url}scripted/data/lamps.json", items="products"),
    "llm_extract": lambda site: of_page(
        "llm_extract", f"{site.shop_url}product/1", model=WORDS, fields=["title"]
    ),
    "page_files": lambda site: of_page("page_files", site.shop_url, select="a", max_per_page=3),
    "page_contents": lambda site: of_page("page_contents", site.shop_url, links=True, text=True),
    "pdf": lambda site: told("pdf", url=f"{site.shop_url}product/1", needs_browser=True),
    "robots_check": lambda site: told("robots_check", url=f"{site.shop_url}private/orders"),
    "screenshot": lambda site: told("screenshot", url=f"{site.shop_url}product/1", needs_browser=True),
    "search": lambda site: told(
        "search", url_template=f"{site.shop_url}search?q={{query}}", keywords="a", item_selector="a.product"
    ),
    "sitemap": lambda site: told("sitemap", urls=[f"{site.news_url}sitemap-news.xml"], max_urls=3),
    "structured_data": lambda site: of_page("structured_data", f"{site.shop_url}product/1"),
    "summarize": lambda site: of_page("summarize", f"{site.shop_url}product/1", model=WORDS),
    "webhook": lambda site: told("webhook", url=f"{site.sink_url}same", payload={"n": 1}, secret="s3cret"),
}
"""Name of an actor -> its case."""


def products(site: FakeServer, *numbers: int) -> list[str]:
    """Return the addresses of products."""
    return [f"{site.shop_url}product/{number}" for number in numbers]


def loop(urls: list[str], *steps: dict[str, Any], **more: Any) -> Steps:
    """Return a loop over addresses, that reads the title of each product."""
    detail = {"actor": "extract_detail", "config": TITLE}
    listed = {"actor": "aggregate", "config": {"items": [{"urls": urls}]}, "save_as": "listed"}
    inner = steps or ({"actor": "fetch", "config": {}}, detail)
    return [
        listed,
        {"type": "loop", "source": "${listed.items[0].urls}", "loop_steps": list(inner), **more},
    ]


def looped(site: FakeServer) -> Case:
    """Return a loop."""
    return Case(steps=loop(products(site, 1, 2, 3)), key="url")


def nested(site: FakeServer) -> Case:
    """Return a loop within a loop."""
    lists = [f"{site.shop_url}category/lamps", f"{site.shop_url}category/chairs"]
    inner = {
        "type": "loop",
        "source": "list_item_urls",
        "item_as": "product",
        "max_items": 2,
        "loop_steps": [
            {"actor": "fetch", "config": {"url": "${product}"}},
            {"actor": "extract_detail", "config": TITLE},
        ],
    }
    links = {"actor": "extract_list", "config": {"item_selector": "a.product"}}
    steps = loop(lists, {"actor": "fetch", "config": {}}, links, inner, collect="{key: url, found: items}")
    return Case(steps=steps)


def choosing(site: FakeServer) -> Case:
    """Return a choice of which the second row is taken."""
    rows = {"steps": [page(f"{site.shop_url}nowhere")], "otherwise": told("fetch", url=site.shop_url).steps}
    return Case(steps=[{"type": "choose", "when": "`1` > `2`", **rows}])


def passing(site: FakeServer) -> Case:
    """Return a step that is passed over."""
    case = told("fetch", url=site.shop_url)
    return Case(steps=[{**page(f"{site.shop_url}nowhere"), "when": "`1` > `2`"}, *case.steps])


def within(site: FakeServer) -> Case:
    """Return a pipeline within a pipeline."""
    inner = {"inputs": {"url": {}}, "steps": told("fetch", url="${url}").steps}
    return Case(steps=[{"type": "pipeline", "inputs": {"url": site.shop_url}, "pipeline": inner}])


def crawled(site: FakeServer) -> Case:
    """Return a crawl of all of the shop."""
    step = {
        "type": "crawl",
        "start": site.shop_url,
        "follow": {"exclude": ["/shop/private/*"]},
        "detail": {"match": ["*/product/*"], "config": TITLE},
        "slices": 2,
    }
    return Case(steps=[step], key="url")


def retried(site: FakeServer) -> Case:
    """Return a step that is tried again."""
    return Case(
        steps=told("fetch", url=f"{site.shop_url}product/4").steps,
        rules={"http_5xx": {"retry_count": 2, "backoff_s": 0.01}},
        faults=(Fault(path="/shop/product/4", status=500, times=2),),
        retried=1,
    )


def rerun(site: FakeServer) -> Case:
    """Return a login that is made anew, as the site has ended it."""
    login = {"strategy": "form", "login_url": f"{site.jobs_url}login", "fields": FORM}
    return Case(
        steps=[
            {"id": "login", "actor": "authenticate", "config": {"platform": "again", "login": login}},
            *told("fetch", url=f"{site.jobs_url}search?q=python").steps,
        ],
        rules={"auth_expired": {"rerun": "login"}},
        faults=(Fault(path="/jobs/search", status=401),),
        retried=1,
    )


def replaced(site: FakeServer) -> Case:
    """Return a loop of which one page is fetched by Firecrawl."""
    return Case(
        steps=loop(products(site, 5, 6)),
        rules={"403_error": {"retry_with_actor": "firecrawl_api"}},
        faults=(Fault(path="/shop/product/6", status=403, times=None),),
        retried=1,
        key="url",
    )


def lettered(site: FakeServer) -> Case:
    """Return a loop of which one page is a dead letter."""
    return Case(
        steps=loop([*products(site, 7), f"{site.shop_url}nowhere"]),
        rules={"http_404": {"then": "dead_letter"}},
        letters=1,
        key="url",
    )


def first_sketch(_: FakeServer) -> Case:
    """Return the first spec of the requirements as it is written, with both of its rules at work."""
    found, _pages = page_of(Board(seed=1).search("pm"), 1)
    refused, late = (job.number for job in found[:2])
    details = {
        "type": "loop",
        "source": "list_item_urls",
        "loop_steps": [
            {"actor": "FetchDetail", "config": {}},
            {"actor": "ExtractDetail", "config": {"schema": {"title": "h1"}}},
        ],
    }
    return Case(
        steps=[
            {"actor": "InitialFetcher", "config": {"use_playwright": True}},
            {"actor": "Authenticate", "config": {"platform": "LinkedIn"}},
            {"actor": "SearchExecutor", "config": {"keywords": ["pm"]}},
            {"actor": "ExtractList", "config": {"item_selector": ".job-card"}},
            details,
            {"actor": "DataAggregator", "config": {}},
        ],
        rules={"403_error": {"retry_with_actor": "firecrawl_api"}, "timeout": {"retry_count": 2}},
        # Firecrawl does not know the login, and gets to see the board's own.
        faults=(
            Fault(path=f"/jobs/job/{refused}", status=403, times=None),
            Fault(path=f"/jobs/job/{late}", delay_s=3.5),
        ),
        retried=2,
        needs_browser=True,
        timeout_s=2.5,
        key="url",
    )


KINDS: Mapping[str, MakeCase] = {
    "loop": looped,
    "nested loop": nested,
    "choose": choosing,
    "when": passing,
    "pipeline": within,
    "crawl": crawled,
    "retry": retried,
    "rerun": rerun,
    "retry_with_actor": replaced,
    "dead_letter": lettered,
    "first sketch": first_sketch,
}
"""Kind of step, or of what a rule may do -> its case."""
