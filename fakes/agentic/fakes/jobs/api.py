"""The job board for programs, and what guards it.

POST /oauth/token           ``client_credentials`` or ``refresh_token``; the client is known by HTTP basic, or
                            by ``client_id`` and ``client_secret`` in the form; refresh tokens rotate
GET  /api/search?q=&page=   ``{"jobs": [...], "next": URL or null}`` for a bearer token
GET  /basic?q=&page=        the pages of ``/search`` for HTTP basic
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import asdict
from urllib.parse import parse_qsl, urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from agentic.core.types import JSONValue
from agentic.fakes.asgi import page_response
from agentic.fakes.jobs import pages
from agentic.fakes.jobs.board import Board, Job, page_of
from agentic.fakes.jobs.credentials import CLIENT_ID, CLIENT_SECRET, PASSWORD, USERNAME
from agentic.fakes.jobs.site import page_number
from agentic.fakes.jobs.tokens import Grant, Tokens
from agentic.fakes.pages import html_page

REALM = 'realm="jobs"'
NOT_STORED = {"cache-control": "no-store"}


class JobApi:
    """The API over ``board`` for the tokens of ``tokens``."""

    def __init__(self, board: Board, tokens: Tokens) -> None:
        self._board = board
        self._tokens = tokens

    def routes(self) -> list[BaseRoute]:
        """Return all routes."""
        return [
            Route("/oauth/token", self.token, methods=["POST"]),
            Route("/api/search", self.search),
            Route("/basic", self.basic),
        ]

    async def token(self, request: Request) -> Response:
        """Answer ``POST /oauth/token`` (RFC 6749, 4.4, 5.2 and 6)."""
        fields = dict(parse_qsl((await request.body()).decode("utf-8", "replace")))
        client = _basic(request) or (fields.get("client_id", ""), fields.get("client_secret", ""))
        if client != (CLIENT_ID, CLIENT_SECRET):
            return _oauth_error("invalid_client", 401, {"www-authenticate": f"Basic {REALM}"})
        match fields.get("grant_type"):
            case "client_credentials":
                return _granted(self._tokens.issue())
            case "refresh_token":
                grant = self._tokens.refresh(fields.get("refresh_token", ""))
                return _granted(grant) if grant else _oauth_error("invalid_grant", 400)
            case None:
                return _oauth_error("invalid_request", 400)
            case _:
                return _oauth_error("unsupported_grant_type", 400)

    async def search(self, request: Request) -> Response:
        """Answer ``/api/search``."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.casefold() != "bearer" or not self._tokens.admit(token.strip()):
            fault = ', error="invalid_token"' if token else ""
            challenge = {"www-authenticate": f"Bearer {REALM}{fault}"}
            return JSONResponse({"error": "invalid_token"}, 401, headers=challenge)
        query = request.query_params.get("q", "")
        jobs, following = page_of(self._board.search(query), page_number(request))
        url = str(request.url.replace(query=urlencode({"q": query, "page": following})))
        return JSONResponse({"jobs": [_plain(job) for job in jobs], "next": url if following else None})

    async def basic(self, request: Request) -> Response:
        """Answer ``/basic``."""
        if _basic(request) != (USERNAME, PASSWORD):
            return PlainTextResponse("Unauthorized", 401, headers={"www-authenticate": f"Basic {REALM}"})
        query = request.query_params.get("q", "")
        found = self._board.search(query)
        jobs, following = page_of(found, page_number(request))
        return page_response(html_page(pages.results(query, jobs, len(found), following)), request)


def _basic(request: Request) -> tuple[str, str] | None:
    kind, _, encoded = request.headers.get("authorization", "").partition(" ")
    if kind.casefold() != "basic":
        return None
    try:
        user, _, password = b64decode(encoded, validate=True).decode().partition(":")
    except ValueError:  # neither base64 nor UTF-8
        return "", ""
    return user, password


def _granted(grant: Grant) -> Response:
    return JSONResponse({**asdict(grant), "token_type": "Bearer", "scope": "jobs"}, headers=NOT_STORED)


def _oauth_error(code: str, status: int, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse({"error": code}, status, headers={**NOT_STORED, **(headers or {})})


def _plain(job: Job) -> JSONValue:
    low, high = job.salary or (None, None)
    return {
        "id": job.number,
        "title": job.title,
        "company": job.company,
        "location": job.location,
        "posted": job.posted.isoformat(),
        "salary_min": low,
        "salary_max": high,
        "currency": job.currency if job.salary else None,
        "description": job.description,
        "skills": list(job.skills),
    }
