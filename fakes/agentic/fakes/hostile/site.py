"""Everything a crawler should survive, mounted below ``/hostile``.

    /huge?mib=N                   that much text          /endless            text without an end, chunked
    /slow?bytes=N&every_ms=M      one byte at a time      /gzip-bomb?mib=N    small on the wire
    /redirects/{n}                n redirects, then 200   /loop               redirects to itself
    /to?url=&status=302           redirects anywhere      /status/{code}      answers with it
    /charset/{kind}, /malformed/{kind}, /challenge/{kind}   see :mod:`agentic.fakes.hostile.oddities`
    /challenge/aws                a wall that lets through who runs its script
    /ratelimit?per_s=1&burst=1&key=a    429 with Retry-After past the rate
    /ratelimit/stats              by key: allowed, refused, and early (asked again inside a Retry-After)
    /flaky?status=503&times=2&key=a     fails so often, then answers
    /not-html                     application/pdf
    /deep/{n}, /site/{size}/...   link spaces: see :mod:`agentic.fakes.hostile.generated`
    /many?pages=N                 redirects to ``/site/N/``

Numbers out of range are answered with 422.
"""

from __future__ import annotations

from collections.abc import Callable
from math import nan

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route

from agentic.fakes.asgi import SiteApp, page_response
from agentic.fakes.hostile import oddities, streams
from agentic.fakes.hostile.generated import MAX_SIZE, Deep, Generated
from agentic.fakes.hostile.limits import Flakes, RateLimits
from agentic.fakes.pages import HTML, Page, document, html_page

MAX_MIB = 4_096
KINDS: dict[str, Callable[[str], Page | None]] = {
    "charset": oddities.charset_page,
    "malformed": oddities.malformed_page,
    "challenge": oddities.challenge_page,
}


class Hostile:
    """The hostile site; ``limits`` and ``flakes`` are what it remembers."""

    def __init__(self, limits: RateLimits, flakes: Flakes) -> None:
        self._limits = limits
        self._flakes = flakes

    def routes(self) -> list[BaseRoute]:
        """Return all routes, those that crawls ask for most first."""
        return [
            Mount("/site", app=SiteApp(Generated())),
            Mount("/deep", app=SiteApp(Deep())),
            Route("/", _home),
            Route("/huge", _huge),
            Route("/endless", _endless),
            Route("/slow", _slow),
            Route("/gzip-bomb", _gzip_bomb),
            Route("/redirects/{count:int}", _redirects),
            Route("/loop", _loop),
            Route("/to", _to),
            Route("/many", _many),
            Route("/status/{code:int}", _status),
            Route("/not-html", _not_html),
            Route("/ratelimit", self.rate_limited),
            Route("/ratelimit/stats", self.rate_stats),
            Route("/flaky", self.flaky),
            Route("/challenge/aws", _walled),
            Route("/{group}/{kind}", _odd),
        ]

    async def rate_limited(self, request: Request) -> Response:
        """Answer ``/ratelimit``."""
        per_s, burst = _number(request, "per_s", 1, 0.001, 10**6), _whole(request, "burst", 1, 1, 10**6)
        wait_s = self._limits.take(request.query_params.get("key", ""), per_s, burst)
        if wait_s:
            return PlainTextResponse("Too Many Requests", 429, headers={"retry-after": str(wait_s)})
        return page_response(_fine("Within the rate"), request)

    async def rate_stats(self, request: Request) -> Response:  # noqa: ARG002 - starlette hands it over
        """Answer ``/ratelimit/stats``."""
        return JSONResponse(self._limits.stats())

    async def flaky(self, request: Request) -> Response:
        """Answer ``/flaky``."""
        times, status = _whole(request, "times", 1, 0, 10**6), _whole(request, "status", 503, 400, 599)
        if self._flakes.fails(request.url.query, times):
            return PlainTextResponse("Not now", status)
        return page_response(_fine("It works"), request)


async def _home(request: Request) -> Response:
    return page_response(_fine("Nothing here means well"), request)


async def _huge(request: Request) -> Response:
    return StreamingResponse(streams.huge(_mib(request)), media_type=HTML)


async def _endless(request: Request) -> Response:  # noqa: ARG001 - starlette hands it over
    return StreamingResponse(streams.endless(), media_type=HTML)


async def _slow(request: Request) -> Response:
    count, every_ms = _whole(request, "bytes", 100, 0, 10**6), _whole(request, "every_ms", 1_000, 0, 600_000)
    return StreamingResponse(streams.slow(count, every_ms / 1_000), media_type=HTML)


async def _gzip_bomb(request: Request) -> Response:
    packed = streams.gzip_bomb(_mib(request))
    return StreamingResponse(packed, media_type=HTML, headers={"content-encoding": "gzip"})


async def _redirects(request: Request) -> Response:
    count = request.path_params["count"]
    if not count:
        return page_response(_fine("The end of the way"), request)
    return RedirectResponse(f"{count - 1}", 302)


async def _loop(request: Request) -> Response:
    return RedirectResponse(request.url.path, 302)


async def _to(request: Request) -> Response:
    return RedirectResponse(request.query_params.get("url", "./"), _whole(request, "status", 302, 300, 399))


async def _many(request: Request) -> Response:
    return RedirectResponse(f"site/{_whole(request, 'pages', 1_000, 1, MAX_SIZE)}/", 302)


async def _status(request: Request) -> Response:
    code: int = request.path_params["code"]
    if not 200 <= code <= 599:
        raise HTTPException(422, "a status is a number from 200 to 599")
    bodiless = code in (204, 304)
    return Response(status_code=code) if bodiless else PlainTextResponse(f"Status {code}", code)


async def _not_html(request: Request) -> Response:
    return page_response(Page(oddities.PDF, "application/pdf"), request)


async def _walled(request: Request) -> Response:
    return page_response(oddities.walled_page(is_cleared=oddities.CLEARANCE in request.cookies), request)


async def _odd(request: Request) -> Response:
    make = KINDS.get(request.path_params["group"])
    page = make(request.path_params["kind"]) if make else None
    if page is None:
        raise HTTPException(404)
    return page_response(page, request)


def _fine(title: str) -> Page:
    return html_page(document(title, f"<h1>{title}</h1>"))


def _mib(request: Request) -> int:
    return _whole(request, "mib", 1, 1, MAX_MIB)


def _whole(request: Request, name: str, otherwise: int, least: int, most: int) -> int:
    return int(_number(request, name, otherwise, least, most))


def _number(request: Request, name: str, otherwise: float, least: float, most: float) -> float:
    """Return the number ``name`` of the query."""
    try:
        number = float(request.query_params.get(name, otherwise))
    except ValueError:
        number = nan
    if not least <= number <= most:  # nan neither
        raise HTTPException(422, f"{name} has to be a number from {least:g} to {most:g}")
    return number
