"""The one browser of a process: shared, replaced, and back after a crash."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.conftest import Eventually
from tests.integration.executors.browser.finding import require_browser
from tests.integration.executors.browser.killing import kill, processes
from tests.integration.executors.browser.site import Site, serving

from agentic.core.browser import BrowserFetcher, BrowserRequest, BrowserUnavailableError
from agentic.core.http import FetchError, HttpPolicy, open_fetcher
from agentic.core.settings import load_settings
from agentic.core.threads import in_thread
from agentic.executors.browser import PlaywrightBrowser
from agentic.executors.browser.pool import MIB
from agentic.executors.browser.processes import memory_of

pytestmark = pytest.mark.integration


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test a folder for temporary files of its own."""
    require_browser()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving() as made:
        yield made


POLICY = HttpPolicy(allow_private_hosts=("127.0.0.1", "localhost"), timeout_s=20, obey_robots=False)


def browsers(folder: Path) -> set[int]:
    """Return the process groups of the browsers that run; each has one of its own."""
    return {os.getpgid(process.pid) for process in processes(f"--user-data-dir={folder}")}


def left(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def shown(browser: PlaywrightBrowser, site: Site) -> int:
    async with open_fetcher(POLICY) as http:
        return (await BrowserFetcher(http, browser).fetch(f"{site.url}/list")).status


async def test_it_starts_with_the_first_page_and_ends_without_a_trace(folder: Path, site: Site) -> None:
    async with PlaywrightBrowser(load_settings()) as browser:
        assert not browsers(folder)
        assert await asyncio.gather(*(shown(browser, site) for _ in range(6))) == [200] * 6
        assert len(browsers(folder)) == 1
    assert not browsers(folder)
    assert not processes("run-driver")
    assert left(folder) == []


@pytest.mark.parametrize(
    "victim",
    [
        "--type=renderer",
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("--user-data-dir=", "run-driver")),
    ],
)
async def test_a_crash_fails_its_page_and_no_other(
    folder: Path, site: Site, victim: str, eventually: Eventually
) -> None:
    async with PlaywrightBrowser(load_settings()) as browser, open_fetcher(POLICY) as http:
        asked = BrowserRequest(url=f"{site.url}/list", wait_for="#never")
        waiting = asyncio.create_task(BrowserFetcher(http, browser).fetch(asked))
        await eventually(lambda: bool(site.asked))
        kill(victim)
        with pytest.raises(FetchError) as caught:
            async with asyncio.timeout(15):
                await waiting
        assert caught.value.failure_class == "browser_crashed"
        assert await shown(browser, site) == 200
    assert left(folder) == []


@pytest.mark.slow
async def test_a_browser_that_is_killed_before_its_page_is_open_fails_it_at_once(
    folder: Path, site: Site, eventually: Eventually
) -> None:
    async with PlaywrightBrowser(load_settings()) as browser:
        waiting = asyncio.create_task(shown(browser, site))
        await eventually(lambda: bool(processes("--type=renderer")))
        kill("--user-data-dir=")
        with pytest.raises((FetchError, BrowserUnavailableError)):
            async with asyncio.timeout(15):
                await waiting
        assert await shown(browser, site) == 200
    assert left(folder) == []


async def test_it_is_replaced_after_so_many_pages(folder: Path, site: Site) -> None:
    async with PlaywrightBrowser(load_settings(browser_max_pages=2)) as browser:
        seen = set[int]()
        for _ in range(3):
            await shown(browser, site)
            seen |= browsers(folder)
        assert len(seen) == 2
        assert len(browsers(folder)) == 1


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="memory is weighed by /proc")
@pytest.mark.slow
async def test_a_page_that_takes_all_memory_is_killed_and_the_browser_replaced(
    folder: Path, site: Site
) -> None:
    async with PlaywrightBrowser(load_settings(browser_max_mib=20)) as browser:
        async with open_fetcher(POLICY) as http:
            asked = BrowserRequest(url=f"{site.url}/list", wait_for="#never")
            with pytest.raises(FetchError) as caught:
                await BrowserFetcher(http, browser).fetch(asked)
        assert caught.value.failure_class == "browser_crashed"
        before = browsers(folder)
        assert await shown(browser, site) == 200
        assert not before & browsers(folder)


async def memory_shown(browser: PlaywrightBrowser, site: Site) -> float:
    """Show a page long enough to be weighed; return the most the browser took meanwhile, in MiB."""
    async with open_fetcher(POLICY) as http:
        asked = BrowserRequest(url=f"{site.url}/list", wait_for="#never", timeout_s=2.5)
        shows = asyncio.create_task(BrowserFetcher(http, browser).fetch(asked))
        most = 0.0
        while not shows.done():
            await asyncio.wait([shows], timeout=0.2)
            lease = browser._lease
            sizes = {} if lease is None else await in_thread(memory_of, lease.browser.folder)
            most = max(most, sum(sizes.values()) / MIB)
        with pytest.raises(FetchError, match="selector_missing"):
            await shows
    return most


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="memory is weighed by /proc")
@pytest.mark.slow
async def test_a_browser_that_takes_more_than_it_should_shows_its_page_and_is_replaced(
    folder: Path, site: Site
) -> None:
    async with PlaywrightBrowser(load_settings()) as browser:
        usual = await memory_shown(browser, site)
    # Far below the limit; and beyond it, but below twice of it, where it would be killed.
    for share, is_replaced in ((10, False), (1 / 1.4, True)):
        async with PlaywrightBrowser(load_settings(browser_max_mib=round(share * usual))) as browser:
            await memory_shown(browser, site)
            before = browsers(folder)
            assert len(before) == 1
            assert await shown(browser, site) == 200
            assert (browsers(folder) != before) is is_replaced


async def test_it_is_closed_when_nobody_uses_it(folder: Path, site: Site, eventually: Eventually) -> None:
    async with PlaywrightBrowser(load_settings(), idle_s=0.1) as browser:
        await shown(browser, site)
        await eventually(lambda: not left(folder))
        assert await shown(browser, site) == 200


async def test_no_more_pages_are_shown_at_a_time_than_may_be(
    folder: Path, site: Site, eventually: Eventually
) -> None:
    async with PlaywrightBrowser(load_settings(browser_pages=2)) as browser, open_fetcher(POLICY) as http:
        asked = BrowserRequest(url=f"{site.url}/slow")
        shows = [asyncio.create_task(BrowserFetcher(http, browser).fetch(asked)) for _ in range(4)]
        await eventually(lambda: site.asked["127.0.0.1/slow"] == 2)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await asyncio.wait(shows, return_when=asyncio.FIRST_COMPLETED)
        assert site.asked["127.0.0.1/slow"] == 2
        for show in shows:
            show.cancel()
        assert all(
            isinstance(end, asyncio.CancelledError)
            for end in await asyncio.gather(*shows, return_exceptions=True)
        )
        assert await shown(browser, site) == 200


@pytest.mark.parametrize("path", ["no-such-browser", "/bin/false"])
async def test_a_browser_that_does_not_start_is_named(folder: Path, site: Site, path: str) -> None:
    async with PlaywrightBrowser(load_settings(browser_path=path)) as browser:
        with pytest.raises(BrowserUnavailableError, match="AGENTIC_BROWSER_PATH"):
            await shown(browser, site)
    assert left(folder) == []
