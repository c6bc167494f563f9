"""Specs of actors on real pages: fetched from sites, shown by a real browser, run on the engine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.integration.executors.browser.finding import require_browser
from tests.integration.plugins.web.specs import failure_in, run_spec, size_of_png, text_of_pdf

from agentic.core.actors import ActorContext
from agentic.core.browser import BrowserFetcher
from agentic.core.http import HttpPolicy, open_fetcher
from agentic.core.settings import load_settings
from agentic.executors.agents.files import FolderFiles
from agentic.executors.browser import PlaywrightBrowser
from agentic.fakes.news.revisions import Revision
from agentic.fakes.server import FakeServer
from agentic.plugins.web.fetching.scripted import verdict_key

pytestmark = pytest.mark.integration


@pytest.fixture
async def ctx(tmp_path: Path) -> AsyncIterator[ActorContext]:
    policy = HttpPolicy(allow_private_hosts=("127.0.0.1",), timeout_s=20)
    async with open_fetcher(policy) as fetcher:
        yield ActorContext(http=fetcher, files=FolderFiles(tmp_path, "run"))


@pytest.fixture
async def seeing(ctx: ActorContext) -> AsyncIterator[ActorContext]:
    """Give a real browser, too."""
    require_browser()
    async with PlaywrightBrowser(load_settings()) as browser:
        yield replace(ctx, pages=BrowserFetcher(ctx.http, browser))


def asked(site: FakeServer, path: str) -> int:
    requests: Any = site.control.stats()["requests"]
    return sum(count for name, count in requests.items() if name.startswith(path))


CAPTURED = """
inputs: {url: {}}
steps:
  - actor: screenshot
    config: {url: "${inputs.url}", viewport: {width: 640, height: 360}, wait_for: h1.title}
    save_as: picture
  - actor: screenshot
    config: {url: "${inputs.url}", viewport: {width: 320, height: 100}, full_page: true, file: whole.png}
    save_as: whole
  - {actor: pdf, config: {url: "${inputs.url}", wait_for: h1.title}, save_as: print}
  - {actor: aggregate, config: {items: ["${picture.file}", "${whole.file}", "${print.file}"]}}
"""


@pytest.mark.requirement("SP14")
async def test_pictures_have_the_size_that_was_asked_for_and_prints_the_text_of_the_page(
    seeing: ActorContext, fakes: FakeServer, tmp_path: Path
) -> None:
    done = await run_spec(CAPTURED, seeing, url=f"{fakes.shop_url}product/7")
    files = [tmp_path / str(item["path"]) for item in done.items]
    picture, whole, printed = (path.read_bytes() for path in files)
    assert [item["size_bytes"] for item in done.items] == [len(picture), len(whole), len(printed)]
    assert size_of_png(picture) == (640, 360)
    width, height = size_of_png(whole)
    assert (width, height > 100) == (320, True)
    text = "".join(text_of_pdf(printed).split())  # some versions of Chromium set each letter apart
    assert "TheSmallShop" in text
    assert "2A8ED0-00007" in text


NEWEST = """
inputs: {url: {}}
steps:
  - {actor: sitemap, config: {urls: ["${inputs.url}"], max_urls: 1}}
  - {actor: fetch, config: {url: "${list_item_urls.0}"}}
  - {actor: structured_data, config: {required: true}, save_as: read}
  - {actor: aggregate, config: {items: [{url: "${page.url}", told: "${read.item}"}]}}
"""

CHANGES = """
inputs: {url: {}}
steps:
  - {actor: fetch, config: {url: "${inputs.url}"}}
  - {actor: diff, config: {selector: article}, save_as: seen}
  - {actor: aggregate, config: {items: ["${seen}"]}}
"""


async def test_a_second_run_sees_what_has_changed_on_a_page(ctx: ActorContext, fakes: FakeServer) -> None:
    (entry,) = (await run_spec(NEWEST, ctx, url=f"{fakes.news_url}sitemap-news.xml")).items
    url = str(entry["url"])

    (first,) = (await run_spec(CHANGES, ctx, url=url)).items
    (same,) = (await run_spec(CHANGES, ctx, url=url)).items
    fakes.control.revisions.add(Revision(path=url.removeprefix(fakes.url)))
    (changed,) = (await run_spec(CHANGES, ctx, url=url)).items

    assert (first["is_new"], first["changed"]) == (True, False)
    assert (same["is_new"], same["changed"]) == (False, False)
    assert (changed["is_new"], changed["changed"]) == (False, True)
    assert any("reworded" in str(line) for line in changed["added"] or ())  # type: ignore[union-attr]  # a list


STRUCTURED = """
inputs: {url: {}}
steps:
  - {actor: fetch, config: {url: "${inputs.url}"}}
  - {actor: structured_data, config: {required: true}}
  - {actor: aggregate, config: {items: ["${item}"]}}
"""


async def test_what_a_fetched_page_says_of_itself_is_read(ctx: ActorContext, fakes: FakeServer) -> None:
    (item,) = (await run_spec(NEWEST, ctx, url=f"{fakes.news_url}sitemap-news.xml")).items
    assert "NewsArticle" in str(item["told"])
    assert await failure_in(STRUCTURED, ctx, url=f"{fakes.hostile_url}deep/1") == "empty"


AUTO = """
inputs: {urls: {type: list}}
steps:
  - type: loop
    source: inputs.urls
    max_parallel: 1
    loop_steps:
      - {actor: fetch, config: {url: "${url}", mode: auto, wait_for: "a.product"}}
      - {actor: extract_list, config: {item_selector: "a.product"}, save_as: found}
    collect: "{by: page.fetched_by, links: length(found.list_item_urls)}"
"""


@pytest.mark.requirement("SP14")
async def test_pages_that_scripts_write_are_shown_and_the_next_ones_are_not_tried_without(
    seeing: ActorContext, fakes: FakeServer
) -> None:
    scripted = f"{fakes.shop_url}scripted/category/lamps"
    urls: Any = [scripted, f"{scripted}?page=1", f"{fakes.shop_url}category/lamps"]
    done = await run_spec(AUTO, seeing, urls=urls)
    assert [item["by"] for item in done.items] == ["browser", "browser", "http"]
    assert all(item["links"] for item in done.items)
    assert asked(fakes, "/shop/scripted/category/lamps") == 3  # over HTTP once, and in the browser twice
    assert await seeing.memory.get(verdict_key(scripted))
