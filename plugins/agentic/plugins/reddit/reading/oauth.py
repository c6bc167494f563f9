"""Reads Reddit through its API, with a token."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from datetime import datetime
from urllib.parse import urlencode

from pydantic import TypeAdapter

from agentic.core.http import FetchError, HttpResponse, HttpSession, JsonApi, UnexpectedAnswerError
from agentic.core.http.api import Connect
from agentic.core.types import JSONValue
from agentic.plugins.reddit.judging import no_subreddit, rest_s
from agentic.plugins.reddit.reading.items import Answer, Found, Listing, Target, Thing
from agentic.plugins.reddit.reading.tokens import TokenKeeper
from agentic.plugins.reddit.reading.trees import Tree
from agentic.plugins.reddit.settings import RedditSettings

PER_PAGE = 100
TREE_SIZE = 500
"""Maximum number of comments in the first answer."""

HEADERS = {"Accept": "application/json"}
_LISTING = TypeAdapter(Listing)
_LISTINGS = TypeAdapter(list[Listing])
_THING = TypeAdapter(Thing)
_MORE = TypeAdapter(dict[str, dict[str, JSONValue]])


class OauthReader:
    """Reads targets.

    Args:
        settings: What to read, and the credentials.
        connect: Returns the fetcher.
        tokens: Provides sessions.
        clock: Gives the time, aware.
    """

    def __init__(
        self, settings: RedditSettings, connect: Connect, tokens: TokenKeeper, clock: Callable[[], datetime]
    ) -> None:
        self._settings = settings
        self._connect = connect
        self._tokens = tokens
        self._clock = clock
        self._api = JsonApi("Reddit", settings.base_url, connect, HEADERS)

    async def read(self, target: Target) -> Found:
        """Return the results of a target.

        Raises:
            FetchError: An answer did not come.
            UnexpectedAnswerError: It is not an answer of Reddit.
            CredentialsError: These credentials do not give a token.
        """
        match target.what:
            case "listing" | "search" | "user":
                return Found(posts=tuple([data async for data in self._posts(target)]))
            case "tree":
                return await self._tree(target)
            case "scores":
                return await self._scores(target)
            case "about":
                response = await self._ask(f"r/{target.name}/about", {})
                if missing := no_subreddit(target.name, response):
                    raise missing
                return Found(subreddits=(self._api.read(response, _THING).data,))

    async def _posts(self, target: Target) -> AsyncIterator[Answer]:
        path, options = _listed(target)
        left, seen = target.limit, {""}
        after: str | None = None
        while left > 0:
            size = {"limit": min(PER_PAGE, left), "after": after or ""}
            response = await self._ask(path, {**options, **size})
            if missing := no_subreddit(target.name, response):
                raise missing
            page = self._api.read(response, _LISTING)
            for child in page.things[:left]:
                yield child.data
            left -= len(page.things)
            after = page.data.after
            if not after or not page.things:
                return
            if after in seen:
                raise UnexpectedAnswerError("Reddit", response.url, "its listing repeats itself")
            seen.add(after)

    async def _tree(self, target: Target) -> Found:
        post_id = target.name.removeprefix("t3_")
        size = {"limit": min(TREE_SIZE, self._settings.max_comments)}
        posts, shown = await self._comments(f"comments/{post_id}", size)
        tree = Tree(self._settings.max_comments)
        tree.add(shown)
        for _ in range(self._settings.more_requests):
            if tree.is_full or (more := tree.next_batch()) is None:
                break
            if more.is_thread:
                root = more.parent_id.partition("_")[2]
                tree.add((await self._comments(f"comments/{post_id}/_/{root}", {"limit": TREE_SIZE}))[1])
            else:
                tree.add(await self._more(post_id, more.children))
        return Found(
            posts=posts,
            comments=tree.kept(),
            warnings=tree.warnings(f"t3_{post_id}", "max_comments or more_requests"),
        )

    async def _comments(
        self, path: str, options: Mapping[str, object]
    ) -> tuple[tuple[Answer, ...], list[object]]:
        """Return the post and its replies."""
        response = await self._ask(path, options)
        listings = self._api.read(response, _LISTINGS)
        if len(listings) != 2:
            raise UnexpectedAnswerError("Reddit", response.url, "a post and its comments are two listings")
        posts, comments = listings
        return tuple(post.data for post in posts.things), [*comments.data.children]

    async def _more(self, post_id: str, children: tuple[str, ...]) -> list[object]:
        options = {"api_type": "json", "link_id": f"t3_{post_id}", "children": ",".join(children)}
        response = await self._ask("api/morechildren", {**options, "limit_children": "false"})
        answer = self._api.read(response, _MORE).get("json", {})
        data = answer.get("data")
        if not isinstance(data, dict) or not isinstance(things := data.get("things"), list):
            raise UnexpectedAnswerError("Reddit", response.url, "it contains no things")
        return [*things]

    async def _scores(self, target: Target) -> Found:
        response = await self._ask("api/info", {"id": ",".join(target.ids)})
        things = self._api.read(response, _LISTING).things
        found = Found(
            posts=tuple(one.data for one in things if one.kind == "t3"),
            comments=tuple(one.data for one in things if one.kind == "t1"),
        )
        missing = len(target.ids) - len(found.posts) - len(found.comments)
        if missing:
            return found.model_copy(update={"warnings": (f"Reddit no longer has {missing:,} of the ids",)})
        return found

    async def _ask(self, path: str, options: Mapping[str, object]) -> HttpResponse:
        """Send a request, with a new token if the old one has expired; pause when the budget is used up."""
        query = urlencode({"raw_json": 1, **{name: value for name, value in options.items() if value != ""}})
        url = f"{self._api.base_url}/{path}?{query}"
        session = await self._tokens.session()
        try:
            response = await self._api.ask(url, session)
        except FetchError as exc:
            if exc.status != 401:
                raise
            response = await self._api.ask(url, await self._renewed(session))
        if wait_s := rest_s(response.headers, self._clock()):
            async with self._connect() as fetcher:
                await fetcher.leave_alone(url, wait_s)
        return response

    async def _renewed(self, session: HttpSession) -> HttpSession:
        return await self._tokens.session(refused=session)


def _listed(target: Target) -> tuple[str, dict[str, object]]:
    """Return path and query of a listing."""
    period = {"t": target.t} if target.t else {}
    if target.what == "user":
        return f"user/{target.name}/submitted", {"sort": target.sort, **period}
    if target.what == "listing":
        return f"r/{target.name}/{target.sort}", {**period}
    words: dict[str, object] = {"q": target.query or "", "type": "link", "sort": target.sort, **period}
    return (f"r/{target.name}/search", {**words, "restrict_sr": 1}) if target.name else ("search", words)
