"""The politeness of a browser, which here is a script of the documents its window goes to."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from pydantic import SecretStr
from tests.clocks import Clock

from agentic.core.browser import BrowserFetcher, BrowserRequest, Click, Politeness, RenderedPage
from agentic.core.browser.fetcher import documents_allowed
from agentic.core.errors import SettingsError
from agentic.core.http import (
    Fetcher,
    FetchError,
    Headers,
    HttpPolicy,
    HttpRequest,
    HttpResponse,
    HttpSession,
    InvalidUrlError,
    ProcessBudget,
)
from agentic.core.http.exits.pool import Exits

URL = "http://a.example/"


class Window:
    """A browser whose window goes from document to document as told, and shows what is there."""

    def __init__(self, *way: str, status: int = 200, headers: Sequence[tuple[str, str]] = ()) -> None:
        self._way = way
        self._status = status
        self._headers = Headers(headers)
        self.politeness: list[Politeness] = []

    async def render(self, request: BrowserRequest, politeness: Politeness) -> RenderedPage:
        self.politeness.append(politeness)
        for url in (request.url, *self._way):
            await politeness.enter(url)
            await asyncio.sleep(0)
        url = self._way[-1] if self._way else request.url
        return RenderedPage(url=url, status=self._status, headers=self._headers, html="<p>page</p>")


class World:
    """A network of robots.txt files, and a clock that is turned by waiting."""

    def __init__(self, robots: str = "") -> None:
        self.clock = Clock(100.0)
        self._robots = robots

    async def send(self, request: HttpRequest, *, timeout_s: float, max_bytes: int) -> HttpResponse:
        return HttpResponse(url=request.url, status=200, headers=Headers(), body=self._robots.encode())

    def fetcher(self, **policy: object) -> Fetcher:
        chosen = HttpPolicy.model_validate({"obey_robots": False, **policy})
        return Fetcher(
            chosen, self, budget=ProcessBudget(clock=self.clock), clock=self.clock, sleep=self.clock.sleep
        )


async def test_a_page_is_returned_as_the_browser_shows_it() -> None:
    page = await BrowserFetcher(World().fetcher(), Window()).fetch(URL)
    assert (page.url, page.html) == (URL, "<p>page</p>")


async def test_the_browser_is_told_the_rules_of_the_policy() -> None:
    fetcher, window = World().fetcher(max_bytes=5, timeout_s=7, user_agent="testbot"), Window()
    await BrowserFetcher(fetcher, window).fetch(URL)
    (told,) = window.politeness
    assert (told.max_bytes, told.timeout_s, told.user_agent) == (5, 7, "testbot")
    assert told.guard is fetcher.guard


async def test_each_document_waits_for_its_hosts_turn() -> None:
    world = World()
    fetcher = BrowserFetcher(world.fetcher(requests_per_second=1), Window(f"{URL}2", f"{URL}3"))
    await fetcher.fetch(URL)
    assert world.clock.now == 102.0


async def test_robots_txt_is_asked_for_each_document() -> None:
    fetcher = BrowserFetcher(
        World("User-agent: *\nDisallow: /hidden").fetcher(obey_robots=True), Window(f"{URL}hidden")
    )
    with pytest.raises(FetchError) as caught:
        await fetcher.fetch(URL)
    assert caught.value.failure_class == "robots_denied"


async def test_two_hosts_that_redirect_to_each_other_hold_nobody_up() -> None:
    fetcher = World().fetcher(max_connections_per_host=1)
    one = BrowserFetcher(fetcher, Window("http://b.example/")).fetch("http://a.example/")
    other = BrowserFetcher(fetcher, Window("http://a.example/")).fetch("http://b.example/")
    async with asyncio.timeout(1):
        await asyncio.gather(one, other)


async def test_a_turn_is_given_back_whatever_comes() -> None:
    fetcher = World().fetcher(max_connections_per_host=1)
    for _ in range(2):
        with pytest.raises(FetchError):
            await BrowserFetcher(fetcher, Window(status=404)).fetch(URL)
    async with asyncio.timeout(1), fetcher.turn(URL):
        pass


async def test_circles_end() -> None:
    window = Window(*[f"{URL}{number}" for number in range(10)])
    with pytest.raises(FetchError) as caught:
        await BrowserFetcher(World().fetcher(max_redirects=3), window).fetch(URL)
    assert caught.value.failure_class == "too_many_redirects"


def test_each_step_may_lead_to_another_page() -> None:
    steps = (Click(selector="a"), Click(selector="b"))
    assert documents_allowed(BrowserRequest(url=URL), 10) == 11
    assert documents_allowed(BrowserRequest(url=URL, steps=steps), 10) == 33


async def test_retry_after_holds_for_the_next_page() -> None:
    world = World()
    fetcher = world.fetcher()
    with pytest.raises(FetchError) as caught:
        await BrowserFetcher(fetcher, Window(status=429, headers=[("Retry-After", "30")])).fetch(URL)
    assert (caught.value.failure_class, caught.value.retry_after_s) == ("rate_limited", 30)
    await BrowserFetcher(fetcher, Window()).fetch(URL)
    assert world.clock.now == pytest.approx(130, abs=1)


async def test_a_login_that_is_refused_has_ended() -> None:
    asked = BrowserRequest(url=URL, session=HttpSession(name="shop"))
    with pytest.raises(FetchError) as caught:
        await BrowserFetcher(World().fetcher(), Window(status=401)).fetch(asked)
    assert caught.value.failure_class == "auth_expired"


async def test_only_web_addresses_are_shown() -> None:
    with pytest.raises(InvalidUrlError):
        await BrowserFetcher(World().fetcher(), Window()).fetch("file:///etc/passwd")


async def test_a_proxy_that_browsers_are_not_led_through_is_refused() -> None:
    policy: dict[str, object] = {"proxy": SecretStr("socks5://user:hidden@host:1"), "transport": "curl_cffi"}
    with pytest.raises(SettingsError, match="http:// and https:// proxies only") as caught:
        await BrowserFetcher(World().fetcher(**policy), Window()).fetch(URL)
    assert "hidden" not in str(caught.value)


def two_proxies(world: World, **policy: object) -> tuple[Fetcher, Exits]:
    urls = [f"http://user:hidden@{name}.example:1" for name in "ab"]
    given = HttpPolicy.model_validate({"obey_robots": False, "proxies": urls, **policy})
    exits = Exits(given, clock=world.clock, sleep=world.clock.sleep)
    return Fetcher(given, exits, budget=ProcessBudget(clock=world.clock), sleep=world.clock.sleep), exits


def proxies_of(window: Window) -> str:
    shown = [one.proxy.get_secret_value() for one in window.politeness if one.proxy is not None]
    assert len(shown) == len(window.politeness)
    return "".join(url.rpartition("@")[2][0] for url in shown)


async def test_pages_take_several_proxies_in_turn_and_a_login_keeps_one() -> None:
    world, window = World(), Window(f"{URL}2")
    fetcher, exits = two_proxies(world, requests_per_second=1)
    browser = BrowserFetcher(fetcher, window)
    for _ in range(4):
        await browser.fetch(URL)
    # Each proxy has its own turns: two pages with two documents each, through either.
    assert (proxies_of(window), world.clock.now) == ("abab", 104)
    for _ in range(3):
        await browser.fetch(BrowserRequest(url=URL, session=HttpSession(name="shop")))
    assert len(set(proxies_of(window)[4:])) == 1
    assert sum(one.requests for one in exits.all) == 7


class Broken(Window):
    """A browser that cannot show anything through the first proxy."""

    def __init__(self, word: str, detail: str) -> None:
        super().__init__()
        self._fault = word, detail

    async def render(self, request: BrowserRequest, politeness: Politeness) -> RenderedPage:
        page = await super().render(request, politeness)
        if politeness.proxy is not None and "@a." in politeness.proxy.get_secret_value():
            raise FetchError(request.url, self._fault[0], "no connection", detail=self._fault[1])
        return page


@pytest.mark.parametrize(("word", "detail"), [("connect", "proxy"), ("timeout", ""), ("blocked", "captcha")])
async def test_a_page_that_a_proxy_does_not_bring_is_loaded_through_another(word: str, detail: str) -> None:
    window = Broken(word, detail)
    fetcher, _ = two_proxies(World())
    with pytest.raises(FetchError):
        await BrowserFetcher(fetcher, window).fetch(URL)
    for _ in range(3):
        await BrowserFetcher(fetcher, window).fetch(URL)
    assert proxies_of(window) == "abbb"


async def test_a_page_that_is_not_allowed_says_nothing_about_its_proxy() -> None:
    class Refusing(Window):
        async def render(self, request: BrowserRequest, politeness: Politeness) -> RenderedPage:
            self.politeness.append(politeness)
            await politeness.enter(request.url)
            raise AssertionError("the turn was refused")

    world, window = World(), Refusing()
    fetcher, exits = two_proxies(world, max_wait_s=1)
    for one in (await exits.choose(URL), await exits.choose(URL)):
        await fetcher._way_of(one).turns.block("a.example:80", 60)
    for _ in range(2):
        with pytest.raises(FetchError, match="asked for a pause"):
            await BrowserFetcher(fetcher, window).fetch(URL)
    assert [one.failures.total() for one in exits.all] == [0, 0]


async def test_a_proxy_that_is_a_secret_is_read_when_a_page_is_wanted() -> None:
    window = Window()
    fetcher = World().fetcher(proxy=SecretStr("${secrets.PROXY}"))

    async def secret(name: str) -> SecretStr:
        return SecretStr(f"http://user:hidden@{name.lower()}:1")

    await BrowserFetcher(fetcher, window, secret=secret).fetch(URL)
    (politeness,) = window.politeness
    assert politeness.proxy is not None
    assert politeness.proxy.get_secret_value() == "http://user:hidden@proxy:1"
