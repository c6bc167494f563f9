"""Pages from the browser, for actors."""

from __future__ import annotations

from agentic.core.actors import ActorContext, ActorError
from agentic.core.browser import BrowserRequest, BrowserUnavailableError, RenderedPage


async def show(ctx: ActorContext, request: BrowserRequest) -> RenderedPage:
    """Return the page as the browser shows it.

    Raises:
        ActorError: There is no browser that starts (``browser_crashed``).
        FetchError: It shows no page; the failure class says why.
    """
    try:
        return await ctx.browser().fetch(request)
    except BrowserUnavailableError as exc:
        raise ActorError(str(exc), failure_class="browser_crashed") from exc
