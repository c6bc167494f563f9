"""Web sites: actors that fetch and read pages, and the platform that runs pipelines of them.

The actors ``fetch``, ``extract_list`` and ``extract_detail`` are for any pipeline. An agent of the platform
``web`` is a pipeline with inputs; its pages and items become rows of ``web_pages`` and ``items``, and what a
crawl is told to keep of its pages besides, rows of ``web_contents`` and ``web_links``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from agentic.core.hooks import Platform, hookimpl, platform_at

if TYPE_CHECKING:
    from agentic.core.actors import Actor


@hookimpl
def agentic_platforms() -> Iterable[Platform]:
    """Bring the platform ``web``."""
    place = "agentic.plugins.web"
    return [platform_at(f"{place}.platform:PLATFORM", name="web", migrations=f"{place}.migrations")]


@hookimpl
def agentic_actors() -> Iterable[type[Actor]]:
    """Bring the actors of the web."""
    from agentic.plugins.web.article import ArticleActor
    from agentic.plugins.web.authenticate import AuthenticateActor
    from agentic.plugins.web.capture import PdfActor, ScreenshotActor
    from agentic.plugins.web.diff import DiffActor
    from agentic.plugins.web.extract_detail import ExtractDetailActor
    from agentic.plugins.web.extract_list import ExtractListActor
    from agentic.plugins.web.feed import FeedActor
    from agentic.plugins.web.fetch import FetchActor
    from agentic.plugins.web.page_contents import PageContentsActor
    from agentic.plugins.web.robots_check import RobotsCheckActor
    from agentic.plugins.web.search import SearchActor
    from agentic.plugins.web.sitemap import SitemapActor
    from agentic.plugins.web.structured_data import StructuredDataActor
    from agentic.plugins.web.webhook import WebhookActor

    return [
        FetchActor,
        AuthenticateActor,
        SearchActor,
        ExtractListActor,
        ExtractDetailActor,
        SitemapActor,
        FeedActor,
        ArticleActor,
        PageContentsActor,
        StructuredDataActor,
        RobotsCheckActor,
        ScreenshotActor,
        PdfActor,
        DiffActor,
        WebhookActor,
    ]
