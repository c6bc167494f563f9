"""What was read to rows of ``github_*``, in a real database: on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

import pytest
from sqlalchemy import select

from agentic.core.types import SaveCounts
from agentic.executors.testing import MapperContract, MapperSamples
from agentic.mappers import (
    AgentModel,
    Database,
    ResultMapper,
    create_execution,
    get_result_mapper,
)
from agentic.plugins.github.models import GithubIssueModel, GithubReleaseModel, GithubRepoModel

if TYPE_CHECKING:
    from tests.integration.plugins.github.conftest import MakeAgent

    Save = Callable[..., ResultMapper]

pytestmark = pytest.mark.integration

ModelT = TypeVar("ModelT", GithubRepoModel, GithubIssueModel, GithubReleaseModel)
Item = dict[str, object]

REPO: Item = {"id": 3_000_000_007, "full_name": "o/n", "description": "One", "stargazers_count": 3}
ISSUE: Item = {
    "id": 3_000_000_100,
    "number": 4,
    "title": "It hangs",
    "body": "since today",
    "state": "open",
    "user": {"login": "ada"},
    "labels": [{"name": "bug"}],
    "created_at": "2026-01-01T00:00:00Z",
}
RELEASE: Item = {"id": 9, "tag_name": "v1", "body": "notes", "assets": [{"download_count": 1}]}


def of_repo(*items: Item) -> list[Item]:
    return [{"repo_id": 3_000_000_007, "repo": "o/n", "item": item} for item in items]


WHOLE: Item = {"repos": [REPO], "issues": of_repo(ISSUE), "releases": of_repo(RELEASE)}


@pytest.mark.requirement("PL21", "PL28", "PL30")
class TestMapper(MapperContract):
    platform = "github"
    samples = MapperSamples(
        results=WHOLE,
        row_count=3,
        shorter={
            "repos": [{"id": REPO["id"], "full_name": "o/n"}],
            "issues": [{"repo": "o/n", "item": {"id": ISSUE["id"], "number": 4}}],
            "releases": [{"repo": "o/n", "item": {"id": 9, "tag_name": "v1"}}],
        },
        with_a_bad_one={**WHOLE, "issues": of_repo({"id": 5}, ISSUE)},
        with_no_json={**WHOLE, "repos": [{**REPO, "odd": float("nan")}]},
    )


@pytest.fixture
def save(database: Database) -> Save:
    """Store results as an execution of its own; return the mapper that did."""

    def run(agent: AgentModel, **found: object) -> ResultMapper:
        with database.joined() as session:
            execution = create_execution(session, agent)
            session.commit()
            mapper = get_result_mapper("github", session, execution.id, agent)
            assert mapper.save_results(found)
        return mapper

    return run


def rows(database: Database, model: type[ModelT]) -> list[ModelT]:
    with database.reading() as session:
        return list(session.scalars(select(model).order_by(model.id)))


def test_what_is_told_is_in_columns(database: Database, make_agent: MakeAgent, save: Save) -> None:
    save(make_agent(), **WHOLE)
    (repo,), (issue,) = rows(database, GithubRepoModel), rows(database, GithubIssueModel)
    (release,) = rows(database, GithubReleaseModel)
    assert (repo.id, repo.full_name, repo.owner, repo.stars) == (3_000_000_007, "o/n", "o", 3)
    assert (issue.repo_id, issue.number, issue.is_pull_request) == (3_000_000_007, 4, False)
    assert (issue.author, issue.labels, issue.created_at) == (
        "ada",
        ["bug"],
        datetime(2026, 1, 1, tzinfo=UTC),
    )
    assert (release.tag_name, release.asset_count, release.downloads) == ("v1", 1, 1)
    assert issue.raw == {**ISSUE}


def test_a_renamed_repository_stays_one_row(database: Database, make_agent: MakeAgent, save: Save) -> None:
    agent = make_agent()
    save(agent, repos=[REPO])
    assert save(agent, repos=[{**REPO, "full_name": "p/new"}]).counts == SaveCounts(updated=1)
    assert [(row.full_name, row.owner) for row in rows(database, GithubRepoModel)] == [("p/new", "p")]


def test_what_a_search_leaves_out_erases_nothing(
    database: Database, make_agent: MakeAgent, save: Save
) -> None:
    agent = make_agent()
    save(agent, repos=[{**REPO, "subscribers_count": 5}], issues=of_repo(ISSUE))
    short = {"id": ISSUE["id"], "number": 4, "title": "It hangs", "user": None}
    save(agent, repos=[REPO], issues=[{"repo": "o/n", "item": short}])
    (repo,), (issue,) = rows(database, GithubRepoModel), rows(database, GithubIssueModel)
    assert repo.watchers == 5
    assert (issue.repo_id, issue.author, issue.body, issue.labels) == (
        3_000_000_007,
        "ada",
        "since today",
        ["bug"],
    )


def test_what_github_says_is_not_there_any_more_is_gone(
    database: Database, make_agent: MakeAgent, save: Save
) -> None:
    agent = make_agent()
    repo = {**REPO, "homepage": "https://o.test", "language": "C", "license": {"spdx_id": "MIT"}}
    closed = {**ISSUE, "state": "closed", "state_reason": "completed", "closed_at": "2026-01-05T00:00:00Z"}
    save(agent, repos=[repo], issues=of_repo(closed), releases=of_repo({**RELEASE, "name": "One"}))
    bare = {**REPO, "description": None, "homepage": "", "language": None, "license": None}
    opened = {**closed, "state": "open", "state_reason": None, "closed_at": None, "body": None}
    found = save(
        agent,
        repos=[bare],
        issues=of_repo(opened),
        releases=of_repo({**RELEASE, "name": None, "body": ""}),
    )
    assert found.counts == SaveCounts(updated=3)
    (row,), (issue,) = rows(database, GithubRepoModel), rows(database, GithubIssueModel)
    (release,) = rows(database, GithubReleaseModel)
    assert (row.description, row.homepage, row.language, row.license) == (None, None, None, None)
    assert (issue.state, issue.state_reason, issue.closed_at, issue.body) == ("open", None, None, None)
    assert (issue.title, issue.author) == ("It hangs", "ada")
    assert (release.name, release.body or None) == (None, None)


def test_a_label_that_is_taken_away_is_gone_and_an_issue_that_is_closed_is_an_update(
    database: Database, make_agent: MakeAgent, save: Save
) -> None:
    agent = make_agent()
    save(agent, issues=of_repo(ISSUE))
    changed = {**ISSUE, "state": "closed", "labels": [], "closed_at": "2026-01-05T00:00:00Z"}
    assert save(agent, issues=of_repo(changed)).counts == SaveCounts(updated=1)
    (issue,) = rows(database, GithubIssueModel)
    assert (issue.state, issue.labels) == ("closed", [])


def test_more_downloads_alone_are_stored_and_are_no_update(
    database: Database, make_agent: MakeAgent, save: Save
) -> None:
    agent = make_agent()
    save(agent, releases=of_repo(RELEASE))
    more = {**RELEASE, "assets": [{"download_count": 50}]}
    assert save(agent, releases=of_repo(more)).counts == SaveCounts(unchanged=1)
    assert [row.downloads for row in rows(database, GithubReleaseModel)] == [50]


@pytest.mark.requirement("PL30")
def test_bad_things_are_warnings_with_reasons_and_the_others_are_stored(
    database: Database, make_agent: MakeAgent, save: Save
) -> None:
    mapper = save(
        make_agent(),
        repos=[{"id": 1}, REPO],
        issues=[*of_repo({"id": 5}), *of_repo(ISSUE), "nonsense"],
        releases=of_repo({**RELEASE, "id": -1}),
        warnings=["o/gone: not there"],
    )
    assert mapper.counts == SaveCounts(inserted=2, rejected=4)
    first, *others = mapper.warnings
    assert first == "o/gone: not there"
    assert [warning.partition(": ")[0] for warning in others] == [
        "repository 0 was rejected",
        "issue 0 was rejected",
        "issue 2 was rejected",
        "release 0 was rejected",
    ]
    assert "full_name: Field required" in others[0]
    assert "item.number: Field required" in others[1]
