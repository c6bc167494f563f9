"""Reads Arctic Shift, a third-party copy of Reddit.

See https://github.com/ArthurHeitmann/arctic_shift.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from math import isfinite
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, TypeAdapter

from agentic.core.http import HttpResponse, JsonApi, UnexpectedAnswerError
from agentic.core.http.api import Connect
from agentic.core.types import JSONValue
from agentic.plugins.reddit.judging import rest_s
from agentic.plugins.reddit.reading.items import Answer, Found, Target
from agentic.plugins.reddit.reading.trees import Tree
from agentic.plugins.reddit.settings import RedditSettings

PER_PAGE = 100
HEADERS = {"Accept": "application/json"}


class _Wrapped(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    data: list[Answer] | None = None
    error: JSONValue = None


_ANSWER = TypeAdapter(list[Answer] | _Wrapped)


class ArchiveReader:
    """Reads targets.

    Args:
        settings: What to read.
        connect: Returns the fetcher.
        clock: Gives the time, aware.
    """

    def __init__(self, settings: RedditSettings, connect: Connect, clock: Callable[[], datetime]) -> None:
        self._settings = settings
        self._connect = connect
        self._clock = clock
        self._api = JsonApi("Arctic Shift", settings.archive_url, connect, HEADERS)

    async def read(self, target: Target) -> Found:
        """Return the results of a target.

        Raises:
            FetchError: An answer did not come.
            UnexpectedAnswerError: It is not an answer of the archive.
        """
        match target.what:
            case "tree":
                return await self._tree(target)
            case "scores":
                return await self._scores(target)
            case _:
                return Found(posts=await self._posts(target))

    async def _posts(self, target: Target) -> tuple[Answer, ...]:
        options: dict[str, object] = {"author" if target.what == "user" else "subreddit": target.name}
        options |= {"query": target.query} if target.query else {}
        found: dict[str, Answer] = {}
        before: dict[str, int] = {}
        while len(found) < target.limit:
            size = min(PER_PAGE, target.limit)
            asked = {**options, "limit": size, "sort": "desc", **before}
            page = await self._ask("api/posts/search", asked)
            new = {name: post for post in page if (name := str(post.get("id"))) not in found}
            found |= new
            times = [
                int(at)
                for post in page
                if isinstance(at := post.get("created_utc"), int | float) and isfinite(at)
            ]
            if not new or not times or len(page) < size:
                break
            # The next page may have more of the same second; known ones do not count.
            before = {"before": min(times) + 1}
        return tuple(found.values())[: target.limit]

    async def _tree(self, target: Target) -> Found:
        limit = self._settings.max_comments
        tree = Tree(limit)
        post_id = target.name if target.name.startswith("t3_") else f"t3_{target.name}"
        tree.add(await self._ask("api/comments/tree", {"link_id": post_id, "limit": limit}))
        return Found(comments=tree.kept(), warnings=tree.warnings(post_id, "max_comments"))

    async def _scores(self, target: Target) -> Found:
        kinds: dict[str, list[str]] = {"t3": [], "t1": []}
        for name in target.ids:
            kinds[name.partition("_")[0]].append(name)
        posts = await self._ask("api/posts/ids", {"ids": ",".join(kinds["t3"])}) if kinds["t3"] else []
        asked = {"ids": ",".join(kinds["t1"])}
        comments = await self._ask("api/comments/ids", asked) if kinds["t1"] else []
        return Found(posts=tuple(posts), comments=tuple(comments))

    async def _ask(self, path: str, options: Mapping[str, object]) -> list[Answer]:
        response = await self._api.ask(f"{path}?{urlencode(options)}")
        if wait_s := rest_s(response.headers, self._clock()):
            async with self._connect() as fetcher:
                await fetcher.leave_alone(response.url, wait_s)
        return self._read(response)

    def _read(self, response: HttpResponse) -> list[Answer]:
        """Return the list, with or without an object around it."""
        answer = self._api.read(response, _ANSWER)
        if isinstance(answer, list):
            return answer
        if answer.data is None:
            said = f"it says {answer.error!r:.200}" if answer.error else "it has no data"
            raise UnexpectedAnswerError("Arctic Shift", response.url, said)
        return answer.data
