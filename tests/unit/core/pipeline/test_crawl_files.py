"""A crawl that downloads the files of its pages."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel
from tests.unit.core.pipeline.conftest import STRICT, PageInput

from agentic.core.actors import Actor, ActorContext, ActorError, FilesOutput, ItemsOutput
from agentic.core.pipeline import CrawledPage, SpecError, capabilities_of, parse_spec, spec_schema
from agentic.core.pipeline.crawl import files as crawl_files
from agentic.core.pipeline.crawl.files import KnownFiles, without_files
from agentic.core.types import JSONValue, RunId

Run = Callable[..., Any]
Pages = Callable[[], dict[str, CrawledPage]]

CRAWL = """
name: site
error_handling: {timeout: {retry_count: 2, backoff_s: 0.01}}
steps:
  - type: crawl
    start: "http://a/0"
    fetch: {actor: fetch}
"""
FILES = CRAWL + "    files: {select: img, types: ['image/*'], folder: images, max_per_page: 3}\n"


class FindInput(PageInput):
    """A page, and what of it."""

    select: str
    attr: str | None = None
    max_per_page: int


class FindActor(Actor[FindInput, FilesOutput]):
    """Takes each word that ends in ``.png`` for a file."""

    name = "page_files"
    version = "1"
    Input = FindInput
    Output = FilesOutput

    async def run(self, ctx: ActorContext, given: FindInput, /) -> FilesOutput:
        words = [word for word in given.page.text.split() if word.endswith(".png")]
        if words[given.max_per_page :]:
            ctx.warn_about("files above max_per_page", "too many")
        return FilesOutput(file_urls=tuple(words[: given.max_per_page]))


class LoadInput(BaseModel):
    """A file."""

    model_config = STRICT

    url: str
    types: tuple[str, ...]
    max_bytes: int
    folder: str
    timeout_s: float
    headers: dict[str, str]


class LoadActor(Actor[LoadInput, ItemsOutput]):
    """Downloads what a test says, and counts."""

    name = "download"
    version = "1"
    Input = LoadInput
    Output = ItemsOutput
    capabilities = frozenset({"network"})
    loaded: ClassVar[Counter[str]] = Counter()
    given: ClassVar[list[LoadInput]] = []
    failures: ClassVar[dict[str, list[Exception | None]]] = {}

    async def run(self, ctx: ActorContext, given: LoadInput, /) -> ItemsOutput:
        self.loaded[given.url] += 1
        self.given.append(given)
        await asyncio.sleep(0)
        failures = self.failures.get(given.url, [None])
        if (failure := failures.pop(0) if len(failures) > 1 else failures[0]) is not None:
            raise failure
        item: dict[str, JSONValue] = {"url": given.url, "final_url": given.url, "path": f"p/{given.url[-5:]}"}
        return ItemsOutput(items=(item,))


@pytest.fixture(autouse=True)
def loading(actors: dict[str, type[Actor]]) -> Iterator[type[LoadActor]]:
    actors.update({"page_files": FindActor, "download": LoadActor})
    yield LoadActor
    LoadActor.loaded.clear()
    LoadActor.given.clear()
    LoadActor.failures.clear()


@pytest.fixture
def pages(frontier: Any) -> Pages:
    return lambda: {page.url: page for batch in frontier.commits for page in batch.done}


def urls(page: CrawledPage) -> list[JSONValue]:
    return [file["url"] for file in page.files]


async def test_the_files_of_a_page_are_stored_with_it_and_each_is_downloaded_once(
    run: Run, site: Any, pages: Pages, loading: type[LoadActor]
) -> None:
    logo, own = "http://cdn/l.png", "http://cdn/o.png"
    site.pages.update({"http://a/0": f"http://a/1 http://a/2 {logo}", "http://a/1": logo})
    site.pages["http://a/2"] = f"{logo} {own}"
    result = await run(FILES)
    assert result.pages.done == 3
    assert {url: urls(page) for url, page in pages().items()} == {
        "http://a/0": [logo],
        "http://a/1": [logo],
        "http://a/2": [logo, own],
    }
    assert loading.loaded == {logo: 1, own: 1}
    assert loading.given[0].headers == {"referer": "http://a/"}
    assert (loading.given[0].folder, loading.given[0].types) == ("images", ("image/*",))
    assert result.warnings == ()


async def test_each_crawl_downloads_its_files_itself(
    compiled: Callable[[str], Any], site: Any, loading: type[LoadActor], frontier: Any
) -> None:
    site.pages["http://a/0"] = "http://cdn/l.png"
    workflow = compiled(FILES)
    await workflow.run({})
    frontier.__init__()
    await workflow.run({})
    assert loading.loaded == {"http://cdn/l.png": 2}


async def test_files_that_fail_are_counted_in_a_warning_and_fail_no_page(
    run: Run, site: Any, pages: Pages, loading: type[LoadActor]
) -> None:
    missing = [f"http://a/{number}.png" for number in "xyz"]
    gone = "http://a/g.png"
    loading.failures.update(
        {url: [ActorError(f"{url} answered 404", failure_class="http_404")] for url in missing}
    )
    loading.failures[gone] = [ActorError("it is text/html", failure_class="wrong_type")]
    site.pages["http://a/0"] = f"{missing[0]} {missing[1]} http://a/k.png http://a/1"
    site.pages["http://a/1"] = f"{missing[0]} {missing[2]} {gone}"
    result = await run(FILES)
    assert (result.pages.done, result.pages.failed) == (2, 0)
    assert urls(pages()["http://a/0"]) == ["http://a/k.png"]
    assert urls(pages()["http://a/1"]) == []
    assert sorted(result.warnings) == [
        "step 1 crawl: http://a/g.png was not downloaded (wrong_type): it is text/html",
        (
            "step 1 crawl: http://a/x.png was not downloaded (http_404): http://a/x.png answered 404 "
            "(1 of 3 warnings about files with http_404)"
        ),
    ]
    assert loading.loaded[missing[0]] == 1


async def test_a_temporary_failure_is_retried_by_the_rules(
    run: Run, site: Any, pages: Pages, loading: type[LoadActor]
) -> None:
    slow = ActorError("slow", failure_class="timeout")
    loading.failures.update({"http://a/x.png": [slow], "http://a/y.png": [slow, slow, None]})
    site.pages["http://a/0"] = "http://a/x.png http://a/y.png"
    result = await run(FILES)
    assert loading.loaded == {"http://a/x.png": 3, "http://a/y.png": 3}
    assert urls(pages()["http://a/0"]) == ["http://a/y.png"]
    assert len(result.warnings) == 1


async def test_only_the_pages_that_match_have_files(run: Run, site: Any, pages: Pages) -> None:
    site.pages.update({"http://a/0": "http://a/1 http://a/x.png", "http://a/1": "http://a/y.png"})
    await run(CRAWL + "    files: {select: img, match: ['/1']}\n    follow: {exclude: ['*.png']}\n")
    assert {url: urls(page) for url, page in pages().items()} == {
        "http://a/0": [],
        "http://a/1": ["http://a/y.png"],
    }


async def test_what_is_downloaded_is_not_fetched_as_a_page_too(run: Run, site: Any) -> None:
    site.pages.update({"http://a/0": "http://a/x.png http://a/1", "http://a/1": ""})
    result = await run(FILES)
    assert site.fetched == ["http://a/0", "http://a/1"]
    assert (result.pages.done, result.pages.failed) == (2, 0)


def test_links_without_the_ending_of_a_file_are_pages_even_if_a_selector_takes_them_for_files() -> None:
    links = ["http://a/x.PDF", "http://a/get?id=1", "http://a/page.html", "mailto:a@a"]
    assert without_files(links, ["http://a/x.PDF#p", "http://a/get?id=1", "http://a/page.html"]) == links[1:]


async def test_a_crawl_without_files_asks_nobody(
    run: Run, site: Any, pages: Pages, actors: dict[str, type[Actor]]
) -> None:
    del actors["page_files"], actors["download"]
    site.pages["http://a/0"] = ""
    await run(CRAWL)
    assert [page.files for page in pages().values()] == [()]


async def test_a_limit_of_files_is_told(run: Run, site: Any) -> None:
    site.pages["http://a/0"] = " ".join(f"http://a/{number}.png" for number in range(5))
    result = await run(FILES)
    assert result.warnings == ("step 1 crawl: too many",)


KEY = (RunId("run"), "key")


async def test_a_page_that_waits_for_the_file_of_another_downloads_it_if_that_one_is_cancelled() -> None:
    known, begun, calls = KnownFiles(), asyncio.Event(), Counter[str]()

    async def hang() -> Mapping[str, JSONValue]:
        calls["first"] += 1
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def load() -> Mapping[str, JSONValue]:
        calls["second"] += 1
        await asyncio.sleep(0)
        return {"path": "p"}

    first = asyncio.create_task(known.once(KEY, hang))
    await begun.wait()
    others = [asyncio.create_task(known.once(KEY, load)) for _ in range(3)]
    await asyncio.sleep(0)
    first.cancel()
    assert await asyncio.gather(*others) == [{"path": "p"}] * 3
    assert calls == {"first": 1, "second": 1}


async def test_a_process_remembers_a_limited_number_of_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crawl_files, "MOST_KNOWN", 2)
    known, calls = KnownFiles(), Counter[str]()

    async def loaded(name: str) -> None:
        async def load() -> None:
            calls[name] += 1

        await known.once((RunId("run"), name), load)

    for name in ["a", "b", "a", "c", "a", "b"]:
        await loaded(name)
    assert calls == {"a": 1, "b": 2, "c": 1}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ("{}", "select"),
        ("{select: img, type: [a]}", "'type'.*'types'"),
        ("{select: img, max_bytes: 0}", "max_bytes"),
        ("{select: img, folder: '${secrets.S}'}", "secrets are allowed only"),
        ("{select: img, folder: '${inputs.x}'}", "'x'"),
    ],
)
def test_faults_of_files_are_told_when_the_spec_is_read(
    actors: dict[str, type[Actor]], files: str, message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        parse_spec(f"{CRAWL}    files: {files}\n", actors)


@pytest.mark.parametrize("name", ["page_files", "download"])
def test_a_crawl_with_files_needs_both_actors(actors: dict[str, type[Actor]], name: str) -> None:
    del actors[name]
    with pytest.raises(SpecError, match=f"unknown actor '{name}'"):
        parse_spec(FILES, actors)


def test_a_crawl_may_store_files_alone(actors: dict[str, type[Actor]]) -> None:
    spec = parse_spec(f"{FILES}    store: {{pages: false}}\n", actors)
    assert "network" in capabilities_of(spec, actors)


async def test_references_lead_to_the_options(run: Run, site: Any, loading: type[LoadActor]) -> None:
    site.pages["http://a/0"] = "http://a/x.png"
    text = CRAWL.replace("name: site", "name: site\ninputs: {place: {}, most: {type: integer}}")
    await run(
        f"{text}    files: {{select: img, folder: '${{inputs.place}}', max_bytes: '${{inputs.most}}'}}\n",
        place="s3://b/f",
        most=5,
    )
    assert (loading.given[0].folder, loading.given[0].max_bytes) == ("s3://b/f", 5)


def test_editors_know_the_options(actors: dict[str, type[Actor]]) -> None:
    parts: Any = spec_schema(actors)["$defs"]
    assert set(parts["FileRules"]["properties"]) == {
        *("select", "attr", "match", "types", "max_bytes", "max_per_page", "folder", "timeout_s")
    }
    assert parts["FileRules"]["required"] == ["select"]
    assert "FileRules" in str(parts["CrawlStep"]["properties"]["files"])
