"""The API of the fake Reddit, mounted below ``/reddit/oauth``: whoever asks needs a token.

GET /r/{name}/{hot|new|top|rising|controversial}?limit=&after=&t=   302 to /subreddits/search for a name that
GET /r/{name}/search?q=&restrict_sr=1   /search?q=                  nobody has; 403 and 404 with a reason for
GET /r/{name}/about                                                 those that are closed; a+b joins several
GET /user/{name}/submitted
GET /comments/{id}?limit=&depth=&comment=   /comments/{id}/_/{comment}
GET or POST /api/morechildren?link_id=&children=
GET /api/info?id=                       at most 100 ids of posts, comments and subreddits

Answers have ``x-ratelimit-remaining``, ``-used`` and ``-reset``. Texts are escaped unless ``raw_json=1``. A
``User-Agent`` without ``/u/name`` is refused with 429.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agentic.core.types import JSONValue
from agentic.fakes.asgi import page_response
from agentic.fakes.pages import Page, json_page
from agentic.fakes.reddit.account import RedditAccount, Standing
from agentic.fakes.reddit.answers import RefusalError, elsewhere, refused, unauthorized
from agentic.fakes.reddit.finding import in_order, number, page_of, search
from agentic.fakes.reddit.things import CLOSED, Archive, Comment, Item, Post, Subreddit, build_archive
from agentic.fakes.reddit.trees import DEPTH, LIMIT, MAX_LIMIT, TreeView, more_children
from agentic.fakes.reddit.views import Views, listing, thing

SORTS = "hot|new|top|rising|controversial"
MAX_IDS = 100
CONTACT = "/u/"
"""Part of a User-Agent that names a contact; others are refused."""

Asked = Mapping[str, str]
Answer = Callable[["RedditApi", Views, Sequence[str], Asked], JSONValue]

# Servers of a process share it.
_archive = lru_cache(maxsize=4)(build_archive)


class RedditApi:
    """The API over an archive made from ``seed``."""

    def __init__(self, seed: int, account: RedditAccount) -> None:
        self._seed = seed
        self._account = account

    @cached_property
    def archive(self) -> Archive:
        """Everything; made when it is first asked for."""
        return _archive(self._seed)

    def routes(self) -> list[BaseRoute]:
        """Return all routes."""
        return [Route("/{path:path}", self.respond, methods=["GET", "POST"])]

    async def respond(self, request: Request) -> Response:
        """Answer one request."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        client = self._account.client_of(token) if scheme.lower() == "bearer" else None
        if client is None:
            return page_response(unauthorized(), request)
        standing, is_answered = self._account.count(client)
        if CONTACT not in request.headers.get("user-agent", ""):
            page = refused(429, "Too Many Requests")
        elif order := self._account.take_refusal():
            page = refused(429, "Too Many Requests", retry_after_s=order.retry_after_s)
        elif not is_answered:
            page = refused(429, "Too Many Requests")
        else:
            asked = {**request.query_params, **dict(parse_qsl((await request.body()).decode()))}
            page = self._page(request.path_params["path"], asked)
        return _limited(page_response(page, request), standing)

    def named(self, name: str) -> Subreddit:
        """Return a subreddit.

        Raises:
            RefusalError: It is closed, or there is none.
        """
        if name.lower() in CLOSED:
            status, reason = CLOSED[name.lower()]
            raise RefusalError(refused(status, "Forbidden" if status == 403 else "Not Found", reason))
        found = self.archive.subreddits.get(name.lower())
        if found is None:
            raise RefusalError(elsewhere(f"/reddit/oauth/subreddits/search?q={name}"))
        return found

    def posts_in(self, names: str) -> list[Post]:
        """Return the posts of one subreddit, or of several joined by ``+``; ``all`` has those of all."""
        if names.lower() == "all":
            open_ones = (one for name, one in self.archive.subreddits.items() if name not in CLOSED)
            return [post for subreddit in open_ones for post in subreddit.posts]
        return [post for name in names.split("+") for post in self.named(name).posts]

    def posts_of(self, author: str) -> list[Post]:
        """Return the posts of a user.

        Raises:
            RefusalError: There is nobody of that name.
        """
        if author not in self.archive.people:
            raise RefusalError(refused(404, "Not Found"))
        return [post for post in self.posts_in("all") if post.facts["author"] == author]

    def _page(self, path: str, asked: Asked) -> Page:
        views = Views(self._account, is_raw=asked.get("raw_json") == "1")
        for pattern, answer in ANSWERS.items():
            if found := re.fullmatch(pattern, path.strip("/")):
                parts = [part or "" for part in found.groups()]
                try:
                    return json_page(answer(self, views, parts, asked))
                except RefusalError as exc:
                    return exc.page
        return refused(404, "Not Found")


def _listed(api: RedditApi, views: Views, parts: Sequence[str], asked: Asked) -> JSONValue:
    names, sort = parts
    return _posts(views, in_order(api.posts_in(names), sort or "hot", asked.get("t", "day")), asked)


def _searched(api: RedditApi, views: Views, parts: Sequence[str], asked: Asked) -> JSONValue:
    within = parts[0] if parts and asked.get("restrict_sr") in ("1", "true", "on") else "all"
    return _posts(views, searched(api, within, asked), asked)


def searched(api: RedditApi, within: str, asked: Asked) -> list[Post]:
    """Return what a search finds, in its order."""
    found = search(api.posts_in(within), asked.get("q", ""))
    return in_order(found, asked.get("sort", "relevance"), asked.get("t", "all"))


def _submitted(api: RedditApi, views: Views, parts: Sequence[str], asked: Asked) -> JSONValue:
    return _posts(views, in_order(api.posts_of(parts[0]), asked.get("sort", "new"), asked.get("t")), asked)


def _about(api: RedditApi, views: Views, parts: Sequence[str], asked: Asked) -> JSONValue:  # noqa: ARG001
    return thing("t5", views.subreddit(api.named(parts[0])))


def _no_subreddit(api: RedditApi, views: Views, parts: Sequence[str], asked: Asked) -> JSONValue:  # noqa: ARG001
    query = asked.get("q", "").lower()
    found = [one for name, one in api.archive.subreddits.items() if query in name]
    return listing([thing("t5", views.subreddit(one)) for one in found], dist=len(found))


def _tree(api: RedditApi, views: Views, parts: Sequence[str], asked: Asked) -> JSONValue:
    post = api.archive.posts.get(parts[0])
    if post is None:
        raise RefusalError(refused(404, "Not Found"))
    api.named(str(post.facts["subreddit"]))
    limit = min(number(asked.get("limit"), LIMIT) or LIMIT, MAX_LIMIT)
    tree = TreeView(views, post, limit, min(number(asked.get("depth"), DEPTH) or DEPTH, DEPTH))
    comments, parent = _asked_comments(api, post, parts[1] or asked.get("comment", ""))
    shown = listing(tree.nested(comments, parent))
    return [listing([thing("t3", views.post(post))], dist=1), shown]


def _asked_comments(api: RedditApi, post: Post, comment_id: str) -> tuple[list[Comment], str]:
    if not comment_id:
        return post.comments, f"t3_{post.id}"
    known = api.archive.comments.get(comment_id)
    if known is None or known[0] is not post:
        raise RefusalError(refused(404, "Not Found"))
    return [known[1]], str(known[1].facts["parent_id"])


def _more(api: RedditApi, views: Views, parts: Sequence[str], asked: Asked) -> JSONValue:  # noqa: ARG001
    post = api.archive.posts.get(asked.get("link_id", "").removeprefix("t3_"))
    if post is None or asked.get("api_type") != "json":
        raise RefusalError(refused(400, "Bad Request"))
    known = (api.archive.comments.get(name) for name in asked.get("children", "").split(","))
    return more_children(views, post, [one[1] for one in known if one is not None and one[0] is post])


def _info(api: RedditApi, views: Views, parts: Sequence[str], asked: Asked) -> JSONValue:  # noqa: ARG001
    names = [name for name in asked.get("id", "").split(",") if name]
    if len(names) > MAX_IDS:
        raise RefusalError(refused(400, "Bad Request"))
    found = [one for name in names if (one := thing_named(api.archive, views, name)) is not None]
    return listing(found, dist=len(found))


def thing_named(archive: Archive, views: Views, fullname: str) -> Item | None:
    """Return the thing of a fullname; None if there is none that may be seen."""
    kind, _, name = fullname.partition("_")
    if kind == "t3" and (post := archive.posts.get(name)) is not None:
        return thing(kind, views.post(post))
    if kind == "t1" and (known := archive.comments.get(name)) is not None:
        return thing(kind, views.comment(*known))
    found = (one for one in archive.subreddits.values() if one.facts["name"] == fullname)
    return next((thing(kind, views.subreddit(one)) for one in found), None)


def _posts(views: Views, posts: Sequence[Post], asked: Asked) -> JSONValue:
    shown, after = page_of(posts, asked)
    return listing([thing("t3", views.post(post)) for post in shown], after=after, dist=len(shown))


ANSWERS: dict[str, Answer] = {
    rf"r/([\w+]+)(?:/({SORTS}))?": _listed,
    r"r/([\w+]+)/search": _searched,
    r"r/(\w+)/about": _about,
    r"search": _searched,
    r"subreddits/search": _no_subreddit,
    r"user/([\w-]+)/submitted": _submitted,
    r"(?:r/\w+/)?comments/(\w+)(?:/\w*(?:/(\w+))?)?": _tree,
    r"api/morechildren": _more,
    r"api/info": _info,
}


def _limited(response: Response, standing: Standing) -> Response:
    response.headers["x-ratelimit-remaining"] = f"{standing.remaining:.1f}"
    response.headers["x-ratelimit-used"] = str(standing.used)
    response.headers["x-ratelimit-reset"] = str(standing.reset_s)
    return response
