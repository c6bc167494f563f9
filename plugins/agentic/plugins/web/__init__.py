"""Web sites: actors that fetch and read pages, and the platform that runs pipelines of them.

The actors ``fetch``, ``extract_list`` and ``extract_detail`` are for any pipeline. An agent of the platform
``web`` is a pipeline with inputs; its pages and items become rows of ``web_pages`` and ``items``, and what a
crawl is told to keep of its pages besides, rows of ``web_contents``, ``web_links`` and ``web_files``.
"""

from __future__ import annotations

from collections.abc import Iterable

from agentic.core.hooks import ActorAt, Platform, actor_at, hookimpl, platform_at


@hookimpl
def agentic_platforms() -> Iterable[Platform]:
    """Bring the platform ``web``."""
    place = "agentic.plugins.web"
    return [platform_at(f"{place}.platform:PLATFORM", name="web", migrations=f"{place}.migrations")]


@hookimpl
def agentic_actors() -> Iterable[ActorAt]:
    """Bring the actors of the web."""
    place = "agentic.plugins.web"
    return [
        actor_at(f"{place}.actors.fetch:FetchActor", name="fetch", aliases=["InitialFetcher", "FetchDetail"]),
        actor_at(
            f"{place}.actors.authenticate:AuthenticateActor", name="authenticate", aliases=["Authenticate"]
        ),
        actor_at(f"{place}.actors.search:SearchActor", name="search", aliases=["SearchExecutor"]),
        actor_at(
            f"{place}.actors.extract_list:ExtractListActor", name="extract_list", aliases=["ExtractList"]
        ),
        actor_at(
            f"{place}.actors.extract_detail:ExtractDetailActor",
            name="extract_detail",
            aliases=["ExtractDetail"],
        ),
        actor_at(f"{place}.actors.json_items:JsonActor", name="json"),
        actor_at(f"{place}.actors.download:DownloadActor", name="download"),
        actor_at(f"{place}.actors.sitemap:SitemapActor", name="sitemap"),
        actor_at(f"{place}.actors.feed:FeedActor", name="feed"),
        actor_at(f"{place}.actors.article:ArticleActor", name="article"),
        actor_at(f"{place}.actors.page_contents:PageContentsActor", name="page_contents"),
        actor_at(f"{place}.actors.page_files:PageFilesActor", name="page_files"),
        actor_at(f"{place}.actors.structured_data:StructuredDataActor", name="structured_data"),
        actor_at(f"{place}.actors.robots_check:RobotsCheckActor", name="robots_check"),
        actor_at(f"{place}.actors.capture:ScreenshotActor", name="screenshot"),
        actor_at(f"{place}.actors.capture:PdfActor", name="pdf"),
        actor_at(f"{place}.actors.diff:DiffActor", name="diff"),
        actor_at(f"{place}.actors.webhook:WebhookActor", name="webhook"),
        actor_at(f"{place}.language.llm_extract:LlmExtractActor", name="llm_extract"),
        actor_at(f"{place}.language.classify:ClassifyActor", name="classify"),
        actor_at(f"{place}.language.summarize:SummarizeActor", name="summarize"),
    ]
