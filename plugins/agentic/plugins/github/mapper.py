"""Stores results as rows of ``github_repos``, ``github_issues`` and ``github_releases``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from pydantic import BaseModel

from agentic.mappers import ResultMapper, value_or_cleared
from agentic.plugins.github.items import GithubLabel, GithubRepo, GithubUser, IssueRecord, ReleaseRecord
from agentic.plugins.github.models import GithubIssueModel, GithubReleaseModel, GithubRepoModel

REPO_NUMBERS = {"score": "stars", "forks": "forks", "watchers": "watchers", "open_issues": "open_issues"}
"""Fields followed in ``metric_snapshots``; a repository's score is its stars."""


class GithubResultMapper(ResultMapper):
    """Upserts by GitHub's ids: omitted fields keep their stored values, null fields are cleared."""

    def save_results(self, results: Mapping[str, object]) -> bool:
        """Store ``repos``, ``issues``, ``releases``; bad ones become warnings, beside ``warnings``."""
        if not self.save_agent_result(results):
            return False
        for sentence in cast("list[str]", results.get("warnings", [])):
            self.warn(sentence)
        repos = self.accepted(GithubRepo, _part(results, "repos"), "repository")
        self.save_rows(GithubRepoModel, map(repo_row, repos), counters=REPO_NUMBERS)
        issues = self.accepted(IssueRecord, _part(results, "issues"), "issue")
        self.save_rows(GithubIssueModel, map(issue_row, issues), counters={"comments": "comments"})
        releases = self.accepted(ReleaseRecord, _part(results, "releases"), "release")
        # Download counts change all the time: a new count alone is not an update.
        self.save_rows(
            GithubReleaseModel,
            map(release_row, releases),
            volatile=["downloads"],
            counters={"downloads": "downloads"},
        )
        return True


def repo_row(repo: GithubRepo) -> dict[str, object]:
    """Return the columns of a repository; None stands for values that GitHub omits."""
    return {
        "id": repo.id,
        "full_name": repo.full_name,
        "owner": repo.full_name.partition("/")[0],
        "description": value_or_cleared(repo, "description", repo.description),
        "homepage": value_or_cleared(repo, "homepage", repo.homepage or None),
        "language": value_or_cleared(repo, "language", repo.language),
        "license": value_or_cleared(repo, "license", repo.license.spdx_id if repo.license else None),
        "topics": repo.topics,
        "default_branch": repo.default_branch,
        "stars": repo.stargazers_count,
        "forks": repo.forks_count,
        "watchers": repo.subscribers_count,
        "open_issues": repo.open_issues_count,
        "private": repo.private,
        "fork": repo.fork,
        "archived": repo.archived,
        "created_at": repo.created_at,
        "updated_at": repo.updated_at,
        "pushed_at": repo.pushed_at,
        "html_url": repo.html_url,
        "raw": _raw(repo),
    }


def issue_row(record: IssueRecord) -> dict[str, object]:
    """Return the columns of an issue or pull request."""
    issue = record.item
    return {
        "id": issue.id,
        "repo_id": record.repo_id,
        "repo": record.repo,
        "number": issue.number,
        "is_pull_request": issue.pull_request is not None,
        "title": issue.title,
        "state": issue.state,
        "state_reason": value_or_cleared(issue, "state_reason", issue.state_reason),
        "author": _login(issue.user),
        "labels": None if issue.labels is None else [word for word in map(_label, issue.labels) if word],
        "assignees": _logins(issue.assignees),
        "comments": issue.comments,
        "body": value_or_cleared(issue, "body", issue.body),
        "locked": issue.locked,
        "draft": issue.draft,
        "created_at": issue.created_at,
        "updated_at": issue.updated_at,
        "closed_at": value_or_cleared(issue, "closed_at", issue.closed_at),
        "merged_at": issue.pull_request.merged_at if issue.pull_request else None,
        "html_url": issue.html_url,
        "raw": _raw(issue),
    }


def release_row(record: ReleaseRecord) -> dict[str, object]:
    """Return the columns of a release."""
    release = record.item
    files = release.assets
    return {
        "id": release.id,
        "repo_id": record.repo_id,
        "repo": record.repo,
        "tag_name": release.tag_name,
        "name": value_or_cleared(release, "name", release.name),
        "body": value_or_cleared(release, "body", release.body),
        "draft": release.draft,
        "prerelease": release.prerelease,
        "author": _login(release.author),
        "target": release.target_commitish,
        "asset_count": None if files is None else len(files),
        "downloads": None if files is None else sum(file.download_count for file in files),
        "created_at": release.created_at,
        "published_at": release.published_at,
        "html_url": release.html_url,
        "raw": _raw(release),
    }


def _part(results: Mapping[str, object], name: str) -> Sequence[object]:
    return cast("Sequence[object]", results.get(name, ()))


def _raw(thing: BaseModel) -> dict[str, object]:
    return thing.model_dump(mode="json", exclude_unset=True)


def _login(user: GithubUser | None) -> str | None:
    return user.login if user else None


def _logins(users: Sequence[GithubUser] | None) -> list[str] | None:
    return None if users is None else [user.login for user in users if user.login]


def _label(label: GithubLabel | str) -> str | None:
    return label if isinstance(label, str) else label.name
