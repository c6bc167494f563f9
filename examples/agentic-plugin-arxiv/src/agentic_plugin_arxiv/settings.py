"""What an agent of this platform can be told."""

from __future__ import annotations

from typing import Literal, Self
from urllib.parse import urlsplit

from agentic.core.http import ApiSettings
from pydantic import Field, PositiveFloat, model_validator

from agentic_plugin_arxiv.items import Search

BASE_URL = "https://export.arxiv.org/api"
REQUESTS_PER_SECOND = 1 / 3
"""The most that arXiv allows, over one connection: https://info.arxiv.org/help/api/tou.html."""

MAX_PER_PAGE = 2_000
MAX_PAPERS = 10_000


class ArxivSettings(ApiSettings):
    """The config of an agent: ``{"query": "cat:cs.CL"}`` reads the 100 papers that were submitted last."""

    base_url: str = Field(
        default=BASE_URL, pattern=r"^https?://[^\s?#@]+$", description="Root URL of the API."
    )
    query: str = Field(
        min_length=1,
        max_length=2_000,
        description='Search query, in arXiv\'s syntax: cat:cs.CL AND ti:"language model".',
    )
    sort: Literal["submittedDate", "lastUpdatedDate", "relevance"] = Field(
        default="submittedDate", description="Sort order: newest, last changed, or best match first."
    )
    limit: int = Field(default=100, ge=1, le=MAX_PAPERS, description="Papers per run.")
    per_page: int = Field(default=200, ge=1, le=MAX_PER_PAGE, description="Papers per request.")
    requests_per_second: PositiveFloat | None = Field(
        default=REQUESTS_PER_SECOND, description="Over all workers; arXiv allows one in three seconds."
    )
    timeout_s: PositiveFloat = Field(default=60, description="Timeout of one request; arXiv is slow.")

    @property
    def interval_s(self) -> float:
        """Seconds from one request to the next."""
        return 1 / self.requests_per_second if self.requests_per_second else 0.0

    def search(self) -> Search:
        """Return what is asked."""
        return Search(query=self.query, sort=self.sort, limit=self.limit, per_page=self.per_page)

    @model_validator(mode="after")
    def _keeps_the_rules_of_arxiv(self) -> Self:
        host = urlsplit(self.base_url).hostname or ""
        is_arxiv = host == "arxiv.org" or host.endswith(".arxiv.org")
        if is_arxiv and self.interval_s < 1 / REQUESTS_PER_SECOND:
            raise ValueError("arXiv allows one request in three seconds: requests_per_second is 1/3 at most")
        return self
