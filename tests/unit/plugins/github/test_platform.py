"""Settings, initial state and rows: what goes in and what comes out, without a database."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError

from agentic.core.http import HttpPolicy
from agentic.core.types import JSONValue
from agentic.mappers import CLEARED, AgentModel
from agentic.plugins.github.executor import GithubAgentExecutor, query_of
from agentic.plugins.github.items import GithubQuery, GithubRepo, IssueRecord, ReleaseRecord
from agentic.plugins.github.mapper import issue_row, release_row, repo_row
from agentic.plugins.github.settings import GithubSettings

NOW = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({}, "either repos or a query"),
        ({"repos": ["o/n"], "query": "x"}, "either repos or a query"),
        ({"mode": "issues"}, "mode issues needs repos"),
        ({"mode": "releases", "query": "x"}, "mode releases needs repos"),
        ({"mode": "search"}, "mode search needs a query"),
        ({"mode": "search", "query": "x", "repos": ["o/n"]}, "mode search needs a query, and no repos"),
        ({"repos": ["o/n"], "days": 3}, "since and days are for mode issues"),
        ({"mode": "issues", "repos": ["o/n"], "days": 3, "since": "2026-01-01T00:00:00Z"}, "not both"),
        ({"mode": "issues", "repos": ["o/n"], "since": "2026-01-01T00:00:00"}, "timezone"),
        ({"mode": "issues", "repos": ["o/a", "o/b"], "limit": 5000}, "more than 5000 rows"),
        ({"repos": ["o/n"], "sort": "stars"}, "sort is for a search"),
        (
            {"mode": "search", "query": "x", "kind": "issues", "sort": "stars"},
            "has no sort stars; use one of",
        ),
        ({"query": "x", "sort": "comments"}, "has no sort comments; use one of forks"),
        ({"query": "x", "order": "asc"}, "order needs a sort"),
        ({"repos": ["o"]}, "pattern"),
        ({"repos": ["o/n/x"]}, "pattern"),
        ({"repos": ["o/n?x"]}, "pattern"),
        ({"query": "x" * 257}, "256"),
        ({"repos": ["o/n"], "token": "ghp_secret"}, "name a stored secret"),
        ({"repos": ["o/n"], "tokens": "x"}, "Extra"),
        ({"repos": ["o/n"], "base_url": "https://user:ghp_secret@h"}, "pattern"),
    ],
)
def test_settings_that_cannot_be_used_are_refused_without_a_secret_in_the_reason(
    config: dict[str, object], reason: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        GithubSettings.model_validate(config)
    assert reason in str(caught.value)
    assert "ghp_secret" not in str(caught.value)


def test_the_policy_asks_one_after_the_other_and_keeps_what_is_unchanged() -> None:
    policy = GithubSettings(repos=("o/n",), allow_private_hosts=("127.0.0.1:80",), timeout_s=5).policy()
    assert (policy.max_connections_per_host, policy.obey_robots, policy.timeout_s) == (1, False, 5)
    assert (policy.caching is not None, policy.allow_private_hosts) == (True, ("127.0.0.1:80",))
    assert HttpPolicy.model_validate(policy.model_dump()) == policy


def test_a_token_is_named_and_never_part_of_the_state() -> None:
    config: dict[str, JSONValue] = {"repos": ["o/n"], "token": "${secrets.github_token}"}
    agent = AgentModel(id="a", project_id="p", agent_name="gh", agent_platform="github", config=config)
    executor = GithubAgentExecutor(agent, "e")
    assert executor.settings().secret == "github_token"
    assert executor.account() == "github/github_token"
    assert executor.create_initial_state() == {
        "agent_name": "gh",
        "goals": [],
        "query": {
            "mode": "repos",
            "repos": ["o/n"],
            "kind": "repositories",
            "order": "desc",
            "state": "all",
            "limit": 100,
        },
    }


@pytest.mark.requirement("PL43")
def test_days_count_back_from_now() -> None:
    settings = GithubSettings(mode="issues", repos=("o/n",), days=3)
    query = query_of(settings, NOW)
    assert query.since == NOW - timedelta(days=3)
    assert GithubQuery.model_validate(query.model_dump(mode="json")) == query


@pytest.mark.requirement("PL43")
def test_a_row_of_a_repository_has_plain_columns_and_the_answer_as_it_came() -> None:
    answer = {
        "id": 3_000_000_001,
        "full_name": "o/n",
        "homepage": "",
        "license": {"spdx_id": "MIT"},
        "stargazers_count": 5,
        "new_field": [1],
    }
    row = repo_row(GithubRepo.model_validate(answer))
    assert (row["id"], row["owner"], row["license"], row["stars"]) == (3_000_000_001, "o", "MIT", 5)
    assert (row["homepage"], row["watchers"], row["archived"]) == (CLEARED, None, None)
    assert row["raw"] == answer


def test_a_row_of_a_pull_request_says_that_it_is_one() -> None:
    item = {
        "id": 9,
        "number": 4,
        "user": None,
        "labels": [{"name": "bug"}, "plain", {"name": None}],
        "assignees": [{"login": "ada"}],
        "created_at": "2026-01-01T00:00:00Z",
        "pull_request": {"merged_at": "2026-01-02T00:00:00Z"},
    }
    row = issue_row(IssueRecord.model_validate({"repo_id": 7, "repo": "o/n", "item": item}))
    assert (row["is_pull_request"], row["author"], row["labels"], row["assignees"]) == (
        True,
        None,
        ["bug", "plain"],
        ["ada"],
    )
    assert row["merged_at"] == datetime(2026, 1, 2, tzinfo=UTC)
    assert (row["repo_id"], row["repo"]) == (7, "o/n")


def test_a_row_of_a_release_adds_up_its_downloads() -> None:
    item = {"id": 9, "tag_name": "v1", "assets": [{"download_count": 2}, {"download_count": 5}]}
    row = release_row(ReleaseRecord.model_validate({"repo_id": 7, "repo": "o/n", "item": item}))
    assert (row["asset_count"], row["downloads"], row["draft"]) == (2, 7, None)


def test_finding_the_plugin_loads_neither_database_nor_http_library() -> None:
    code = "import sys, agentic.plugins.github; print({'sqlalchemy', 'aiohttp'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
