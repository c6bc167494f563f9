"""The requests to a browser and its results, free of any library's types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from agentic.core.browser.steps import BrowserStep
from agentic.core.http import Headers, HttpResponse, HttpSession
from agentic.core.types import JSONValue

ResourceType = Literal["font", "image", "media", "script", "stylesheet"]
WaitUntil = Literal["load", "domcontentloaded", "networkidle"]

BLOCKED_UNLESS_ASKED: frozenset[ResourceType] = frozenset({"font", "image", "media"})


class Viewport(BaseModel):
    """The size of the window, in CSS pixels."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    width: int = Field(default=1280, ge=1, le=10_000)
    height: int = Field(default=720, ge=1, le=10_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserRequest:
    """One page to show.

    Attributes:
        url: Where to begin.
        wait_for: CSS selector of an element that must be in the page before it is read.
        wait_until: When the page counts as loaded; ``networkidle`` is half a second without a request.
        timeout_s: For everything except the wait for the host's turn; None: the policy's.
        session: A login: its cookies, headers and local storage. New cookies are kept in it.
        screenshot: A PNG of the window, or of the page from top to bottom; images are in it only if they are
            not blocked.
        pdf: Whether to print the page, too.
        block: Kinds of resources that are not loaded.
        viewport: The size of the window.
        steps: Done in order once the page is loaded.
    """

    url: str
    wait_for: str | None = None
    wait_until: WaitUntil = "load"
    timeout_s: float | None = None
    session: HttpSession | None = None
    screenshot: Literal["viewport", "full_page"] | None = None
    pdf: bool = False
    block: frozenset[ResourceType] = BLOCKED_UNLESS_ASKED
    viewport: Viewport = field(default_factory=Viewport)
    steps: tuple[BrowserStep, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedPage:
    """A page as it was in the browser when it was read.

    Attributes:
        url: Where the browser was at the end, after redirects and steps; without user name, password and
            fragment.
        status: HTTP status of the document there.
        headers: Its headers; lookup ignores case.
        html: The document at the end. If it is not HTML but JSON, for example, the text itself.
        screenshot: PNG, if asked for.
        pdf: PDF, if asked for.
        storage: Local storage of the visited origins, as in Playwright's storage state; only with a session,
            for :attr:`HttpSession.storage <agentic.core.http.HttpSession>`. Secret.
        elapsed_s: Seconds from the first request to the end, without waits for turns.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    html: str = field(repr=False)
    screenshot: bytes | None = field(default=None, repr=False)
    pdf: bytes | None = field(default=None, repr=False)
    storage: JSONValue = field(default=None, repr=False)
    elapsed_s: float = 0.0

    @property
    def body(self) -> bytes:
        """``html`` in UTF-8: the input of a content hash."""
        return self.html.encode("utf-8", errors="replace")

    def as_response(self) -> HttpResponse:
        """Return the page as if it had come over HTTP like that, for code that works on responses."""
        kept = [(name, value) for name, value in self.headers.items() if name.lower() not in _NO_LONGER_TRUE]
        media_type = self.headers.get("content-type", "text/html").partition(";")[0].strip()
        return HttpResponse(
            url=self.url,
            status=self.status,
            headers=Headers([*kept, ("content-type", f"{media_type}; charset=utf-8")]),
            body=self.body,
            elapsed_s=self.elapsed_s,
        )


_NO_LONGER_TRUE = frozenset({"content-encoding", "content-length", "content-type", "transfer-encoding"})
