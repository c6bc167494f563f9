"""The site of the fake Reddit, mounted below ``/reddit``: tokens, feeds, and pages that scripts write.

POST /api/v1/access_token               Basic client_id:secret; a grant that is refused is a 200 with an error
GET  /r/{name}[/{sort}]/.rss            Atom; a wrong ``?feed=&user=`` is refused
GET  /r/{name}/search.rss  /search.rss
GET  /user/{name}/submitted/.rss
GET  /anything.json                     403 with a page of HTML, whoever asks
GET  /r/{name}[/{sort}]/                ``shreddit-post`` elements that a script puts there
GET  /user/{name}/submitted/
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as Base64Error
from math import ceil
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agentic.core.types import JSONValue
from agentic.fakes.asgi import page_response
from agentic.fakes.pages import Page, json_page
from agentic.fakes.reddit.account import TOKEN_LIFETIME_S, RedditAccount
from agentic.fakes.reddit.answers import RefusalError, blocked, refused
from agentic.fakes.reddit.api import SORTS, RedditApi, searched
from agentic.fakes.reddit.atom import atom_page
from agentic.fakes.reddit.credentials import (
    CLIENT_ID,
    CLIENT_SECRET,
    FEED_TOKEN,
    INSTALLED_ID,
    PASSWORD,
    REFRESH_TOKEN,
    USERNAME,
)
from agentic.fakes.reddit.finding import in_order, page_of
from agentic.fakes.reddit.scripted import scripted_page
from agentic.fakes.reddit.things import Post
from agentic.fakes.reddit.views import Views

INSTALLED_GRANT = "https://oauth.reddit.com/grants/installed_client"
KNOWN_CLIENTS = {CLIENT_ID: CLIENT_SECRET, INSTALLED_ID: ""}
WITHIN = re.compile(rf"(?:r/([\w+]+)|user/([\w-]+)/submitted)(?:/({SORTS}))?")
SEARCH = re.compile(r"(?:r/(\w+)/)?search")


class RedditSite:
    """The site over what the API has."""

    def __init__(self, api: RedditApi, account: RedditAccount) -> None:
        self._api = api
        self._account = account

    def routes(self) -> list[BaseRoute]:
        """Return all routes."""
        return [
            Route("/api/v1/access_token", self.grant, methods=["POST"]),
            Route("/{path:path}", self.show),
        ]

    async def grant(self, request: Request) -> Response:
        """Give a token, or say why not."""
        asked = dict(parse_qsl((await request.body()).decode()))
        client = _client(request.headers.get("authorization", ""))
        if client is None:
            return page_response(refused(401, "Unauthorized"), request)
        error = _fault(client, asked)
        if error:
            return page_response(json_page({"error": error}), request)
        token: dict[str, JSONValue] = {
            "access_token": self._account.grant(client),
            "token_type": "bearer",
            "expires_in": TOKEN_LIFETIME_S,
            "scope": "*",
        }
        if asked["grant_type"] == INSTALLED_GRANT:
            token["device_id"] = asked["device_id"]
        return page_response(json_page(token), request)

    async def show(self, request: Request) -> Response:
        """Answer with a feed or a page."""
        path = request.path_params["path"].strip("/")
        if path.endswith(".json"):
            return page_response(blocked(), request)
        try:
            page = self._feed(path, request) if path.endswith(".rss") else self._page(path, request)
        except RefusalError as exc:
            page = exc.page
        return page_response(page, request)

    def _feed(self, path: str, request: Request) -> Page:
        asked = request.query_params
        if "feed" in asked and (asked["feed"], asked.get("user")) != (FEED_TOKEN, USERNAME):
            raise RefusalError(refused(403, "Forbidden"))
        if wait_s := self._account.feed_wait_s():
            raise RefusalError(refused(429, "Too Many Requests", retry_after_s=ceil(wait_s)))
        posts = self._posts(path.removesuffix(".rss").strip("/"), dict(asked))
        shown, _ = page_of(posts, asked)
        return atom_page(shown, Views(self._account), path)

    def _page(self, path: str, request: Request) -> Page:
        posts = self._posts(path, dict(request.query_params))
        return scripted_page(page_of(posts, {})[0], Views(self._account))

    def _posts(self, path: str, asked: dict[str, str]) -> list[Post]:
        if found := SEARCH.fullmatch(path):
            within = found[1] if found[1] and asked.get("restrict_sr") else "all"
            return searched(self._api, within, asked)
        found = WITHIN.fullmatch(path)
        if found is None:
            raise RefusalError(refused(404, "Not Found"))
        subreddit, user, sort = found.groups()
        posts = self._api.posts_in(subreddit) if subreddit else self._api.posts_of(user)
        return in_order(posts, sort or asked.get("sort", "hot" if subreddit else "new"), asked.get("t"))


def _client(header: str) -> str | None:
    """Return who asks; None if he is not known."""
    scheme, _, given = header.partition(" ")
    try:
        client, _, secret = b64decode(given, validate=True).decode().partition(":")
    except (Base64Error, UnicodeDecodeError):
        return None
    return client if scheme.lower() == "basic" and KNOWN_CLIENTS.get(client) == secret else None


def _fault(client: str, asked: dict[str, str]) -> str:
    """Return why there is no token; "" if there is one."""
    match asked.get("grant_type"):
        case "client_credentials":
            return "" if client == CLIENT_ID else "unauthorized_client"
        case "password":
            good = (asked.get("username"), asked.get("password")) == (USERNAME, PASSWORD)
            return "" if good else "invalid_grant"
        case "refresh_token":
            return "" if asked.get("refresh_token") == REFRESH_TOKEN else "invalid_grant"
        case str(grant) if grant == INSTALLED_GRANT:
            return "" if 20 <= len(asked.get("device_id", "")) <= 30 else "invalid_request"
        case _:
            return "unsupported_grant_type"
