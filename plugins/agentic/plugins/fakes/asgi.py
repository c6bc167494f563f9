"""ASGI around sites and faults. Loaded when an application is made: it needs starlette."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agentic.plugins.fakes.control import Control, Fault
from agentic.plugins.fakes.pages import Site

CONTROL = "/__control"


class SiteApp:
    """Answers GET and HEAD out of a site."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._answer(scope)(scope, receive, send)

    def _answer(self, scope: Scope) -> Response:
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("Method Not Allowed", 405, headers={"allow": "GET, HEAD"})
        mount = scope.get("root_path", "")
        url = Request(scope).url
        page = self._site.page(
            scope["path"].removeprefix(mount), url.query, f"{url.scheme}://{url.netloc}{mount}"
        )
        if page is None:
            return PlainTextResponse("Not Found", 404)
        return Response(page.body, headers={"content-type": page.content_type})


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
            if fault is None:
                await self._app(scope, receive, send)
            else:
                await asyncio.sleep(fault.delay_s)
                answer = self._app if fault.status is None else _refusal(fault.status, fault.retry_after_s)
                await answer(
                    scope, receive, send if fault.truncate is None else _cutting(send, fault.truncate)
                )


class ControlPanel:
    """The routes below ``/__control``."""

    def __init__(self, control: Control) -> None:
        self._control = control

    async def add_fault(self, request: Request) -> Response:
        """``POST /__control/faults``: arm one fault; 422 names what is wrong with it."""
        try:
            fault = Fault.model_validate_json(await request.body())
        except ValidationError as exc:
            errors = [{"field": _field(error["loc"]), "message": error["msg"]} for error in exc.errors()]
            return JSONResponse({"errors": errors}, 422)
        self._control.add(fault)
        return JSONResponse(fault.model_dump(mode="json"), 201)

    async def stats(self, request: Request) -> Response:  # noqa: ARG002 - starlette hands it over
        """``GET /__control/stats``: what was asked so far."""
        return JSONResponse(self._control.stats())

    async def reset(self, request: Request) -> Response:  # noqa: ARG002 - starlette hands it over
        """``POST /__control/reset``: no faults, no counts."""
        self._control.reset()
        return Response(status_code=204)


def _field(location: tuple[int | str, ...]) -> str:
    return ".".join(map(str, location)) or "body"


def _refusal(status: int, retry_after_s: int | None) -> Response:
    phrase = HTTPStatus(status).phrase if status in set(HTTPStatus) else str(status)
    headers = {} if retry_after_s is None else {"retry-after": str(retry_after_s)}
    return PlainTextResponse(phrase, status, headers=headers)


def _cutting(send: Send, limit: int) -> Send:
    """Return a ``send`` that stops after ``limit`` bytes of the body; the server then cuts the connection."""

    async def cut(message: Message) -> None:
        body: bytes = message.get("body", b"")
        if message["type"] == "http.response.body" and len(body) > limit:
            await send({"type": "http.response.body", "body": body[:limit], "more_body": True})
        else:
            await send(message)

    return cut
