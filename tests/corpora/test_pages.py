"""Pages that newspaper4k, trafilatura and Scrapy test with, through the actors that read pages."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from pydantic import BaseModel
from tests.corpora.conftest import Line, Open
from tests.corpora.distributions import source_of

from agentic.core.actors import Actor, ActorContext, ActorError, Page
from agentic.core.http import Fetcher, HttpPolicy, HttpRequest, HttpResponse
from agentic.plugins.web.actors.article import ArticleActor
from agentic.plugins.web.actors.extract_detail import ExtractDetailActor
from agentic.plugins.web.actors.extract_list import ExtractListActor
from agentic.plugins.web.actors.structured_data import StructuredDataActor

pytestmark = [pytest.mark.corpus, pytest.mark.timeout(600)]
SHINGLE = 4

# A word; or a character, in scripts that put no blank between words: Thai, Burmese, Japanese, Chinese.
TOKEN = re.compile(r"[\u0e00-\u0e7f\u1000-\u109f\u3040-\u30ff\u4e00-\u9fff]|[^\W_]+")

# Pages that redirect, hold a feed, or no word: all others have a text.
EMPTY = {"google_meta_refresh.html", "sample_rss.html", "utf8.html"}


class NoNetwork:
    """A transport for actors that fetch nothing."""

    async def send(self, request: HttpRequest, *, timeout_s: float, max_bytes: int) -> HttpResponse:
        raise AssertionError(f"{request.url} was asked for")


async def test_pages_of_newspaper4k_are_read_and_their_texts_are_those_it_expects(line: Open) -> None:
    folder = source_of("newspaper4k", "0.9.6") / "tests" / "data"
    told, scores, same = line("newspaper4k 0.9.6"), dict[str, float](), Counter[str]()
    for path in sorted((folder / "html").glob("*.html")):
        item = await _read(path, told)
        wanted = folder / "txt" / f"{path.stem}.txt"
        if wanted.is_file():
            scores[path.stem] = f1(str(item["text"]), wanted.read_text(encoding="utf-8"))
        described = folder / "metadata" / f"{path.stem}.json"
        if described.is_file():
            same.update(_same(item, json.loads(described.read_bytes())))
    lowest = min(scores, key=scores.__getitem__)
    told.notes.append(f"mean F1 of {len(scores)} texts {fmean(scores.values()):.3f}")
    told.notes.append(f"lowest {scores[lowest]:.3f}, {lowest}")
    told.notes += [f"{same[f'same {name}']} of {same[name]} {name}s" for name in ("title", "day")]
    assert fmean(scores.values()) >= 0.92
    assert min(scores.values()) >= 0.5


async def test_pages_of_trafilatura_are_read(line: Open) -> None:
    told = line("trafilatura 2.3.1")
    for path in sorted((source_of("trafilatura", "2.3.1") / "tests" / "resources").glob("*.html")):
        await _read(path, told)
    assert told.read


async def test_pages_of_scrapy_are_read_and_their_lists_are_whole(line: Open) -> None:
    folder, told = source_of("scrapy", "2.19.0"), line("scrapy 2.19.0")
    for path in sorted((folder / "tests" / "sample_data").rglob("*.html")):
        await _read(path, told)
    books = await _listed(
        folder / "tests" / "sample_data" / "books" / "listing.html",
        item_selector="article.product_pod",
        link_selector="h3 a[href]",
        fields={
            "title": {"selector": "h3 a", "attr": "title"},
            "price": {"selector": ".price_color", "type": "number"},
        },
    )
    assert len({book["url"] for book in books}) == 20
    assert all(book["title"] and book["price"] > 10 for book in books)
    quotes = await _listed(
        folder / "docs" / "_tests" / "quotes1.html",
        item_selector="div.quote",
        fields={"text": ".text", "author": ".author", "tags": {"selector": "a.tag", "list": True}},
    )
    assert [quote["author"] for quote in quotes].count("Albert Einstein") == 3
    assert len(quotes) == 10
    told.rows += len(books) + len(quotes)


async def _read(path: Path, told: Line) -> Mapping[str, object]:
    """Read a page with every actor; return its article."""
    told.files += 1
    page = page_of(path)
    links = await run(ExtractListActor, page, item_selector="a[href]")
    told.rows += len(links["list_item_urls"])
    await run(StructuredDataActor, page)
    await run(
        ExtractDetailActor, page, fields={"title": "title", "heads": {"selector": "h1, h2", "list": True}}
    )
    try:
        item: Mapping[str, object] = (await run(ArticleActor, page))["item"]
    except ActorError as exc:
        told.refused[exc.failure_class] += 1
        assert path.name in EMPTY
        return {"text": ""}
    assert item["text"], path.name
    told.read += 1
    return item


async def _listed(path: Path, **config: object) -> Sequence[Mapping[str, Any]]:
    items: Sequence[Mapping[str, Any]] = (await run(ExtractListActor, page_of(path), **config))["items"]
    return items


def _same(item: Mapping[str, object], wanted: Mapping[str, object]) -> Iterator[str]:
    """Yield what is expected, and again what is as expected."""
    for name, ours, theirs in (
        ("title", item["title"], wanted["title"]),
        ("day", item["date"], str(wanted["publish_date"] or "")[:10]),
    ):
        if theirs:
            yield name
            if ours and " ".join(str(ours).split()) == " ".join(str(theirs).split()):
                yield f"same {name}"


async def run(actor: type[Actor], page: Page, **config: object) -> dict[str, Any]:
    context = ActorContext(http=Fetcher(HttpPolicy(), NoNetwork()))
    output = await actor().run(context, actor.Input.model_validate({"page": page, **config}))
    assert isinstance(output, BaseModel)
    return output.model_dump()


def page_of(path: Path) -> Page:
    """Return a file as ``fetch`` would."""
    url = f"https://pages.example/{path.name}"
    headers = {"content-type": "text/html"}
    response = HttpResponse(url=url, status=200, headers=headers, body=path.read_bytes())
    return Page(
        url=url,
        final_url=url,
        status=200,
        content_type="text/html",
        text=response.text,
        content_hash="",
        fetched_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def f1(text: str, wanted: str) -> float:
    """Return how well two texts agree, by what they have of four words in a row: from 0 to 1."""
    ours, theirs = shingles(text), shingles(wanted)
    common = (ours & theirs).total()
    return 2 * common / (ours.total() + theirs.total()) if common else 0.0


def shingles(text: str) -> Counter[tuple[str, ...]]:
    words = TOKEN.findall(text.lower())
    return Counter(tuple(words[start : start + SHINGLE]) for start in range(len(words) - SHINGLE + 1))
