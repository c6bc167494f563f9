"""All fakes as one ASGI application."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from agentic.plugins.fakes.control import Control
from agentic.plugins.fakes.errors import MissingExtraError
from agentic.plugins.fakes.hackernews import HackerNews
from agentic.plugins.fakes.shop import PRIVATE, Shop

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp


def create_app(
    *, seed: int = 1, stories: int = 500, products: int = 240, control: Control | None = None
) -> ASGIApp:
    """Return the application: ``/hackernews``, ``/shop``, ``/robots.txt`` and ``/__control``.

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

    from agentic.plugins.fakes.asgi import CONTROL, ControlPanel, Faulty, SiteApp

    chosen = control or Control()
    panel = ControlPanel(chosen)
    routes = [
        Mount("/hackernews", app=SiteApp(HackerNews(seed, stories))),
        Mount("/shop", app=SiteApp(Shop(seed, products))),
        Route("/robots.txt", _robots),
        Route(f"{CONTROL}/faults", panel.add_fault, methods=["POST"]),
        Route(f"{CONTROL}/stats", panel.stats),
        Route(f"{CONTROL}/reset", panel.reset, methods=["POST"]),
    ]
    return Faulty(Starlette(routes=routes), chosen)


def require(library: str) -> None:
    """Check that ``library`` of the extra ``local`` can be imported.

    Raises:
        MissingExtraError: It cannot.
    """
    try:
        import_module(library)
    except ImportError as exc:
        raise MissingExtraError(library) from exc


async def _robots(request: Request) -> Response:
    from starlette.responses import PlainTextResponse

    sitemap = f"{str(request.base_url).rstrip('/')}/shop/sitemap.xml"
    return PlainTextResponse(f"User-agent: *\nDisallow: /shop{PRIVATE}\n\nSitemap: {sitemap}\n")
