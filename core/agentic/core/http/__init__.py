"""HTTP for plugins and actors: polite, limited, and closed towards the own network.

    async with open_fetcher(HttpPolicy(requests_per_second=2)) as fetcher:
        page = await fetcher.fetch("https://example.org/")

No client library is loaded before a fetcher is opened.
"""

from agentic.core.http.budget import HostBudget
from agentic.core.http.errors import FailureClass, FetchError, HttpError, InvalidUrlError
from agentic.core.http.fetcher import Fetcher, open_fetcher
from agentic.core.http.messages import Headers, HttpRequest, HttpResponse
from agentic.core.http.policy import HttpPolicy
from agentic.core.http.shared import SharedTransport
from agentic.core.http.transport import Transport
from agentic.core.http.urls import canonical_url, url_key

__all__ = [
    "FailureClass",
    "FetchError",
    "Fetcher",
    "Headers",
    "HostBudget",
    "HttpError",
    "HttpPolicy",
    "HttpRequest",
    "HttpResponse",
    "InvalidUrlError",
    "SharedTransport",
    "Transport",
    "canonical_url",
    "open_fetcher",
    "url_key",
]
