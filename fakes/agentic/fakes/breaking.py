"""ASGI applications that answer as a fault says. Loaded when an application is made: it needs starlette."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from email.utils import format_datetime
from http import HTTPStatus
from typing import Any

from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agentic.fakes.clock import FakeClock
from agentic.fakes.faults import Fault
from agentic.fakes.pages import document

TURNED_AWAY = document(
    "Verify you are human",
    '<h1>Are you a robot?</h1><form method="post"><div class="g-recaptcha" data-sitekey="fake"></div></form>',
)
NO_JSON = "upstream is busy {"


def broken(app: ASGIApp, fault: Fault, clock: FakeClock) -> ASGIApp:
    """Return what answers a request in place of ``app``, which it may ask.

    Args:
        app: Would answer it.
        fault: What goes wrong.
        clock: What time it is at the fakes.
    """
    if fault.close == "before":
        return _hang_up
    if fault.html_instead_of_json is not None:
        return HTMLResponse(TURNED_AWAY, fault.html_instead_of_json)
    if fault.bad_json == "text":
        return Response(NO_JSON, media_type="application/json")
    if fault.bad_json == "cut":
        return _changing(app, half)
    if fault.close == "within":
        return _cutting(app, None)
    answer = app if fault.status is None else _refusal(fault.status, fault, clock)
    return answer if fault.truncate is None else _cutting(answer, fault.truncate)


def half(body: bytes) -> bytes:
    """Return the first half of a body."""
    return body[: len(body) // 2]


async def _hang_up(_: Scope, receive: Receive, send: Send) -> None:
    """Close the connection; ASGI has no word for that, so it is done at the server's end of it."""
    cycle: Any = getattr(send, "__self__", None)  # uvicorn's, whichever protocol it speaks
    cycle.transport.close()
    while (await receive())["type"] != "http.disconnect":
        pass


def _changing(app: ASGIApp, change: Callable[[bytes], bytes]) -> ASGIApp:
    """Return an application that answers as ``app`` does, but for the body; its length is right."""

    async def changed(scope: Scope, receive: Receive, send: Send) -> None:
        start: Message = {}
        body = b""

        async def gather(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start":
                start = message
                return
            body += message.get("body", b"")
            if message.get("more_body", False):
                return
            told = change(body)
            kept = [(name, value) for name, value in start["headers"] if name.lower() != b"content-length"]
            length = (b"content-length", str(len(told)).encode())
            await send({**start, "headers": [*kept, length]})
            await send({"type": "http.response.body", "body": told})

        await app(scope, receive, gather)

    return changed


def _cutting(app: ASGIApp, limit: int | None) -> ASGIApp:
    """Return an application that stops after ``limit`` bytes of the body, or in the middle of its first part.

    The server then cuts the connection.
    """

    async def cut(scope: Scope, receive: Receive, send: Send) -> None:
        async def stop(message: Message) -> None:
            body: bytes = message.get("body", b"")
            most = len(body) // 2 if limit is None else limit
            if message["type"] == "http.response.body" and len(body) > most:
                await send({"type": "http.response.body", "body": body[:most], "more_body": True})
            else:
                await send(message)

        await app(scope, receive, stop)

    return cut


def _refusal(status: int, fault: Fault, clock: FakeClock) -> Response:
    phrase = HTTPStatus(status).phrase if status in set(HTTPStatus) else str(status)
    headers = {} if fault.retry_after_s is None else {"retry-after": _retry_after(fault, clock)}
    if fault.location is not None:
        headers["location"] = fault.location
    return PlainTextResponse(phrase, status, headers=headers)


def _retry_after(fault: Fault, clock: FakeClock) -> str:
    wait_s = fault.retry_after_s or 0
    if not fault.retry_after_date:
        return str(wait_s)
    return format_datetime(clock.moment() + timedelta(seconds=wait_s), usegmt=True)
