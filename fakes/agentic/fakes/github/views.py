"""What the API says of a thing, with addresses below ``base``."""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.types import JSONValue
from agentic.fakes.github.archive import Item, Repo


def repo_view(repo: Repo, base: str, *, is_whole: bool = False) -> Item:
    """Return a repository; ``is_whole`` as it is told when it is asked for by name."""
    address = repo_url(repo, base)
    view: Item = {
        **repo.facts,
        "url": address,
        "html_url": f"https://github.com/{repo.full_name}",
        "issues_url": f"{address}/issues{{/number}}",
        "releases_url": f"{address}/releases{{/id}}",
        "watchers_count": repo.facts["stargazers_count"],
    }
    return {**view, "subscribers_count": 7, "network_count": repo.facts["forks_count"]} if is_whole else view


def issue_view(repo: Repo, issue: Item, base: str, closed: frozenset[str]) -> Item:
    """Return an issue or pull request; those in ``closed`` are."""
    number = issue["number"]
    is_pull = "pull_request" in issue
    page = f"https://github.com/{repo.full_name}/{'pull' if is_pull else 'issues'}/{number}"
    view: Item = {
        **issue,
        "url": f"{repo_url(repo, base)}/issues/{number}",
        "repository_url": repo_url(repo, base),
        "html_url": page,
    }
    if isinstance(pull := issue.get("pull_request"), dict):
        view["pull_request"] = {**pull, "url": f"{repo_url(repo, base)}/pulls/{number}", "html_url": page}
    if f"{repo.full_name}#{number}".lower() in closed:
        view |= {"state": "closed", "state_reason": "completed", "closed_at": "2026-11-02T09:00:00Z"}
        view["updated_at"] = view["closed_at"]
    return view


def release_view(repo: Repo, release: Item, base: str) -> Item:
    """Return a release."""
    return {
        **release,
        "url": f"{repo_url(repo, base)}/releases/{release['id']}",
        "html_url": f"https://github.com/{repo.full_name}/releases/tag/{release['tag_name']}",
    }


def repo_url(repo: Repo, base: str) -> str:
    """Return the address of a repository."""
    return f"{base}/repos/{repo.full_name}"


def json_list(items: Sequence[Item]) -> JSONValue:
    """Return items as JSON."""
    return [*items]
