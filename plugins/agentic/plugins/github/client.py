"""GitHub's REST API: one request after the other, page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from urllib.parse import urlencode, urlsplit

from pydantic import SecretStr, TypeAdapter

from agentic.core.errors import AgenticError
from agentic.core.http import HttpResponse, HttpSession, JsonApi, UnexpectedAnswerError
from agentic.core.http.api import Connect
from agentic.core.http.link_header import next_link
from agentic.plugins.github.items import Answer, Found, Record, SearchPage, Target
from agentic.plugins.github.settings import HEADERS, PER_PAGE, SEARCH_LIMIT


class GithubError(AgenticError):
    """Base of errors about GitHub."""


class TokenError(GithubError, ValueError):
    """The secret is not a valid token."""

    def __init__(self, secret: str) -> None:
        super().__init__(
            f"the secret {secret!r} has characters that no token has; store it again with `agentic secrets "
            f"set {secret}`"
        )
        self.secret = secret


Secret = Callable[[str], Awaitable[SecretStr]]

_THING = TypeAdapter(Answer)
_LIST = TypeAdapter(list[Answer])
_SEARCH = TypeAdapter(SearchPage)


class GithubClient:
    """Reads targets.

    Args:
        base_url: Root of the API.
        connect: Returns the fetcher.
        secret: Name of the secret with the token; None for anonymous requests.
        secrets: Returns a secret by name.
    """

    def __init__(
        self, base_url: str, connect: Connect, secret: str | None = None, secrets: Secret | None = None
    ) -> None:
        self._api = JsonApi("GitHub", base_url, connect, HEADERS)
        self._secret = secret
        self._secrets = secrets

    async def read(self, target: Target) -> Found:
        """Return the results of a target, at most ``limit``.

        Raises:
            FetchError: An answer did not come.
            UnexpectedAnswerError: It is not an answer of GitHub.
            UnknownSecretError: The secret does not exist.
            TokenError: It is not a token.
        """
        session = await self._session()
        if target.what == "search":
            return await self._search(target, session)
        return await self._repository(target, session)

    async def _repository(self, target: Target, session: HttpSession | None) -> Found:
        repo = self._api.read(await self._api.ask(f"repos/{target.name}", session), _THING)
        name = str(repo.get("full_name") or target.name)
        found = Found(repos=(repo,), warnings=_renamed(target.name, name))
        if target.what == "repos":
            return found
        options: dict[str, object] = {"per_page": min(PER_PAGE, target.limit)}
        if target.what == "issues":
            options |= {"state": target.state, "sort": "updated", "direction": "desc"}
            options |= {"since": _moment(target)} if target.since else {}
        path = f"repos/{name}/{target.what}?{urlencode(options)}"
        items: list[Answer] = []
        async for response in self._pages(path, session):
            page = self._api.read(response, _LIST)
            items += page
            if len(items) >= target.limit:
                break
        records = tuple(_record(repo, name, item) for item in items[: target.limit])
        return found.model_copy(update={target.what: records})

    async def _search(self, target: Target, session: HttpSession | None) -> Found:
        options: dict[str, object] = {"q": target.name, "per_page": min(PER_PAGE, target.limit)}
        options |= {"sort": target.sort, "order": target.order} if target.sort else {}
        items: list[Answer] = []
        total, is_incomplete = 0, False
        async for response in self._pages(f"search/{target.kind}?{urlencode(options)}", session):
            page = self._api.read(response, _SEARCH)
            total = page.total_count
            is_incomplete = is_incomplete or page.incomplete_results
            items += page.items
            # GitHub refuses the page after the last one: do not follow a Link to it.
            if len(items) >= min(target.limit, SEARCH_LIMIT):
                break
        kept = items[: min(target.limit, SEARCH_LIMIT)]
        warnings = _search_warnings(target, total, is_incomplete=is_incomplete)
        if target.kind == "repositories":
            return Found(repos=tuple(kept), warnings=warnings)
        return Found(issues=tuple(Record(repo=_repo_of(item), item=item) for item in kept), warnings=warnings)

    async def _pages(self, path: str, session: HttpSession | None) -> AsyncIterator[HttpResponse]:
        """Yield the answer at ``path`` and the following pages of ``Link: rel=next``."""
        following: str | None = f"{self._api.base_url}/{path}"
        seen: set[str] = set()
        while following is not None:
            seen.add(following)
            response = await self._api.ask(following, session)
            yield response
            following = next_link(response.headers)
            if following is not None and (following in seen or not self._is_ours(following)):
                raise UnexpectedAnswerError(
                    "GitHub", response.url, "its Link header does not lead to a next page"
                )

    def _is_ours(self, url: str) -> bool:
        return urlsplit(url)[:2] == urlsplit(self._api.base_url)[:2]

    async def _session(self) -> HttpSession | None:
        """Return the session; it is read for each target, so that a token may be replaced at any time."""
        if self._secret is None or self._secrets is None:
            return None
        # A token from a file ends with a line break, which headers must not contain.
        token = (await self._secrets(self._secret)).get_secret_value().strip()
        if not token or not token.isascii() or not token.isprintable():
            raise TokenError(self._secret)
        return HttpSession(
            name=f"github/{self._secret}",
            hosts=frozenset({urlsplit(self._api.base_url).netloc.lower()}),
            headers={"authorization": SecretStr(f"Bearer {token}")},
            keeps_answers=True,
        )


def _moment(target: Target) -> str:
    return target.since.strftime("%Y-%m-%dT%H:%M:%S%z").replace("+0000", "Z") if target.since else ""


def _record(repo: Answer, name: str, item: Answer) -> Record:
    repo_id = repo.get("id")
    return Record(repo_id=repo_id if isinstance(repo_id, int) and repo_id > 0 else None, repo=name, item=item)


def _repo_of(item: Answer) -> str | None:
    """Return ``owner/name`` from the repository's address, the only data in a search result."""
    parts = str(item.get("repository_url") or "").rsplit("/", 2)
    return "/".join(parts[1:]) if len(parts) == 3 else None


def _renamed(asked: str, name: str) -> tuple[str, ...]:
    if asked.lower() == name.lower():
        return ()
    return (f"{asked} is now {name}; correct the agent's repos",)


def _search_warnings(target: Target, total: int, *, is_incomplete: bool) -> tuple[str, ...]:
    warnings = []
    if total > SEARCH_LIMIT and target.limit > SEARCH_LIMIT:
        warnings.append(
            f"GitHub returns the first {SEARCH_LIMIT:,} results of a search, and this one has {total:,}; "
            "narrow the query, e.g. with created:2026-01-01..2026-01-31"
        )
    if is_incomplete:
        warnings.append("GitHub ran out of time, so its results are incomplete; narrow the query")
    return tuple(warnings)
