"""GitHub's search: words and qualifiers."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping

from agentic.core.types import JSONValue
from agentic.fakes.github.archive import Item, Repo

SEARCH_LIMIT = 1_000
MAX_QUERY = 256
MAX_OPERATORS = 5
SORTS = {
    "stars": "stargazers_count",
    "forks": "forks_count",
    "updated": "updated_at",
    "created": "created_at",
    "comments": "comments",
}
"""Orders of a search, and the field that each goes by."""

_OPERATORS = re.compile(r"\b(?:AND|OR|NOT)\b")
_COMPARED = re.compile(r"(>=|<=|>|<)?(\d+)")


def fault_in(query: str) -> str:
    """Return why a query is refused; "" if it is not."""
    if not query.strip():
        return "None of the search qualifiers apply to this search type."
    if len(query) > MAX_QUERY:
        return f"The search is longer than {MAX_QUERY} characters."
    if len(_OPERATORS.findall(query)) > MAX_OPERATORS:
        return "More than five AND / OR / NOT operators were used."
    return ""


def sorted_views(views: list[Item], sort: str | None, order: str | None) -> list[Item]:
    """Return what was found in the order that is asked for; as it is if that is none the fake knows."""
    if sort not in SORTS:
        return views
    # Of equal ones that come first which would without an order.
    return sorted(views, key=lambda view: _rank(view[SORTS[sort]]), reverse=order != "asc")


def _rank(value: JSONValue) -> tuple[int, str]:
    return (value, "") if isinstance(value, int) else (0, str(value))


def find_repos(repos: Iterable[Repo], query: str) -> list[Repo]:
    """Return the repositories that fit, most stars first."""
    words, wanted = _parsed(query)
    found = [
        repo
        for repo in repos
        if _has_words(words, repo.full_name, repo.facts["description"]) and _repo_fits(repo, wanted)
    ]
    return sorted(found, key=lambda repo: (-_int(repo.facts, "stargazers_count"), repo.full_name))


def find_issues(repos: Iterable[Repo], query: str) -> list[tuple[Repo, Item]]:
    """Return the issues that fit with their repositories, newest first."""
    words, wanted = _parsed(query)
    found = [
        (repo, issue)
        for repo in repos
        for issue in repo.issues
        if _has_words(words, issue["title"], issue["body"]) and _issue_fits(repo, issue, wanted)
    ]
    return sorted(found, key=lambda pair: -_int(pair[1], "id"))


def _parsed(query: str) -> tuple[list[str], Mapping[str, list[str]]]:
    try:
        parts = shlex.split(query)
    except ValueError:
        parts = query.split()
    words = [part.lower() for part in parts if ":" not in part and not _OPERATORS.fullmatch(part)]
    wanted: dict[str, list[str]] = {}
    for name, _, value in (part.partition(":") for part in parts if ":" in part):
        wanted.setdefault(name.lower(), []).append(value.lower())
    return words, wanted


def _has_words(words: Iterable[str], *texts: object) -> bool:
    text = " ".join(str(text).lower() for text in texts if text)
    return all(word in text for word in words)


def _repo_fits(repo: Repo, wanted: Mapping[str, list[str]]) -> bool:
    owner = repo.full_name.partition("/")[0].lower()
    checks: Mapping[str, Callable[[str], bool]] = {
        "repo": lambda value: value == repo.full_name.lower(),
        "user": lambda value: value == owner,
        "org": lambda value: value == owner,
        "language": lambda value: value == str(repo.facts["language"]).lower(),
        "stars": lambda value: _compares(value, _int(repo.facts, "stargazers_count")),
    }
    return all(
        any(checks[name](value) for value in values) for name, values in wanted.items() if name in checks
    )


def _issue_fits(repo: Repo, issue: Item, wanted: Mapping[str, list[str]]) -> bool:
    kind = "pr" if "pull_request" in issue else "issue"
    traits = {kind, {"pr": "pull-request", "issue": "issue"}[kind], str(issue["state"])}
    is_fitting = all(value in traits for name in ("is", "state", "type") for value in wanted.get(name, []))
    where = {name: values for name, values in wanted.items() if name in ("repo", "user", "org")}
    return is_fitting and _repo_fits(repo, where)


def _compares(condition: str, value: int) -> bool:
    found = _COMPARED.fullmatch(condition)
    if found is None:
        return False
    bound = int(found[2])
    match found[1]:
        case ">":
            return value > bound
        case ">=":
            return value >= bound
        case "<":
            return value < bound
        case "<=":
            return value <= bound
        case _:
            return value == bound


def _int(item: Item, name: str) -> int:
    value = item.get(name, 0)
    return value if isinstance(value, int) else 0
