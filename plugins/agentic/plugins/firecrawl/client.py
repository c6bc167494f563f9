"""Calls Firecrawl through firecrawl-py, one request at a time, and translates its errors.

Known issues of firecrawl-py 4.53, and their solutions here:

- It repeats a request, up to three times, on 502 and on any failed connection, also after a lost answer: a
  crawl would begin, and cost, three times. ``max_retries=1`` leaves retries to ``error_handling``.
- Without a key it takes ``FIRECRAWL_API_KEY`` from the environment, for any service: we pass "".
- It waits forever without a ``timeout``.
- It reports the calling package to the service: we pass an ``origin`` that does not.
- Only the asynchronous client keeps the path of ``api_url``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from agentic.core.actors import ActorContext, ActorError
from agentic.core.threads import in_thread
from agentic.plugins.firecrawl.failures import (
    Answer,
    MissingFirecrawlError,
    failure,
    lost_connection,
    refusal_of,
    unreadable,
)
from agentic.plugins.firecrawl.pause import Pause
from agentic.plugins.firecrawl.settings import Service, ServiceInput, service_of

T = TypeVar("T")

MARGIN_S = 15.0
"""Extra wait for an answer after the service's own time limit for a page."""


class Firecrawl:
    """A service, for one step.

    Args:
        service: Its address and key.
        pause: When requests are allowed.
        timeout_s: Seconds until it must answer.
    """

    def __init__(self, service: Service, pause: Pause, timeout_s: float) -> None:
        self._service = service
        self._pause = pause
        self._timeout_s = timeout_s

    async def ask(self, subject: str, call: Callable[[Any], Awaitable[T]]) -> T:
        """Return the result of ``call``, once requests are allowed.

        Args:
            subject: The request in messages: ``"scrape https://shop.example/"``.
            call: Makes one request with the given ``AsyncFirecrawlClient``.

        Raises:
            ActorError: The answer did not come, or it is a refusal.
        """
        await self._pause.wait(subject)
        try:
            return await self._call(subject, call)
        except ActorError as exc:
            if exc.failure_class == "rate_limited" and exc.retry_after_s:
                await self._pause.begin(exc.retry_after_s)
            raise

    async def _call(self, subject: str, call: Callable[[Any], Awaitable[T]]) -> T:
        library = await in_thread(_load)  # the first time takes a second
        client = await in_thread(library.open, self._service, self._timeout_s)
        try:
            return await call(client)
        except library.refusals as exc:
            raise self._refusal(exc, subject) from exc
        except library.lost as exc:
            is_timeout = isinstance(exc, library.timeouts)
            raise lost_connection(exc, subject, is_timeout=is_timeout) from exc
        # The client does not check answers before it uses them; a ValidationError is a ValueError.
        except (AttributeError, KeyError, TypeError, ValueError) as exc:
            raise unreadable(exc, subject) from exc
        finally:
            await client.async_http_client.close()

    def _refusal(self, exc: Any, subject: str) -> ActorError:  # noqa: ANN401 - the library is not typed
        """Return the service's refusal; refusals by the client itself have no answer."""
        if exc.response is None:
            return failure(subject, "error", self._service.hide(str(exc)))
        answer = Answer(
            status=exc.response.status_code,
            headers=dict(exc.response.headers),
            content=self._content(exc.response),
        )
        return refusal_of(answer, subject, datetime.now(UTC))

    def _content(self, response: Any) -> dict[str, Any] | None:  # noqa: ANN401 - the library is not typed
        try:
            content = response.json()
        except ValueError:
            return None
        if not isinstance(content, dict):
            return None
        error = content.get("error")
        return {**content, "error": self._service.hide(error)} if isinstance(error, str) else content


async def open_firecrawl(ctx: ActorContext, given: ServiceInput, timeout_s: float) -> Firecrawl:
    """Return the service for a step.

    Args:
        ctx: Has the secrets and the memory.
        given: Names it.
        timeout_s: Seconds until the service must answer.

    Raises:
        SettingsError: AGENTIC_FIRECRAWL_URL is not a URL.
        ActorError: It needs a key, but has no usable one (``auth_required``).
    """
    service = await service_of(ctx, given)
    pause = Pause(ctx.memory, service.host, ctx.http.policy.max_wait_s)
    return Firecrawl(service, pause, timeout_s + MARGIN_S)


@dataclass(frozen=True, slots=True)
class _Library:
    """The used parts of firecrawl-py and of its HTTP client."""

    client: Any
    origin: str
    refusals: type[Exception]
    lost: type[Exception]
    timeouts: type[Exception]

    def open(self, service: Service, timeout_s: float) -> Any:  # noqa: ANN401 - the library is not typed
        """Return a client; creating one reads all certificates, which takes 20 ms."""
        return self.client(
            api_key=service.key, api_url=service.url, timeout=timeout_s, max_retries=1, origin=self.origin
        )


def _load() -> _Library:
    """Load the library.

    Raises:
        MissingFirecrawlError: It is not installed.
    """
    try:
        import httpx
        from firecrawl.v2 import AsyncFirecrawlClient
        from firecrawl.v2.utils.error_handler import FirecrawlError
        from firecrawl.v2.utils.get_version import get_version
    except ImportError as exc:
        raise MissingFirecrawlError from exc
    return _Library(
        client=AsyncFirecrawlClient,
        origin=f"python-sdk@{get_version()}",
        refusals=FirecrawlError,
        lost=httpx.HTTPError,
        timeouts=httpx.TimeoutException,
    )
