"""The Firebase API of Hacker News."""

from __future__ import annotations

from urllib.parse import quote

from pydantic import TypeAdapter

from agentic.core.http import JsonApi
from agentic.core.http.api import Connect
from agentic.plugins.hackernews.items import HackerNewsItem, HackerNewsUser
from agentic.plugins.hackernews.settings import StoryList

_IDS = TypeAdapter(list[int])
_ITEM = TypeAdapter(HackerNewsItem | None)
_USER = TypeAdapter(HackerNewsUser | None)


class HackerNewsClient:
    """Reads lists, items and users.

    Args:
        base_url: Root of the API, with or without a slash at the end.
        connect: Returns the fetcher.
    """

    def __init__(self, base_url: str, connect: Connect) -> None:
        self._api = JsonApi("Hacker News", base_url, connect)

    async def story_ids(self, story_list: StoryList) -> list[int]:
        """Return the ids of a list, best first: at most 500; for ask, show and job at most 200.

        Raises:
            FetchError: The answer did not come.
            UnexpectedAnswerError: It is not a list of ids.
        """
        return await self._api.get(f"{story_list}stories.json", _IDS)

    async def item(self, item_id: int) -> HackerNewsItem | None:
        """Return an item; None if it is gone.

        Raises:
            FetchError: The answer did not come.
            UnexpectedAnswerError: It is not an item.
        """
        return await self._api.get(f"item/{item_id}.json", _ITEM)

    async def user(self, name: str) -> HackerNewsUser | None:
        """Return a user by the exact name, or None.

        Raises:
            FetchError: The answer did not come.
            UnexpectedAnswerError: It is not a user.
        """
        return await self._api.get(f"user/{quote(name, safe='')}.json", _USER)
