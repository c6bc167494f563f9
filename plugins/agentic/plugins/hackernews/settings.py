"""What an agent of the platform ``hackernews`` can be told."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agentic.core.http.api import API_URL, ApiSettings

BASE_URL = "https://hacker-news.firebaseio.com/v0"
MAX_PARALLEL = 20
MAX_STORIES = 500

StoryList = Literal["top", "new", "best", "ask", "show", "job"]


class HackerNewsSettings(ApiSettings):
    """The config of a Hacker News agent; ``{}`` reads the first 30 top stories."""

    list: StoryList = Field(default="top", description="Which list of stories to read.")
    limit: int = Field(default=30, ge=1, le=MAX_STORIES, description="Stories from the head of the list.")
    base_url: str = Field(default=BASE_URL, pattern=API_URL, description="Root of the Firebase API.")

    @property
    def max_parallel(self) -> int:
        """How many items are read at the same time."""
        return MAX_PARALLEL
