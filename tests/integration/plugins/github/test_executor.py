"""GitHub agents as executions: fake API, real HTTP, real database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import func, inspect, select, text
from tests.databases import only_sqlite

from agentic.core.types import SaveCounts
from agentic.fakes.control import Fault
from agentic.fakes.github.account import GithubOrder
from agentic.fakes.github.archive import (
    ATTIC,
    BLOCKED,
    HARBOR,
    NO_ISSUES,
    OLD_NAME,
    PRIVATE,
    RENAMED,
    build_archive,
)
from agentic.fakes.github.credentials import OTHER_TOKEN, TOKEN
from agentic.fakes.server import FakeServer
from agentic.mappers import AgentResultModel, Database, ExecutionStatus
from agentic.mappers.tables.http_cache import HttpCacheModel
from agentic.plugins.github.models import GithubIssueModel, GithubReleaseModel, GithubRepoModel

if TYPE_CHECKING:
    from tests.integration.plugins.github.conftest import RunGithub

pytestmark = [pytest.mark.integration, only_sqlite]

TOKEN_NAME = "${secrets.gh}"


def asked(fakes: FakeServer) -> list[str]:
    requests = fakes.control.stats()["requests"]
    assert isinstance(requests, dict)
    return [path for path, times in requests.items() for _ in range(int(str(times)))]


@pytest.mark.requirement("PL07", "PL28")
async def test_repositories_become_rows_and_are_unchanged_the_second_time(
    database: Database, run_github: RunGithub
) -> None:
    outcome = await run_github(repos=[HARBOR, RENAMED, HARBOR.upper()], times=2)
    assert (outcome.status, outcome.counts) == (ExecutionStatus.SUCCEEDED, SaveCounts(unchanged=2))
    with database.reading() as session:
        stored = session.execute(select(GithubRepoModel.full_name, GithubRepoModel.id)).all()
    facts = build_archive(1)
    assert {row.full_name: row.id for row in stored} == {
        name: facts[name].facts["id"] for name in (HARBOR, RENAMED)
    }


async def test_issues_become_rows_page_by_page(
    database: Database, run_github: RunGithub, fakes: FakeServer
) -> None:
    outcome = await run_github(mode="issues", repos=[HARBOR], limit=500)
    assert outcome.counts == SaveCounts(inserted=131)
    with database.reading() as session:
        numbers = session.scalars(select(GithubIssueModel.number).order_by(GithubIssueModel.number)).all()
        pulls = select(func.count()).where(GithubIssueModel.is_pull_request)
        assert numbers == list(range(1, 131))
        assert 0 < (session.scalar(pulls) or 0) < 130
        (repo_id,) = session.scalars(select(GithubIssueModel.repo_id).distinct())
        assert repo_id == session.scalar(select(GithubRepoModel.id))
    assert len(asked(fakes)) == 3


async def test_only_what_changed_since_a_day_is_read(database: Database, run_github: RunGithub) -> None:
    outcome = await run_github(mode="issues", repos=[HARBOR], state="open", since="2026-01-10T00:00:00Z")
    assert 1 < outcome.counts.inserted < 101
    with database.reading() as session:
        assert session.scalars(select(GithubIssueModel.state).distinct()).all() == ["open"]
        assert str(session.scalar(select(func.min(GithubIssueModel.updated_at)))) >= "2026-01-10"


async def test_an_issue_that_was_closed_is_the_one_update(run_github: RunGithub, fakes: FakeServer) -> None:
    await run_github(mode="issues", repos=[HARBOR], limit=500)
    fakes.control.github.change(GithubOrder(close=f"{HARBOR}#9"))
    outcome = await run_github(name="again", mode="issues", repos=[HARBOR], limit=500)
    assert outcome.counts == SaveCounts(updated=1, unchanged=130)


async def test_releases_become_rows(database: Database, run_github: RunGithub) -> None:
    outcome = await run_github(mode="releases", repos=[HARBOR], limit=5)
    assert outcome.counts == SaveCounts(inserted=6)
    with database.reading() as session:
        tags = session.scalars(
            select(GithubReleaseModel.tag_name).order_by(GithubReleaseModel.published_at)
        ).all()
    assert tags == ["v1.3", "v1.4", "v1.5", "v1.6", "v1.7"]


async def test_a_search_finds_repositories_and_a_query_does_in_place_of_names(run_github: RunGithub) -> None:
    searched = await run_github(mode="search", query="user:ada", limit=5)
    assert searched.counts == SaveCounts(inserted=5)
    assert (await run_github(name="again", query="user:ada", limit=5)).counts == SaveCounts(unchanged=5)


async def test_a_search_of_issues_stops_at_a_thousand_and_warns(run_github: RunGithub) -> None:
    outcome = await run_github(mode="search", kind="issues", query=f"repo:{ATTIC}", limit=2000)
    assert outcome.counts == SaveCounts(inserted=1000)
    (warning,) = outcome.warnings
    assert "the first 1,000 results of a search, and this one has 1,100" in warning


@pytest.mark.requirement("PL30", "PL46")
async def test_a_repository_that_cannot_be_read_is_a_warning_and_the_others_are_kept(
    database: Database, run_github: RunGithub
) -> None:
    outcome = await run_github(mode="issues", repos=["octo/nothing", BLOCKED, NO_ISSUES, PRIVATE, OLD_NAME])
    assert outcome.status is ExecutionStatus.SUCCEEDED
    words = ["octo/nothing", "http_451", "gone", PRIVATE, f"{OLD_NAME} is now {RENAMED}"]
    assert all(any(word in warning for warning in outcome.warnings) for word in words)
    with database.reading() as session:
        assert session.scalars(select(GithubRepoModel.full_name)).all() == [RENAMED]


async def test_a_run_that_reads_nothing_fails_with_what_github_says(run_github: RunGithub) -> None:
    outcome = await run_github(repos=["octo/nothing", PRIVATE])
    assert outcome.status is ExecutionStatus.FAILED
    assert "none of 2 could be read; the first one: " in (outcome.error or "")
    assert "http_404): GitHub answered 404: Not Found; it does not exist, or is private" in (
        outcome.error or ""
    )


async def test_the_token_opens_a_private_repository_and_is_told_nowhere(
    database: Database,
    run_github: RunGithub,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("AGENTIC_SECRET_GH", TOKEN)
    outcome = await run_github(repos=[PRIVATE], token=TOKEN_NAME)
    assert outcome.counts == SaveCounts(inserted=1)
    with database.reading() as session:
        tables = inspect(database.engine).get_table_names()
        kept = [str(row) for name in tables for row in session.execute(text(f'SELECT * FROM "{name}"'))]
    assert not [row for row in kept if TOKEN in row]
    assert TOKEN not in caplog.text


async def test_a_token_that_is_missing_or_wrong_fails_the_run_and_is_not_shown(
    run_github: RunGithub, fakes: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = await run_github(repos=[HARBOR], token=TOKEN_NAME)
    assert "secret 'gh' does not exist; store it with `agentic secrets set gh`" in (missing.error or "")
    assert fakes.control.stats()["total"] == 0
    monkeypatch.setenv("AGENTIC_SECRET_GH", "ghp_nobodys")
    wrong = await run_github(name="wrong", repos=[HARBOR], token=TOKEN_NAME)
    assert "auth_expired): GitHub answered 401: Bad credentials" in (wrong.error or "")
    assert "ghp_nobodys" not in (wrong.error or "")


async def test_what_is_unchanged_is_not_sent_again_and_costs_no_request_of_the_hour(
    database: Database, run_github: RunGithub, fakes: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTIC_SECRET_GH", TOKEN)
    config = {"mode": "issues", "repos": [HARBOR], "limit": 500, "token": TOKEN_NAME}
    await run_github(times=2, **config)
    assert len(asked(fakes)) == 6
    assert fakes.control.github.look(TOKEN, "core").used == 3
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(HttpCacheModel)) == 3


async def test_another_token_does_not_see_what_was_kept_for_the_first(
    run_github: RunGithub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTIC_SECRET_GH", TOKEN)
    assert (await run_github(repos=[PRIVATE], token=TOKEN_NAME)).counts.inserted == 1
    monkeypatch.setenv("AGENTIC_SECRET_GH", OTHER_TOKEN)
    assert "http_404" in ((await run_github(name="b", repos=[PRIVATE], token=TOKEN_NAME)).error or "")


async def test_the_result_in_short_counts_what_was_read(database: Database, run_github: RunGithub) -> None:
    await run_github(mode="releases", repos=[HARBOR], limit=2)
    with database.reading() as session:
        (summary,) = session.scalars(select(AgentResultModel.summary))
    assert (summary["repos_count"], summary["releases_count"]) == (1, 2)


async def test_loopback_is_refused_unless_the_agent_names_it(run_github: RunGithub) -> None:
    outcome = await run_github(repos=[HARBOR], allow_private_hosts=[])
    assert "allow_private_hosts" in (outcome.error or "")


@pytest.mark.requirement("PL46")
async def test_a_config_that_asks_for_nothing_fails_before_anything_is_asked(
    run_github: RunGithub, fakes: FakeServer
) -> None:
    outcome = await run_github(mode="search")
    assert "mode search needs a query" in (outcome.error or "")
    assert fakes.control.stats()["total"] == 0


async def test_a_fault_that_passes_costs_another_try_and_nothing_else(
    run_github: RunGithub, fakes: FakeServer
) -> None:
    fakes.control.add(Fault(path="/github/repos/*/releases", status=502))
    outcome = await run_github(mode="releases", repos=[HARBOR], limit=2)
    assert (outcome.counts, outcome.warnings) == (SaveCounts(inserted=3), ())
