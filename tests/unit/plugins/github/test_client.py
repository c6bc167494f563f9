"""What is asked of the API, page by page, and what we make of the answers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from pydantic import SecretStr

from agentic.core.http import FetchError, UnexpectedAnswerError
from agentic.core.http.link_header import next_link
from agentic.plugins.github.client import GithubClient, TokenError
from agentic.plugins.github.items import Target

if TYPE_CHECKING:
    from tests.unit.plugins.github.conftest import ScriptedApi

BASE = "https://github.test"
Repo = Callable[..., dict[str, object]]
ISSUES = "repos/o/n/issues?per_page=2&state=all&sort=updated&direction=desc"


def issues(*numbers: int) -> list[dict[str, object]]:
    return [{"id": 100 + number, "number": number} for number in numbers]


def link(path: str, rel: str = "next") -> str:
    return f'<{BASE}/{path}>; rel="{rel}"'


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (
            '<https://a.test/x?page=2>; rel="next", <https://a.test/x?page=9>; rel="last"',
            "https://a.test/x?page=2",
        ),
        (
            '<https://a.test/x?page=1>; rel="prev", <https://a.test/x?after=a,b>; rel="next"',
            "https://a.test/x?after=a,b",
        ),
        ("<https://a.test/2>; rel=next", "https://a.test/2"),
        ('<https://a.test/2>; title="x"; rel="next"', "https://a.test/2"),
        ('<https://a.test/1>; rel="prev"', None),
        ("", None),
        ("garbage", None),
    ],
)
def test_the_link_to_the_next_page_is_found_among_others(header: str, expected: str | None) -> None:
    assert next_link({"link": header} if header else {}) == expected


async def test_pages_are_followed_until_there_is_none(
    api: ScriptedApi, client: GithubClient, repo: Repo
) -> None:
    api.put("repos/o/n", repo())
    api.put(ISSUES.replace("=2&", "=5&"), issues(9, 8), link=link("repositories/7/issues?page=2"))
    api.put("repositories/7/issues?page=2", issues(7))
    found = await client.read(Target(what="issues", name="o/n", limit=5))
    assert [record.item["number"] for record in found.issues] == [9, 8, 7]
    assert {(record.repo_id, record.repo) for record in found.issues} == {(7, "o/n")}
    assert [repo["full_name"] for repo in found.repos] == ["o/n"]


async def test_no_page_is_asked_for_beyond_the_limit(
    api: ScriptedApi, client: GithubClient, repo: Repo
) -> None:
    api.put("repos/o/n", repo())
    api.put(ISSUES, issues(9, 8), link=link("p2"))
    found = await client.read(Target(what="issues", name="o/n", limit=2))
    assert len(found.issues) == 2
    assert api.asked == ["repos/o/n", ISSUES]


async def test_issues_are_asked_for_by_state_and_time(
    api: ScriptedApi, client: GithubClient, repo: Repo
) -> None:
    since = datetime(2026, 1, 2, tzinfo=UTC)
    path = "repos/o/n/issues?per_page=2&state=open&sort=updated&direction=desc&since=2026-01-02T00%3A00%3A00Z"
    api.put("repos/o/n", repo())
    api.put(path, [])
    found = await client.read(Target(what="issues", name="o/n", state="open", since=since, limit=2))
    assert (found.issues, api.asked[-1]) == ((), path)


async def test_every_request_names_the_version_it_was_written_for(
    api: ScriptedApi, client: GithubClient, repo: Repo
) -> None:
    api.put("repos/o/n", repo())
    await client.read(Target(what="repos", name="o/n"))
    (sent,) = api.headers
    assert sent["accept"] == "application/vnd.github+json"
    assert sent["x-github-api-version"] == "2026-03-10"
    assert "authorization" not in sent


async def test_a_renamed_repository_is_read_under_its_new_name_with_a_warning(
    api: ScriptedApi, client: GithubClient, repo: Repo
) -> None:
    api.put("repos/o/old", {}, status=301, location=f"{BASE}/repositories/7")
    api.put("repositories/7", repo("o/new"))
    found = await client.read(Target(what="repos", name="o/old"))
    assert found.warnings == ("o/old is now o/new; correct the agent's repos",)
    assert found.repos[0]["id"] == 7


async def test_a_search_stops_at_the_thousandth_result_and_says_so(
    api: ScriptedApi, client: GithubClient
) -> None:
    for page in range(1, 12):
        items = [{"id": page * 1000 + number, "full_name": "o/n"} for number in range(100)]
        path = f"p{page}" if page > 1 else "search/repositories?q=graph&per_page=100"
        api.put(path, {"total_count": 4321, "items": items}, link=link(f"p{page + 1}"))
    found = await client.read(Target(what="search", name="graph", limit=2000))
    assert (len(found.repos), len(api.asked)) == (1000, 10)
    (warning,) = found.warnings
    assert "the first 1,000 results of a search, and this one has 4,321; narrow the query" in warning


async def test_a_search_that_was_given_up_half_way_is_a_warning(
    api: ScriptedApi, client: GithubClient
) -> None:
    item = {"id": 5, "number": 1, "repository_url": f"{BASE}/repos/o/n"}
    answer = {"total_count": 1, "incomplete_results": True, "items": [item]}
    api.put("search/issues?q=is%3Apr+graph&per_page=100", answer)
    found = await client.read(Target(what="search", name="is:pr graph", kind="issues"))
    assert (found.issues[0].repo, found.issues[0].repo_id) == ("o/n", None)
    assert found.warnings == ("GitHub ran out of time, so its results are incomplete; narrow the query",)


async def test_a_search_is_asked_for_in_an_order(api: ScriptedApi, client: GithubClient) -> None:
    path = "search/issues?q=is%3Apr&per_page=100&sort=updated&order=asc"
    api.put(path, {"total_count": 0, "items": []})
    await client.read(Target(what="search", name="is:pr", kind="issues", sort="updated", order="asc"))
    assert api.asked == [path]


@pytest.mark.parametrize(
    "following", [f"{BASE}/{ISSUES}", "https://elsewhere.test/p2", "http://github.test/p2"]
)
async def test_a_link_in_a_circle_or_to_elsewhere_is_refused(
    api: ScriptedApi, client: GithubClient, repo: Repo, following: str
) -> None:
    api.put("repos/o/n", repo())
    api.put(ISSUES, issues(1), link=f'<{following}>; rel="next"')
    with pytest.raises(UnexpectedAnswerError, match="its Link header does not lead to a next page"):
        await client.read(Target(what="issues", name="o/n", limit=2))


@pytest.mark.parametrize("answer", [["o/n"], None, "hello"])
async def test_an_answer_of_another_shape_names_the_url(
    api: ScriptedApi, client: GithubClient, answer: object
) -> None:
    api.put("repos/o/n", answer)
    with pytest.raises(UnexpectedAnswerError, match=r"https://github\.test/repos/o/n .*check base_url"):
        await client.read(Target(what="repos", name="o/n"))


async def test_a_refusal_keeps_its_failure_class(api: ScriptedApi, client: GithubClient) -> None:
    api.put("repos/o/n", {"message": "Not Found"}, status=404)
    with pytest.raises(
        FetchError, match="Not Found; it does not exist, or is private and not visible to this token"
    ) as caught:
        await client.read(Target(what="repos", name="o/n"))
    assert caught.value.failure_class == "http_404"


async def test_the_token_goes_to_the_api_alone_and_stands_in_no_error(api: ScriptedApi, repo: Repo) -> None:
    async def secret(name: str) -> SecretStr:
        return SecretStr(f"{name}-value\n")

    client = GithubClient(BASE, api.connect, "gh", secret)
    api.put("repos/o/old", {}, status=301, location="https://elsewhere.test/repos/o/n")
    api.answers["https://elsewhere.test/repos/o/n"] = api.answers["repos/o/old"]
    with pytest.raises(FetchError) as caught:
        await client.read(Target(what="repos", name="o/old"))
    first, *others = api.headers
    assert first["authorization"] == "Bearer gh-value"
    assert others
    assert not any("authorization" in sent for sent in others)
    assert "gh-value" not in repr(caught.value)


async def test_a_secret_that_is_no_token_is_named(api: ScriptedApi) -> None:
    async def secret(name: str) -> SecretStr:
        return SecretStr("two\nlines")

    with pytest.raises(TokenError, match="'gh' has characters that no token has"):
        await GithubClient(BASE, api.connect, "gh", secret).read(Target(what="repos", name="o/n"))
    assert api.asked == []
