"""The actor that fetches a page."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat

from agentic.core.actors import Actor, ActorContext, Page, PageOutput
from agentic.core.http import HttpRequest, HttpResponse, canonical_url


class FetchInput(BaseModel):
    """What to fetch, and how."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str
    mode: Literal["http"] = "http"
    headers: dict[str, str] = Field(default_factory=dict)
    timeout_s: PositiveFloat | None = Field(default=None, description="Instead of the policy's.")


class FetchActor(Actor[FetchInput, PageOutput]):
    """Fetches one page over HTTP, by the policy of the pipeline."""

    name = "fetch"
    version = "1"
    aliases = ("InitialFetcher", "FetchDetail")
    Input = FetchInput
    Output = PageOutput
    capabilities = frozenset({"network"})

    async def run(self, ctx: ActorContext, given: FetchInput, /) -> PageOutput:
        """Return the page at the end of all redirects."""
        request = HttpRequest(url=given.url, headers=given.headers, timeout_s=given.timeout_s)
        response = await ctx.http.fetch(request)
        return PageOutput(page=page_of(given.url, response, datetime.now(UTC)))


def page_of(url: str, response: HttpResponse, now: datetime) -> Page:
    """Return an answer as a page; bodies that are no text are known by their hash only."""
    return Page(
        url=url,
        final_url=canonical_url(response.url),
        status=response.status,
        content_type=response.content_type,
        text=response.text if _is_text(response.content_type) else "",
        content_hash=hashlib.sha256(response.body).hexdigest(),
        fetched_at=now,
    )


def _is_text(content_type: str) -> bool:
    return not content_type or content_type.startswith("text/") or content_type.endswith(("xml", "json"))
