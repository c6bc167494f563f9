"""The robots.txt files of thousands of sites, which protego tests with."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from protego import Protego
from tests.corpora.conftest import Open
from tests.corpora.distributions import source_of

from agentic.core.http import FailureClass, FetchError, HttpResponse
from agentic.core.http.politeness.robots import MAX_CHARACTERS, MAX_CRAWL_DELAY_S, RobotsGate, rules_of

pytestmark = [pytest.mark.corpus, pytest.mark.timeout(600)]
AGENTS = ("agentic-pipelines", "Googlebot")
ORIGIN = "https://site.example"
PATHS = ("/", "/index.html", "/search?q=a&page=2", "/wp-admin/admin.php", "/%7Ejoe/a b.html", "/über")
NAMED = re.compile(r"^[ \t]*(?:dis)?allow[ \t]*:[ \t]*(/[^\s#]*)", re.IGNORECASE | re.MULTILINE)
SITEMAP = re.compile(r"\s*sitemap(?:\s*:|\s)\s*([^#]+)", re.IGNORECASE)


def test_robots_files_of_protego_are_obeyed_as_it_does(line: Open) -> None:
    told = line("protego 0.7.0")
    verdicts = delays = sitemaps = 0
    slowest_s = 0.0
    for path in sorted((source_of("protego", "0.7.0") / "tests" / "test_data").iterdir()):
        body = path.read_bytes()
        if len(body) > MAX_CHARACTERS:
            body = body[: body.rfind(b"\n", 0, MAX_CHARACTERS) + 1]
            told.notes.append(f"of {path.name} the first {len(body)} bytes")
        parser = Protego.parse(body.decode("utf-8", "replace"))
        began = time.perf_counter()
        for agent in AGENTS:
            urls = list(_urls(body))
            assert asyncio.run(_allowed(body, agent, urls)) == [parser.can_fetch(url, agent) for url in urls]
            verdicts += len(urls)
            delays += _has_delay(body, agent, parser)
        slowest_s = max(slowest_s, time.perf_counter() - began)
        sitemaps += _count_sitemaps(path, body)
        told.files, told.read = told.files + 1, told.read + 1
    told.notes += [f"{verdicts} verdicts", f"{delays} delays", f"{sitemaps} sitemaps"]
    told.notes.append(f"the slowest file took {slowest_s * 1_000:.0f} ms for all of its verdicts")
    assert told.files == 4_231


async def _allowed(body: bytes, agent: str, urls: Iterable[str]) -> list[bool]:
    """Ask the gate that stands before every request."""

    async def load(url: str) -> HttpResponse:
        return _answer(body)

    gate = RobotsGate(load, agent, lambda: 0.0)
    return [await _passes(gate, url) for url in urls]


async def _passes(gate: RobotsGate, url: str) -> bool:
    try:
        await gate.check(url)
    except FetchError as exc:
        if exc.failure_class != FailureClass.ROBOTS_DENIED:
            raise
        return False
    return True


def _has_delay(body: bytes, agent: str, parser: Protego) -> bool:
    delay_s, wished_s = rules_of(_answer(body), 0.0).crawl_delay_s(agent), parser.crawl_delay(agent)
    assert min(max(wished_s or 0.0, 0.0), MAX_CRAWL_DELAY_S) <= delay_s <= MAX_CRAWL_DELAY_S
    return delay_s > 0


def _count_sitemaps(path: Path, body: bytes) -> int:
    """Compare the sitemaps with the lines that name them."""
    found = rules_of(_answer(body), 0.0).sitemaps()
    lines = body.decode("utf-8", "replace").splitlines()
    named = dict.fromkeys(line[1].strip() for line in map(SITEMAP.match, lines) if line and line[1].strip())
    assert list(found) == list(named), path.name
    return len(found)


def _urls(body: bytes) -> Iterator[str]:
    """Yield some pages that any site may have, and some that its own rules are about."""
    named = [path.rstrip("$").replace("*", "x") for path in NAMED.findall(body.decode("utf-8", "replace"))]
    yield from (f"{ORIGIN}{path}" for path in (*PATHS, *named[:4], *named[-2:]))


def _answer(body: bytes) -> HttpResponse:
    return HttpResponse(url=f"{ORIGIN}/robots.txt", status=200, headers={}, body=body)
