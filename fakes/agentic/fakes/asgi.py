"""ASGI around sites and faults. Loaded when an application is made: it needs starlette."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from agentic.fakes.breaking import broken
from agentic.fakes.control import Control
from agentic.fakes.pages import Page, Site
from agentic.fakes.validators import answer

CONTROL = "/__control"


class SiteApp:
    """Answers GET and HEAD out of a site."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["method"] not in ("GET", "HEAD"):
            refusal = PlainTextResponse("Method Not Allowed", 405, headers={"allow": "GET, HEAD"})
            await refusal(scope, receive, send)
            return
        asked = dict(scope["headers"])
        mount = scope.get("root_path", "")
        page = self._site.page(
            scope["path"].removeprefix(mount),
            scope["query_string"].decode("latin-1"),
            f"{scope['scheme']}://{_host(scope, asked)}{mount}",
        )
        if page is None:
            await PlainTextResponse("Not Found", 404)(scope, receive, send)
            return
        # Written by hand: a Response object would cost more than looking the page up.
        status, fields, body = answer(page, asked)
        await send({"type": "http.response.start", "status": status, "headers": fields})
        await send({"type": "http.response.body", "body": body})


class Faulty:
    """Counts every request to ``app`` and lets the faults of ``control`` happen to it."""

    def __init__(self, app: ASGIApp, control: Control) -> None:
        self._app = app
        self._control = control

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or fail to as told."""
        if scope["type"] != "http" or scope["path"].startswith(f"{CONTROL}/"):
            await self._app(scope, receive, send)
            return
        with self._control.request(scope["path"], scope["query_string"].decode("latin-1")) as fault:
            answer = self._app
            if fault is not None:
                await asyncio.sleep(fault.delay_s)
                answer = broken(self._app, fault, self._control.clock)
            await answer(scope, receive, send)


def page_response(page: Page, request: Request) -> Response:
    """Return ``page`` as the response to ``request``, which may be a 304."""
    status, fields, body = answer(page, dict(request.scope["headers"]))
    response = Response(body, status)
    response.raw_headers = fields
    return response


def _host(scope: Scope, asked: dict[bytes, bytes]) -> str:
    if b"host" in asked:
        return asked[b"host"].decode("latin-1")
    host, port = scope["server"]
    return f"{host}:{port}"
