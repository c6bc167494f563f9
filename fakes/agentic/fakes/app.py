"""All fakes as one ASGI application."""

from __future__ import annotations

from functools import lru_cache, partial
from importlib import import_module
from typing import TYPE_CHECKING

from agentic.fakes.control import Control
from agentic.fakes.errors import MissingExtraError
from agentic.fakes.feeds.site import Feeds
from agentic.fakes.hackernews.api import HackerNews
from agentic.fakes.jobs.board import Board
from agentic.fakes.news.site import DRAFTS, News
from agentic.fakes.redesign.orders import RedesignedSite
from agentic.fakes.shop.site import PRIVATE, Shop

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp

# A crawler of that name has a group of its own in robots.txt, which replaces the group of all others.
SLOW_AGENT = "slowbot"
ROBOTS = f"""\
User-agent: *
Disallow: /shop{PRIVATE}
Disallow: /news{DRAFTS}

User-agent: {SLOW_AGENT}
Crawl-delay: 2
Disallow: /news{DRAFTS}
Disallow: /news/section/

Sitemap: {{base}}/shop/sitemap.xml
Sitemap: {{base}}/news/sitemap_index.xml
"""

# They depend on nothing but their arguments, so that all servers of a process share them.
_hackernews = lru_cache(maxsize=4)(HackerNews)
_shop = lru_cache(maxsize=4)(Shop)
_board = lru_cache(maxsize=4)(Board)


def create_app(
    *, seed: int = 1, stories: int = 500, products: int = 240, control: Control | None = None
) -> ASGIApp:
    """Return the application: the fakes, ``/robots.txt`` and ``/__control``.

    ``/hackernews``, ``/shop``, ``/jobs``, ``/feeds``, ``/news``, ``/hostile``, ``/firecrawl``, ``/github``,
    ``/reddit`` and ``/sink``: the module of each says what it answers.

    Args:
        seed: The same seed and sizes give the same bytes.
        stories: Submissions on the fake Hacker News.
        products: Articles in the shop.
        control: Faults and counts, for who wants to reach them without HTTP.

    Raises:
        MissingExtraError: starlette is not installed.
    """
    require("starlette")
    from starlette.applications import Starlette
    from starlette.routing import Mount, Route

    from agentic.fakes.asgi import Faulty, SiteApp
    from agentic.fakes.control_panel import ControlPanel
    from agentic.fakes.firecrawl.api import Firecrawl

    chosen = control or Control()
    redesigned = partial(RedesignedSite, redesigns=chosen.redesigns)
    routes = [
        Mount("/hackernews", app=SiteApp(_hackernews(seed, stories))),
        Mount("/shop", app=SiteApp(redesigned(_shop(seed, products), "/shop"))),
        Mount("/feeds", app=SiteApp(Feeds(seed, orders=chosen.feeds))),
        Mount("/news", app=SiteApp(redesigned(News(seed, chosen.revisions), "/news"))),
        *_talking(seed, chosen),
        Route("/robots.txt", _robots),
    ]
    firecrawl = Firecrawl(Starlette(routes=routes), chosen.firecrawl).routes()
    clients = [Mount("/firecrawl/v2", routes=firecrawl), Mount("/v2", routes=firecrawl)]
    return Faulty(Starlette(routes=[*routes, *clients, *ControlPanel(chosen).routes()]), chosen)


def under_control(app: ASGIApp, control: Control) -> ASGIApp:
    """Return an application of one's own with ``/__control``, and the faults and counts of ``control``.

    A plugin serves the fake of its platform so, with a :class:`~agentic.fakes.server.LoopbackServer`.

    Args:
        app: Answers everything else.
        control: What is ordered, and what time it is.

    Raises:
        MissingExtraError: starlette is not installed.
    """
    require("starlette")
    from starlette.applications import Starlette
    from starlette.routing import Mount

    from agentic.fakes.asgi import Faulty
    from agentic.fakes.control_panel import ControlPanel

    return Faulty(Starlette(routes=[*ControlPanel(control).routes(), Mount("", app=app)]), control)


def require(library: str) -> None:
    """Check that ``library`` of the extra ``local`` can be imported.

    Raises:
        MissingExtraError: It cannot.
    """
    try:
        import_module(library)
    except ImportError as exc:
        raise MissingExtraError(library) from exc


def _talking(seed: int, control: Control) -> list[BaseRoute]:
    """Return the fakes that are more than data."""
    from starlette.routing import Mount

    from agentic.fakes.github.api import Github
    from agentic.fakes.hostile.site import Hostile
    from agentic.fakes.jobs.api import JobApi
    from agentic.fakes.jobs.site import JobSite
    from agentic.fakes.reddit.site import reddit_routes
    from agentic.fakes.sink_routes import sink_routes

    board = _board(seed)
    jobs = [*JobSite(board, control.sessions).routes(), *JobApi(board, control.tokens).routes()]
    return [
        Mount("/hostile", routes=Hostile(control.rate_limits, control.flakes).routes()),
        Mount("/jobs", routes=jobs),
        Mount("/github", routes=Github(seed, control.github).routes()),
        Mount("/reddit", routes=reddit_routes(seed, control.reddit)),
        Mount("/sink", routes=sink_routes(control.sink)),
    ]


async def _robots(request: Request) -> Response:
    from starlette.responses import PlainTextResponse

    return PlainTextResponse(ROBOTS.format(base=str(request.base_url).rstrip("/")))
