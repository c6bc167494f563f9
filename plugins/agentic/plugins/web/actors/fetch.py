"""The actor that fetches a page, over HTTP or with a browser."""

from __future__ import annotations

from collections.abc import Mapping

from agentic.core.actors import Actor, ActorContext, PageOutput
from agentic.core.types import JSONValue
from agentic.plugins.web.fetching.inputs import FetchInput


class FetchActor(Actor[FetchInput, PageOutput]):
    """Fetches one page with the HTTP policy of the pipeline."""

    name = "fetch"
    version = "2"
    aliases = ("InitialFetcher", "FetchDetail")
    Input = FetchInput
    Output = PageOutput
    failure_classes = frozenset({"browser_crashed", "selector_missing"})
    capabilities = frozenset({"browser", "network"})

    @classmethod
    def needs(cls, config: Mapping[str, JSONValue]) -> frozenset[str]:
        """Return what a step with this config needs: no browser for mode ``http``."""
        is_shown = config.get("use_playwright") or config.get("mode", "http") != "http"
        return cls.capabilities if is_shown else cls.capabilities - {"browser"}

    @classmethod
    def repeatable_after(cls, config: Mapping[str, JSONValue]) -> frozenset[str] | None:
        """Return all for what only reads; what may change something is not sent again if it may have come."""
        method = config.get("method", "POST" if config.get("form") else "GET")
        is_reading = method == "GET" and not config.get("steps")
        return None if is_reading else frozenset({"rate_limited"})

    async def run(self, ctx: ActorContext, given: FetchInput, /) -> PageOutput:
        """Return the page at the end of all redirects, or as the browser shows it."""
        # Loaded for a fetch: a check of a pipeline reads the input only.
        from agentic.plugins.web.fetching.ways import fetch_page

        return await fetch_page(ctx, given)
