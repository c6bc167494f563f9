"""An archive of the fake Reddit as Arctic Shift keeps one, mounted below ``/reddit/archive``.

GET /api/posts/search?subreddit=&author=&query=&after=&before=&limit=&sort=   bare posts, 100 at most
GET /api/posts/ids?ids=   /api/comments/ids?ids=                              500 at most
GET /api/comments/tree?link_id=&limit=                                        things, as the API gives them

A score is 1, and there are no comments, until a post is a day and a half old. An order decides whether
answers are ``{"data": [...]}`` or the list itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agentic.core.types import JSONValue
from agentic.fakes.asgi import page_response
from agentic.fakes.pages import TODAY, json_page
from agentic.fakes.reddit.account import RedditAccount
from agentic.fakes.reddit.answers import RefusalError, refused
from agentic.fakes.reddit.api import RedditApi, thing_named
from agentic.fakes.reddit.finding import number, search
from agentic.fakes.reddit.things import Item, Post
from agentic.fakes.reddit.trees import TreeView
from agentic.fakes.reddit.views import Views

UNRIPE_S = 36 * 3_600
PAGE_LIMIT = 100
IDS_LIMIT = 500
TREE_LIMIT = 25_000

Asked = Mapping[str, str]


class ArcticShift:
    """The archive over what the API has."""

    def __init__(self, api: RedditApi, account: RedditAccount) -> None:
        self._api = api
        self._account = account

    def routes(self) -> list[BaseRoute]:
        """Return all routes."""
        return [Route("/api/{kind}/{what}", self.respond)]

    async def respond(self, request: Request) -> Response:
        """Answer one request."""
        kind, what = request.path_params["kind"], request.path_params["what"]
        try:
            found = self._found(kind, what, request.query_params)
        except RefusalError as exc:
            return page_response(exc.page, request)
        whole: JSONValue = [*found]
        answer: JSONValue = whole if self._account.archive_is_bare else {"data": whole}
        response = page_response(json_page(answer), request)
        response.headers["X-RateLimit-Remaining"] = "1999"
        response.headers["X-RateLimit-Reset"] = "60"
        return response

    def _found(self, kind: str, what: str, asked: Asked) -> Sequence[Item]:
        match kind, what:
            case "posts", "search":
                return [self._bare(post) for post in self._searched(asked)]
            case (("posts" | "comments"), "ids"):
                return self._by_id("t3" if kind == "posts" else "t1", asked)
            case "comments", "tree":
                return self._tree(asked)
            case _:
                raise RefusalError(refused(404, "Not Found"))

    def _searched(self, asked: Asked) -> list[Post]:
        subreddit, author = asked.get("subreddit"), asked.get("author")
        if asked.get("query") and not subreddit and not author:
            raise RefusalError(refused(400, "query needs subreddit or author"))
        posts = self._api.posts_in(subreddit or "all")
        if author:
            posts = [post for post in posts if post.facts["author"] == author]
        posts = search(posts, asked.get("query", ""))
        before, after = number(asked.get("before"), 2**40), number(asked.get("after"), 0)
        posts = [post for post in posts if after < post.created < before]
        posts.sort(key=lambda post: post.created, reverse=asked.get("sort", "desc") == "desc")
        return posts[: min(max(number(asked.get("limit"), 25), 1), PAGE_LIMIT)]

    def _by_id(self, kind: str, asked: Asked) -> list[Item]:
        names = [name.removeprefix(f"{kind}_") for name in asked.get("ids", "").split(",")]
        if len(names) > IDS_LIMIT:
            raise RefusalError(refused(400, "too many ids"))
        if kind == "t3":
            known = (self._api.archive.posts.get(name) for name in names)
            return [self._bare(post) for post in known if post is not None]
        views = Views(self._account)
        found = (thing_named(self._api.archive, views, f"{kind}_{name}") for name in names)
        return [data for one in found if one is not None and isinstance(data := one["data"], dict)]

    def _tree(self, asked: Asked) -> list[Item]:
        post = self._api.archive.posts.get(asked.get("link_id", "").removeprefix("t3_"))
        if post is None:
            return []
        limit = min(number(asked.get("limit"), 50), TREE_LIMIT)
        return TreeView(Views(self._account), post, limit, depth=1_000).nested(post.comments, f"t3_{post.id}")

    def _bare(self, post: Post) -> Item:
        view = Views(self._account).post(post)
        if TODAY.timestamp() - post.created < UNRIPE_S:
            view |= {"score": 1, "ups": 1, "num_comments": 0}
        return view
