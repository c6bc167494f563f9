"""Typed answers of the API, and queries to it. https://docs.github.com/rest describes it.

All fields of answers except the ids may be missing or null; unknown fields are passed along.
"""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, NonNegativeInt, PositiveInt

from agentic.core.types import JSONValue
from agentic.plugins.github.settings import Mode, Order, SearchKind, Sort, State

Answer = dict[str, JSONValue]
"""A thing as the API returns it, validated when it is stored: a bad one does not affect the others."""


class GithubQuery(BaseModel):
    """What a run is to read; see :class:`~agentic.plugins.github.settings.GithubSettings`."""

    __wire_name__ = "agentic.plugins.github.items.GithubQuery"

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Mode = "repos"
    repos: tuple[str, ...] = ()
    query: str | None = None
    kind: SearchKind = "repositories"
    sort: Sort | None = None
    order: Order = "desc"
    state: State = "all"
    since: AwareDatetime | None = None
    limit: PositiveInt = 100


class Target(BaseModel):
    """One thing to read: a repository, its issues or releases, or a search.

    ``name`` is the repository's, or the words to search for.
    """

    __wire_name__ = "agentic.plugins.github.items.Target"

    model_config = ConfigDict(extra="forbid", frozen=True)

    what: Literal["repos", "issues", "releases", "search"]
    name: str
    kind: SearchKind = "repositories"
    sort: Sort | None = None
    order: Order = "desc"
    state: State = "all"
    since: AwareDatetime | None = None
    limit: PositiveInt = 100


class _OfRepo(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    repo_id: PositiveInt | None = None
    repo: str | None = None


class Record(_OfRepo):
    """An issue or a release, and its repository as far as it is known: the answer does not say its id."""

    __wire_name__ = "agentic.plugins.github.items.Record"

    item: Answer


class Found(BaseModel):
    """What was read. ``warnings`` holds a sentence for each thing that was not."""

    __wire_name__ = "agentic.plugins.github.items.Found"

    model_config = ConfigDict(extra="forbid", frozen=True)

    repos: tuple[Answer, ...] = ()
    issues: tuple[Record, ...] = ()
    releases: tuple[Record, ...] = ()
    warnings: tuple[str, ...] = ()


class SearchPage(BaseModel):
    """One page of a search. ``incomplete_results``: GitHub ran out of time and there may be more."""

    model_config = ConfigDict(extra="allow", frozen=True)

    total_count: NonNegativeInt
    incomplete_results: bool = False
    items: list[Answer]


class _Thing(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    id: PositiveInt
    html_url: str | None = None
    created_at: AwareDatetime | None = None


class GithubUser(BaseModel):
    """Whoever did something; None in its place where the account is gone."""

    model_config = ConfigDict(extra="allow", frozen=True)

    login: str | None = None


class GithubLicense(BaseModel):
    """A licence; ``NOASSERTION`` where GitHub knows none of that text."""

    model_config = ConfigDict(extra="allow", frozen=True)

    spdx_id: str | None = None


class GithubRepo(_Thing):
    """A repository; ``open_issues_count`` counts pull requests, too."""

    full_name: str = Field(pattern=r"^[^/]+/[^/]+$")
    description: str | None = None
    homepage: str | None = None
    language: str | None = None
    license: GithubLicense | None = None
    topics: list[str] | None = None
    default_branch: str | None = None
    stargazers_count: int | None = None
    forks_count: int | None = None
    subscribers_count: int | None = None
    open_issues_count: int | None = None
    private: bool | None = None
    fork: bool | None = None
    archived: bool | None = None
    updated_at: AwareDatetime | None = None
    pushed_at: AwareDatetime | None = None


class GithubLabel(BaseModel):
    """A label."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str | None = None


class GithubPullRequest(BaseModel):
    """What an issue says of the pull request that it is."""

    model_config = ConfigDict(extra="allow", frozen=True)

    merged_at: AwareDatetime | None = None


class GithubIssue(_Thing):
    """An issue or, with ``pull_request``, a pull request. Labels may be plain words."""

    number: PositiveInt
    title: str | None = None
    body: str | None = None
    state: str | None = None
    state_reason: str | None = None
    user: GithubUser | None = None
    labels: list[GithubLabel | str] | None = None
    assignees: list[GithubUser] | None = None
    comments: int | None = None
    locked: bool | None = None
    draft: bool | None = None
    updated_at: AwareDatetime | None = None
    closed_at: AwareDatetime | None = None
    repository_url: str | None = None
    pull_request: GithubPullRequest | None = None


class GithubAsset(BaseModel):
    """A file of a release."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str | None = None
    download_count: int = 0


class GithubRelease(_Thing):
    """A release; drafts come only to those who may change the repository."""

    tag_name: str
    name: str | None = None
    body: str | None = None
    draft: bool | None = None
    prerelease: bool | None = None
    author: GithubUser | None = None
    target_commitish: str | None = None
    published_at: AwareDatetime | None = None
    assets: list[GithubAsset] | None = None


class IssueRecord(_OfRepo):
    """An issue that is one."""

    item: GithubIssue


class ReleaseRecord(_OfRepo):
    """A release that is one."""

    item: GithubRelease
