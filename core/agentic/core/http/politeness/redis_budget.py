"""The budget of hosts that all workers share, kept in a Redis or Valkey server."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple, cast
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit
from weakref import WeakKeyDictionary

from agentic.core.http.politeness.budget import TAKEN, BudgetUnavailableError, ProcessBudget, Turn
from agentic.core.logging import get_logger
from agentic.core.settings import safe_url

if TYPE_CHECKING:
    from redis.asyncio import Redis

log = get_logger(__name__)

KEY_PREFIX = "agentic:budget:"
TIMEOUT_S = 5.0
# Times are microseconds on the server's clock, so the workers' clocks need not agree. `%.0f`, because Lua
# writes them with 14 digits. A key expires a second after its last wait has ended. It has `blocked`, and
# for each interval the last turn of a client with that interval: see `HostTimes`.
SCRIPT = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval, block = tonumber(ARGV[1]), tonumber(ARGV[2])
local kept = redis.call('HGETALL', KEYS[1])
local blocked, due_at, ends_at, covered = 0, 0, 0, {}
for i = 1, #kept, 2 do
    local other, at = tonumber(kept[i]), tonumber(kept[i + 1])
    if other then
        due_at = math.max(due_at, at + math.min(other, interval))
        if other > interval and at + other > now then
            ends_at = math.max(ends_at, at + other)
        else
            covered[#covered + 1] = kept[i]
        end
    elseif kept[i] == 'blocked' then
        blocked = at
    end
end
if block > 0 then
    blocked = math.max(blocked, now + block)
    redis.call('HSET', KEYS[1], 'blocked', string.format('%.0f', blocked))
else
    local rest = math.max(blocked - now, 0)
    local wait = math.max(due_at - now, rest)
    if wait > 0 then
        return {wait, rest}
    end
    if interval <= 0 then
        return {0, 0}
    end
    if #covered > 0 then
        redis.call('HDEL', KEYS[1], unpack(covered))
    end
    redis.call('HSET', KEYS[1], string.format('%.0f', interval), string.format('%.0f', now))
    ends_at = math.max(ends_at, now + interval)
end
local left = math.ceil((math.max(ends_at, blocked) - now) / 1000) + 1000
if redis.call('PTTL', KEYS[1]) < left then
    redis.call('PEXPIRE', KEYS[1], left)
end
return {0, 0}
"""


class RedisBudget:
    """Implements :class:`~agentic.core.http.HostBudget` for all processes that use one server.

    Each event loop has one connection; questions that come while it waits for an answer are sent together
    afterwards. Close it with :meth:`aclose` on the loop that used it.

    Args:
        url: ``redis://``, ``rediss://`` or ``unix://``.
        prefix: Prefix of the keys.
    """

    def __init__(self, url: str, *, prefix: str = KEY_PREFIX) -> None:
        self._url = url
        self._server = safe_url(url)
        self._prefix = prefix
        self._lines: WeakKeyDictionary[asyncio.AbstractEventLoop, _Line] = WeakKeyDictionary()
        self._lock = Lock()
        self._known = ProcessBudget()  # known blocks: they count at once, without a question
        self._down_since: float | None = None

    async def take(self, host: str, interval_s: float) -> Turn:
        """See :meth:`HostBudget.take`."""
        known = await self._known.take(host, 0)
        if known.wait_s > 0:
            return known
        turn = await self._ask(_Question(self._prefix + host, _microseconds(interval_s), 0))
        if turn.blocked_s > 0:
            await self._known.block(host, turn.blocked_s)
        return turn

    async def block(self, host: str, seconds: float) -> None:
        """See :meth:`HostBudget.block`."""
        await self._known.block(host, seconds)
        await self._ask(_Question(self._prefix + host, 0, _microseconds(seconds)))

    async def aclose(self) -> None:
        """Close this loop's connection; the next turn opens another."""
        with self._lock:
            line = self._lines.pop(asyncio.get_running_loop(), None)
        if line is not None:
            await line.aclose()

    async def _ask(self, question: _Question) -> Turn:
        from redis.exceptions import RedisError

        try:
            turn = await self._line().ask(question)
        except (RedisError, OSError) as exc:
            raise self._unavailable(exc) from exc
        if self._down_since is not None:
            self._down_since = None
            log.info("budget.reached", server=self._server)
        return turn

    def _line(self) -> _Line:
        loop = asyncio.get_running_loop()
        with self._lock:
            if (line := self._lines.get(loop)) is None:
                line = self._lines[loop] = _Line(self._url)
            return line

    def _unavailable(self, exc: Exception) -> BudgetUnavailableError:
        now = time.monotonic()
        if self._down_since is None:
            self._down_since = now
            log.warning("budget.lost", server=self._server, reason=type(exc).__name__)
        return BudgetUnavailableError(self._server, now - self._down_since, type(exc).__name__)


class _Question(NamedTuple):
    key: str
    interval: int
    block: int


class _Line:
    """One loop's connection: one exchange at a time, with all waiting questions."""

    def __init__(self, url: str) -> None:
        self._client = _client(url)
        self._asked: list[tuple[_Question, asyncio.Future[Turn]]] = []
        self._sending: asyncio.Task[None] | None = None

    async def ask(self, question: _Question) -> Turn:
        answer: asyncio.Future[Turn] = asyncio.get_running_loop().create_future()
        self._asked.append((question, answer))
        if self._sending is None:
            self._sending = asyncio.create_task(self._send(), name="host-budget")
        return await answer

    async def aclose(self) -> None:
        if self._sending is not None:
            await self._sending
        await self._client.aclose()

    async def _send(self) -> None:
        try:
            while self._asked:
                asked, self._asked = self._asked, []
                await self._answer(asked)
        finally:
            self._sending = None

    async def _answer(self, asked: Sequence[tuple[_Question, asyncio.Future[Turn]]]) -> None:
        try:
            turns: Sequence[Turn | Exception] = await self._exchange([question for question, _ in asked])
        except Exception as exc:
            turns = [exc] * len(asked)
        for (_, answer), turn in zip(asked, turns, strict=True):
            if answer.done():  # its caller was cancelled
                continue
            if isinstance(turn, Turn):
                answer.set_result(turn)
            else:
                answer.set_exception(turn)

    async def _exchange(self, questions: Sequence[_Question]) -> list[Turn]:
        async with self._client.pipeline(transaction=False) as pipe:
            for key, interval, block in questions:
                pipe.eval(SCRIPT, 1, key, str(interval), str(block))
            answers = cast("list[tuple[int, int]]", await pipe.execute())
        return [Turn(wait / 1e6, blocked / 1e6) if wait else TAKEN for wait, blocked in answers]


def _client(url: str) -> Redis:
    from redis.asyncio import Redis
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff

    return Redis.from_url(
        _plain(url),
        socket_timeout=TIMEOUT_S,
        socket_connect_timeout=TIMEOUT_S,
        retry=Retry(NoBackoff(), 1),  # for a connection lost while idle; the fetcher does the waiting
    )


def _plain(url: str) -> str:
    """Return a broker's URL in redis-py's form: kombu spells TLS options differently, and has more."""
    parts = urlsplit(url)
    kept = [
        (name, re.sub(r"^CERT_", "", value).lower() if name == "ssl_cert_reqs" else value)
        for name, value in parse_qsl(parts.query)
        if name == "db" or name.startswith("ssl_")
    ]
    return urlunsplit(parts._replace(query=urlencode(kept)))


def _microseconds(seconds: float) -> int:
    return max(round(seconds * 1e6), 0)
