"""The routes of the fake GitHub, mounted below ``/github``.

GET /repos/{owner}/{name}              301 to ``/repositories/{id}`` if it was renamed; 404 if it is private
GET /repositories/{id}                 and the token somebody else's; 451 if it is blocked
GET .../issues?state=&since=           pull requests, too; 410 where issues are switched off
GET .../issues/{number}
GET .../releases
GET /search/repositories?q=            at most 1,000 results; 422 for a query that is none
GET /search/issues?q=
GET /rate_limit                        does not count

Answers have ``ETag``, ``Link`` and ``x-ratelimit-*``; a 304 to a known token does not count.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agentic.core.types import JSONValue
from agentic.fakes.asgi import page_response
from agentic.fakes.github.account import LIMITS, GithubAccount, Resource, Standing
from agentic.fakes.github.archive import OLD_NAME, RENAMED, Item, Repo, build_archive
from agentic.fakes.github.credentials import OTHER_TOKEN, TOKEN
from agentic.fakes.github.paging import BadPageError, base_of, paged
from agentic.fakes.github.searching import (
    SEARCH_LIMIT,
    fault_in,
    find_issues,
    find_repos,
    sorted_views,
)
from agentic.fakes.github.views import issue_view, json_list, release_view, repo_view
from agentic.fakes.pages import TODAY, Page, json_page

VERSIONS = ("2022-11-28", "2026-03-10")
NEWEST = VERSIONS[-1]
DOCS = "https://docs.github.com/rest"

Answer = Callable[[Request, str], Page]

# Servers of a process share it.
_archive = lru_cache(maxsize=4)(build_archive)


class RefusalError(Exception):
    """Becomes an answer."""

    def __init__(self, status: int, message: str, *errors: Item) -> None:
        super().__init__(message)
        self.status = status
        self.errors = errors


class Github:
    """The API over an archive made from ``seed``."""

    def __init__(self, seed: int, account: GithubAccount) -> None:
        self._seed = seed
        self._account = account

    @cached_property
    def repos(self) -> dict[str, Repo]:
        """All repositories by name; made when they are first asked for."""
        return _archive(self._seed)

    def routes(self) -> list[BaseRoute]:
        """Return all routes."""
        places = ("/repos/{owner}/{name}", "/repositories/{id:int}")
        parts: dict[str, Answer] = {
            "": self.repo,
            "/issues": self.issues,
            "/issues/{number:int}": self.issue,
            "/releases": self.releases,
        }
        return [
            *(self._route(place + part, answer) for place in places for part, answer in parts.items()),
            self._route("/search/repositories", self.search_repos, "search"),
            self._route("/search/issues", self.search_issues, "search"),
            Route("/rate_limit", self.rate_limit),
            Route("/{path:path}", self._nothing),
        ]

    def repo(self, request: Request, who: str) -> Page:
        """Answer with a repository, or with where it is now."""
        if request.path_params.get("owner") and _name(request) == OLD_NAME:
            number = self.repos[RENAMED].facts["id"]
            moved: Item = {"message": "Moved Permanently", "url": f"{base_of(request)}/repositories/{number}"}
            page = json_page(moved)
            return Page(page.body, page.content_type, 301, (("location", str(moved["url"])),))
        return _page(repo_view(self._repo(request, who), base_of(request), is_whole=True))

    def issues(self, request: Request, who: str) -> Page:
        """Answer with issues, those that changed last first."""
        repo = self._repo(request, who)
        if not repo.has_issues:
            raise RefusalError(410, "Issues are disabled for this repo")
        asked = request.query_params
        views = [issue_view(repo, issue, base_of(request), self._closed) for issue in repo.issues]
        state, since = asked.get("state", "open"), asked.get("since", "")
        found = [
            view for view in views if state in ("all", view["state"]) and str(view["updated_at"]) >= since
        ]
        by = "updated_at" if asked.get("sort") == "updated" else "created_at"
        found.sort(key=lambda view: (str(view[by]), str(view["id"])), reverse=asked.get("direction") != "asc")
        return self._listed(request, found)

    def issue(self, request: Request, who: str) -> Page:
        """Answer with one issue."""
        repo = self._repo(request, who)
        number = request.path_params["number"]
        found = next((issue for issue in repo.issues if issue["number"] == number), None)
        if found is None:
            raise RefusalError(404, "Not Found")
        return _page(issue_view(repo, found, base_of(request), self._closed))

    def releases(self, request: Request, who: str) -> Page:
        """Answer with releases, the newest first."""
        repo = self._repo(request, who)
        return self._listed(
            request, [release_view(repo, one, base_of(request)) for one in reversed(repo.releases)]
        )

    def search_repos(self, request: Request, who: str) -> Page:
        """Answer with the repositories that fit."""
        found = find_repos(self._seen(who), _query(request))
        return self._found(request, [repo_view(repo, base_of(request)) for repo in found])

    def search_issues(self, request: Request, who: str) -> Page:
        """Answer with the issues that fit."""
        found = find_issues(self._seen(who), _query(request))
        return self._found(
            request, [issue_view(repo, issue, base_of(request), self._closed) for repo, issue in found]
        )

    async def rate_limit(self, request: Request) -> Response:
        """Answer with how things stand; up to 2022-11-28 ``rate`` says it again."""
        who, _ = _who(request)
        standings = {name: self._account.look(who, name) for name, known in LIMITS if known}
        resources: dict[str, JSONValue] = {name: _shown(one) for name, one in standings.items()}
        answer: Item = {"resources": resources}
        if request.headers.get("x-github-api-version") != NEWEST:
            answer["rate"] = resources["core"]
        return page_response(json_page(answer), request)

    @property
    def _closed(self) -> frozenset[str]:
        return frozenset(self._account.closed)

    def _route(self, path: str, answer: Answer, resource: Resource = "core") -> Route:
        async def respond(request: Request) -> Response:
            return self._respond(request, answer, resource)

        return Route(path, respond)

    def _respond(self, request: Request, answer: Answer, resource: Resource) -> Response:
        who, is_known = _who(request)
        standing = self._account.look(who, resource)
        if not is_known:
            return _limited(page_response(_refused(401, "Bad credentials"), request), standing)
        if order := self._account.take_secondary():
            said = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
            wait_s = order.secondary_retry_after_s
            headers = () if wait_s is None else (("retry-after", str(wait_s)),)
            return _limited(page_response(_refused(403, said, headers=headers), request), standing)
        if not standing.remaining:
            said = f"API rate limit exceeded for {'user ID 1' if who else '127.0.0.1'}."
            return _limited(page_response(_refused(403, said), request), standing)
        response = page_response(self._answer(request, answer, who), request)
        if response.status_code != 304 or not who:
            standing = self._account.count(standing, who)
        return _limited(response, standing)

    def _answer(self, request: Request, answer: Answer, who: str) -> Page:
        version = request.headers.get("x-github-api-version", VERSIONS[0])
        if version not in VERSIONS:
            return _refused(400, f"{version} is not a supported version of the API.")
        try:
            return answer(request, who)
        except RefusalError as exc:
            return _refused(exc.status, str(exc), *exc.errors)
        except BadPageError:
            return _refused(422, "Validation Failed")

    async def _nothing(self, request: Request) -> Response:
        return page_response(_refused(404, "Not Found"), request)

    def _repo(self, request: Request, who: str) -> Repo:
        number = request.path_params.get("id")
        repos = self.repos.values()
        found = (
            self.repos.get(_name(request))
            if number is None
            else next((repo for repo in repos if repo.facts["id"] == number), None)
        )
        if found is None or (found.is_private and who != TOKEN):
            raise RefusalError(404, "Not Found")
        if found.is_blocked:
            raise RefusalError(451, "Repository access blocked")
        return found

    def _seen(self, who: str) -> list[Repo]:
        return [
            repo
            for repo in self.repos.values()
            if not repo.is_blocked and (who == TOKEN or not repo.is_private)
        ]

    def _listed(self, request: Request, items: list[Item]) -> Page:
        part, link = paged(request, items)
        return _page(json_list(part), link)

    def _found(self, request: Request, items: list[Item]) -> Page:
        asked = request.query_params
        shown = sorted_views(items, asked.get("sort"), asked.get("order"))
        part, link = paged(request, shown[:SEARCH_LIMIT], is_bounded=True)
        return _page({"total_count": len(items), "incomplete_results": False, "items": json_list(part)}, link)


def _name(request: Request) -> str:
    return f"{request.path_params['owner']}/{request.path_params['name']}".lower()


def _query(request: Request) -> str:
    query = request.query_params.get("q", "")
    if fault := fault_in(query):
        raise RefusalError(422, "Validation Failed", {"message": fault, "resource": "Search", "field": "q"})
    return query


def _who(request: Request) -> tuple[str, bool]:
    """Return the token, "" without one, and whether it is good."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if not scheme:
        return "", True
    return token, scheme.lower() in ("bearer", "token") and token in (TOKEN, OTHER_TOKEN)


def _page(value: JSONValue, link: str = "") -> Page:
    page = json_page(value, modified=TODAY)
    headers = (("link", link),) if link else ()
    return Page(page.body, page.content_type, headers=headers, modified=page.modified)


def _refused(status: int, message: str, *errors: Item, headers: tuple[tuple[str, str], ...] = ()) -> Page:
    said: Item = {"message": message, "documentation_url": DOCS, "status": str(status)}
    page = json_page({**said, "errors": json_list(errors)} if errors else said)
    return Page(page.body, page.content_type, status, headers)


def _shown(standing: Standing) -> Item:
    return {
        "limit": standing.limit,
        "used": standing.used,
        "remaining": standing.remaining,
        "reset": standing.reset,
    }


def _limited(response: Response, standing: Standing) -> Response:
    for name, value in _shown(standing).items():
        response.headers[f"x-ratelimit-{name}"] = str(value)
    response.headers["x-ratelimit-resource"] = standing.resource
    return response
