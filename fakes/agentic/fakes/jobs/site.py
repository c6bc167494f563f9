"""The job board for people: a form login, a session cookie, a search, details.

GET  /                  search form and a link to the login
GET  /login             the form; its hidden ``csrf_token`` belongs to the cookie ``jobs_csrf``
POST /login             303 to ``next`` or ``/``, with the cookie ``jobs_session``; a wrong password is 401,
                        an unknown user 200 (both show ``.error``), a foreign ``csrf_token`` 403
GET  /search?q=&page=   ``.job-card`` with ``a.job-link``; ``a.next``
GET  /job/{number}      details and JSON-LD
POST /logout            303 to ``/``; GET does it too, as on careless sites

Search and details want the session, else they lead to the login with 302.
"""

from __future__ import annotations

from hashlib import blake2b
from hmac import compare_digest
from urllib.parse import parse_qsl, quote, urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from agentic.fakes.asgi import page_response
from agentic.fakes.jobs import pages
from agentic.fakes.jobs.board import Board, page_of
from agentic.fakes.jobs.credentials import PASSWORD, USERNAME
from agentic.fakes.jobs.sessions import Sessions
from agentic.fakes.pages import HTML, TODAY, Page, html_page

SESSION = "jobs_session"
CSRF = "jobs_csrf"
PRIVATE = (("cache-control", "private"), ("vary", "cookie"))


class JobSite:
    """The pages over ``board`` for whom ``sessions`` knows."""

    def __init__(self, board: Board, sessions: Sessions) -> None:
        self._board = board
        self._sessions = sessions
        self._forms = 0

    def routes(self) -> list[BaseRoute]:
        """Return all routes."""
        return [
            Route("/", self.home),
            Route("/login", self.form),
            Route("/login", self.log_in, methods=["POST"]),
            Route("/logout", self.log_out, methods=["GET", "POST"]),
            Route("/search", self.search),
            Route("/job/{number:int}", self.details),
        ]

    async def home(self, request: Request) -> Response:
        """Answer ``/``."""
        return page_response(html_page(pages.home()), request)

    async def form(self, request: Request) -> Response:
        """Answer ``GET /login``."""
        self._forms += 1
        cookie = request.cookies.get(CSRF) or blake2b(b"form %d" % self._forms, digest_size=16).hexdigest()
        response = HTMLResponse(pages.login(_token(cookie), request.query_params.get("next", "")))
        response.set_cookie(CSRF, cookie, httponly=True, samesite="lax", path=_root(request))
        return response

    async def log_in(self, request: Request) -> Response:
        """Answer ``POST /login``."""
        fields = dict(parse_qsl((await request.body()).decode("utf-8", "replace")))
        following = fields.get("next", "")
        if not _is_ours(fields.get("csrf_token", ""), request.cookies.get(CSRF, "")):
            return HTMLResponse(pages.login("", following, "The form has expired. Open it again."), 403)
        user, password = fields.get("session_key", ""), fields.get("session_password", "")
        if user != USERNAME or password != PASSWORD:
            error, status = ("Wrong password.", 401) if user == USERNAME else ("Nobody has that name.", 200)
            return HTMLResponse(pages.login(fields["csrf_token"], following, error), status)
        response = RedirectResponse(_local(following) or f"{_root(request)}/", 303)
        response.set_cookie(
            SESSION, self._sessions.open(), httponly=True, samesite="lax", path=_root(request)
        )
        return response

    async def log_out(self, request: Request) -> Response:
        """Answer ``/logout``."""
        self._sessions.close(request.cookies.get(SESSION))
        response = RedirectResponse(f"{_root(request)}/", 303)
        response.delete_cookie(SESSION, path=_root(request))
        return response

    async def search(self, request: Request) -> Response:
        """Answer ``/search``."""
        if refusal := self._refusal(request):
            return refusal
        query, number = request.query_params.get("q", ""), page_number(request)
        found = self._board.search(query)
        jobs, following = page_of(found, number)
        return _private(pages.results(query, jobs, len(found), following), request)

    async def details(self, request: Request) -> Response:
        """Answer ``/job/{number}``."""
        if refusal := self._refusal(request):
            return refusal
        job = self._board.jobs.get(request.path_params["number"])
        if job is None:
            raise HTTPException(404)
        return _private(pages.details(job), request)

    def _refusal(self, request: Request) -> Response | None:
        if self._sessions.admit(request.cookies.get(SESSION)):
            return None
        query = f"?{request.url.query}" if request.url.query else ""
        following = urlencode({"next": f"{request.url.path}{query}"}, quote_via=quote)
        return RedirectResponse(f"{_root(request)}/login?{following}", 302)


def page_number(request: Request) -> int:
    """Return ``page`` of the query, 1 if there is none."""
    number = request.query_params.get("page", "1")
    return int(number) if number.isascii() and number.isdigit() and 0 < len(number) < 7 else 1


def _private(markup: str, request: Request) -> Response:
    return page_response(Page(markup.encode(), HTML, headers=PRIVATE, modified=TODAY), request)


def _root(request: Request) -> str:
    root: str = request.scope.get("root_path", "")
    return root


def _token(cookie: str) -> str:
    return blake2b(cookie.encode(), key=b"job board", digest_size=16).hexdigest()


def _is_ours(token: str, cookie: str) -> bool:
    return bool(cookie) and compare_digest(token.encode(), _token(cookie).encode())


def _local(path: str) -> str:
    """Return ``path`` if it stays on this site."""
    return path if path.startswith("/") and not path.startswith(("//", "/\\")) else ""
