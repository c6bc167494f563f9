"""Pauses a page's requests: to wait for a turn, to get a login's headers, or to be refused.

It uses the DevTools protocol, not Playwright's routes: routes do not see redirects, and send their added
headers to the target of a redirect, too.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from playwright.async_api import CDPSession, Error

from agentic.core.browser import BrowserRequest, ResourceType
from agentic.core.http import FailureClass, FetchError, Headers, HttpResponse
from agentic.core.http.urls import without_credentials

Event = dict[str, Any]

DOCUMENT = "Document"
_RESOURCES: dict[ResourceType, str] = {
    "font": "Font",
    "image": "Image",
    "media": "Media",
    "script": "Script",
    "stylesheet": "Stylesheet",
}
_HTML = frozenset({"", "text/html", "application/xhtml+xml"})  # without a type the browser guesses it
_TEXT_ENDS = ("json", "xml", "javascript", "yaml")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedDocument:
    """The last document loaded in the window.

    Attributes:
        response: The response; it has a body only if ``is_text``.
        is_text: Whether it is text other than HTML, which is returned unchanged.
    """

    response: HttpResponse
    is_text: bool = False


class Interception:
    """Pauses the requests of one page.

    Attributes:
        document: The last document loaded in the window; None before the first response.
        fault: Why a document was refused; None if none was.
        going_to: The last URL that the window requested.

    Args:
        cdp: Session of the page.
        request: Names the blocked resources, and the client.
        enter: Awaited before each document of the window except the first.
        end: Called when a document was refused.
    """

    def __init__(
        self,
        cdp: CDPSession,
        request: BrowserRequest,
        enter: Callable[[str], Awaitable[None]],
        end: Callable[[], None],
    ) -> None:
        self.document: LoadedDocument | None = None
        self.fault: Exception | None = None
        self.going_to = request.url
        self._cdp = cdp
        self._request = request
        self._enter = enter
        self._end = end
        self._is_first = True
        self._window = ""
        self._held: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Start to pause requests."""
        tree = await self._cdp.send("Page.getFrameTree")
        self._window = tree["frameTree"]["frame"]["id"]
        self._cdp.on("Fetch.requestPaused", self._hold)
        hosts = self._request.session.hosts if self._request.session else frozenset[str]()
        await self._cdp.send("Fetch.enable", {"patterns": patterns(self._request.block, sorted(hosts))})

    async def aclose(self) -> None:
        """Stop deciding; paused requests are dropped."""
        for task in list(self._held):
            task.cancel()
        await asyncio.gather(*self._held, return_exceptions=True)

    def _hold(self, event: Event) -> None:
        task = asyncio.create_task(self._decide(event), name="browser-request")
        self._held.add(task)
        task.add_done_callback(self._held.discard)

    async def _decide(self, event: Event) -> None:
        is_window = event["resourceType"] == DOCUMENT and event["frameId"] == self._window
        try:
            if "responseStatusCode" in event or "responseErrorReason" in event:
                await self._answered(event, is_window=is_window)
            elif event["resourceType"] in {_RESOURCES[kind] for kind in self._request.block}:
                await self._fail(event, "BlockedByClient")
            else:
                await self._ask(event, is_window=is_window)
        except Error:
            pass  # the page is gone, and with it this request

    async def _ask(self, event: Event, *, is_window: bool) -> None:
        url = event["request"]["url"]
        if is_window and not await self._may_enter(url):
            await self._fail(event, "Aborted")
            return
        await self._cdp.send(
            "Fetch.continueRequest", {"requestId": event["requestId"], **self._login(url, event)}
        )

    async def _may_enter(self, url: str) -> bool:
        """Wait for the turn of a document of the window; the first one has already had its turn."""
        self.going_to = url
        if self._is_first:
            self._is_first = False
            return True
        try:
            await self._enter(url)
        except Exception as exc:
            self._refuse(exc)  # raised in the code that waits for the page
            return False
        return True

    def _login(self, url: str, event: Event) -> Event:
        """Return the headers, with the session's headers for ``url`` if it has any."""
        session = self._request.session
        if session is None:
            return {}
        is_secure = self._request.url.lower().startswith("https:")
        own = session.headers_for(url, is_secure=is_secure)
        own.pop("cookie", None)  # the browser has the cookies
        if not own:
            return {}
        sent = {name.lower(): value for name, value in event["request"]["headers"].items()} | own
        return {"headers": [{"name": name, "value": value} for name, value in sent.items()]}

    async def _answered(self, event: Event, *, is_window: bool) -> None:
        is_document = is_window and "responseStatusCode" in event and not _is_redirect(event)
        if is_document and not await self._take(event):
            await self._fail(event, "Aborted")
            return
        await self._cdp.send("Fetch.continueRequest", {"requestId": event["requestId"]})

    async def _take(self, event: Event) -> bool:
        """Keep a response as the window's document; refuse one that no window can show."""
        response = _response(event)
        kind = response.content_type
        self.document = LoadedDocument(response=response)
        if kind in _HTML and not _is_attachment(response):
            return True
        if _is_text(kind) and not _is_attachment(response):
            body = await self._cdp.send("Fetch.getResponseBody", {"requestId": event["requestId"]})
            self.document = LoadedDocument(response=_response(event, _bytes_of(body)), is_text=True)
            return True
        if response.status < 400:
            what = "a download" if _is_attachment(response) else kind
            reason = f"it is {what}, not a page; fetch it over HTTP"
            self._refuse(FetchError(response.url, FailureClass.NOT_HTML, reason, status=response.status))
        return False

    def _refuse(self, fault: Exception) -> None:
        self.fault = fault
        self._end()

    async def _fail(self, event: Event, why: str) -> None:
        await self._cdp.send("Fetch.failRequest", {"requestId": event["requestId"], "errorReason": why})


def patterns(block: frozenset[ResourceType], hosts: Sequence[str]) -> list[dict[str, str]]:
    """Return patterns of requests to pause: documents, blocked resources, and requests to a login's hosts."""
    kinds = [DOCUMENT, *(_RESOURCES[kind] for kind in sorted(block))]
    asked = [{"urlPattern": "*", "resourceType": kind, "requestStage": "Request"} for kind in kinds]
    answered = {"urlPattern": "*", "resourceType": DOCUMENT, "requestStage": "Response"}
    named = [f"*://{_spelled(host)}{end}" for host in hosts for end in ("/*", ":*/*")]
    logins = [{"urlPattern": pattern, "requestStage": "Request"} for pattern in named]
    return [*asked, answered, *logins]


def _spelled(host: str) -> str:
    """Return ``host`` or ``host:port`` as written in URLs."""
    is_bare = host.count(":") > 1 and not host.startswith("[")
    return f"[{host}]" if is_bare else host.lower()


def _is_redirect(event: Event) -> bool:
    status = event["responseStatusCode"]
    return 300 <= status < 400 and "location" in _response(event).headers


def _response(event: Event, body: bytes = b"") -> HttpResponse:
    fields = [(field["name"], field["value"]) for field in event.get("responseHeaders", ())]
    return HttpResponse(
        url=without_credentials(event["request"]["url"]),
        status=event["responseStatusCode"],
        headers=Headers(fields),
        body=body,
    )


def _is_attachment(response: HttpResponse) -> bool:
    return response.headers.get("content-disposition", "").strip().lower().startswith("attachment")


def _is_text(media_type: str) -> bool:
    return media_type.startswith("text/") or media_type.endswith(_TEXT_ENDS)


def _bytes_of(answer: Event) -> bytes:
    body: str = answer["body"]
    return b64decode(body) if answer["base64Encoded"] else body.encode()
