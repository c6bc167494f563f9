"""Kept answers: what is kept, what is asked, what is spared."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import replace

import pytest

from agentic.core.http import (
    CachedAnswer,
    CachePolicy,
    CacheUnavailableError,
    Fetcher,
    Headers,
    HttpCache,
    HttpPolicy,
    HttpRequest,
    HttpResponse,
    HttpSession,
    MemoryCache,
    ProcessBudget,
)
from agentic.core.http.caching.cache import ENTRY_BYTES
from agentic.core.http.caching.revalidation import cache_key
from agentic.core.testing.http_cache import KEY, HttpCacheContract, answer


class TestMemoryCache(HttpCacheContract):
    @pytest.fixture
    def cache(self) -> HttpCache:
        return MemoryCache()


async def test_what_was_used_longest_ago_makes_room() -> None:
    one = replace(answer(b""), headers=(), packed=b"x" * 1_000)
    cache = MemoryCache(max_bytes=3 * (ENTRY_BYTES + 1_000))
    for key in "abc":
        await cache.keep(key, one)
    await cache.load("a")
    await cache.keep("d", one)
    await cache.keep("d", one)
    assert [await cache.load(key) is not None for key in "abcd"] == [True, False, True, True]


async def test_what_is_larger_than_all_the_room_is_not_kept() -> None:
    cache = MemoryCache(max_bytes=500)
    await cache.keep(KEY, answer())
    assert await cache.load(KEY) is None


class Site:
    """A page with an ETag, a clock that is turned by hand, and a note of what was asked."""

    def __init__(self, **headers: str) -> None:
        self.body = b"<p>version 1"
        self.headers = {"content-type": "text/html", "etag": '"1"'} | headers
        self.asked: list[dict[str, str]] = []
        self.time = 1_000.0
        self.answer: Callable[[HttpRequest], HttpResponse] = self.honest

    async def send(self, request: HttpRequest, *, timeout_s: float, max_bytes: int) -> HttpResponse:
        self.asked.append({name.lower(): value for name, value in request.headers.items()})
        return self.answer(request)

    def honest(self, request: HttpRequest) -> HttpResponse:
        sent = self.asked[-1]
        is_same = sent.get("if-none-match") == self.headers.get("etag", "-")
        if is_same or sent.get("if-modified-since") == self.headers.get("last-modified", "-"):
            fields = {"x-served": "304", **{k: v for k, v in self.headers.items() if k != "content-type"}}
            return HttpResponse(url=request.url, status=304, headers=Headers(fields.items()), body=b"")
        return HttpResponse(
            url=request.url, status=200, headers=Headers(self.headers.items()), body=self.body
        )

    def fetcher(self, cache: HttpCache | None = None, **caching: float) -> Fetcher:
        policy = HttpPolicy(obey_robots=False, cache=CachePolicy.model_validate(caching))
        fetcher = Fetcher(policy, self, budget=ProcessBudget(), cache=cache or MemoryCache())
        kept = fetcher._way_of(None).kept
        assert kept is not None
        kept._clock = lambda: self.time
        return fetcher


async def test_what_has_not_changed_is_not_sent_again() -> None:
    site = Site()
    fetcher = site.fetcher()
    first, second = [await fetcher.fetch("http://h/a") for _ in range(2)]
    assert (first.is_unchanged, second.is_unchanged) == (False, True)
    assert (second.status, second.body, second.content_type) == (200, first.body, "text/html")
    assert second.headers["x-served"] == "304"
    assert [sent.get("if-none-match") for sent in site.asked] == [None, '"1"']


async def test_without_an_etag_the_time_of_the_last_change_is_asked_about() -> None:
    site = Site(**{"last-modified": "Thu, 01 Jan 2026 12:00:00 GMT"})
    del site.headers["etag"]
    fetcher = site.fetcher()
    responses = [await fetcher.fetch("http://h/a") for _ in range(2)]
    assert responses[1].is_unchanged
    assert site.asked[1]["if-modified-since"] == "Thu, 01 Jan 2026 12:00:00 GMT"


async def test_what_has_changed_is_sent_and_kept() -> None:
    site = Site()
    fetcher = site.fetcher()
    await fetcher.fetch("http://h/a")
    site.body, site.headers["etag"] = b"<p>version 2", '"2"'
    changed = await fetcher.fetch("http://h/a")
    again = await fetcher.fetch("http://h/a")
    assert (changed.is_unchanged, changed.body) == (False, b"<p>version 2")
    assert (again.is_unchanged, again.body) == (True, b"<p>version 2")


async def test_a_young_answer_is_not_asked_about_at_all() -> None:
    site = Site()
    fetcher = site.fetcher(max_age_s=60)
    await fetcher.fetch("http://h/a")
    site.time += 59
    assert (await fetcher.fetch("http://h/a")).is_unchanged
    assert len(site.asked) == 1
    site.time += 2
    await fetcher.fetch("http://h/a")
    site.time += 59  # the 304 made it young again
    await fetcher.fetch("http://h/a")
    assert len(site.asked) == 2


async def test_a_clock_that_was_put_back_makes_nothing_young() -> None:
    site = Site()
    fetcher = site.fetcher(max_age_s=60)
    await fetcher.fetch("http://h/a")
    site.time -= 3_600
    await fetcher.fetch("http://h/a")
    assert len(site.asked) == 2


@pytest.mark.parametrize(("max_age_s", "asked"), [(60, 2), (0, 4)])
async def test_an_answer_without_a_validator_is_kept_for_its_youth_alone(max_age_s: int, asked: int) -> None:
    site = Site()
    del site.headers["etag"]
    fetcher = site.fetcher(max_age_s=max_age_s)
    for _ in range(4):
        await fetcher.fetch("http://h/a")
        site.time += 31  # so that it is young once
    assert site.asked == [{}] * asked


async def test_a_site_that_wants_to_be_asked_each_time_is_asked() -> None:
    site = Site(**{"cache-control": "private, no-cache"})
    fetcher = site.fetcher(max_age_s=60)
    responses = [await fetcher.fetch("http://h/a") for _ in range(2)]
    assert (len(site.asked), responses[1].is_unchanged) == (2, True)


@pytest.mark.parametrize(
    ("name", "value"),
    [("cache-control", "max-age=60, No-Store"), ("vary", "*"), ("vary", "accept, *")],
)
async def test_an_answer_that_is_not_to_be_kept_is_not(name: str, value: str) -> None:
    site = Site(**{name: value})
    fetcher = site.fetcher(max_age_s=60)
    for _ in range(2):
        assert not (await fetcher.fetch("http://h/a")).is_unchanged
    assert [sent for sent in site.asked if sent] == []


@pytest.mark.parametrize(
    "request_",
    [
        HttpRequest(url="http://h/a", session=HttpSession(name="me")),
        HttpRequest(url="http://h/a", headers={"Authorization": "Bearer x"}),
        HttpRequest(url="http://h/a", headers={"cookie": "a=b"}),
        HttpRequest(url="http://h/a", headers={"Range": "bytes=0-1"}),
        HttpRequest(url="http://h/a", method="POST", body=b""),
        HttpRequest(url="http://h/a", method="HEAD"),
        HttpRequest(url="http://me:secret@h/a"),
    ],
    ids=["session", "authorization", "cookie", "range", "post", "head", "password"],
)
async def test_what_is_for_one_asker_is_not_kept_and_not_taken_from_what_is(request_: HttpRequest) -> None:
    site = Site()
    fetcher = site.fetcher(max_age_s=60)
    await fetcher.fetch("http://h/a")
    for _ in range(2):
        assert not (await fetcher.fetch(request_)).is_unchanged
    assert len(site.asked) == 3
    assert all("if-none-match" not in sent for sent in site.asked)


async def test_an_asker_with_conditions_of_its_own_gets_the_304_itself() -> None:
    site = Site()
    fetcher = site.fetcher()
    await fetcher.fetch("http://h/a")
    response = await fetcher.fetch(HttpRequest(url="http://h/a", headers={"If-None-Match": '"1"'}))
    assert (response.status, response.body, response.is_unchanged) == (304, b"", False)


async def test_nothing_is_asked_conditionally_once_the_cache_has_lost_its_entry() -> None:
    site, cache = Site(), MemoryCache(max_bytes=ENTRY_BYTES + 500)
    fetcher = site.fetcher(cache)
    await fetcher.fetch("http://h/a")
    await fetcher.fetch("http://h/b")
    response = await fetcher.fetch("http://h/a")
    assert (response.status, response.body) == (200, site.body)
    assert all("if-none-match" not in sent for sent in site.asked)


async def test_a_damaged_entry_is_fetched_anew() -> None:
    site, cache = Site(), MemoryCache()
    fetcher = site.fetcher(cache)
    key = cache_key(HttpRequest(url="http://h/a"), fetcher.policy.user_agent)
    kept = CachedAnswer(url="http://h/a", headers=(("etag", '"1"'),), packed=b"no zlib", kept_at=site.time)
    await cache.keep(key, kept)
    assert (await fetcher.fetch("http://h/a")).body == site.body
    assert site.asked == [{}]
    assert (await fetcher.fetch("http://h/a")).is_unchanged


async def test_a_cache_that_is_away_changes_nothing_but_the_cost() -> None:
    class Away:
        async def load(self, key: str) -> CachedAnswer | None:
            raise CacheUnavailableError("gone")

        async def keep(self, key: str, answer: CachedAnswer) -> None:
            raise CacheUnavailableError("gone")

    site = Site()
    fetcher = site.fetcher(Away())
    assert [(await fetcher.fetch("http://h/a")).body for _ in range(2)] == [site.body] * 2


async def test_large_bodies_are_not_kept() -> None:
    site = Site()
    fetcher = site.fetcher(max_body_bytes=10)
    for _ in range(2):
        assert not (await fetcher.fetch("http://h/a")).is_unchanged


async def test_a_body_that_is_packed_elsewhere_comes_back_whole() -> None:
    site = Site()
    site.body = bytes(range(256)) * 6_000
    fetcher = site.fetcher()
    assert [(await fetcher.fetch("http://h/a")).body for _ in range(2)] == [site.body] * 2


async def test_cookies_and_what_described_the_way_are_not_kept() -> None:
    site, cache = (
        Site(**{"set-cookie": "a=b", "content-encoding": "gzip", "content-length": "5"}),
        MemoryCache(),
    )
    fetcher = site.fetcher(cache)
    await fetcher.fetch("http://h/a")
    kept = await cache.load(cache_key(HttpRequest(url="http://h/a"), fetcher.policy.user_agent))
    assert kept is not None
    assert {name for name, _ in kept.headers} == {"content-type", "etag"}
    assert zlib.decompress(kept.packed) == site.body


async def test_a_challenge_is_not_kept() -> None:
    site = Site()
    site.body = b"<title>Just a moment...</title><script>window._cf_chl_opt={}</script>"
    cache = MemoryCache()
    fetcher = site.fetcher(cache)
    with pytest.raises(Exception, match="blocked"):
        await fetcher.fetch("http://h/a")
    assert await cache.load(cache_key(HttpRequest(url="http://h/a"), fetcher.policy.user_agent)) is None


async def test_requests_that_a_site_could_tell_apart_are_kept_apart() -> None:
    requests = [
        HttpRequest(url="http://h/a"),
        HttpRequest(url="http://h/a?b"),
        HttpRequest(url="https://h/a"),
        HttpRequest(url="http://h/a", headers={"Accept-Language": "de"}),
        HttpRequest(url="http://h/a", headers={"Accept-Language": "en"}),
    ]
    keys = [cache_key(request, agent) for request in requests for agent in ("one/1", "two/1")]
    assert len(set(keys)) == len(keys)
    same = HttpRequest(url="http://h/a#part", headers={"accept-language": "de"})
    assert cache_key(same, "one/1") == cache_key(requests[3], "one/1")


def test_caching_is_off_unless_asked_for() -> None:
    assert HttpPolicy().caching is None
    assert HttpPolicy(cache="revalidate").caching == CachePolicy()
    assert HttpPolicy.model_validate({"cache": {"max_age_s": 5}}).caching == CachePolicy(max_age_s=5)


async def test_a_session_that_wants_it_has_answers_of_its_own_which_are_always_asked_about() -> None:
    site = Site()
    fetcher = site.fetcher(max_age_s=60)
    mine, theirs = (HttpSession(name=name, keeps_answers=True) for name in ("mine", "theirs"))
    told = [
        (await fetcher.fetch(HttpRequest(url="http://h/a", session=session))).is_unchanged
        for session in (mine, mine, theirs, theirs, None)
    ]
    assert told == [False, True, False, True, False]
    assert len(site.asked) == 5


def test_what_came_by_a_proxy_is_kept_for_those_who_use_it() -> None:
    asked = HttpRequest(url="http://h/")
    ways = ("", "one", "other")
    assert len({cache_key(asked, "bot", way) for way in ways}) == len(ways)
