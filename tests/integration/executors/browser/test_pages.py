"""Pages that need a browser, or try one: what is read of them, and why some are not."""

from __future__ import annotations

import asyncio
import re

import pytest
from pydantic import SecretStr
from tests.integration.executors.browser.site import Site

from agentic.core.browser import BrowserFetcher, BrowserRequest, Click, Fill, Press, Scroll, WaitFor
from agentic.core.http import CookieJar, Fetcher, FetchError, HttpPolicy, HttpSession, open_fetcher
from agentic.core.services import free_port
from agentic.executors.browser import PlaywrightBrowser

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

ROOM = 100_000


async def failure(fetcher: BrowserFetcher, request: BrowserRequest | str) -> FetchError:
    async with asyncio.timeout(8):
        with pytest.raises(FetchError) as caught:
            await fetcher.fetch(request)
    return caught.value


async def test_a_list_that_a_script_makes_is_read_whole(fetcher: BrowserFetcher, site: Site) -> None:
    page = await fetcher.fetch(BrowserRequest(url=f"{site.url}/list", wait_for="li:nth-child(50)"))
    assert re.findall(r"<li>item \d+</li>", page.html)[-1] == "<li>item 50</li>"
    assert (page.url, page.status, page.headers["Content-Type"]) == (
        f"{site.url}/list",
        200,
        "text/html; charset=utf-8",
    )
    assert 0 < page.elapsed_s < 8


async def test_what_never_appears_is_missing(fetcher: BrowserFetcher, site: Site) -> None:
    error = await failure(fetcher, BrowserRequest(url=f"{site.url}/list", wait_for="#never", timeout_s=0.6))
    assert error.failure_class == "selector_missing"
    assert "'#never' did not appear within 0.6 s" in str(error)


@pytest.mark.parametrize("path", ["/slow", "/busy", "/alerts"])
async def test_a_page_that_does_not_load_in_time_is_late(
    fetcher: BrowserFetcher, site: Site, path: str
) -> None:
    error = await failure(fetcher, BrowserRequest(url=f"{site.url}{path}", timeout_s=0.6))
    assert error.failure_class == "timeout"


@pytest.mark.parametrize(("status", "word"), [(403, "http_403"), (404, "http_404"), (410, "gone")])
async def test_a_refusal_is_not_waited_upon(
    fetcher: BrowserFetcher, site: Site, status: int, word: str
) -> None:
    error = await failure(fetcher, BrowserRequest(url=f"{site.url}/status/{status}", wait_for="#never"))
    assert (error.failure_class, error.status) == (word, status)


async def test_retry_after_holds_back_pages_and_answers_alike(
    fetcher: BrowserFetcher, http: Fetcher, site: Site
) -> None:
    url = f"{site.other_url}/status/429?retry_after=1"
    error = await failure(fetcher, url)
    assert (error.failure_class, error.retry_after_s) == ("rate_limited", 1.0)
    started = asyncio.get_running_loop().time()
    await asyncio.gather(fetcher.fetch(f"{site.other_url}/list"), http.fetch(f"{site.other_url}/json"))
    assert asyncio.get_running_loop().time() - started > 0.9


@pytest.mark.parametrize("way", ["/to", "/script-to"])
async def test_robots_txt_is_asked_wherever_the_page_goes(
    fetcher: BrowserFetcher, site: Site, way: str
) -> None:
    error = await failure(fetcher, f"{site.url}{way}?url={site.other_url}/forbidden")
    assert error.failure_class == "robots_denied"
    assert "localhost/forbidden" not in site.asked


async def test_a_page_that_goes_round_in_circles_is_left(fetcher: BrowserFetcher, site: Site) -> None:
    error = await failure(fetcher, f"{site.url}/round")
    assert error.failure_class == "too_many_redirects"
    assert site.asked["127.0.0.1/round"] == 11


async def test_status_and_url_are_those_of_the_page_in_the_end(fetcher: BrowserFetcher, site: Site) -> None:
    page = await fetcher.fetch(BrowserRequest(url=f"{site.url}/script-to?url=/list", wait_for="li"))
    assert page.url == f"{site.url}/list"
    error = await failure(fetcher, BrowserRequest(url=f"{site.url}/to?url=/status/404"))
    assert error.failure_class == "http_404"


@pytest.mark.parametrize(("path", "text"), [("/json", '{"price": "5 \\u20ac"}'), ("/latin", "café")])
async def test_text_that_is_no_html_comes_as_it_is(
    fetcher: BrowserFetcher, site: Site, path: str, text: str
) -> None:
    page = await fetcher.fetch(f"{site.url}{path}")
    assert page.html == text
    assert page.as_response().text == text


@pytest.mark.parametrize(
    "query",
    [
        "Content-Type=application/pdf",
        "Content-Type=image/png",
        "Content-Type=text/html&Content-Disposition=attachment",
    ],
)
async def test_a_file_is_no_page(fetcher: BrowserFetcher, site: Site, query: str) -> None:
    assert (await failure(fetcher, f"{site.url}/file?{query}")).failure_class == "not_html"


async def test_an_answer_without_content_is_empty(fetcher: BrowserFetcher, site: Site) -> None:
    assert (await failure(fetcher, f"{site.url}/empty")).failure_class == "empty"


@pytest.mark.parametrize("path", ["/big", "/bomb", "/grows"])
async def test_a_page_beyond_the_limit_is_too_large(
    browser: PlaywrightBrowser, site: Site, path: str
) -> None:
    policy = HttpPolicy(allow_private_hosts=("127.0.0.1",), max_bytes=ROOM)
    async with open_fetcher(policy) as http:
        error = await failure(BrowserFetcher(http, browser), f"{site.url}{path}")
    assert error.failure_class == "too_large"


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("http://no-such-name.invalid/", "dns"),
        (f"http://127.0.0.1:{free_port()}/", "connect"),
        (f"https://127.0.0.1:{free_port()}/", "connect"),
        ("http://127.0.0.1:22/", "invalid_url"),
        ("ftp://localhost/", "invalid_url"),
    ],
    ids=["no name", "no server", "no tls server", "a port browsers refuse", "another scheme"],
)
async def test_a_host_out_of_reach_is_told_apart(browser: PlaywrightBrowser, url: str, word: str) -> None:
    policy = HttpPolicy(allow_private_hosts=("127.0.0.1",), obey_robots=False)
    async with open_fetcher(policy) as http:
        assert (await failure(BrowserFetcher(http, browser), url)).failure_class == word


async def test_plain_http_where_tls_is_spoken_is_a_failure_of_tls(
    browser: PlaywrightBrowser, site: Site
) -> None:
    policy = HttpPolicy(allow_private_hosts=("127.0.0.1",), obey_robots=False)
    async with open_fetcher(policy) as http:
        error = await failure(BrowserFetcher(http, browser), site.url.replace("http:", "https:"))
    assert error.failure_class == "tls"


async def test_a_form_is_filled_and_its_cookie_kept(
    fetcher: BrowserFetcher, http: Fetcher, site: Site
) -> None:
    session = HttpSession(name="shop", hosts=frozenset({"127.0.0.1"}))
    steps = (
        Fill(selector="#user", value="ada"),
        Fill(selector="#password", value=SecretStr("open sesame")),
        Press(selector="#password", key="Enter"),
        WaitFor(selector="h1"),
    )
    page = await fetcher.fetch(BrowserRequest(url=f"{site.url}/login", session=session, steps=steps))
    assert "Hello ada" in page.html
    assert (page.url, page.status) == (f"{site.url}/home", 200)
    again = await fetcher.fetch(BrowserRequest(url=f"{site.url}/home", session=session))
    assert "Hello ada" in again.html
    assert session.cookies.header_for(f"{site.url}/home") == "login=ada"
    assert "Hello stranger" in (await fetcher.fetch(f"{site.url}/home")).html


async def test_a_login_that_fails_says_nothing_of_what_was_typed(fetcher: BrowserFetcher, site: Site) -> None:
    steps = (Fill(selector="form", value=SecretStr("hidden word")),)
    error = await failure(fetcher, BrowserRequest(url=f"{site.url}/login", steps=steps))
    assert error.failure_class == "selector_missing"
    assert "fill 'form' failed on the page" in str(error)
    assert error.__cause__ is None
    assert "hidden word" not in repr(steps)


async def test_local_storage_goes_along_from_page_to_page(fetcher: BrowserFetcher, site: Site) -> None:
    first = await fetcher.fetch(
        BrowserRequest(url=f"{site.url}/keeper", session=HttpSession(name="keeper", cookies=CookieJar()))
    )
    kept = HttpSession(name="keeper", storage=first.storage)
    second = await fetcher.fetch(BrowserRequest(url=f"{site.url}/keeper", session=kept))
    assert "<p>2</p>" in second.html


async def test_headers_of_a_login_go_to_its_hosts_alone(fetcher: BrowserFetcher, site: Site) -> None:
    session = HttpSession(
        name="api", hosts=frozenset({"127.0.0.1"}), headers={"Authorization": SecretStr("token")}
    )
    page = await fetcher.fetch(
        BrowserRequest(url=f"{site.url}/to?url=/sending", session=session, wait_for="#done")
    )
    assert "token" in page.html
    away = await fetcher.fetch(
        BrowserRequest(url=f"{site.url}/to?url={site.other_url}/whoami", session=session)
    )
    assert '"authorization": ""' in away.html


async def test_load_more_is_clicked_until_it_is_gone(fetcher: BrowserFetcher, site: Site) -> None:
    steps = (Click(selector="button", times=10, wait_s=0.3),)
    page = await fetcher.fetch(BrowserRequest(url=f"{site.url}/more", steps=steps))
    assert page.html.count("<li>one more</li><li>one more</li><li>one more</li></ul>") == 1


async def test_scrolling_goes_on_as_long_as_the_page_grows(fetcher: BrowserFetcher, site: Site) -> None:
    steps = (Scroll(times=10, wait_s=0.3),)
    page = await fetcher.fetch(BrowserRequest(url=f"{site.url}/endless", steps=steps))
    assert page.html.count('2000px">row') == 4


async def test_dialogs_are_dismissed(fetcher: BrowserFetcher, site: Site) -> None:
    assert "<p>after</p>" in (await fetcher.fetch(f"{site.url}/alert")).html


async def test_windows_that_open_are_closed(fetcher: BrowserFetcher, site: Site) -> None:
    assert "<p>page</p>" in (await fetcher.fetch(f"{site.url}/popup")).html


async def test_service_workers_are_refused(fetcher: BrowserFetcher, site: Site) -> None:
    await fetcher.fetch(BrowserRequest(url=f"{site.url}/worker", wait_for="#done"))
    assert "127.0.0.1/asked/worker.js" not in site.asked


async def test_pictures_are_loaded_only_if_they_are_wanted(fetcher: BrowserFetcher, site: Site) -> None:
    await fetcher.fetch(f"{site.url}/pictures")
    assert "127.0.0.1/asked/picture.png" not in site.asked
    assert "127.0.0.1/asked/script.js" in site.asked
    await fetcher.fetch(BrowserRequest(url=f"{site.url}/pictures", block=frozenset({"script"})))
    assert site.asked["127.0.0.1/asked/picture.png"] == 1
    assert site.asked["127.0.0.1/asked/script.js"] == 1


async def test_a_page_is_pictured_and_printed(fetcher: BrowserFetcher, site: Site) -> None:
    asked = BrowserRequest(url=f"{site.url}/endless", screenshot="full_page", pdf=True)
    page = await fetcher.fetch(asked)
    assert page.screenshot is not None
    assert page.screenshot.startswith(b"\x89PNG")
    assert int.from_bytes(page.screenshot[16:20]) == 1280
    assert int.from_bytes(page.screenshot[20:24]) > 2000
    assert page.pdf is not None
    assert page.pdf.startswith(b"%PDF")


async def test_the_site_is_told_who_asks(fetcher: BrowserFetcher, site: Site) -> None:
    assert '"agent": "testbot/1.0"' in (await fetcher.fetch(f"{site.url}/whoami")).html
