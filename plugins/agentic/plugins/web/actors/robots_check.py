"""The actor that asks a site what it asks of crawlers."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from agentic.core.actors import Actor, ActorContext
from agentic.core.http import FailureClass, FetchError


class RobotsCheckInput(BaseModel):
    """A page that somebody wants to fetch."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str
    required: bool = Field(default=False, description="Fail with robots_denied if the page is disallowed.")


class RobotsCheckOutput(BaseModel):
    """What robots.txt says of it to our user agent; ``reason`` says why it may not be fetched."""

    model_config = ConfigDict(frozen=True)

    allowed: bool
    crawl_delay_s: float | None = None
    sitemaps: tuple[str, ...] = ()
    reason: str = ""


class RobotsCheckActor(Actor[RobotsCheckInput, RobotsCheckOutput]):
    """Checks robots.txt for a page, even if the pipeline's policy does not obey it."""

    name = "robots_check"
    version = "1"
    Input = RobotsCheckInput
    Output = RobotsCheckOutput
    failure_classes = frozenset({"robots_denied"})
    capabilities = frozenset({"network"})

    async def run(self, ctx: ActorContext, given: RobotsCheckInput, /) -> RobotsCheckOutput:
        """Return what the site says; that its robots.txt cannot be read means that nothing is allowed."""
        robots = ctx.http.robots
        try:
            delay_s, reason = await robots.check(given.url), ""
        except FetchError as exc:
            if given.required or exc.failure_class != FailureClass.ROBOTS_DENIED:
                raise
            delay_s, reason = 0.0, str(exc)
        return RobotsCheckOutput(
            allowed=not reason,
            crawl_delay_s=delay_s or None,
            sitemaps=await robots.sitemaps(given.url),
            reason=reason,
        )
