"""Asks a site whether a cached answer is still valid (RFC 9111, only with validators)."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
import zlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from agentic.core.http.caching.cache import CachedAnswer, CacheUnavailableError, HttpCache
from agentic.core.http.challenges import challenge_in
from agentic.core.http.messages import Headers, HttpRequest, HttpResponse
from agentic.core.http.policy import CachePolicy
from agentic.core.http.urls import without_credentials
from agentic.core.logging import get_logger

log = get_logger(__name__)

Send = Callable[[HttpRequest], Awaitable[HttpResponse]]

LARGE_BYTES = 256 * 1024  # from here on a body is packed in a thread
# A request with one of these bypasses the cache: it identifies the user, or is already conditional.
TELLING_FIELDS = frozenset(
    {
        "authorization",
        "cookie",
        "if-match",
        "if-modified-since",
        "if-none-match",
        "if-range",
        "if-unmodified-since",
        "range",
    }
)
# Fields of the transfer, not of the page; and cookies are only for their receiver.
FLEETING_FIELDS = frozenset(
    {"connection", "content-encoding", "content-length", "keep-alive", "set-cookie", "transfer-encoding"}
)


class Revalidation:
    """Sends requests; a site need not send cached content again that has not changed.

    Args:
        cache: Keeps the answers.
        policy: Limits of age and size.
        user_agent: Sites may answer each differently.
        proxy_id: Proxies may answer differently, too; "" without one.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        cache: HttpCache,
        policy: CachePolicy,
        user_agent: str,
        *,
        proxy_id: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._cache = cache
        self._policy = policy
        self._user_agent = user_agent
        self._proxy_id = proxy_id
        self._clock = clock

    async def exchange(self, request: HttpRequest, send: Send) -> HttpResponse:
        """Return the answer to ``request``: from ``send``, or from the cache."""
        if not is_cacheable(request):
            return await send(request)
        key = cache_key(request, self._user_agent, self._proxy_id)
        kept = await self._load(key)
        if kept is None:
            return await self._stored(key, request, await send(request))
        body = await _unpacked(kept)
        if body is None:
            return await self._stored(key, request, await send(request))
        if request.session is None and self._is_young(kept):
            return _answered(request, kept, body)
        response = await send(conditional(request, kept))
        if response.status != 304:
            return await self._stored(key, request, response)
        fresh = replace(kept, headers=merged(kept, response.headers), kept_at=self._clock())
        await self._keep(key, fresh)
        return replace(_answered(request, fresh, body), elapsed_s=response.elapsed_s)

    def _is_young(self, kept: CachedAnswer) -> bool:
        age_s = self._clock() - kept.kept_at
        return 0 <= age_s < self._policy.max_age_s and "no-cache" not in _control(Headers(kept.headers))

    async def _stored(self, key: str, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        goes_by_age = request.session is None and self._policy.max_age_s > 0
        if is_keepable(response, self._policy.max_body_bytes, goes_by_age=goes_by_age):
            answer = CachedAnswer(
                url=without_credentials(request.url),
                headers=_lasting(response.headers),
                packed=await _packed(response.body),
                kept_at=self._clock(),
            )
            await self._keep(key, answer)
        return response

    async def _load(self, key: str) -> CachedAnswer | None:
        try:
            return await self._cache.load(key)
        except CacheUnavailableError as exc:
            log.warning("cache.unavailable", reason=str(exc))
            return None

    async def _keep(self, key: str, answer: CachedAnswer) -> None:
        try:
            await self._cache.keep(key, answer)
        except CacheUnavailableError as exc:
            log.warning("cache.unavailable", reason=str(exc))


def is_cacheable(request: HttpRequest) -> bool:
    """Whether the answer to ``request`` may be shared, or is kept for its session only."""
    is_anybodys = request.session is None or request.session.keeps_answers
    is_plain = request.method == "GET" and request.body is None and is_anybodys
    return is_plain and "@" not in request.url.partition("//")[2].partition("/")[0] and not _names(request)


def is_keepable(response: HttpResponse, max_body_bytes: int, *, goes_by_age: bool) -> bool:
    """Whether ``response`` may be kept, and is useful later: for revalidation, or while it is young."""
    headers = response.headers
    if response.status != 200 or len(response.body) > max_body_bytes or challenge_in(response):
        return False
    if not goes_by_age and "etag" not in headers and "last-modified" not in headers:
        return False
    return "no-store" not in _control(headers) and "*" not in headers.get("vary", "")


def conditional(request: HttpRequest, kept: CachedAnswer) -> HttpRequest:
    """Return the request that gets a 304 if the cached answer is still valid."""
    validators = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}
    found = {validators[name]: value for name, value in kept.headers if name in validators}
    return replace(request, headers={**request.headers, **found})


def merged(kept: CachedAnswer, fresh: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the kept fields, updated by the fields of a 304."""
    return tuple({**dict(kept.headers), **dict(_lasting(fresh))}.items())


def cache_key(request: HttpRequest, user_agent: str, proxy_id: str = "") -> str:
    """Return 32 hexadecimal digits, the same for requests that a site cannot distinguish.

    An answer through a proxy is kept only for that proxy: the proxy may have written it itself.
    """
    own = sorted((name.lower(), value) for name, value in request.headers.items())
    told: list[object] = [without_credentials(request.url), user_agent, own]
    if request.session is not None:
        told.append(request.session.name)
    if proxy_id:
        told.append({"proxy": proxy_id})
    return hashlib.blake2b(json.dumps(told).encode(), digest_size=16).hexdigest()


def _names(request: HttpRequest) -> bool:
    return any(name.lower() in TELLING_FIELDS for name in request.headers)


def _control(headers: Mapping[str, str]) -> frozenset[str]:
    words = headers.get("cache-control", "").lower().split(",")
    return frozenset(word.partition("=")[0].strip() for word in words)


def _lasting(headers: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    lowered = {name.lower(): value for name, value in headers.items()}
    return tuple((name, value) for name, value in lowered.items() if name not in FLEETING_FIELDS)


def _answered(request: HttpRequest, kept: CachedAnswer, body: bytes) -> HttpResponse:
    return HttpResponse(
        url=without_credentials(request.url),
        status=200,
        headers=Headers(kept.headers),
        body=body,
        is_unchanged=True,
    )


async def _packed(body: bytes) -> bytes:
    if len(body) < LARGE_BYTES:
        return zlib.compress(body, 1)
    return await asyncio.to_thread(zlib.compress, body, 1)


async def _unpacked(kept: CachedAnswer) -> bytes | None:
    """Return the body; None if it is damaged."""
    try:
        if len(kept.packed) < LARGE_BYTES:
            return zlib.decompress(kept.packed)
        return await asyncio.to_thread(zlib.decompress, kept.packed)
    except zlib.error:
        log.warning("cache.damaged", url=kept.url)
        return None
