"""What an agent of the platform ``hackernews`` can be told."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat

from agentic.core.http import HttpPolicy

BASE_URL = "https://hacker-news.firebaseio.com/v0"
MAX_PARALLEL = 20
MAX_STORIES = 500

StoryList = Literal["top", "new", "best", "ask", "show", "job"]


class HackerNewsSettings(BaseModel):
    """The config of a Hacker News agent; ``{}`` reads the first 30 top stories."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    list: StoryList = Field(default="top", description="Which list of stories to read.")
    limit: int = Field(default=30, ge=1, le=MAX_STORIES, description="Stories from the head of the list.")
    base_url: str = Field(
        default=BASE_URL, pattern=r"^https?://[^\s?#@]+$", description="Root of the Firebase API."
    )
    requests_per_second: PositiveFloat | None = Field(
        default=None,
        description=f"Slower than the API allows, if wanted; at most {MAX_PARALLEL} run at a time anyhow.",
    )
    timeout_s: PositiveFloat = Field(default=30, description="For one request.")
    allow_private_hosts: tuple[str, ...] = Field(
        default=(), description='Hosts inside the own network that base_url may lead to, as "127.0.0.1:8000".'
    )

    def policy(self) -> HttpPolicy:
        """Return how to fetch. robots.txt is for crawlers; this is a documented API, so it is not asked."""
        return HttpPolicy(
            timeout_s=self.timeout_s,
            allow_private_hosts=self.allow_private_hosts,
            obey_robots=False,
            requests_per_second=self.requests_per_second,
            max_connections_per_host=MAX_PARALLEL,
        )
