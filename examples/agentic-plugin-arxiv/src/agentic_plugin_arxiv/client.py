"""The API: what is asked. https://info.arxiv.org/help/api/user-manual.html describes it."""

from __future__ import annotations

import asyncio
from datetime import datetime
from urllib.parse import urlencode

from agentic.core.http import Fetcher, FetchError, HttpRequest, HttpResponse
from agentic.core.http.failures import failure_of

from agentic_plugin_arxiv.atom import read_page
from agentic_plugin_arxiv.errors import EmptyPageError
from agentic_plugin_arxiv.items import Page, Slice

HEADERS = {"accept": "application/atom+xml"}


class ArxivClient:
    """Reads results of searches.

    Args:
        base_url: Root of the API, with or without a slash at the end.
        fetcher: Asks as often as arXiv allows, and no more.
    """

    def __init__(self, base_url: str, fetcher: Fetcher) -> None:
        self._url = f"{base_url.rstrip('/')}/query"
        self._fetcher = fetcher

    async def read(self, wanted: Slice) -> Page:
        """Return the papers of a slice; arXiv may have less. That there is nothing is asked for twice.

        Raises:
            FetchError: The answer did not come.
            EmptyPageError: It is empty, and there are more; it may well be full a little later.
            SearchRefusedError: The search is wrong.
            UnexpectedAnswerError: It is something else than arXiv's.
        """
        # With its servers busy arXiv says that there is nothing, and a moment later has it.
        page = await self._ask(wanted)
        if not page.papers and page.total <= wanted.start:
            page = await self._ask(wanted)
        if not page.papers and page.total > wanted.start:
            raise EmptyPageError(wanted.start, page.total)
        return page

    async def _ask(self, wanted: Slice) -> Page:
        options = {
            "search_query": wanted.search.query,
            "start": wanted.start,
            "max_results": wanted.count,
            "sortBy": wanted.search.sort,
            "sortOrder": "descending",
        }
        request = HttpRequest(url=f"{self._url}?{urlencode(options)}", headers=HEADERS)
        response = await self._fetcher.fetch(request)
        return await asyncio.to_thread(read_page, response.body, response.url)


def failure_in(request: HttpRequest, response: HttpResponse, now: datetime) -> FetchError | None:
    """Return why an answer is a failure; a 400 is none if it says in Atom what is wrong with the search."""
    if response.status == 400 and b"<feed" in response.body:
        return None
    return failure_of(request, response, now)
