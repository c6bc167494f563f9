"""The context of actors that read a stored page: it sends no request."""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

from agentic.core.actors import ActorContext
from agentic.core.browser import BrowserFetcher, BrowserRequest, Politeness
from agentic.core.http import Fetcher, FetchError, HttpPolicy, HttpRequest, HttpResponse

NOT_STORED = "not_stored"
"""Failure class of a page that cannot be read again from storage alone."""


def offline(context: ActorContext) -> ActorContext:
    """Return the same context without the network: each request of an actor fails as ``not_stored``."""
    fetcher = _OfflineFetcher(context.http.policy)
    return replace(context, http=fetcher, pages=BrowserFetcher(fetcher, _NoBrowser()))


class _NoTransport:
    async def send(self, request: HttpRequest, *, timeout_s: float, max_bytes: int) -> HttpResponse:  # noqa: ARG002 - the port's
        _refuse(request.url)


class _NoBrowser:
    async def render(self, request: BrowserRequest, politeness: Politeness) -> NoReturn:  # noqa: ARG002 - the port's
        _refuse(request.url)


class _OfflineFetcher(Fetcher):
    """Refuses before a request would wait for its host."""

    def __init__(self, policy: HttpPolicy) -> None:
        super().__init__(policy, _NoTransport())

    async def fetch(self, request: HttpRequest | str) -> HttpResponse:
        _refuse(request if isinstance(request, str) else request.url)

    def turn(self, url: str, exit: object = None) -> NoReturn:  # noqa: A002, ARG002 - as declared
        _refuse(url)


def _refuse(url: str) -> NoReturn:
    reason = "the stored page is read again without requests, but its rules need this page, too"
    raise FetchError(url, NOT_STORED, reason)
