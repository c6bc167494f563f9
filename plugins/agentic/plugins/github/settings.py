"""The settings of agents of the platform ``github``."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import (
    AwareDatetime,
    Field,
    PositiveFloat,
    PositiveInt,
    StringConstraints,
    field_validator,
    model_validator,
)

from agentic.core.http import HttpPolicy
from agentic.core.http.api import API_URL, ApiSettings
from agentic.core.http.policy import SECRET

BASE_URL = "https://api.github.com"
API_VERSION = "2026-03-10"
HEADERS = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": API_VERSION}

PER_PAGE = 100
SEARCH_LIMIT = 1_000
"""GitHub returns at most this number of search results."""

MAX_ROWS = 5_000
"""Limit of rows, because a run has one result."""

MAX_QUERY = 256
PATIENCE_S = 30.0
"""Longest wait inside a step; a step with a longer one is parked and occupies no worker."""


Mode = Literal["repos", "issues", "releases", "search"]
SearchKind = Literal["repositories", "issues"]
State = Literal["open", "closed", "all"]
Sort = Literal[
    "stars", "forks", "help-wanted-issues", "updated", "created", "comments", "reactions", "interactions"
]
Order = Literal["asc", "desc"]
RepoName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+$")]


SORTS: dict[SearchKind, frozenset[Sort]] = {
    "repositories": frozenset({"stars", "forks", "help-wanted-issues", "updated"}),
    "issues": frozenset({"updated", "created", "comments", "reactions", "interactions"}),
}
"""Sort keys of each kind of search."""


class GithubSettings(ApiSettings):
    """The config of a GitHub agent.

    ``{"repos": ["python/cpython"]}`` reads a repository, ``{"mode": "search", "query": "..."}`` searches.
    """

    mode: Mode = Field(
        default="repos", description="Mode: repos, issues (of repos), releases (of repos) or search."
    )
    repos: tuple[RepoName, ...] = Field(default=(), description="Repositories, each as owner/name.")
    query: str | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_QUERY,
        description="Search query, with GitHub's qualifiers; mode repos takes it instead of names.",
    )
    kind: SearchKind = Field(
        default="repositories", description="Kind of results of mode search; issues include pull requests."
    )
    sort: Sort | None = Field(
        default=None,
        description="Sort key of a search: stars, forks, help-wanted-issues or updated for repositories; "
        "updated, created, comments, reactions or interactions for issues. Default: best match.",
    )
    order: Order = Field(default="desc", description="Sort order: desc or asc.")
    state: State = Field(default="all", description="State of issues in mode issues.")
    since: AwareDatetime | None = Field(default=None, description="Only issues changed since then.")
    days: PositiveInt | None = Field(default=None, description="Only issues changed in the last N days.")
    limit: int = Field(
        default=PER_PAGE,
        ge=1,
        le=MAX_ROWS,
        description="Rows of the search, or per repository: last changes, newest releases.",
    )
    token: str | None = Field(
        default=None,
        description="Token as ${secrets.NAME}, never the token itself; without one GitHub allows 60 "
        "requests an hour.",
    )
    max_wait_s: PositiveFloat = Field(
        default=3_600,
        description="Longest wait for a limit of GitHub; above it the agent fails.",
    )
    base_url: str = Field(
        default=BASE_URL,
        pattern=API_URL,
        description="Root of the API; https://HOST/api/v3 for your own server.",
    )

    @property
    def secret(self) -> str | None:
        """Name of the secret with the token."""
        found = SECRET.fullmatch(self.token) if self.token else None
        return found[1] if found else None

    def policy(self) -> HttpPolicy:
        """Return how to fetch: one by one, as GitHub requests, and unchanged answers only once."""
        update = {"cache": "revalidate", "max_wait_s": min(PATIENCE_S, self.max_wait_s)}
        return super().policy().model_copy(update=update)

    @field_validator("token")
    @classmethod
    def _is_reference(cls, token: str | None) -> str | None:
        if token is not None and SECRET.fullmatch(token) is None:
            raise ValueError("name a stored secret, as ${secrets.NAME}; see `agentic secrets set`")
        return token

    @model_validator(mode="after")
    def _can_be_sorted(self) -> Self:
        if self.sort is None:
            if self.order != "desc":
                raise ValueError("order needs a sort; without one a search gives its best match first")
            return self
        if self.query is None:
            raise ValueError("sort is for a search: give a query")
        known = SORTS[self.kind if self.mode == "search" else "repositories"]
        if self.sort not in known:
            raise ValueError(f"such a search has no sort {self.sort}; use one of {', '.join(sorted(known))}")
        return self

    @model_validator(mode="after")
    def _says_what_to_read(self) -> Self:
        if self.mode == "search" and (self.query is None or self.repos):
            raise ValueError("mode search needs a query, and no repos: name them in it as repo:owner/name")
        if self.mode == "repos" and bool(self.repos) is bool(self.query):
            raise ValueError("mode repos needs either repos or a query")
        if self.mode in ("issues", "releases") and (not self.repos or self.query):
            raise ValueError(f"mode {self.mode} needs repos instead of a query; mode search takes a query")
        if self.mode != "issues" and (self.since or self.days):
            raise ValueError("since and days are for mode issues; a query takes updated:>2026-01-31")
        if self.since and self.days:
            raise ValueError("give since or days, not both")
        if len(self.repos) * self.limit > MAX_ROWS and self.mode in ("issues", "releases"):
            raise ValueError(
                f"that is more than {MAX_ROWS} rows in one run; lower limit, or create several agents"
            )
        return self
