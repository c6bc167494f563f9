"""A site's rules for crawlers: robots.txt (RFC 9309), and the directives of a page."""

from __future__ import annotations

import asyncio
import re
import zlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from html import unescape
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from agentic.core.http.charsets import decode_robots
from agentic.core.http.errors import FailureClass, FetchError, reason_in
from agentic.core.http.messages import HttpResponse
from agentic.core.http.politeness.robots_file import AgentRules, RobotsFile
from agentic.core.http.politeness.slots import idle
from agentic.core.http.transports.unpacking import GZIP_MAGIC, TooManyMembersError, Unpacker
from agentic.core.http.urls import origin_of
from agentic.core.logging import get_logger
from agentic.core.settings import safe_url

if TYPE_CHECKING:
    from protego import Protego

log = get_logger(__name__)

KEPT_S = 3_600.0  # RFC 9309 allows a day; an hour lets a site's correction take effect sooner
KEPT_UNREADABLE_S = 60.0
MAX_ORIGINS = 1_000
MAX_KEPT_CHARACTERS = 8_000_000  # of all origins together; parsed, they take about ten times as much
MAX_CHARACTERS = 512_000  # the RFC asks for at least 500 KiB
MAX_CRAWL_DELAY_S = 60.0
MAX_BYTES = 4 * MAX_CHARACTERS  # a character of UTF-8 has up to four
SMALL_BYTES = 32 * 1024  # read in a few milliseconds; more is read in a thread
COSTLY_CHARACTERS = 2_000_000  # of URL times rules with wildcards: takes a few milliseconds
# Characters that no editor shows and no path has: control characters other than white space, soft hyphens,
# zero-width spaces, directions, byte order marks (of files that were joined).
_INVISIBLE = re.compile("[\x01-\x08\x0e-\x1b\x7f\xad\u200b-\u200f\u202a-\u202e\u2060\ufeff]+")
_MOJIBAKE = "\u00ef\u00bb\u00bf"  # a byte order mark that was encoded twice
_MARKUP = re.compile(r"\s*<(?:[!?/]|[a-z])", re.IGNORECASE)
_TAGS = re.compile(r"<(?:br|/?p|/?pre|/?div|/?li|/?body|/?html)\b[^<>]{0,200}>", re.IGNORECASE)
# If robots.txt is unreachable for these reasons, so is the page: they say more than "denied".
OF_THE_HOST = frozenset(
    {FailureClass.DNS, FailureClass.CONNECT, FailureClass.TLS, FailureClass.PRIVATE_ADDRESS}
)
TELLING = OF_THE_HOST | {FailureClass.INVALID_URL}


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsRules:
    """The robots.txt of one origin.

    Attributes:
        file: The file; None if missing, so everything is allowed.
        unreadable: Why the file could not be read, so nothing is allowed; otherwise empty.
        expires_at: When to load it again, on the gate's clock.
        size: Characters that were parsed.
        rules: User agent -> its rules, after the first use.
        delays: User agent -> crawl delay, after the first use.
    """

    file: RobotsFile | None = None
    unreadable: str = ""
    expires_at: float
    size: int = 0
    rules: dict[str, AgentRules] = field(default_factory=dict, compare=False, repr=False)
    delays: dict[str, float] = field(default_factory=dict, compare=False, repr=False)

    def rules_for(self, user_agent: str) -> AgentRules | None:
        """Return the rules for one crawler; None without rules."""
        if self.file is None:
            return None
        if (known := self.rules.get(user_agent)) is None:
            known = self.rules[user_agent] = self.file.rules_for(user_agent)
        return known

    def fault(self, user_agent: str) -> str:
        """Return why the rules are unknown; "" if they are known."""
        rules = self.rules_for(user_agent)
        return self.unreadable or (rules.fault if rules else "")

    def allow(self, url: str, user_agent: str) -> bool:
        """Whether ``url`` may be fetched."""
        if self.unreadable:
            return False
        rules = self.rules_for(user_agent)
        return rules is None or (not rules.fault and rules.parser.can_fetch(url, user_agent))

    def is_costly(self, url: str, user_agent: str) -> bool:
        """Whether checking ``url`` takes more than a few milliseconds."""
        rules = self.rules_for(user_agent)
        return rules is not None and rules.pattern_count * len(url) > COSTLY_CHARACTERS

    def crawl_delay_s(self, user_agent: str) -> float:
        """Return the site's seconds between two requests, at most a minute; 0 if none.

        The slower one of ``Crawl-delay`` and ``Request-rate`` counts.
        """
        rules = self.rules_for(user_agent)
        if rules is None:
            return 0.0
        if user_agent not in self.delays:  # called for each page
            self.delays[user_agent] = _crawl_delay_s(rules.parser, user_agent)
        return self.delays[user_agent]

    def sitemaps(self) -> tuple[str, ...]:
        """Return the URLs of the sitemaps the site names, each once, in its order."""
        return tuple(dict.fromkeys(self.file.sitemaps)) if self.file else ()


def _crawl_delay_s(parser: Protego, user_agent: str) -> float:
    rate = parser.request_rate(user_agent)
    wishes = [parser.crawl_delay(user_agent), rate.seconds / rate.requests if rate else None]
    return min(max((wish for wish in wishes if wish and wish > 0), default=0.0), MAX_CRAWL_DELAY_S)


def rules_of(response: HttpResponse, now: float) -> RobotsRules:
    """Read the answer to ``/robots.txt``.

    4xx means no rules; after 429 and 5xx they are unknown, so nothing is allowed for a while.
    """
    status = response.status
    if status == 429 or status >= 500:
        return RobotsRules(unreadable=f"it answered {status}", expires_at=now + KEPT_UNREADABLE_S)
    if status >= 300:
        return RobotsRules(expires_at=now + KEPT_S)
    text = _head(_text_of(response.body))
    if _MARKUP.match(text):
        log.warning("robots.not_text", url=safe_url(response.url), content_type=response.content_type)
        text = unescape(_TAGS.sub("\n", text))
    return RobotsRules(file=RobotsFile(text), expires_at=now + KEPT_S, size=len(text))


def _text_of(body: bytes) -> str:
    """Return a file without what editors and servers leave in it: byte order marks, zeros, gzip."""
    if body.startswith(GZIP_MAGIC):
        body = _unpacked(body)
    text = _INVISIBLE.sub("", decode_robots(body[:MAX_BYTES])).removeprefix(_MOJIBAKE)
    if zeros := text.count("\0"):  # between all characters, or in place of line ends
        text = text.replace("\0", "" if zeros * 4 > len(text) else "\n")
    return text


def _unpacked(body: bytes) -> bytes:
    """Return the start of a file that is packed, although its server does not say so."""
    found, size = [], 0
    try:
        for piece in Unpacker("gzip").feed(body):
            found.append(piece)
            size += len(piece)
            if size > MAX_BYTES:
                break
    except (zlib.error, TooManyMembersError):
        log.warning("robots.damaged", unpacked_bytes=size)
    return b"".join(found)


def _prepared(response: HttpResponse, now: float, user_agent: str) -> RobotsRules:
    """Read the answer, and the rules for one crawler."""
    rules = rules_of(response, now)
    rules.rules_for(user_agent)
    return rules


def _head(text: str) -> str:
    """Return the start of a file, in whole lines: half of ``Disallow: /a`` may forbid all."""
    if len(text) <= MAX_CHARACTERS:
        return text
    return text[: max(text.rfind(end, 0, MAX_CHARACTERS) for end in "\r\n") + 1]


class RobotsGate:
    """Keeps the rules of recently used origins, and loads each once.

    Args:
        load: Fetches a URL with any status, following redirects.
        user_agent: The crawler that the rules are for.
        clock: Monotonic seconds.
    """

    def __init__(
        self, load: Callable[[str], Awaitable[HttpResponse]], user_agent: str, clock: Callable[[], float]
    ) -> None:
        self._load = load
        self._user_agent = user_agent
        self._clock = clock
        self._rules: OrderedDict[str, RobotsRules] = OrderedDict()
        self._kept_characters = 0
        self._loading: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def check(self, url: str) -> float:
        """Return the crawl delay in seconds of the site of ``url``, if ``url`` may be fetched.

        Raises:
            FetchError: It may not, or robots.txt could not be read (``robots_denied``); or the host could not
                be reached at all (``dns``, ``connect``, ``tls``, ``private_address``).
        """
        origin = origin_of(url)
        rules = self._fresh(origin) or await self._rules_for(url, origin)
        if rules.is_costly(url, self._user_agent):
            is_allowed = await asyncio.to_thread(rules.allow, url, self._user_agent)
        else:
            is_allowed = rules.allow(url, self._user_agent)
        if not is_allowed:
            raise self._denial(url, origin, rules)
        return rules.crawl_delay_s(self._user_agent)

    async def sitemaps(self, url: str) -> tuple[str, ...]:
        """Return the URLs of the sitemaps that the site of ``url`` names; none if its rules cannot be read.

        Raises:
            FetchError: The host could not be reached at all, as for :meth:`check`.
        """
        origin = origin_of(url)
        rules = self._fresh(origin) or await self._rules_for(url, origin)
        return rules.sitemaps()

    def _fresh(self, origin: str) -> RobotsRules | None:
        rules = self._rules.get(origin)
        return rules if rules and rules.expires_at > self._clock() else None

    async def _rules_for(self, url: str, origin: str) -> RobotsRules:
        try:
            return await self._ask(origin)
        except FetchError as exc:
            if exc.failure_class not in OF_THE_HOST:
                raise
            # The host cannot be reached: its robots.txt is not the reason, and the user never named it.
            reason = reason_in(str(exc), exc.url)
            raise FetchError(url, exc.failure_class, reason, detail=exc.detail) from exc

    async def _ask(self, origin: str) -> RobotsRules:
        """Load the rules; concurrent callers wait for the first."""
        lock = self._loading.setdefault(origin, asyncio.Lock())
        if lock.locked():
            async with idle():
                await lock.acquire()
        else:
            await lock.acquire()
        try:
            if rules := self._fresh(origin):
                return rules
            rules = await self._read(origin)
            self._keep(origin, rules)
            return rules
        finally:
            lock.release()

    def _keep(self, origin: str, rules: RobotsRules) -> None:
        """Keep the rules, and forget the oldest ones above the limit."""
        if (earlier := self._rules.pop(origin, None)) is not None:
            self._kept_characters -= earlier.size
        self._rules[origin] = rules
        self._kept_characters += rules.size
        while len(self._rules) > MAX_ORIGINS or self._kept_characters > MAX_KEPT_CHARACTERS:
            _, oldest = self._rules.popitem(last=False)
            self._kept_characters -= oldest.size

    async def _read(self, origin: str) -> RobotsRules:
        try:
            response = await self._load(f"{origin}/robots.txt")
            if len(response.body) <= SMALL_BYTES:
                return rules_of(response, self._clock())
            return await asyncio.to_thread(_prepared, response, self._clock(), self._user_agent)
        except FetchError as exc:
            if exc.failure_class in TELLING:
                raise
            log.warning("robots.unreadable", origin=origin, failure_class=exc.failure_class)
            return RobotsRules(unreadable=str(exc), expires_at=self._clock() + KEPT_UNREADABLE_S)

    def _denial(self, url: str, origin: str, rules: RobotsRules) -> FetchError:
        if fault := rules.fault(self._user_agent):
            reason = (
                f"{origin}/robots.txt could not be read ({fault}), so nothing is fetched from there; try "
                "again later, or set obey_robots to false for your own site"
            )
            retry_s = max(rules.expires_at - self._clock(), 0.0)
            return FetchError(url, FailureClass.ROBOTS_DENIED, reason, retry_after_s=retry_s)
        reason = (
            f"{origin}/robots.txt disallows it for {self._user_agent!r}; leave the page out, or set "
            "obey_robots to false for your own site"
        )
        return FetchError(url, FailureClass.ROBOTS_DENIED, reason)


_FORBID_FOLLOWING = frozenset({"nofollow", "none"})
_CRAWLER = re.compile(r"\s*([a-z][\w.-]*)\s*:(.*)", re.ASCII | re.DOTALL)
_WITH_VALUE = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})


def forbids_following(said: str, user_agent: str = "") -> bool:
    """Whether the links of a page must not be followed.

    Args:
        said: ``noindex, nofollow``, or ``otherbot: nofollow``: directives after the name of a crawler are
            only for that crawler.
        user_agent: The crawler: ``shopbot/1.0 (...)``.
    """
    name = user_agent.partition("/")[0].strip().lower()
    is_for_us = True
    for part in said.lower().split(","):
        directive = part
        found = _CRAWLER.match(part)
        if found is not None and found[1] not in _WITH_VALUE:
            is_for_us, directive = found[1] == name, found[2]
        if is_for_us and directive.strip() in _FORBID_FOLLOWING:
            return True
    return False
