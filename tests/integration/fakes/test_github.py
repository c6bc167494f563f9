"""PyGithub, unchanged, against the fake GitHub: repositories, issues, releases, search, limits."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Literal

import github
import pytest
from github.GithubException import BadCredentialsException, RateLimitExceededException, UnknownObjectException

from agentic.fakes.control import Fault
from agentic.fakes.github.account import GithubOrder
from agentic.fakes.github.archive import (
    ATTIC,
    BLOCKED,
    HARBOR,
    NO_ISSUES,
    ODDITIES,
    OLD_NAME,
    PRIVATE,
    RENAMED,
)
from agentic.fakes.github.credentials import OTHER_TOKEN, TOKEN
from agentic.fakes.server import FakeServer

pytestmark = pytest.mark.integration

SINCE = datetime(2026, 1, 10, tzinfo=UTC)


def opened(fakes: FakeServer, token: str | None = TOKEN, per_page: int = 30) -> github.Github:
    auth = github.Auth.Token(token) if token else None
    return github.Github(
        auth=auth, base_url=fakes.github_url, retry=None, per_page=per_page, seconds_between_requests=0
    )


@pytest.fixture
def hub(fakes: FakeServer) -> Iterator[github.Github]:
    client = opened(fakes)
    yield client
    client.close()


def test_a_repository_is_read_by_its_name(hub: github.Github) -> None:
    repo = hub.get_repo(HARBOR)
    assert (repo.full_name, repo.owner.login, repo.private) == (HARBOR, "octo", False)
    assert repo.id > 2**31
    assert repo.subscribers_count == 7
    assert repo.created_at == datetime(2026, 1, 1, tzinfo=UTC)


def test_a_repository_is_found_under_its_old_name_and_by_its_id(hub: github.Github) -> None:
    repo = hub.get_repo(OLD_NAME)
    assert repo.full_name == RENAMED
    assert hub.get_repo(repo.id).full_name == RENAMED


def test_issues_come_in_pages_with_pull_requests_among_them(hub: github.Github) -> None:
    issues = hub.get_repo(HARBOR).get_issues(state="all")
    assert issues.totalCount == 130
    numbers = [issue.number for issue in issues]
    assert numbers == list(range(130, 0, -1))
    assert 0 < sum(issue.pull_request is not None for issue in issues) < 130


def test_issues_are_chosen_by_state_and_time(hub: github.Github) -> None:
    repo = hub.get_repo(HARBOR)
    open_ones = list(repo.get_issues())
    assert {issue.state for issue in open_ones} == {"open"}
    assert len(open_ones) == repo.open_issues_count
    changed = list(repo.get_issues(state="all", since=SINCE, sort="updated", direction="asc"))
    assert 0 < len(changed) < 130
    times = [issue.updated_at for issue in changed]
    assert times == sorted(times)
    assert times[0] >= SINCE


def test_an_issue_of_each_oddity_is_where_it_is_said_to_be(hub: github.Github) -> None:
    repo = hub.get_repo(HARBOR)
    at = {oddity: repo.get_issue(number) for number, oddity in ODDITIES.items()}
    assert at["ghost"].raw_data["user"] is None
    assert at["bare"].raw_data["body"] is None
    assert at["bare"].labels == []
    assert at["merged"].pull_request is not None
    assert at["merged"].pull_request.merged_at is not None
    assert at["draft"].raw_data["draft"] is True


def test_releases_come_newest_first(hub: github.Github) -> None:
    releases = list(hub.get_repo(HARBOR).get_releases())
    assert [release.tag_name for release in releases] == [f"v1.{number}" for number in reversed(range(8))]
    assert releases[0].prerelease
    assert releases[0].assets[0].download_count == 49


def test_repositories_are_searched_by_words_and_qualifiers(hub: github.Github) -> None:
    found = list(hub.search_repositories("user:octo stars:>=0"))
    assert HARBOR in {repo.full_name for repo in found}
    stars = [repo.stargazers_count for repo in found]
    assert stars == sorted(stars, reverse=True)
    assert [repo.full_name for repo in hub.search_repositories("harbor user:octo")] == [HARBOR]


def test_what_is_searched_for_comes_in_the_order_that_is_asked_for(hub: github.Github) -> None:
    forks = [repo.forks_count for repo in hub.search_repositories("user:octo", sort="forks", order="asc")]
    assert forks == sorted(forks)
    issues = list(islice(hub.search_issues(f"repo:{HARBOR}", sort="updated", order="desc"), 50))
    changed = [issue.updated_at for issue in issues]
    assert changed == sorted(changed, reverse=True)
    assert [issue.number for issue in issues] != sorted((one.number for one in issues), reverse=True)


@pytest.mark.parametrize("resource", ["core", "search"])
def test_each_resource_has_a_limit_of_its_own_and_is_named(
    fakes: FakeServer, hub: github.Github, resource: Literal["core", "search"]
) -> None:
    fakes.control.github.change(GithubOrder(remaining=0, reset_s=60, resource=resource))
    paths = {"core": f"/repos/{HARBOR}", "search": "/search/repositories?q=harbor"}
    for name, path in paths.items():
        status, headers, _ = hub.requester.requestJson("GET", path)
        assert (headers["x-ratelimit-resource"], status) == (name, 403 if name == resource else 200)


def test_issues_are_searched_and_a_search_ends_at_the_thousandth(fakes: FakeServer) -> None:
    hub = opened(fakes, per_page=100)
    found = hub.search_issues(f"repo:{ATTIC}")
    _, answer = hub.requester.requestJsonAndCheck("GET", "/search/issues", {"q": f"repo:{ATTIC}"})
    assert (answer["total_count"], found.totalCount) == (1100, 1000)
    assert len(list(found)) == 1000
    merged = next(iter(hub.search_issues(f"repo:{HARBOR} is:pr is:closed")))
    assert merged.repository.full_name == HARBOR
    hub.close()


@pytest.mark.parametrize("query", ["x" * 257, "a OR b OR c OR d OR e OR f OR g"])
def test_a_query_that_asks_too_much_is_refused(hub: github.Github, query: str) -> None:
    with pytest.raises(github.GithubException) as caught:
        list(hub.search_issues(query))
    assert caught.value.status == 422


@pytest.mark.parametrize("token", [None, OTHER_TOKEN])
def test_a_private_repository_is_not_there_for_others(fakes: FakeServer, token: str | None) -> None:
    hub = opened(fakes, token)
    with pytest.raises(UnknownObjectException):
        hub.get_repo(PRIVATE)
    assert PRIVATE not in {repo.full_name for repo in hub.search_repositories("user:octo")}
    hub.close()


def test_a_private_repository_is_there_for_its_owner(hub: github.Github) -> None:
    assert hub.get_repo(PRIVATE).private


@pytest.mark.parametrize(("name", "status"), [(BLOCKED, 451), (NO_ISSUES, 410), ("octo/nothing", 404)])
def test_what_cannot_be_read_says_why(hub: github.Github, name: str, status: int) -> None:
    with pytest.raises(github.GithubException) as caught:
        list(hub.get_repo(name).get_issues())
    assert caught.value.status == status
    assert caught.value.data["message"]


def test_a_token_that_nobody_knows_is_refused(fakes: FakeServer) -> None:
    hub = opened(fakes, "ghp_wrong")
    with pytest.raises(BadCredentialsException):
        hub.get_repo(HARBOR)
    hub.close()


@pytest.mark.parametrize(("token", "core", "search"), [(None, 60, 10), (TOKEN, 5000, 30)])
def test_the_limits_are_told_and_count_down(
    fakes: FakeServer, token: str | None, core: int, search: int
) -> None:
    hub = opened(fakes, token)
    hub.get_repo(HARBOR)
    list(islice(hub.search_repositories("user:ada"), 1))
    resources = hub.get_rate_limit().resources
    assert (resources.core.limit, resources.core.remaining) == (core, core - 1)
    assert (resources.search.limit, resources.search.remaining) == (search, search - 1)
    assert resources.core.reset > datetime.now(UTC)
    hub.close()


@pytest.mark.parametrize(
    ("order", "said"),
    [
        (GithubOrder(remaining=0, reset_s=60), "API rate limit exceeded"),
        (GithubOrder(secondary=1), "secondary rate limit"),
    ],
)
def test_both_limits_are_what_the_client_takes_them_for(
    fakes: FakeServer, hub: github.Github, order: GithubOrder, said: str
) -> None:
    fakes.control.github.change(order)
    with pytest.raises(RateLimitExceededException) as caught:
        hub.get_repo(HARBOR)
    assert caught.value.status == 403
    assert said in caught.value.data["message"]


def test_an_issue_that_is_closed_by_an_order_is_closed(fakes: FakeServer, hub: github.Github) -> None:
    assert hub.get_repo(HARBOR).get_issue(9).state == "open"
    fakes.control.github.change(GithubOrder(close=f"{HARBOR}#9"))
    assert hub.get_repo(HARBOR).get_issue(9).state == "closed"


def test_a_fault_happens_to_the_api_too(fakes: FakeServer, hub: github.Github) -> None:
    fakes.control.add(Fault(path="/github/*", status=502))
    with pytest.raises(github.GithubException) as caught:
        hub.get_repo(HARBOR)
    assert caught.value.status == 502


def test_what_is_unchanged_costs_a_token_nothing(fakes: FakeServer, hub: github.Github) -> None:
    headers, _ = hub.requester.requestJsonAndCheck("GET", f"/repos/{HARBOR}")
    status, headers, _ = hub.requester.requestJson(
        "GET", f"/repos/{HARBOR}", headers={"If-None-Match": headers["etag"]}
    )
    assert (status, headers["x-ratelimit-used"]) == (304, "1")


def test_orders_are_taken_over_http_too(fakes: FakeServer, hub: github.Github) -> None:
    import requests

    panel = f"{fakes.control_url}/github"
    assert requests.post(panel, json={"close": f"{HARBOR}#9"}, timeout=5).status_code == 201
    assert hub.get_repo(HARBOR).get_issue(9).state == "closed"
    refused = requests.post(panel, json={"close": "nonsense"}, timeout=5)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "close")
    requests.post(f"{fakes.control_url}/reset", timeout=5)
    assert hub.get_repo(HARBOR).get_issue(9).state == "open"
