"""HTTP for plugins and actors: polite, limited, and closed towards the own network.

    async with open_fetcher(HttpPolicy(requests_per_second=2)) as fetcher:
        page = await fetcher.fetch("https://example.org/")

No client library is loaded before a fetcher is opened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.lazily import loaded

if TYPE_CHECKING:
    from agentic.core.http.addresses import AddressGuard
    from agentic.core.http.api import ApiSettings, JsonApi, UnexpectedAnswerError
    from agentic.core.http.budget import (
        AccountBudget,
        BudgetUnavailableError,
        HostBudget,
        InstantBudget,
        ProcessBudget,
        Turn,
    )
    from agentic.core.http.budget_choice import open_budget
    from agentic.core.http.cache import CachedAnswer, CacheUnavailableError, HttpCache, MemoryCache
    from agentic.core.http.cookies import CookieJar, InvalidCookieError
    from agentic.core.http.errors import FailureClass, FetchError, HttpError, InvalidUrlError
    from agentic.core.http.failures import Verdict, failure_of
    from agentic.core.http.fetcher import Fetcher, open_fetcher
    from agentic.core.http.messages import Headers, HttpRequest, HttpResponse
    from agentic.core.http.policy import CachePolicy, HttpPolicy
    from agentic.core.http.sessions import HttpSession
    from agentic.core.http.shared import SharedTransport
    from agentic.core.http.transport import Transport
    from agentic.core.http.transports import MissingTransportError, open_transport
    from agentic.core.http.turns import ResourceOf
    from agentic.core.http.urls import canonical_url, url_key

__all__ = [
    "AccountBudget",
    "AddressGuard",
    "ApiSettings",
    "BudgetUnavailableError",
    "CachePolicy",
    "CacheUnavailableError",
    "CachedAnswer",
    "CookieJar",
    "FailureClass",
    "FetchError",
    "Fetcher",
    "Headers",
    "HostBudget",
    "HttpCache",
    "HttpError",
    "HttpPolicy",
    "HttpRequest",
    "HttpResponse",
    "HttpSession",
    "InstantBudget",
    "InvalidCookieError",
    "InvalidUrlError",
    "JsonApi",
    "MemoryCache",
    "MissingTransportError",
    "ProcessBudget",
    "ResourceOf",
    "SharedTransport",
    "Transport",
    "Turn",
    "UnexpectedAnswerError",
    "Verdict",
    "canonical_url",
    "failure_of",
    "open_budget",
    "open_fetcher",
    "open_transport",
    "url_key",
]

_HOMES = {
    "AccountBudget": "budget",
    "AddressGuard": "addresses",
    "ApiSettings": "api",
    "BudgetUnavailableError": "budget",
    "CachePolicy": "policy",
    "CacheUnavailableError": "cache",
    "CachedAnswer": "cache",
    "CookieJar": "cookies",
    "FailureClass": "errors",
    "FetchError": "errors",
    "Fetcher": "fetcher",
    "Headers": "messages",
    "HostBudget": "budget",
    "HttpCache": "cache",
    "HttpError": "errors",
    "HttpPolicy": "policy",
    "HttpRequest": "messages",
    "HttpResponse": "messages",
    "HttpSession": "sessions",
    "InstantBudget": "budget",
    "InvalidCookieError": "cookies",
    "InvalidUrlError": "errors",
    "JsonApi": "api",
    "MemoryCache": "cache",
    "MissingTransportError": "transports",
    "ProcessBudget": "budget",
    "ResourceOf": "turns",
    "SharedTransport": "shared",
    "Transport": "transport",
    "Turn": "budget",
    "UnexpectedAnswerError": "api",
    "Verdict": "failures",
    "canonical_url": "urls",
    "failure_of": "failures",
    "open_budget": "budget_choice",
    "open_fetcher": "fetcher",
    "open_transport": "transports",
    "url_key": "urls",
}


def __getattr__(name: str) -> object:
    # Loaded by whoever asks for one of its modules: all of them would delay every command.
    return loaded(__name__, _HOMES, name)
