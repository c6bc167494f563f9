"""Repositories, issues and releases, from a seed.

There is one repository of each oddity, under a name of its own (:data:`HARBOR` and below).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random

from agentic.core.types import JSONValue
from agentic.fakes.words import WORDS, heading, seeded, sentence

Item = dict[str, JSONValue]

HARBOR = "octo/harbor"
"""130 issues and pull requests, including one of each of :data:`ODDITIES`; 8 releases."""

ATTIC = "octo/attic"
"""1,100 issues: more than a search returns."""

RENAMED, OLD_NAME = "octo/lantern", "octo/candle"
PRIVATE = "octo/vault"
BLOCKED = "octo/banned"
NO_ISSUES = "octo/mirror"
COUNTS = {HARBOR: 130, ATTIC: 1_100, NO_ISSUES: 0}
ODDITIES = {3: "ghost", 5: "bare", 7: "merged", 9: "draft"}
LANGUAGES = ("Python", "Rust", "Go", None)
LABELS = ("bug", "docs", "good first issue", "question")
FIRST_ID = 3_000_000_000  # beyond 32 bits, as GitHub's own are
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
PLAIN_COUNT = 12
PEOPLE = 20


@dataclass(slots=True)
class Repo:
    """A repository: what the API says of it without addresses, and what hangs on it, oldest first."""

    facts: Item
    is_private: bool = False
    is_blocked: bool = False
    has_issues: bool = True
    issues: list[Item] = field(default_factory=list)
    releases: list[Item] = field(default_factory=list)

    @property
    def full_name(self) -> str:
        """``owner/name``."""
        return str(self.facts["full_name"])


def build_archive(seed: int) -> dict[str, Repo]:
    """Return repositories by full name in lower case."""
    builder = _Builder(seeded("github", seed))
    names = [HARBOR, ATTIC, RENAMED, PRIVATE, BLOCKED, NO_ISSUES]
    names += [f"ada/{WORDS[number]}-{WORDS[-number - 1]}" for number in range(PLAIN_COUNT)]
    repos = [builder.repo(name) for name in names]
    return {repo.full_name.lower(): repo for repo in repos}


class _Builder:
    def __init__(self, random: Random) -> None:
        self._random = random
        self._last_id = FIRST_ID
        self._people = [f"{sentence(random, 1).lower()}-{number}" for number in range(PEOPLE)]

    def repo(self, full_name: str) -> Repo:
        random = self._random
        repo = Repo(
            facts=self._facts(full_name),
            is_private=full_name == PRIVATE,
            is_blocked=full_name == BLOCKED,
            has_issues=full_name != NO_ISSUES,
        )
        count = COUNTS.get(full_name, random.randrange(3, 20))
        repo.issues = [self._issue(full_name, number) for number in range(1, count + 1)]
        releases = 8 if full_name == HARBOR else random.randrange(3)
        repo.releases = [self._release(number) for number in range(releases)]
        repo.facts["open_issues_count"] = sum(issue["state"] == "open" for issue in repo.issues)
        return repo

    def _facts(self, full_name: str) -> Item:
        random = self._random
        pushed = EPOCH + timedelta(minutes=random.randrange(300_000))
        return {
            "id": self._next_id(),
            "full_name": full_name,
            "name": full_name.partition("/")[2],
            "owner": self._user(full_name.partition("/")[0]),
            "private": full_name == PRIVATE,
            "description": heading(random, 6) if random.random() < 0.8 else None,
            "homepage": "https://example.org/" if random.random() < 0.3 else "",
            "language": random.choice(LANGUAGES),
            "license": {"key": "mit", "name": "MIT License", "spdx_id": "MIT"},
            "topics": [*sorted(random.sample(WORDS, k=random.randrange(4)))],
            "default_branch": "main",
            "stargazers_count": random.randrange(20_000),
            "forks_count": random.randrange(2_000),
            "fork": False,
            "archived": False,
            "has_issues": full_name != NO_ISSUES,
            "created_at": _text(EPOCH),
            "updated_at": _text(pushed),
            "pushed_at": _text(pushed),
        }

    def _issue(self, full_name: str, number: int) -> Item:
        random = self._random
        oddity = ODDITIES.get(number) if full_name == HARBOR else None
        created = EPOCH + timedelta(hours=2 * number)
        is_open = (oddity is not None and oddity != "merged") or random.random() < 0.6
        issue: Item = {
            "id": self._next_id(),
            "number": number,
            "title": heading(random, 5),
            "body": f"{sentence(random, 25)}.",
            "state": "open" if is_open else "closed",
            "state_reason": None if is_open else "completed",
            "user": None if oddity == "ghost" else self._user(random.choice(self._people)),
            "labels": [] if oddity == "bare" else self._labels(),
            "assignees": [self._user(random.choice(self._people))] if random.random() < 0.3 else [],
            "comments": random.randrange(12),
            "locked": False,
            "created_at": _text(created),
            "updated_at": _text(created + timedelta(hours=random.randrange(100))),
            "closed_at": None if is_open else _text(created + timedelta(hours=100)),
        }
        if oddity == "bare":
            issue["body"] = None
        if oddity in ("merged", "draft") or (oddity is None and random.random() < 0.25):
            merged = _text(created + timedelta(hours=100)) if issue["state"] == "closed" else None
            issue |= {"pull_request": {"merged_at": merged}, "draft": oddity == "draft"}
        return issue

    def _labels(self) -> list[JSONValue]:
        chosen = self._random.sample(LABELS, k=self._random.randrange(3))
        return [{"id": 100 + LABELS.index(name), "name": name, "color": "ededed"} for name in chosen]

    def _release(self, number: int) -> Item:
        random = self._random
        published = _text(EPOCH + timedelta(days=20 * number))
        asset: Item = {
            "id": self._next_id(),
            "name": "dist.tar.gz",
            "size": 1_000,
            "download_count": 7 * number,
        }
        return {
            "id": self._next_id(),
            "tag_name": f"v1.{number}",
            "name": heading(random, 2),
            "body": f"{sentence(random, 12)}.",
            "draft": False,
            "prerelease": number == 7,
            "author": self._user(random.choice(self._people)),
            "target_commitish": "main",
            "created_at": published,
            "published_at": published,
            "assets": [asset],
        }

    def _user(self, login: str) -> Item:
        kind = "Organization" if login == "octo" else "User"
        return {"login": login, "id": 1 + sum(login.encode()), "type": kind}

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
