"""HTTP for plugins and actors: polite, limited, and without access to private networks.

    async with open_fetcher(HttpPolicy(requests_per_second=2)) as fetcher:
        page = await fetcher.fetch("https://example.org/")

No client library is loaded before a fetcher is opened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.lazily import loaded

if TYPE_CHECKING:
    from agentic.core.http.api import ApiSettings, JsonApi, UnexpectedAnswerError
    from agentic.core.http.caching.cache import CachedAnswer, CacheUnavailableError, HttpCache, MemoryCache
    from agentic.core.http.errors import FailureClass, FetchError, HttpError, InvalidUrlError
    from agentic.core.http.failures import Verdict, failure_of
    from agentic.core.http.fetcher import Fetcher, open_fetcher
    from agentic.core.http.guard.addresses import AddressGuard
    from agentic.core.http.messages import Headers, HttpRequest, HttpResponse
    from agentic.core.http.policy import CachePolicy, HttpPolicy
    from agentic.core.http.politeness.budget import (
        AccountBudget,
        BudgetUnavailableError,
        HostBudget,
        InstantBudget,
        ProcessBudget,
        Turn,
    )
    from agentic.core.http.politeness.budget_choice import open_budget
    from agentic.core.http.politeness.turns import ResourceOf
    from agentic.core.http.sessions.cookies import CookieJar, InvalidCookieError
    from agentic.core.http.sessions.sessions import HttpSession
    from agentic.core.http.transports.choice import MissingTransportError, open_transport
    from agentic.core.http.transports.port import Transport
    from agentic.core.http.transports.shared import SharedTransport
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
    "AccountBudget": "politeness.budget",
    "AddressGuard": "guard.addresses",
    "ApiSettings": "api",
    "BudgetUnavailableError": "politeness.budget",
    "CachePolicy": "policy",
    "CacheUnavailableError": "caching.cache",
    "CachedAnswer": "caching.cache",
    "CookieJar": "sessions.cookies",
    "FailureClass": "errors",
    "FetchError": "errors",
    "Fetcher": "fetcher",
    "Headers": "messages",
    "HostBudget": "politeness.budget",
    "HttpCache": "caching.cache",
    "HttpError": "errors",
    "HttpPolicy": "policy",
    "HttpRequest": "messages",
    "HttpResponse": "messages",
    "HttpSession": "sessions.sessions",
    "InstantBudget": "politeness.budget",
    "InvalidCookieError": "sessions.cookies",
    "InvalidUrlError": "errors",
    "JsonApi": "api",
    "MemoryCache": "caching.cache",
    "MissingTransportError": "transports.choice",
    "ProcessBudget": "politeness.budget",
    "ResourceOf": "politeness.turns",
    "SharedTransport": "transports.shared",
    "Transport": "transports.port",
    "Turn": "politeness.budget",
    "UnexpectedAnswerError": "api",
    "Verdict": "failures",
    "canonical_url": "urls",
    "failure_of": "failures",
    "open_budget": "politeness.budget_choice",
    "open_fetcher": "fetcher",
    "open_transport": "transports.choice",
    "url_key": "urls",
}


def __getattr__(name: str) -> object:
    # Loaded at the first use of a name: loading all modules would delay every command.
    return loaded(__name__, _HOMES, name)
