"""The tables of GitHub. Keys are its numeric ids: names and addresses change."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import JSON, BigInteger, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from agentic.mappers import Base, SourceColumns, UTCDateTime


class GithubRepoModel(SourceColumns, Base):
    """A repository as last seen, one row for each project.

    Attributes:
        id: GitHub's own; stays when the repository is renamed or transferred.
        license: SPDX id.
        stars: Number of stars.
        watchers: Number of subscribers; only known for a repository read by name.
        open_issues: Open issues and pull requests.
        private: Whether it is private.
    """

    __tablename__ = "github_repos"
    __table_args__ = (Index(None, "project_id", "full_name"),)

    id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    full_name: Mapped[str] = mapped_column(String(200))
    owner: Mapped[str] = mapped_column(String(100))
    description: Mapped[str | None] = mapped_column(Text)
    homepage: Mapped[str | None] = mapped_column(Text)
    language: Mapped[str | None] = mapped_column(String(100))
    license: Mapped[str | None] = mapped_column(String(100))
    topics: Mapped[list[str] | None] = mapped_column(JSON(none_as_null=True))
    default_branch: Mapped[str | None] = mapped_column(Text)
    stars: Mapped[int | None]
    forks: Mapped[int | None]
    watchers: Mapped[int | None]
    open_issues: Mapped[int | None]
    private: Mapped[bool | None]
    fork: Mapped[bool | None]
    archived: Mapped[bool | None]
    created_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    updated_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    pushed_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    html_url: Mapped[str | None] = mapped_column(Text)


class GithubIssueModel(SourceColumns, Base):
    """An issue or pull request as last seen, one row for each project.

    Attributes:
        repo_id: Id of its repository; unknown in a search.
        repo: ``owner/name`` of its repository when last seen.
        number: Its number there.
        is_pull_request: Whether it is a pull request.
        state: open or closed.
        author: Login; the former one if the account is gone.
        labels: Names.
        assignees: Logins.
        comments: How many.
        closed_at: When it was last closed, also if its ``state`` is open again.
    """

    __tablename__ = "github_issues"
    __table_args__ = (Index(None, "project_id", "repo_id", "number"), Index(None, "project_id", "updated_at"))

    id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    repo_id: Mapped[int | None] = mapped_column(BigInteger)
    repo: Mapped[str | None] = mapped_column(String(200))
    number: Mapped[int]
    is_pull_request: Mapped[bool]
    title: Mapped[str | None] = mapped_column(Text)
    state: Mapped[str | None] = mapped_column(String(20))
    state_reason: Mapped[str | None] = mapped_column(String(50))
    author: Mapped[str | None] = mapped_column(String(100))
    labels: Mapped[list[str] | None] = mapped_column(JSON(none_as_null=True))
    assignees: Mapped[list[str] | None] = mapped_column(JSON(none_as_null=True))
    comments: Mapped[int | None]
    body: Mapped[str | None] = mapped_column(Text)
    locked: Mapped[bool | None]
    draft: Mapped[bool | None]
    created_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    updated_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    closed_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    merged_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    html_url: Mapped[str | None] = mapped_column(Text)


class GithubReleaseModel(SourceColumns, Base):
    """A release as last seen, one row for each project.

    Attributes:
        repo_id: Id of its repository.
        repo: ``owner/name`` of its repository when last seen.
        target: Branch or commit of the tag.
        asset_count: Number of its files.
        downloads: Of all files; a change of this alone is not an update.
    """

    __tablename__ = "github_releases"
    __table_args__ = (Index(None, "project_id", "repo_id", "published_at"),)

    id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    repo_id: Mapped[int | None] = mapped_column(BigInteger)
    repo: Mapped[str | None] = mapped_column(String(200))
    tag_name: Mapped[str] = mapped_column(Text)
    name: Mapped[str | None] = mapped_column(Text)
    body: Mapped[str | None] = mapped_column(Text)
    draft: Mapped[bool | None]
    prerelease: Mapped[bool | None]
    author: Mapped[str | None] = mapped_column(String(100))
    target: Mapped[str | None] = mapped_column(Text)
    asset_count: Mapped[int | None]
    downloads: Mapped[int | None] = mapped_column(BigInteger)
    created_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    published_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    html_url: Mapped[str | None] = mapped_column(Text)
