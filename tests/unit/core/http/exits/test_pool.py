"""A fetcher with several exits, over transports that answer from a script, on a clock turned by waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from urllib.parse import urlsplit

import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs
from tests.clocks import Clock

from agentic.core.actors.errors import UnknownSecretError
from agentic.core.errors import SettingsError
from agentic.core.http import (
    CachePolicy,
    Fetcher,
    FetchError,
    Headers,
    HostBudget,
    HttpPolicy,
    HttpRequest,
    HttpResponse,
    HttpSession,
    MemoryCache,
    ProcessBudget,
    open_transport,
)
from agentic.core.http.errors import PROXY, InvalidProxyError, MissingProxyError
from agentic.core.http.exits.pool import READ_AGAIN_S, Exits
from agentic.core.http.sessions.site_cookies import SiteCookies

PASSWORD = "hunter2-of-the-list"

Answer = Callable[["World", str, HttpRequest], HttpResponse]


def reply(request: HttpRequest, status: int = 200, body: bytes = b"", **headers: str) -> HttpResponse:
    fields = [(name.replace("_", "-"), value) for name, value in headers.items()]
    return HttpResponse(url=request.url, status=status, headers=Headers(fields), body=body)


def welcome(_: World, name: str, request: HttpRequest) -> HttpResponse:
    return reply(request, body=name.encode())


def fault(request: HttpRequest, word: str = "connect", detail: str = PROXY) -> FetchError:
    return FetchError(request.url, word, "it does not work", detail=detail)


class World:
    """Proxies with the names a, b, c ... and the network behind them."""

    def __init__(self, answer: Answer = welcome) -> None:
        self.clock = Clock()
        self.answer = answer
        self.sent: list[tuple[str, HttpRequest]] = []
        self.secrets: dict[str, str] = {}
        self.opened: list[str] = []
        self.closed: list[str] = []

    async def secret(self, name: str) -> SecretStr:
        if name not in self.secrets:
            raise UnknownSecretError(name)
        return SecretStr(self.secrets[name])

    def open(self, policy: HttpPolicy) -> Through:
        return Through(self, policy)

    def exits(self, names: str = "abc", **policy: object) -> Exits:
        given = {
            "obey_robots": False,
            "proxies": [f"http://me:{PASSWORD}@{name}.example:3128" for name in names],
            **policy,
        }
        return Exits(
            HttpPolicy.model_validate(given),
            secret=self.secret,
            open_transport=self.open,
            clock=self.clock,
            sleep=self.clock.sleep,
            draw=Random(1).randrange,
        )

    def fetcher(
        self, names: str = "abc", *, budget: HostBudget | None = None, **policy: object
    ) -> tuple[Fetcher, Exits]:
        exits = self.exits(names, **policy)
        fetcher = Fetcher(
            exits._policy,
            exits,
            budget=budget or ProcessBudget(clock=self.clock),
            cache=MemoryCache(),
            clock=self.clock,
            sleep=self.clock.sleep,
        )
        return fetcher, exits

    @property
    def used(self) -> str:
        return "".join(name for name, _ in self.sent)


class Through:
    """The transport through one proxy."""

    def __init__(self, world: World, policy: HttpPolicy) -> None:
        assert policy.proxy is not None
        assert not policy.proxies
        self.name = (urlsplit(policy.proxy.get_secret_value()).hostname or "")[0]
        self.world = world

    async def send(self, request: HttpRequest, *, timeout_s: float, max_bytes: int) -> HttpResponse:
        self.world.sent.append((self.name, request))
        await asyncio.sleep(0)
        return self.world.answer(self.world, self.name, request)

    async def aclose(self) -> None:
        self.world.closed.append(self.name)


async def outcome(fetcher: Fetcher, request: HttpRequest | str) -> str:
    try:
        return (await fetcher.fetch(request)).body.decode()
    except FetchError as exc:
        return exc.failure_class


async def test_requests_take_the_exits_in_turn() -> None:
    world = World()
    fetcher, _ = world.fetcher()
    found = [await outcome(fetcher, "http://h.example/") for _ in range(6)]
    assert (found, world.used) == (list("abcabc"), "abcabc")


async def test_a_site_keeps_its_exit_under_each_of_its_names() -> None:
    world = World()
    fetcher, _ = world.fetcher("abcdefgh", rotation="sticky_host")
    for host in ("shop.example", "www.shop.example", "img.shop.example"):
        await fetcher.fetch(f"http://{host}/")
    assert len(set(world.used)) == 1


async def test_redirects_stay_on_the_exit_of_their_first_request() -> None:
    def answer(_: World, name: str, request: HttpRequest) -> HttpResponse:
        return reply(request) if request.url.endswith("/end") else reply(request, 302, location="/end")

    world = World(answer)
    fetcher, _ = world.fetcher()
    for _ in range(2):
        await fetcher.fetch("http://h.example/start")
    assert world.used == "aabb"


async def test_an_exit_that_cannot_be_reached_rests_for_all_hosts_and_returns() -> None:
    def answer(world: World, name: str, request: HttpRequest) -> HttpResponse:
        if name == "b" and world.clock.now < 1_012:
            raise fault(request)
        return welcome(world, name, request)

    world = World(answer)
    fetcher, exits = world.fetcher()
    found = [await outcome(fetcher, f"http://h{number}.example/") for number in range(7)]
    assert found == ["a", "connect", "c", "a", "c", "a", "c"]
    world.clock.now += 5.5
    assert [await outcome(fetcher, "http://h.example/") for _ in range(3)] == ["connect", "a", "c"]
    world.clock.now += 5.5  # the second rest is twice as long
    assert "b" not in [await outcome(fetcher, "http://h.example/") for _ in range(3)]
    world.clock.now += 5
    assert "b" in [await outcome(fetcher, "http://h.example/") for _ in range(3)]
    assert exits.all[1].health.whole is None


async def test_a_refused_host_is_asked_through_the_other_exits_and_other_hosts_through_all() -> None:
    def answer(world: World, name: str, request: HttpRequest) -> HttpResponse:
        if name == "a" and "shop" in request.url:
            return reply(request, 429, retry_after="60")
        return welcome(world, name, request)

    world = World(answer)
    fetcher, _ = world.fetcher()
    with pytest.raises(FetchError) as caught:
        await fetcher.fetch("http://shop.example/")
    # Another exit is free: a retry need not wait for this one.
    assert (caught.value.failure_class, caught.value.retry_after_s) == ("rate_limited", None)
    assert [await outcome(fetcher, "http://shop.example/") for _ in range(4)] == list("bcbc")
    assert [await outcome(fetcher, "http://news.example/") for _ in range(3)] == list("abc")
    world.clock.now += 61
    assert "rate_limited" in [await outcome(fetcher, "http://shop.example/") for _ in range(3)]


async def test_a_challenge_rests_the_exit_for_that_host() -> None:
    def answer(world: World, name: str, request: HttpRequest) -> HttpResponse:
        if name == "a":
            return reply(request, 403, b"<title>Just a moment...</title>", cf_mitigated="challenge")
        return welcome(world, name, request)

    world = World(answer)
    fetcher, _ = world.fetcher("ab")
    found = [await outcome(fetcher, "http://shop.example/") for _ in range(4)]
    assert found == ["blocked", "b", "b", "b"]


@pytest.mark.parametrize("word", ["timeout", "connect", "tls", "decode"])
async def test_a_fault_that_may_be_the_hosts_own_leaves_the_exit_for_others_first(word: str) -> None:
    def answer(world: World, name: str, request: HttpRequest) -> HttpResponse:
        if name == "a":
            raise fault(request, word, "")
        return welcome(world, name, request)

    world = World(answer)
    fetcher, _ = world.fetcher("ab")
    assert [await outcome(fetcher, "http://h.example/") for _ in range(4)] == [word, "b", "b", "b"]
    for number in range(8):
        await outcome(fetcher, f"http://other{number}.example/")
    # After three failures in a row it is doubtful for all hosts.
    assert world.used.count("a") == 3


async def test_a_dead_host_is_still_asked_through_doubtful_exits_without_a_wait() -> None:
    def answer(world: World, name: str, request: HttpRequest) -> HttpResponse:
        raise fault(request, "timeout", "")

    world = World(answer)
    fetcher, _ = world.fetcher("ab")
    assert [await outcome(fetcher, "http://h.example/") for _ in range(5)] == ["timeout"] * 5
    assert world.clock.now == 1_000


async def test_if_all_exits_rest_a_request_waits_for_the_first_one() -> None:
    def answer(world: World, name: str, request: HttpRequest) -> HttpResponse:
        if world.clock.now < 1_004:
            raise fault(request)
        return welcome(world, name, request)

    world = World(answer)
    fetcher, _ = world.fetcher("ab")
    found = [await outcome(fetcher, "http://h.example/") for _ in range(3)]
    assert (found[:2], world.clock.now) == (["connect"] * 2, 1_005)
    assert found[2] in "ab"


async def test_if_all_exits_rest_for_long_the_error_says_which_and_how_long() -> None:
    def answer(world: World, name: str, request: HttpRequest) -> HttpResponse:
        return reply(request, 429, retry_after={"a": "600", "b": "300"}[name])

    world = World(answer)
    fetcher, exits = world.fetcher("ab")
    first, second = [
        await asyncio.gather(fetcher.fetch("http://h.example/"), return_exceptions=True) for _ in "ab"
    ]
    assert [one.retry_after_s for one in (*first, *second) if isinstance(one, FetchError)] == [None, 300]
    with pytest.raises(FetchError) as caught:
        await fetcher.fetch("http://h.example/")
    error = caught.value
    assert (error.failure_class, error.detail, error.retry_after_s) == ("rate_limited", "proxy", 300)
    assert f"proxy 1 ({exits.all[0].id}) 600 s (rate_limited), proxy 2" in str(error)
    assert len(world.sent) == 2


async def test_each_exit_has_its_own_turns_of_a_host() -> None:
    world = World()
    fetcher, _ = world.fetcher("ab", requests_per_second=1)
    await asyncio.gather(*(fetcher.fetch("http://h.example/") for _ in range(4)))
    assert (sorted(world.used), world.clock.now) == (list("aabb"), 1_001)


async def test_a_block_that_another_worker_met_sends_requests_to_a_free_exit() -> None:
    world, budget = World(), ProcessBudget()
    budget._clock = world.clock
    fetcher, exits = world.fetcher("ab", budget=budget)
    await fetcher.fetch("http://other.example/")
    await budget.block(f"h.example:80 through {exits.all[1].id}", 60)
    assert [await outcome(fetcher, "http://h.example/") for _ in range(3)] == ["a"] * 3
    assert world.clock.now == 1_000


async def test_answers_are_kept_for_each_exit() -> None:
    world = World()
    fetcher, _ = world.fetcher("ab", cache=CachePolicy(max_age_s=600))
    found = [await outcome(fetcher, "http://h.example/") for _ in range(4)]
    assert (found, world.used) == (list("abab"), "ab")


async def test_a_login_keeps_its_exit_until_that_is_broken_and_then_stays_with_the_next() -> None:
    broken: set[str] = set()

    def answer(world: World, name: str, request: HttpRequest) -> HttpResponse:
        if name in broken:
            raise fault(request)
        return welcome(world, name, request)

    world = World(answer)
    fetcher, exits = world.fetcher("abcd")
    asked = HttpRequest(url="http://h.example/", session=HttpSession(name="shop"))
    found = [await outcome(fetcher, asked if number % 2 else "http://h.example/") for number in range(16)]
    first = found[1]
    assert set(found[1::2]) == {first}
    assert len(set(found)) == 4
    broken.add(first)
    with capture_logs() as logs:
        found = [await outcome(fetcher, asked) for _ in range(4)]
    assert found[0] == "connect"
    second = found[1]
    assert found[1:] == [second] * 3
    assert second != first
    broken.clear()
    world.clock.now += 60
    assert {await outcome(fetcher, asked) for _ in range(4)} == {second}
    assert [line["event"] for line in logs] == ["proxy.rested", "session.moved"]
    assert [subject for subject, _ in exits.take_news()][1] == "proxy of session 'shop'"
    assert exits.take_news() == ()


async def test_a_login_has_the_same_exit_in_every_process() -> None:
    asked = HttpRequest(url="http://h.example/", session=HttpSession(name="shop"))
    first, second = [await outcome(World().fetcher("abcdefgh")[0], asked) for _ in range(2)]
    assert first == second


async def test_a_limit_of_the_account_does_not_move_the_login() -> None:
    def answer(world: World, name: str, request: HttpRequest) -> HttpResponse:
        return reply(request, 429, retry_after="1") if len(world.sent) == 1 else welcome(world, name, request)

    world = World(answer)
    fetcher, _ = world.fetcher()
    asked = HttpRequest(url="http://h.example/", session=HttpSession(name="shop"))
    with pytest.raises(FetchError) as caught:
        await fetcher.fetch(asked)
    assert caught.value.retry_after_s == 1
    await fetcher.fetch(asked)
    assert (len(set(world.used)), world.clock.now) == (1, 1_001)


async def test_cookies_return_through_the_exit_they_came_from() -> None:
    def answer(_: World, name: str, request: HttpRequest) -> HttpResponse:
        return HttpResponse(
            url=request.url, status=200, headers=Headers(), body=b"", set_cookies=(f"visitor={name}; Path=/",)
        )

    world = World(answer)
    fetcher, _ = world.fetcher()
    run = fetcher.with_cookies(SiteCookies())
    for _ in range(6):
        await run.fetch("http://h.example/")
    cookies = [(name, request.headers.get("cookie")) for name, request in world.sent]
    assert cookies[:3] == [("a", None), ("b", None), ("c", None)]
    assert cookies[3:] == [(name, f"visitor={name}") for name in "abc"]


async def test_the_rules_of_a_site_are_read_through_another_exit_if_one_is_refused() -> None:
    def answer(world: World, name: str, request: HttpRequest) -> HttpResponse:
        if name == "a":
            return reply(request, 429)
        body = b"User-agent: *\nDisallow: /private" if request.url.endswith("robots.txt") else name.encode()
        return reply(request, body=body)

    world = World(answer)
    fetcher, _ = world.fetcher("abc", obey_robots=True)
    assert await outcome(fetcher, "http://h.example/private") == "robots_denied"
    assert await outcome(fetcher, "http://h.example/open") in "bc"


async def test_a_407_over_http_counts_for_its_host_first() -> None:
    def answer(world: World, name: str, request: HttpRequest) -> HttpResponse:
        return reply(request, 407) if name == "a" else welcome(world, name, request)

    world = World(answer)
    fetcher, exits = world.fetcher("ab")
    with pytest.raises(FetchError, match="refused with status 407") as caught:
        await fetcher.fetch("http://h.example/")
    assert (caught.value.failure_class, caught.value.detail, caught.value.status) == ("connect", "proxy", 407)
    assert [await outcome(fetcher, "http://h.example/") for _ in range(3)] == ["b"] * 3
    assert exits.all[0].health.whole is None
    for number in range(8):
        await outcome(fetcher, f"http://other{number}.example/")
    assert world.used.count("a") == 3


async def test_statistics_say_what_went_through_each_exit() -> None:
    def answer(world: World, name: str, request: HttpRequest) -> HttpResponse:
        if name == "b":
            raise fault(request)
        return reply(request, body=b"12345")

    world = World(answer)
    fetcher, exits = world.fetcher("ab")
    for _ in range(4):
        await outcome(fetcher, "http://h.example/")
    one, other = exits.statistics()
    assert one == {
        "proxy": 1,
        "id": exits.all[0].id,
        "requests": 3,
        "failures": {},
        "received_bytes": 15,
        "last_failure": "",
    }
    assert (other["requests"], other["failures"], other["last_failure"]) == (1, {"connect": 1}, "connect")
    with capture_logs() as logs:
        await exits.aclose()
    assert [(line["event"], line["proxy"], line["request_count"]) for line in logs] == [
        ("proxy.used", 1, 3),
        ("proxy.used", 2, 1),
    ]
    assert sorted(world.closed) == ["a", "b"]


LIST = f"""
# residential
http://me:{PASSWORD}@a.example:3128
  b.example:3128
c.example:3128:me:{PASSWORD}@!/
http://me:{PASSWORD}2@a.example:3128
"""


async def test_a_secret_holds_a_list_and_nothing_shows_its_content() -> None:
    def answer(world: World, name: str, request: HttpRequest) -> HttpResponse:
        raise FetchError(request.url, "connect", f"no way through http://me:{PASSWORD}@x", detail=PROXY)

    world = World(answer)
    world.secrets["EU"] = LIST
    fetcher, exits = world.fetcher(proxies="${secrets.EU}")
    shown = []
    with capture_logs() as logs:
        for _ in range(4):
            with pytest.raises(FetchError) as caught:
                await fetcher.fetch("http://h.example/")
            shown.append(str(caught.value))
    assert world.used == "abca"
    assert len({one.id for one in exits.all}) == 4
    urls = [one.url.get_secret_value() for one in exits.all]
    assert urls[2] == f"http://me:{PASSWORD}%40%21%2F@c.example:3128"
    told = f"{shown} {logs} {exits.all!r} {exits.take_news()} {exits.statistics()} {fetcher.policy!r}"
    assert PASSWORD not in told
    assert ".example:3128" not in told


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it has none"),
        ("# none\n\n", "it has none"),
        (f"http://a.example:1\n\nftp://me:{PASSWORD}@b.example:2", "line 3: it is not a proxy URL"),
        (f"{PASSWORD}", "line 1: it is not a proxy URL"),
        (f"socks5://me:{PASSWORD}@b.example:2", "line 1: aiohttp does not support socks5"),
    ],
)
async def test_a_secret_that_is_no_list_is_refused_without_its_content(text: str, reason: str) -> None:
    world = World()
    world.secrets["EU"] = text
    fetcher, _ = world.fetcher(proxies=["${secrets.EU}"])
    with pytest.raises(InvalidProxyError, match=reason) as caught:
        await fetcher.fetch("http://h.example/")
    assert PASSWORD not in str(caught.value)
    assert world.sent == []


async def test_nothing_goes_out_where_secrets_cannot_be_read() -> None:
    world = World()
    exits = Exits(HttpPolicy.model_validate({"proxies": "${secrets.EU}"}), open_transport=world.open)
    with pytest.raises(MissingProxyError):
        await exits.choose("http://h.example/")


def test_a_transport_refuses_a_policy_with_several_proxies() -> None:
    with pytest.raises(SettingsError, match="open_fetcher"):
        open_transport(HttpPolicy.model_validate({"proxies": ["http://a.example:1"]}))


async def test_a_list_that_changed_is_read_again() -> None:
    world = World()
    world.secrets["EU"] = "a.example:1\nb.example:1"
    fetcher, exits = world.fetcher(proxies="${secrets.EU}")
    await fetcher.fetch("http://h.example/")
    kept = exits.all[1]
    world.secrets["EU"] = "c.example:1\nb.example:1"
    world.clock.now += READ_AGAIN_S
    for _ in range(4):
        await fetcher.fetch("http://h.example/")
    assert sorted(world.used[1:]) == list("bbcc")
    assert exits.all[1] is kept
    await exits.aclose()
    assert sorted(world.closed) == list("abc")


async def test_a_list_that_cannot_be_read_again_is_kept_unless_it_was_removed() -> None:
    world = World()
    world.secrets["EU"] = "a.example:1"
    fetcher, _ = world.fetcher(proxies="${secrets.EU}")
    await fetcher.fetch("http://h.example/")
    world.secrets["EU"] = f"this is no list {PASSWORD}"
    world.clock.now += READ_AGAIN_S
    with capture_logs() as logs:
        for _ in range(3):
            await fetcher.fetch("http://h.example/")
    assert [line["event"] for line in logs] == ["proxies.unreadable"]
    assert PASSWORD not in str(logs)
    del world.secrets["EU"]
    world.clock.now += READ_AGAIN_S
    with pytest.raises(UnknownSecretError):
        await fetcher.fetch("http://h.example/")


async def test_an_answer_that_came_past_the_proxies_is_judged_and_blocks_none() -> None:
    world = World()
    fetcher, exits = world.fetcher("ab")
    await fetcher.fetch("http://h.example/")
    asked = HttpRequest(url="http://h.example/")
    await fetcher.judge(asked, reply(asked))
    with pytest.raises(FetchError, match="429"):
        await fetcher.judge(asked, reply(asked, 429, retry_after="60"))
    assert [one.failures.total() for one in exits.all] == [0, 0]
    assert await outcome(fetcher, asked) == "b"
    with pytest.raises(ValueError, match=r"exits\.choose"):
        async with fetcher.turn("http://h.example/"):
            pass


async def test_the_id_of_a_proxy_in_a_list_depends_on_its_secret_and_its_place() -> None:
    found = {}
    for name in ("EU", "US"):
        world = World()
        world.secrets[name] = "a.example:1\nb.example:1\nc.example:1"
        exits = world.exits(proxies=[f"${{secrets.{name}}}"])
        await exits.choose("http://h.example/")
        found[name] = [one.id for one in exits.all]
    assert len({*found["EU"], *found["US"]}) == 6

    world = World()
    world.secrets |= {"EU": "d.example:1\ne.example:1", "US": "f.example:1\ng.example:1"}
    exits = world.exits(proxies=["${secrets.EU}", "${secrets.US}"])
    await exits.choose("http://h.example/")
    assert [one.id for one in exits.all] == [*found["EU"][:2], *found["US"][:2]]
