"""The Firebase API of Hacker News."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from agentic.core.http import Fetcher
from agentic.plugins.hackernews.errors import UnexpectedAnswerError
from agentic.plugins.hackernews.items import HackerNewsItem
from agentic.plugins.hackernews.settings import StoryList

AnswerT = TypeVar("AnswerT")

Connect = Callable[[], AbstractAsyncContextManager[Fetcher]]
"""Gives the fetcher for one request: a shared one, or one of its own."""

_IDS = TypeAdapter(list[int])
_ITEM = TypeAdapter(HackerNewsItem | None)


class HackerNewsClient:
    """Reads lists and items.

    Args:
        base_url: Root of the API, with or without a slash at the end.
        connect: Where the fetcher comes from.
    """

    def __init__(self, base_url: str, connect: Connect) -> None:
        self._base_url = base_url.rstrip("/")
        self._connect = connect

    async def story_ids(self, story_list: StoryList) -> list[int]:
        """Return the ids of a list, best first: at most 500, of ask, show and job at most 200.

        Raises:
            FetchError: The answer did not come.
            UnexpectedAnswerError: It is no list of ids.
        """
        return await self._get(f"{story_list}stories.json", _IDS)

    async def item(self, item_id: int) -> HackerNewsItem | None:
        """Return an item; None for one that is gone.

        Raises:
            FetchError: The answer did not come.
            UnexpectedAnswerError: It is no item.
        """
        return await self._get(f"item/{item_id}.json", _ITEM)

    async def _get(self, path: str, answer: TypeAdapter[AnswerT]) -> AnswerT:
        url = f"{self._base_url}/{path}"
        async with self._connect() as fetcher:
            response = await fetcher.fetch(url)
        try:
            return answer.validate_python(response.json())
        except ValidationError as exc:
            fault = exc.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, fault["loc"])) or "the answer"
            raise UnexpectedAnswerError(url, f"{place}: {fault['msg']}") from None
