"""The actors that keep what a browser shows: as a picture, as a PDF."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat

from agentic.core.actors import Actor, ActorContext, ActorError, FromResults, StoredFile
from agentic.core.browser import BrowserRequest, BrowserStep, RenderedPage, Viewport
from agentic.core.http import url_key
from agentic.core.http.resolving import request_url
from agentic.core.linear import LinearPattern
from agentic.plugins.web.actors.browsing import show
from agentic.plugins.web.login.sessions import used_session
from agentic.plugins.web.reading.selectors import Selector

UNSAFE = LinearPattern("[^a-z0-9]+")
UNSAFE_IN_HOST = LinearPattern("[^a-z0-9.]+")
LONGEST_SLUG = 60


class PdfInput(BaseModel):
    """What to show."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str
    wait_for: Selector | None = Field(default=None, description="CSS selector that must appear first.")
    steps: tuple[BrowserStep, ...] = Field(default=(), description="Actions on the page before it.")
    viewport: Viewport = Field(default=Viewport(), description="Size of the window.")
    file: str | None = Field(default=None, min_length=1, description="File name; default: from the URL.")
    timeout_s: PositiveFloat | None = Field(default=None, description="Timeout, instead of the policy's.")
    session: Annotated[str | None, FromResults()] = Field(
        default=None, description="Name of a login session."
    )


class ScreenshotInput(PdfInput):
    """What to show, and how much of it to keep."""

    full_page: bool = Field(default=False, description="The whole page instead of the window.")


class WrittenFile(BaseModel):
    """A file that was written; ``path`` is below the project's folder of files."""

    model_config = ConfigDict(frozen=True)

    path: str
    media_type: str
    size_bytes: int
    sha256: str


class CaptureOutput(BaseModel):
    """The file, and the page that is in it."""

    model_config = ConfigDict(frozen=True)

    file: WrittenFile
    final_url: str
    status: int


class ScreenshotActor(Actor[ScreenshotInput, CaptureOutput]):
    """Stores a screenshot of a page as PNG."""

    name = "screenshot"
    version = "1"
    has_effect = True
    Input = ScreenshotInput
    Output = CaptureOutput
    failure_classes = frozenset({"browser_crashed", "selector_missing"})
    capabilities = frozenset({"browser", "network"})

    async def run(self, ctx: ActorContext, given: ScreenshotInput, /) -> CaptureOutput:
        """Write the picture and return where it is."""
        async with used_session(ctx, given.session) as session:
            wanted = replace(
                _request(given), session=session, screenshot="full_page" if given.full_page else "viewport"
            )
            shown = await show(ctx, wanted)
        return await _kept(ctx, given, shown, shown.screenshot, "image/png")


class PdfActor(Actor[PdfInput, CaptureOutput]):
    """Stores a printed page as PDF."""

    name = "pdf"
    version = "1"
    has_effect = True
    Input = PdfInput
    Output = CaptureOutput
    failure_classes = frozenset({"browser_crashed", "selector_missing"})
    capabilities = frozenset({"browser", "network"})

    async def run(self, ctx: ActorContext, given: PdfInput, /) -> CaptureOutput:
        """Write the PDF and return where it is."""
        async with used_session(ctx, given.session) as session:
            shown = await show(ctx, replace(_request(given), session=session, pdf=True))
        return await _kept(ctx, given, shown, shown.pdf, "application/pdf")


def _request(given: PdfInput) -> BrowserRequest:
    """Return the request for the page with everything on it."""
    return BrowserRequest(
        url=given.url,
        wait_for=given.wait_for,
        timeout_s=given.timeout_s,
        block=frozenset(),
        viewport=given.viewport,
        steps=given.steps,
    )


def file_name(url: str, media_type: str) -> str:
    """Return the name of a page's file, which no other page has: ``shop.example/lamps-1f0c9a7e.png``."""
    parts = urlsplit(url)
    host = UNSAFE_IN_HOST.sub("-", parts.hostname or "").strip(".")
    slug = UNSAFE.sub("-", f"{parts.path} {parts.query}".lower()).strip("-")[:LONGEST_SLUG] or "index"
    return f"{host}/{slug}-{url_key(url)[:8]}.{media_type.rpartition('/')[2]}"


async def _kept(
    ctx: ActorContext, given: PdfInput, shown: RenderedPage, content: bytes | None, media_type: str
) -> CaptureOutput:
    if not content:
        message = f"the browser made no {media_type} of {given.url}; try again"
        raise ActorError(message, failure_class="browser_crashed", status=shown.status)
    name = given.file or file_name(given.url, media_type)
    stored: StoredFile = await ctx.files.write(name, content, media_type)
    return CaptureOutput(
        file=WrittenFile(**asdict(stored)), final_url=request_url(shown.url), status=shown.status
    )
