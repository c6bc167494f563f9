"""All of the fake Reddit below one path."""

from __future__ import annotations

from starlette.routing import BaseRoute, Mount

from agentic.fakes.reddit.account import RedditAccount
from agentic.fakes.reddit.api import RedditApi
from agentic.fakes.reddit.arctic import ArcticShift
from agentic.fakes.reddit.www import RedditSite


def reddit_routes(seed: int, account: RedditAccount) -> list[BaseRoute]:
    """Return the routes of the API, of the archive and of the site."""
    api = RedditApi(seed, account)
    return [
        Mount("/oauth", routes=api.routes()),
        Mount("/archive", routes=ArcticShift(api, account).routes()),
        *RedditSite(api, account).routes(),
    ]
