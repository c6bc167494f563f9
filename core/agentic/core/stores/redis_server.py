"""A Redis or Valkey server that runs scripts. Its client waits while it is gone, and reports its problems."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, cast

if TYPE_CHECKING:
    from redis.asyncio import Redis, RedisCluster

_TIMEOUT_S = 5.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 0.5
_CONNECTION_COUNT = 16

_NEXT_STEPS: Mapping[str, str] = {
    r"Authentication|NOAUTH|WRONGPASS": "check user name and password of the URL",
    r"NoPermission|NOPERM|ACL failure": "let its user run scripts and read and write keys (ACL SETUSER)",
    r"OutOfMemory|\bOOM\b": "raise its maxmemory, or remove runs (keep_last, delete_all) or memories",
    r"MISCONF": "free space on its disk; its log shows the failed write",
    r"ReadOnly|READONLY": "name its primary in the URL",
    r"NOREPLICAS": "start its replicas, or lower its min-replicas-to-write",
    r"WRONGTYPE": "another program writes to keys of this project; use a separate database in the URL",
    r"": "check its address, that it is running, and its log",
}
"""Next step by a pattern of an error's class and text; the first match counts."""

_FROM_A_SCRIPT = re.compile(r"\.? script: (\w+, )?on @user_script.*")


class RedisUrlError(ValueError):
    """A URL cannot be used; it is not shown, because any part of an invalid URL may be its password."""


@dataclass(frozen=True)
class Script:
    """A Lua script, which a server runs as a whole and alone."""

    text: str

    @cached_property
    def sha(self) -> str:
        """Its name on a server."""
        return hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()


class RedisServer:
    """A server, or a cluster of them. Made by :meth:`connect`, closed by :meth:`aclose`.

    A request that did not reach it, or whose answer was lost, is sent again for ``wait_s`` seconds: a script
    may run twice, and must detect that.

    Attributes:
        name: Its URL without user name and password.
        evicts: Its rule for removing keys when its memory is full; empty if it removes none.
    """

    def __init__(self, client: Redis | RedisCluster, name: str, *, wait_s: float, evicts: str = "") -> None:
        self.name = name
        self.evicts = evicts
        self._client = client
        self._wait_s = wait_s

    @classmethod
    async def connect(cls, url: str, *, name: str, wait_s: float) -> Self:
        """Read a server's properties, without waiting if it does not answer.

        Raises one of :func:`server_errors` if it cannot be used.
        """
        client = _single(url)
        try:
            facts = await _facts(client)
        except TypeError as exc:  # the client passes all options of a URL to its connections
            await client.aclose()
            raise RedisUrlError(f"its URL has an unknown option ({exc}); remove it") from exc
        except BaseException:
            await client.aclose()
            raise
        if not facts.get("cluster_enabled"):
            return cls(client, name, wait_s=wait_s, evicts=_evicts(facts))
        await client.aclose()
        return cls(_cluster(url), name, wait_s=wait_s, evicts=_evicts(facts))

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def run(self, script: Script, keys: Sequence[str], *args: str | bytes | int) -> Any:  # noqa: ANN401 - what a script returns is its own
        """Return the answer of a script. Raises like :meth:`connect`."""
        from redis.exceptions import NoScriptError

        try:
            return await self.ask("EVALSHA", script.sha, len(keys), *keys, *args)
        except NoScriptError:  # the server has restarted, or sees it for the first time
            return await self.ask("EVAL", script.text, len(keys), *keys, *args)

    async def fields(self, key: str, names: Sequence[str]) -> dict[str, bytes]:
        """Return the existing ones of a hash's fields. Raises like :meth:`connect`."""
        found: list[bytes | None] = await self.ask("HMGET", key, *names)
        return {name: value for name, value in zip(names, found, strict=True) if value is not None}

    async def ask(self, *words: str | bytes | int) -> Any:  # noqa: ANN401 - what a command returns is its own
        """Return the answer to a command. Raises like :meth:`connect`."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self._wait_s
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                return await self._client.execute_command(*words)
            except Exception as exc:
                if not _passes(exc) or loop.time() + pause_s > end:
                    raise
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


def server_name(url: str) -> str:
    """Return the server in a URL, without user name and password.

    Raises:
        RedisUrlError: It cannot be read.
    """
    from redis.asyncio.connection import parse_url

    try:
        found = parse_url(url)
    except ValueError:
        raise RedisUrlError(
            "its URL cannot be read; write redis://user:password@host:6379/0, rediss:// for TLS or unix:// "
            "for a socket, and %-escape special characters in a password"
        ) from None
    if path := found.get("path"):
        return f"unix://{path}"
    scheme = url.partition(":")[0]
    return f"{scheme}://{found.get('host', 'localhost')}:{found.get('port', 6379)}/{found.get('db', 0)}"


def server_errors() -> tuple[type[Exception], ...]:
    """Return the errors of a server that cannot be used."""
    from redis.exceptions import RedisClusterException, RedisError

    return (RedisError, RedisClusterException, OSError, RedisUrlError)


def told(exc: Exception) -> str:
    """Return the problem of a server, and the next step."""
    if isinstance(exc, RedisUrlError):
        return str(exc)
    reason = _FROM_A_SCRIPT.sub("", str(exc)).rstrip(". ") or type(exc).__name__
    known = f"{type(exc).__name__} {exc}"
    return f"{reason}; {next(step for sign, step in _NEXT_STEPS.items() if re.search(sign, known))}"


def _passes(exc: Exception) -> bool:
    """Whether an error may be gone in a moment: the server starts, or another one replaces it."""
    from redis import exceptions

    lasting = (exceptions.AuthenticationError, exceptions.AuthorizationError)
    passing = (exceptions.ConnectionError, exceptions.TimeoutError, exceptions.ClusterDownError, OSError)
    return isinstance(exc, passing) and not isinstance(exc, lasting)


async def _facts(client: Redis) -> Mapping[str, object]:
    """Return a server's own information; nothing if its user may not ask."""
    from redis.exceptions import ResponseError

    try:
        return cast("Mapping[str, object]", await client.info())
    except ResponseError:
        return {}


def _evicts(facts: Mapping[str, object]) -> str:
    policy = str(facts.get("maxmemory_policy", "noeviction"))
    return policy if policy != "noeviction" and facts.get("maxmemory") else ""


def _single(url: str) -> Redis:
    from redis.asyncio import BlockingConnectionPool, Redis
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff

    pool = BlockingConnectionPool.from_url(
        url,
        max_connections=_CONNECTION_COUNT,
        timeout=None,  # every user of a connection finishes in time, or fails
        socket_timeout=_TIMEOUT_S,
        socket_connect_timeout=_TIMEOUT_S,
        retry=Retry(NoBackoff(), 0),  # we wait ourselves
    )
    return Redis.from_pool(pool)


def _cluster(url: str) -> RedisCluster:
    from redis.asyncio import RedisCluster

    return RedisCluster.from_url(url, socket_timeout=_TIMEOUT_S, socket_connect_timeout=_TIMEOUT_S)
