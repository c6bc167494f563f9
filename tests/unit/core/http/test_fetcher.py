"""The fetcher over a transport that answers from a script, on a clock that is turned by waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime

import pytest
from pydantic import SecretStr
from tests.clocks import Clock

from agentic.core.http import (
    BudgetUnavailableError,
    Fetcher,
    FetchError,
    Headers,
    HostBudget,
    HttpError,
    HttpPolicy,
    HttpRequest,
    HttpResponse,
    HttpSession,
    ProcessBudget,
    ResourceOf,
    Turn,
    Verdict,
    failure_of,
)
from agentic.core.http.sessions.site_cookies import SiteCookies
from agentic.core.masking import MASK, mask_known


class Script:
    """A transport, and the clock of the world it lives in."""

    def __init__(self, answer: Callable[[HttpRequest], HttpResponse]) -> None:
        self.answer = answer
        self.clock = Clock(100.0)
        self.sent: list[tuple[float, HttpRequest]] = []
        self.timeouts: list[float] = []
        self.in_flight = 0
        self.peak = 0

    async def send(self, request: HttpRequest, *, timeout_s: float, max_bytes: int) -> HttpResponse:
        self.sent.append((self.clock.now, request))
        self.timeouts.append(timeout_s)
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        await asyncio.sleep(0)
        self.in_flight -= 1
        return self.answer(request)

    def budget(self) -> ProcessBudget:
        return ProcessBudget(clock=self.clock)

    def fetcher(
        self,
        budget: HostBudget | None = None,
        verdict: Verdict = failure_of,
        resource_of: ResourceOf | None = None,
        sleep: Callable[[float], Awaitable[None]] | None = None,
        **policy: object,
    ) -> Fetcher:
        return Fetcher(
            HttpPolicy.model_validate({"obey_robots": False, **policy}),
            self,
            budget=budget or self.budget(),
            verdict=verdict,
            resource_of=resource_of,
            clock=self.clock,
            sleep=sleep or self.clock.sleep,
        )

    @property
    def urls(self) -> list[str]:
        return [request.url for _, request in self.sent]


def reply(request: HttpRequest, status: int = 200, elapsed_s: float = 0.0, **headers: str) -> HttpResponse:
    fields = [(name.replace("_", "-"), value) for name, value in headers.items()]
    return HttpResponse(
        url=request.url, status=status, headers=Headers(fields), body=b"", elapsed_s=elapsed_s
    )


def counting_down(request: HttpRequest) -> HttpResponse:
    """/3 leads to /2 and so on; /0 is a page."""
    left = int(request.url.rpartition("/")[2])
    return reply(request, 302, 4.0, location=f"/{left - 1}") if left else reply(request)


async def test_a_url_is_short_for_a_get_of_it() -> None:
    world = Script(reply)
    response = await world.fetcher().fetch("http://h/a")
    assert (response.url, response.status) == ("http://h/a", 200)
    assert world.sent[0][1] == HttpRequest(url="http://h/a")


async def test_a_refused_status_is_raised_with_its_class() -> None:
    world = Script(lambda request: reply(request, 404))
    with pytest.raises(FetchError, match=r"http://h/a was not fetched \(http_404\).*404 Not Found") as caught:
        await world.fetcher().fetch("http://h/a?q=1")
    assert (caught.value.failure_class, caught.value.status) == ("http_404", 404)


async def test_redirects_are_followed_up_to_the_limit() -> None:
    world = Script(counting_down)
    assert (await world.fetcher(max_redirects=3).fetch("http://h/3")).url == "http://h/0"
    with pytest.raises(FetchError, match="more than 3 redirects") as caught:
        await world.fetcher(max_redirects=3).fetch("http://h/4")
    assert caught.value.failure_class == "too_many_redirects"


@pytest.mark.parametrize(
    ("statuses", "moved_to"),
    [
        ([], None),
        ([301], "http://h/1"),
        ([308, 301], "http://h/2"),
        ([301, 302, 301], "http://h/1"),
        ([302, 301], None),
    ],
)
async def test_what_has_moved_for_good_is_told_up_to_the_first_redirect_that_may_change(
    statuses: list[int], moved_to: str | None
) -> None:
    def answer(request: HttpRequest) -> HttpResponse:
        step = int(request.url.rpartition("/")[2])
        if step == len(statuses):
            return reply(request)
        return reply(request, statuses[step], location=f"/{step + 1}")

    response = await Script(answer).fetcher().fetch("http://h/0")
    assert (response.url, response.moved_to) == (f"http://h/{len(statuses)}", moved_to)


async def test_all_redirects_share_one_time_limit() -> None:
    world = Script(counting_down)
    await world.fetcher(timeout_s=10).fetch("http://h/2")
    assert world.timeouts == [10, 6, 2]


async def test_a_request_may_bring_its_own_time_limit() -> None:
    world = Script(reply)
    await world.fetcher().fetch(HttpRequest(url="http://h/", timeout_s=2.5))
    assert world.timeouts == [2.5]


async def test_requests_to_one_host_keep_the_rate() -> None:
    world = Script(reply)
    fetcher = world.fetcher(requests_per_second=2)
    await asyncio.gather(*(fetcher.fetch(f"http://h/{number}") for number in range(3)))
    assert [time for time, _ in world.sent] == [100.0, 100.5, 101.0]


async def test_a_host_does_not_wait_for_the_turns_of_another() -> None:
    world = Script(reply)
    fetcher = world.fetcher(requests_per_second=2)
    for host in ("one", "other", "one"):
        await fetcher.fetch(f"http://{host}/")
    assert [time for time, _ in world.sent] == [100.0, 100.0, 100.5]


@pytest.mark.parametrize("status", [429, 503])
async def test_after_retry_after_nobody_asks_that_host_before_the_time(status: int) -> None:
    world = Script(
        lambda request: reply(request, status, retry_after="7") if "limit" in request.url else reply(request)
    )
    budget = world.budget()
    with pytest.raises(FetchError) as caught:
        await world.fetcher(budget).fetch("http://h/limit")
    assert (caught.value.failure_class, caught.value.retry_after_s) == ("rate_limited", 7)
    await world.fetcher(budget).fetch("http://h/")
    assert [time for time, _ in world.sent] == [100.0, 107.0]


async def test_a_retry_after_that_comes_late_also_holds_back_those_in_line() -> None:
    def answer(request: HttpRequest) -> HttpResponse:
        return reply(request, 429, retry_after="30") if request.url.endswith("1") else reply(request)

    world = Script(answer)
    fetcher = world.fetcher(requests_per_second=1)
    pages = [fetcher.fetch(f"http://h/{number}") for number in (1, 2, 3)]
    await asyncio.gather(*pages, return_exceptions=True)
    times = [time for time, _ in world.sent]
    assert times[1] - times[0] >= 30
    assert times[2] - times[1] == 1


async def test_a_host_that_is_to_be_left_alone_is_not_asked_before_the_time() -> None:
    world = Script(reply)
    budget = world.budget()
    fetcher = world.fetcher(budget, max_wait_s=60)
    await fetcher.leave_alone("http://h/any", 7)
    await world.fetcher(budget).fetch("http://h/")
    await fetcher.fetch("http://other/")
    assert [time for time, _ in world.sent] == [107.0, 107.0]
    await fetcher.leave_alone("http://h/any", 90)
    with pytest.raises(FetchError) as caught:
        await fetcher.fetch("http://h/")
    assert (caught.value.failure_class, caught.value.retry_after_s) == ("rate_limited", 90)


async def test_a_host_that_wants_more_peace_than_we_wait_fails_at_once() -> None:
    world = Script(lambda request: reply(request, 429, retry_after="3600"))
    fetcher = world.fetcher(max_wait_s=60)
    for _ in range(2):
        with pytest.raises(FetchError) as caught:
            await fetcher.fetch("http://h/")
        assert (caught.value.failure_class, caught.value.retry_after_s) == ("rate_limited", 3_600)
    assert len(world.sent) == 1
    assert world.clock.now == 100.0


async def test_a_slow_fetcher_keeps_no_other_waiting() -> None:
    world = Script(reply)
    budget = world.budget()
    await world.fetcher(budget, requests_per_second=1 / 3_600).fetch("http://h/")
    await world.fetcher(budget, max_wait_s=1).fetch("http://h/")
    await world.fetcher(budget, requests_per_second=2).fetch("http://h/")
    assert [time for time, _ in world.sent] == [100.0, 100.0, 100.5]


async def test_a_wait_for_the_own_rate_has_the_same_end_as_any_other() -> None:
    world = Script(reply)
    fetcher = world.fetcher(requests_per_second=1 / 3_600, max_wait_s=60)
    pages = [fetcher.fetch(f"http://h/{number}") for number in range(4)]
    done = await asyncio.gather(*pages, return_exceptions=True)
    assert [getattr(one, "failure_class", "") for one in done] == ["", *["rate_limited"] * 3]
    assert {getattr(one, "detail", "") for one in done[1:]} == {"rate"}
    assert {getattr(one, "retry_after_s", 0) for one in done[1:]} == {3_600}
    assert "raise max_wait_s" in str(done[1])
    assert world.clock.now == 100.0


async def test_turns_that_others_take_each_time_do_not_make_a_wait_endless() -> None:
    class Taken(ProcessBudget):
        def take_now(self, host: str, interval_s: float) -> Turn:
            return Turn(wait_s=25)

    world = Script(reply)
    with pytest.raises(FetchError, match=r"max_wait_s \(60 s\)") as caught:
        await world.fetcher(Taken(), max_wait_s=60).fetch("http://h/")
    assert (caught.value.failure_class, world.clock.now) == ("rate_limited", 150.0)


async def test_those_in_line_behind_their_own_fetchers_requests_may_wait_longer() -> None:
    world = Script(reply)
    fetcher = world.fetcher(requests_per_second=1, max_wait_s=2)
    await asyncio.gather(*(fetcher.fetch(f"http://h/{number}") for number in range(10)))
    assert world.clock.now == 109.0


def proxied(port: int, user: str = "me:one") -> SecretStr:
    return SecretStr(f"http://{user}@127.0.0.1:{port}")


async def test_what_a_proxy_answers_counts_for_those_who_use_it() -> None:
    world = Script(lambda request: reply(request, 429, retry_after="3600"))
    budget = world.budget()
    with pytest.raises(FetchError):
        await world.fetcher(budget, proxy=proxied(1)).fetch("http://h/")
    world.answer = reply
    for other in (None, proxied(2), proxied(1, "you:one")):
        await world.fetcher(budget, proxy=other).fetch("http://h/")
    assert len(world.sent) == 4
    with pytest.raises(FetchError, match="asked for a pause of 3600 s"):
        await world.fetcher(budget, proxy=proxied(1, "me:two")).fetch("http://h/")


async def test_what_a_host_answers_without_a_proxy_leaves_proxies_alone() -> None:
    world = Script(lambda request: reply(request, 429, retry_after="3600"))
    budget = world.budget()
    with pytest.raises(FetchError):
        await world.fetcher(budget).fetch("http://h/")
    world.answer = reply
    await world.fetcher(budget, proxy=proxied(1)).fetch("http://h/")
    assert len(world.sent) == 2


async def test_a_host_is_sent_only_so_many_requests_at_once() -> None:
    world = Script(reply)
    fetcher = world.fetcher(max_connections_per_host=3)
    await asyncio.gather(*(fetcher.fetch(f"http://h/{number}") for number in range(12)))
    assert world.peak == 3


def walled(request: HttpRequest) -> HttpResponse:
    if request.url.endswith("/robots.txt"):
        rules = b"User-agent: *\nDisallow: /private/\nCrawl-delay: 3\n"
        return HttpResponse(url=request.url, status=200, headers=Headers(), body=rules)
    return (
        reply(request, 302, location="http://other/private/x")
        if request.url.endswith("/go")
        else reply(request)
    )


async def test_the_limit_for_pages_is_not_the_limit_for_robots_txt() -> None:
    limits: dict[str, int] = {}

    class Transport:
        async def send(self, request: HttpRequest, *, timeout_s: float, max_bytes: int) -> HttpResponse:
            limits[request.url.rpartition("/")[2]] = max_bytes
            return reply(request)

    await Fetcher(HttpPolicy(max_bytes=1_000), Transport()).fetch("http://h/page")
    assert limits["page"] == 1_000
    assert limits["robots.txt"] >= 512_000


async def test_robots_txt_is_asked_before_the_first_page_and_its_delay_kept() -> None:
    world = Script(walled)
    fetcher = world.fetcher(obey_robots=True)
    for path in "ab":
        await fetcher.fetch(f"http://h/{path}")
    assert [(time, request.url) for time, request in world.sent] == [
        (100.0, "http://h:80/robots.txt"),
        (100.0, "http://h/a"),
        (103.0, "http://h/b"),
    ]


async def test_a_redirect_into_a_disallowed_path_is_not_followed() -> None:
    world = Script(walled)
    with pytest.raises(FetchError) as caught:
        await world.fetcher(obey_robots=True).fetch("http://h/go")
    assert caught.value.failure_class == "robots_denied"
    assert world.urls[-1] == "http://other:80/robots.txt"


async def test_robots_txt_is_not_asked_for_a_site_of_our_own() -> None:
    world = Script(walled)
    await world.fetcher(obey_robots=False).fetch("http://h/private/x")
    assert world.urls == ["http://h/private/x"]


async def test_robots_txt_is_asked_on_no_hop_of_a_request_that_is_no_crawling() -> None:
    world = Script(walled)
    message = HttpRequest(url="http://h/go", method="POST", body=b"{}", obey_robots=False)
    await world.fetcher(obey_robots=True).fetch(message)
    assert world.urls == ["http://h/go", "http://other/private/x"]


@pytest.mark.parametrize("url", ["", "/relative", "ftp://h/", "http://"])
async def test_what_is_no_url_is_not_sent(url: str) -> None:
    world = Script(reply)
    with pytest.raises(FetchError) as caught:
        await world.fetcher(obey_robots=True).fetch(url)
    assert caught.value.failure_class == "invalid_url"
    assert world.sent == []


def login(*hosts: str) -> HttpSession:
    return HttpSession(name="shop", hosts=frozenset(hosts), headers={"Authorization": SecretStr("Bearer x")})


def headers_sent(world: Script) -> list[dict[str, str]]:
    return [dict(request.headers) for _, request in world.sent]


def shop(request: HttpRequest) -> HttpResponse:
    """/login sets a cookie and leads on to /next, which leads to another host; all else is a page."""
    match request.url.rpartition("/")[2]:
        case "login":
            fields = [("Location", "/next")]
            return HttpResponse(
                url=request.url, status=302, headers=Headers(fields), body=b"", set_cookies=("sid=1; Path=/",)
            )
        case "next":
            return reply(request, 302, location="https://other/page")
        case _:
            return reply(request)


async def test_a_session_goes_along_on_every_hop_that_may_have_it() -> None:
    world = Script(shop)
    session = login("h")
    await world.fetcher().fetch(HttpRequest(url="https://h/login", session=session))
    assert headers_sent(world) == [
        {"authorization": "Bearer x"},
        {"authorization": "Bearer x", "cookie": "sid=1"},
        {},
    ]
    assert session.cookies.header_for("https://h/") == "sid=1"


async def test_a_session_does_not_follow_a_redirect_to_an_open_connection() -> None:
    world = Script(
        lambda request: (
            reply(request, 302, location="http://h/") if request.url.startswith("https") else reply(request)
        )
    )
    await world.fetcher().fetch(HttpRequest(url="https://h/", session=login("h")))
    assert headers_sent(world) == [{"authorization": "Bearer x"}, {}]


async def test_a_field_of_the_request_counts_before_the_sessions() -> None:
    world = Script(reply)
    request = HttpRequest(url="http://h/", headers={"Authorization": "mine"}, session=login("h"))
    await world.fetcher().fetch(request)
    assert headers_sent(world) == [{"authorization": "mine"}]


async def test_robots_txt_is_asked_without_the_session() -> None:
    world = Script(walled)
    await world.fetcher(obey_robots=True).fetch(HttpRequest(url="http://h/a", session=login("h")))
    assert headers_sent(world) == [{}, {"authorization": "Bearer x"}]


@pytest.mark.parametrize(("is_on", "sent"), [(True, {"cookie": "sid=1"}), (False, {})])
async def test_cookies_without_a_session_are_kept_during_the_redirects_of_a_fetch(
    *, is_on: bool, sent: dict[str, str]
) -> None:
    world = Script(shop)
    fetcher = world.fetcher(cookies=is_on)
    await fetcher.fetch("http://h/login")
    await fetcher.fetch("http://h/")
    assert headers_sent(world) == [{}, sent, {}, {}]


async def test_cookies_of_a_run_are_kept_from_fetch_to_fetch() -> None:
    world, cookies = Script(shop), SiteCookies()
    await world.fetcher().with_cookies(cookies).fetch("http://h/login")
    world.sent.clear()
    await world.fetcher().with_cookies(cookies).fetch("http://h/")
    await world.fetcher(cookies=False).with_cookies(cookies).fetch("http://h/")
    session = HttpSession(name="me")
    await world.fetcher().with_cookies(cookies).fetch(HttpRequest(url="http://h/", session=session))
    assert headers_sent(world) == [{"cookie": "sid=1"}, {}, {}]


@pytest.mark.parametrize(
    ("session", "expected"), [(None, "auth_required"), (HttpSession(name="me"), "auth_expired")]
)
async def test_a_login_that_is_missing_is_told_from_one_that_has_ended(
    session: HttpSession | None, expected: str
) -> None:
    world = Script(lambda request: reply(request, 401))
    with pytest.raises(FetchError) as caught:
        await world.fetcher().fetch(HttpRequest(url="http://h/", session=session))
    assert caught.value.failure_class == expected


async def test_a_turn_waits_like_a_fetch_and_keeps_a_connection() -> None:
    world = Script(walled)
    fetcher = world.fetcher(obey_robots=True, max_connections_per_host=1)
    for path in "ab":
        async with fetcher.turn(f"http://h/{path}"):
            pass
    assert world.urls == ["http://h:80/robots.txt"]
    assert world.clock.now == 103.0
    async with fetcher.turn("http://h/c"):
        waiting = asyncio.create_task(fetcher.fetch("http://h/d"))
        await asyncio.sleep(0)
        assert len(world.urls) == 1
    await waiting
    with pytest.raises(FetchError, match="robots_denied"):
        async with fetcher.turn("http://h/private/x"):
            pytest.fail("the page would be loaded")


async def test_what_is_judged_outside_a_fetch_holds_for_fetches() -> None:
    world = Script(reply)
    fetcher = world.fetcher()
    request = HttpRequest(url="http://h/a")
    await fetcher.judge(request, reply(request))
    with pytest.raises(FetchError, match="rate_limited"):
        await fetcher.judge(request, reply(request, 429, retry_after="9"))
    await fetcher.fetch("http://h/b")
    assert [time for time, _ in world.sent] == [109.0]


class LostBudget:
    """A budget whose server is away for ``away_s`` from ``lost_at`` on."""

    def __init__(self, world: Script, away_s: float) -> None:
        self._world = world
        self._away_s = away_s
        self.lost_at = world.clock.now
        self.blocks: list[tuple[str, float]] = []

    async def take(self, host: str, interval_s: float) -> Turn:
        self._check()
        return Turn()

    async def aclose(self) -> None:
        pass

    async def block(self, host: str, seconds: float) -> None:
        self._check()
        self.blocks.append((host, seconds))

    def _check(self) -> None:
        if 0 <= (down_s := self._world.clock.now - self.lost_at) < self._away_s:
            raise BudgetUnavailableError("redis://h", down_s, "ConnectionError")


async def test_nothing_is_sent_before_the_budget_can_be_asked_again() -> None:
    world = Script(reply)
    await world.fetcher(LostBudget(world, away_s=30)).fetch("http://h/")
    assert [time >= 130 for time, _ in world.sent] == [True]


async def test_a_budget_that_stays_away_is_a_rate_limit_that_names_it() -> None:
    world = Script(reply)
    with pytest.raises(FetchError, match="redis://h has not answered") as caught:
        await world.fetcher(LostBudget(world, away_s=9_000), max_wait_s=60).fetch("http://h/")
    assert (caught.value.failure_class, caught.value.detail) == ("rate_limited", "budget")
    assert world.sent == []
    assert 140 < world.clock.now <= 160


async def test_a_block_is_told_to_a_budget_that_comes_back() -> None:
    world = Script(reply)
    budget = LostBudget(world, away_s=20)
    budget.lost_at += 10
    async with (fetcher := world.fetcher(budget)).turn("http://h/"):
        world.clock.now += 15
    request = HttpRequest(url="http://h/")
    with pytest.raises(FetchError, match="429"):
        await fetcher.judge(request, reply(request, 429, retry_after="7"))
    assert budget.blocks == [("h:80", 7)]


def test_a_browser_can_be_given_the_guard() -> None:
    guard = Script(reply).fetcher(allow_private_hosts=("127.0.0.1:80",)).guard
    guard.check_host("127.0.0.1", 80)
    with pytest.raises(HttpError):
        guard.check_host("127.0.0.1", 81)


@pytest.mark.requirement("PL41")
async def test_what_was_sent_to_say_who_asks_is_masked_from_then_on() -> None:
    session = HttpSession(
        name="s", hosts=frozenset({"a.test"}), headers={"x-who": SecretStr("minted-7d-zebra")}
    )
    await (
        Script(reply)
        .fetcher()
        .fetch(
            HttpRequest(
                url="http://a.test/", session=session, headers={"Authorization": "Bearer own-7d-zebra"}
            )
        )
    )
    assert mask_known("minted-7d-zebra own-7d-zebra") == f"{MASK} {MASK}"


def part_of(url: str) -> str:
    return url.split("/")[3]


def spent(request: HttpRequest, response: HttpResponse, now: datetime) -> FetchError | None:
    """Refuse /one/spent for itself alone, and /one/stop for everything."""
    word = request.url.rpartition("/")[2]
    detail = {"spent": "resource", "stop": "host"}.get(word)
    if detail is None:
        return None
    return FetchError(request.url, "rate_limited", "no more", retry_after_s=60, detail=detail)


@pytest.mark.parametrize(("last", "waited"), [("spent", [0, 60]), ("stop", [60, 60])])
async def test_a_limit_of_one_part_of_a_host_keeps_no_other_part_waiting(
    last: str, waited: list[int]
) -> None:
    world = Script(reply)
    fetcher = world.fetcher(verdict=spent, resource_of=part_of, max_wait_s=100)
    with pytest.raises(FetchError, match="no more"):
        await fetcher.fetch(f"http://api.test/one/{last}")
    for part in ("two", "one"):
        await fetcher.fetch(f"http://api.test/{part}/")
    assert [at - 100 for at, _ in world.sent[1:]] == waited


async def test_who_waits_for_a_part_of_a_host_keeps_nobody_from_the_others() -> None:
    waits, go_on = asyncio.Event(), asyncio.Event()

    async def wait(seconds: float) -> None:
        waits.set()
        await go_on.wait()
        world.clock.now += seconds

    world = Script(reply)
    fetcher = world.fetcher(
        sleep=wait, verdict=spent, resource_of=part_of, max_wait_s=100, max_connections_per_host=1
    )
    with pytest.raises(FetchError, match="no more"):
        await fetcher.fetch("http://api.test/one/spent")
    waiting = asyncio.create_task(fetcher.fetch("http://api.test/one/"))
    await waits.wait()
    async with asyncio.timeout(10):
        await fetcher.fetch("http://api.test/two/")
    go_on.set()
    await waiting
    assert world.urls[1:] == ["http://api.test/two/", "http://api.test/one/"]


async def test_who_would_wait_too_long_for_a_part_of_a_host_is_told_which() -> None:
    world = Script(reply)
    fetcher = world.fetcher(verdict=spent, resource_of=part_of, max_wait_s=1)
    with pytest.raises(FetchError, match="no more"):
        await fetcher.fetch("http://api.test/one/spent")
    with pytest.raises(FetchError) as caught:
        await fetcher.fetch("http://api.test/one/spent")
    assert "api.test:80 (one) asked for a pause of 60 s" in str(caught.value)
    assert (caught.value.detail, len(world.sent)) == ("resource", 1)
