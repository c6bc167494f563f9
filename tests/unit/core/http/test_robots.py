from __future__ import annotations

import asyncio
import codecs
import gzip
import random
import threading
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from protego import Protego
from structlog.testing import capture_logs

from agentic.core.http import FetchError, Headers, HttpResponse
from agentic.core.http.politeness.robots import (
    KEPT_S,
    KEPT_UNREADABLE_S,
    MAX_CHARACTERS,
    MAX_KEPT_CHARACTERS,
    MAX_ORIGINS,
    RobotsGate,
    RobotsRules,
    rules_of,
)
from agentic.core.http.politeness.robots_file import MAX_PATTERNS
from agentic.core.http.politeness.slots import SLOT

AGENT = "mybot/1.0"
RULES = b"User-agent: *\nDisallow: /private/\n\nUser-agent: mybot\nDisallow: /mine/\nCrawl-delay: 2\n"


def answer(status: int, body: bytes = b"") -> HttpResponse:
    return HttpResponse(url="http://h/robots.txt", status=status, headers=Headers(), body=body)


class Robots:
    """Answers to /robots.txt as they are set, and a clock that is turned by hand."""

    def __init__(self, now: HttpResponse | FetchError) -> None:
        self.now = now
        self.asked: list[str] = []
        self.time = 0.0
        self.gate = RobotsGate(self.load, AGENT, lambda: self.time)

    async def load(self, url: str) -> HttpResponse:
        self.asked.append(url)
        await asyncio.sleep(0)
        if isinstance(self.now, FetchError):
            raise self.now
        return self.now

    async def failure_class(self, url: str) -> str:
        try:
            await self.gate.check(url)
        except FetchError as exc:
            return exc.failure_class
        return "none"


class NoteLeaving:
    """A slot that notes who leaves it."""

    def __init__(self, note: Callable[[], object]) -> None:
        self.task: asyncio.Task[object] | None = None
        self.is_begun = False
        self._note = note

    def leave(self) -> None:
        self._note()

    def enter(self) -> None:
        pass

    async def enter_in_turn(self) -> None:
        pass


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451])
def test_a_site_without_a_readable_robots_txt_allows_everything(status: int) -> None:
    assert rules_of(answer(status), 0).allow("http://h/private/x", AGENT)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_site_that_cannot_answer_now_allows_nothing(status: int) -> None:
    assert not rules_of(answer(status), 0).allow("http://h/", AGENT)


@pytest.mark.parametrize("body", [b"", b"<html>not found</html>", b"\x00\xff" * 1000, b"Disallow: /"])
def test_a_file_without_rules_allows_everything(body: bytes) -> None:
    assert rules_of(answer(200, body), 0).allow("http://h/private/x", AGENT)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_a_file_that_is_too_long_is_read_to_the_end_of_its_last_whole_line(end: bytes) -> None:
    told = b"User-agent: *" + end + b"Disallow: /private/" + end
    last = end + b"Disallow: /"
    filler = b"#" * (MAX_CHARACTERS - len(told) - len(last))
    rules = rules_of(answer(200, told + filler + last + b"b" + end), 0)
    assert rules.allow("http://h/a", AGENT)  # what is cut off there would forbid the whole site
    assert not rules.allow("http://h/private/x", AGENT)


SECRET = "User-agent: *\nDisallow: /secret/\nSitemap: http://h/s.xml\n"
SPELLINGS = {
    "a mark of UTF-8": codecs.BOM_UTF8 + SECRET.encode(),
    "one line": SECRET.replace("\n", " ").encode(),
    "written line ends": SECRET.replace("\n", "\\r\\n").encode(),
    "typographic signs": SECRET.replace("-", "\u2011").replace(":", "\uff1a", 2).encode(),
    "an underscore": SECRET.replace("-", "_").encode(),
    "two marks": codecs.BOM_UTF8 * 2 + SECRET.encode(),
    "a mark encoded twice": codecs.BOM_UTF8.decode("latin-1").encode() + SECRET.encode(),
    "a mark in the middle": b"# joined\n" + codecs.BOM_UTF8 + SECRET.encode(),
    "UTF-16 LE": SECRET.encode("utf-16"),
    "UTF-16 BE": codecs.BOM_UTF16_BE + SECRET.encode("utf-16-be"),
    "UTF-16 LE without a mark": SECRET.encode("utf-16-le"),
    "UTF-16 BE without a mark": SECRET.encode("utf-16-be"),
    "UTF-32": SECRET.encode("utf-32"),
    "UTF-16 behind ASCII": b"# joined\n\n" + SECRET.encode("utf-16-le"),
    "CR": SECRET.replace("\n", "\r").encode(),
    "CR LF": SECRET.replace("\n", "\r\n").encode(),
    "CR CR LF": SECRET.replace("\n", "\r\r\n").encode(),
    "line separators": SECRET.replace("\n", "\u2028").encode(),
    "next lines": SECRET.replace("\n", "\x85").encode(),
    "zeros as line ends": SECRET.replace("\n", "\0").encode(),
    "zeros before line ends": SECRET.replace("\n", "\0\0\n").encode(),
    "zeros at the start": b"\0\0" + SECRET.encode(),
    "empty lines first": b"\r\n \t\n" + SECRET.encode(),
    "indented": SECRET.replace("\n", "\n\t ").encode(),
    "hard spaces": SECRET.replace(" ", "\xa0").encode(),
    "hard spaces of latin-1 in a comment": b"#\xa0caf\xe9\n" + SECRET.encode(),
    "zero-width spaces": SECRET.replace("\n", "\u200b\n").encode(),
    "control characters": SECRET.replace("D", "\x01D").encode() + b"\x1a",
    "gzip": gzip.compress(SECRET.encode()),
    "half a gzip": gzip.compress(SECRET.encode() + random.Random(1).randbytes(5_000))[:-3_000],
    "preformatted": f"<html><body><pre>{SECRET}</pre></body></html>".encode(),
    "lines of HTML": f"<!DOCTYPE html><p>{SECRET.replace(chr(10), '<br />')}</p>".encode(),
    "no end of the last line": SECRET.rstrip().encode(),
}


@pytest.mark.parametrize("body", SPELLINGS.values(), ids=SPELLINGS)
def test_a_file_is_obeyed_however_an_editor_saved_it(body: bytes) -> None:
    rules = rules_of(answer(200, body), 0)
    assert not rules.allow("http://h/secret/x", AGENT)
    assert rules.allow("http://h/ok", AGENT)
    assert rules.sitemaps() == ("http://h/s.xml",)


@pytest.mark.parametrize("path", ["/caf%C3%A9/x", "/café/x"])
def test_a_rule_in_utf_8_is_for_its_url(path: str) -> None:
    rules = rules_of(answer(200, "User-agent: *\nDisallow: /café/\n".encode()), 0)
    assert not rules.allow(f"http://h{path}", AGENT)


def test_a_rule_in_another_charset_is_for_the_bytes_of_its_url() -> None:
    rules = rules_of(answer(200, "User-agent: *\nDisallow: /café/\n".encode("latin-1")), 0)
    assert not rules.allow("http://h/caf%E9/x", AGENT)
    assert rules.allow("http://h/caf%C3%A9/x", AGENT)


@pytest.mark.parametrize(
    "body",
    [
        b"<!DOCTYPE html><html><body>Page not found. Disallow: /</body></html>",
        b"\xef\xbb\xbf\n<html><script>var a = {disallow: '/'}</script></html>",
        b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>',
    ],
)
def test_a_page_in_place_of_the_file_allows_everything_with_a_warning(body: bytes) -> None:
    with capture_logs() as logs:
        assert rules_of(answer(200, body), 0).allow("http://h/private/x", AGENT)
    assert [(entry["event"], entry["url"]) for entry in logs] == [("robots.not_text", "http://h/robots.txt")]


def test_a_packed_file_that_grows_is_read_to_the_limit() -> None:
    body = gzip.compress(SECRET.encode() + b"#" * 50_000_000)
    rules = rules_of(answer(200, body), 0)
    assert not rules.allow("http://h/secret/x", AGENT)
    assert rules.size <= MAX_CHARACTERS


async def test_the_rules_for_our_name_count_before_those_for_all() -> None:
    robots = Robots(answer(200, RULES))
    assert await robots.failure_class("http://h/mine/x") == "robots_denied"
    assert await robots.failure_class("http://h/private/x") == "none"


async def test_a_denial_says_whose_rule_it_is_and_what_can_be_done() -> None:
    with pytest.raises(FetchError, match=r"http://h:80/robots\.txt disallows it for 'mybot/1\.0'; leave"):
        await Robots(answer(200, RULES)).gate.check("http://h/mine/x")


async def test_the_crawl_delay_is_handed_on() -> None:
    assert await Robots(answer(200, RULES)).gate.check("http://h/") == 2


@pytest.mark.parametrize(
    ("agent", "is_ours"),
    [
        ("TestBot/9.1", True),
        ("testbot/2.0 # that one", True),
        ("OtherBot/9.1", False),
        ("Mozilla/5.0 (compatible; OtherBot)", False),
    ],
)
def test_the_version_of_a_crawler_does_not_matter(agent: str, is_ours: bool) -> None:
    body = f"User-agent: {agent}\nDisallow: /ours/\n\nUser-agent: *\nDisallow: /all/".encode()
    rules = rules_of(answer(200, body), 0)
    assert rules.allow("http://h/ours/x", "TestBot/1.0") is not is_ours
    assert rules.allow("http://h/all/x", "TestBot/1.0") is is_ours


@pytest.mark.parametrize(
    ("written", "delay_s"),
    [("1,5", 1.5), ("10s", 10), ("10 seconds", 10), ("2.5 sec", 2.5), ("ten", 0), ("-5", 0), ("nan", 0)],
)
def test_a_crawl_delay_is_read_with_its_unit(written: str, delay_s: float) -> None:
    rules = rules_of(answer(200, f"User-agent: *\nCrawl-delay: {written}".encode()), 0)
    assert rules.crawl_delay_s(AGENT) == delay_s


async def test_an_absurd_crawl_delay_is_cut_to_a_minute() -> None:
    robots = Robots(answer(200, b"User-agent: *\nCrawl-delay: 86400\n"))
    assert await robots.gate.check("http://h/") == 60


async def test_an_origin_is_asked_once_even_by_many_at_once() -> None:
    robots = Robots(answer(200, RULES))
    await asyncio.gather(*(robots.gate.check(f"http://h/{number}") for number in range(20)))
    assert robots.asked == ["http://h:80/robots.txt"]


async def test_who_waits_for_the_file_that_another_loads_leaves_its_slot_to_others() -> None:
    answered = asyncio.Event()
    left: list[str] = []
    somebody_left = asyncio.Event()

    async def load(_: str) -> HttpResponse:
        await answered.wait()
        return answer(200, RULES)

    def leaves(name: str) -> None:
        left.append(name)
        somebody_left.set()

    gate = RobotsGate(load, AGENT, lambda: 0.0)

    async def page(name: str) -> None:
        slot = NoteLeaving(partial(leaves, name))
        slot.task = asyncio.current_task()
        SLOT.set(slot)
        await gate.check(f"http://h/{name}")

    pages = [asyncio.create_task(page(name)) for name in ("loads", "waits")]
    async with asyncio.timeout(10):
        await somebody_left.wait()
    answered.set()
    await asyncio.gather(*pages)
    assert left == ["waits"]


async def test_each_origin_has_its_own_file() -> None:
    robots = Robots(answer(404))
    for url in ("http://h/", "https://h/", "http://h:8080/", "http://o/"):
        await robots.gate.check(url)
    assert len(robots.asked) == 4


async def test_rules_are_read_again_when_they_are_old() -> None:
    robots = Robots(answer(404))
    await robots.gate.check("http://h/mine/x")
    robots.now = answer(200, RULES)
    robots.time = KEPT_S - 1
    assert await robots.failure_class("http://h/mine/x") == "none"
    robots.time = KEPT_S + 1
    assert await robots.failure_class("http://h/mine/x") == "robots_denied"


async def test_an_unreadable_file_denies_for_a_minute_and_says_for_how_long() -> None:
    robots = Robots(FetchError("http://h:80/robots.txt", "timeout", "no answer"))
    with pytest.raises(FetchError, match="could not be read") as caught:
        await robots.gate.check("http://h/")
    assert (caught.value.failure_class, caught.value.retry_after_s) == ("robots_denied", KEPT_UNREADABLE_S)
    robots.now = answer(404)
    assert await robots.failure_class("http://h/") == "robots_denied"
    robots.time = KEPT_UNREADABLE_S + 1
    assert await robots.failure_class("http://h/") == "none"


@pytest.mark.parametrize("word", ["dns", "connect", "tls", "private_address"])
async def test_a_host_that_cannot_be_reached_at_all_is_reported_as_that(word: str) -> None:
    robots = Robots(FetchError("http://h:80/robots.txt", word, "no way", detail="proxy"))
    assert await robots.failure_class("http://h/") == word
    with pytest.raises(FetchError) as caught:  # the message names what the user asked for
        await robots.gate.check("http://h/a")
    assert str(caught.value) == f"http://h/a was not fetched ({word}, proxy): no way"


@pytest.mark.parametrize(
    ("lines", "delay_s"),
    [
        ("Crawl-delay: 2", 2),
        ("Request-rate: 1/10s", 10),
        ("Request-rate: 2/1m", 30),
        ("Request-rate: 5/1\nCrawl-delay: 3", 3),
        ("Request-rate: 1/10\nCrawl-delay: 3", 10),
        ("Request-rate: 1/1d", 60),
        ("Request-rate: 0/5\nCrawl-delay: -1", 0),
        ("Crawl-delay: nan", 0),
        ("Allow: /", 0),
    ],
)
async def test_the_slower_of_crawl_delay_and_request_rate_counts(lines: str, delay_s: float) -> None:
    robots = Robots(answer(200, f"User-agent: *\n{lines}\n".encode()))
    assert await robots.gate.check("http://h/") == delay_s


async def test_the_sitemaps_a_site_names_are_told_once_each_whoever_asks() -> None:
    text = b"Sitemap: http://h/b.xml\nUser-agent: other\nDisallow: /\nSitemap: http://h/a.xml\n"
    robots = Robots(answer(200, text + text))
    assert await robots.gate.sitemaps("http://h/some/page") == ("http://h/b.xml", "http://h/a.xml")
    await robots.gate.check("http://h/")
    assert len(robots.asked) == 1


@pytest.mark.parametrize("status", [404, 503])
async def test_a_site_without_rules_names_no_sitemap(status: int) -> None:
    assert await Robots(answer(status)).gate.sitemaps("http://h/") == ()


async def test_the_rules_of_many_large_files_do_not_pile_up() -> None:
    line = b"User-agent: *\nDisallow: /private\n# " + b"x" * (MAX_KEPT_CHARACTERS // 20)
    robots = Robots(answer(200, line))
    for number in range(25):
        await robots.gate.check(f"http://h{number}/")
    for number in (24, 0):
        await robots.gate.check(f"http://h{number}/")
    assert len(robots.asked) == 26


async def test_the_rules_of_many_small_files_do_not_pile_up() -> None:
    robots = Robots(answer(404))
    for number in (*range(MAX_ORIGINS + 1), MAX_ORIGINS, 0):
        await robots.gate.check(f"http://h{number}/")
    assert len(robots.asked) == MAX_ORIGINS + 2


async def test_rules_read_anew_are_counted_once() -> None:
    robots = Robots(answer(200, b"#" * (MAX_KEPT_CHARACTERS // 20)))
    await robots.gate.check("http://other/")
    for _ in range(30):
        robots.time += KEPT_S + 1
        await robots.gate.check("http://h/")
    robots.time = 0
    await robots.gate.check("http://other/")
    assert robots.asked.count("http://other:80/robots.txt") == 1


async def test_many_crawlers_times_many_rules_are_read_for_one_crawler() -> None:
    """Kept for each crawler they would be 100 million rules."""
    names = "".join(f"User-agent: bot{number}\n" for number in range(10_000))
    lines = "".join(f"Disallow: /{number:x}/\n" for number in range(10_000))
    robots = Robots(answer(200, (names + "User-agent: *\n" + lines).encode()))
    assert await robots.failure_class("http://h/1a/") == "robots_denied"
    assert await robots.failure_class("http://h/zz/") == "none"


async def test_a_file_of_too_many_wildcards_denies_and_says_why() -> None:
    lines = "".join(f"Disallow: /*{number:x}\n" for number in range(MAX_PATTERNS + 1))
    robots = Robots(answer(200, f"User-agent: *\n{lines}".encode()))
    with pytest.raises(FetchError, match=r"5001 rules with \* or \$; the limit is 5000") as caught:
        await robots.gate.check("http://h/a")
    assert caught.value.failure_class == "robots_denied"


async def test_wildcards_of_other_crawlers_do_not_count() -> None:
    lines = "".join(f"Disallow: /*{number:x}\n" for number in range(MAX_PATTERNS + 1))
    robots = Robots(answer(200, f"User-agent: other\n{lines}User-agent: *\nDisallow: /b\n".encode()))
    assert await robots.failure_class("http://h/a1") == "none"
    assert await robots.failure_class("http://h/b") == "robots_denied"


async def test_a_long_url_under_many_wildcards_is_judged_beside_the_event_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: list[bool] = []
    original = RobotsRules.allow

    def allow(rules: RobotsRules, url: str, agent: str) -> bool:
        threads.append(threading.current_thread() is threading.main_thread())
        return original(rules, url, agent)

    monkeypatch.setattr(RobotsRules, "allow", allow)
    lines = "".join(f"Disallow: /*{number:x}x\n" for number in range(MAX_PATTERNS))
    robots = Robots(answer(200, f"User-agent: *\n{lines}".encode()))
    for path in ("short", "a" * 8_000):
        await robots.gate.check(f"http://h/{path}")
    assert threads == [True, False]


AGENT_LINES = st.sampled_from(
    [
        "User-agent: *",
        "User-Agent: mybot",
        "useragent bot",
        "User-agent: my*",
        "user agent:other",
        "User-agent:",
    ]
)
RULE_LINES = st.sampled_from(
    [
        "Disallow: /a",
        "Allow: /a/b",
        "disalow /c",
        "Disallow:",
        "Disallow: /*x$",
        "allow: /index.html",
        "Crawl-delay: 2",
        "Request-rate: 1/5",
        "Sitemap: http://h/s.xml",
        "Host: h",
        "Unknown: y",
        "unknown y",
        "Noindex:z",
        "# nothing",
        "",
    ]
)


@given(st.lists(AGENT_LINES | RULE_LINES, max_size=25))
def test_the_rules_of_one_crawler_are_those_that_protego_finds_among_all(lines: list[str]) -> None:
    text = "\n".join(lines)
    whole = Protego.parse(text)
    rules = rules_of(answer(200, text.encode()), 0)
    for agent in (AGENT, "otherbot", "bot"):
        for path in ("/", "/a", "/a/b", "/c", "/d/x", "/index.html"):
            assert rules.allow(f"http://h{path}", agent) == whole.can_fetch(f"http://h{path}", agent)
        parser = (rules.rules_for(agent) or pytest.fail("no rules")).parser
        assert parser.crawl_delay(agent) == whole.crawl_delay(agent)
        assert parser.request_rate(agent) == whole.request_rate(agent)
    assert rules.sitemaps() == tuple(dict.fromkeys(whole.sitemaps))
