"""The graph: targets one after the other, what cannot be read kept apart, and what passes tried again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from agentic.core.http import FetchError
from agentic.executors import NothingReadError
from agentic.plugins.github.client import GithubClient
from agentic.plugins.github.items import Found, GithubQuery, Record, Target
from agentic.plugins.github.workflow import default_workflow, github_workflow

Read = Callable[[Target], Found]


class Scripted(GithubClient):
    """Reads what a function says; notes the targets, and how many were read at the same time."""

    def __init__(self, read: Read) -> None:
        self.targets: list[Target] = []
        self.inside = self.most = 0
        self._read = read

    async def read(self, target: Target) -> Found:
        self.targets.append(target)
        self.inside += 1
        self.most = max(self.most, self.inside)
        await asyncio.sleep(0)
        self.inside -= 1
        return self._read(target)


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentic.executors.retrying.FIRST_DELAY_S", 0.001)


def repo_of(target: Target) -> Found:
    return Found(repos=({"full_name": target.name},), issues=(Record(repo=target.name, item={"id": 1}),))


def failing(*failure_classes: str, retry_after_s: float | None = None) -> Read:
    """Fail with each class in turn, then read."""
    left = list(failure_classes)

    def read(target: Target) -> Found:
        if left:
            raise FetchError("https://api.test/x", left.pop(0), "no", retry_after_s=retry_after_s)
        return repo_of(target)

    return read


async def run(client: GithubClient, max_wait_s: float = 5.0, **query: object) -> Found:
    done = await github_workflow(client, max_wait_s).run(GithubQuery.model_validate(query))
    return done.output(Found)


async def test_repositories_are_read_one_after_the_other_in_their_order_and_each_once() -> None:
    client = Scripted(repo_of)
    found = await run(client, mode="issues", repos=["o/a", "o/b", "O/A", "o/c"], state="open", limit=7)
    assert [record.repo for record in found.issues] == ["O/A", "o/b", "o/c"]
    assert [(target.what, target.state, target.limit) for target in client.targets] == [
        ("issues", "open", 7)
    ] * 3
    assert client.most == 1


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ({"query": "x"}, "repositories"),
        ({"mode": "search", "query": "x", "kind": "issues"}, "issues"),
    ],
)
async def test_a_query_is_one_search(query: dict[str, object], kind: str) -> None:
    client = Scripted(repo_of)
    await run(client, 5.0, **query)
    assert [(target.what, target.name, target.kind) for target in client.targets] == [("search", "x", kind)]


@pytest.mark.parametrize("word", ["timeout", "connect", "http_502", "decode", "rate_limited"])
async def test_what_passes_is_tried_again(word: str) -> None:
    client = Scripted(failing(word, word, retry_after_s=0.001))
    assert len((await run(client, repos=["o/a"])).repos) == 1
    assert len(client.targets) == 3


@pytest.mark.parametrize(
    "word", ["http_404", "http_422", "http_451", "gone", "auth_expired", "private_address"]
)
async def test_a_refusal_is_not_tried_again_and_costs_no_other_repository(word: str) -> None:
    client = Scripted(failing(word))
    found = await run(client, repos=["o/a", "o/b"])
    assert [repo["full_name"] for repo in found.repos] == ["o/b"]
    assert len(client.targets) == 2
    (warning,) = found.warnings
    assert warning.startswith("https://api.test/x was not fetched")


async def test_a_limit_that_lasts_too_long_is_not_waited_for() -> None:
    with pytest.raises(
        NothingReadError, match=r"it could not be read: .* that is 90 s, more than max_wait_s"
    ):
        await run(Scripted(failing("rate_limited", retry_after_s=90)), max_wait_s=60, repos=["o/a"])


async def test_a_run_of_which_nothing_can_be_read_fails_with_the_first_reason() -> None:
    with pytest.raises(NothingReadError, match=r"none of 2 could be read; the first one: .*http_404"):
        await run(Scripted(failing("http_404", "gone")), repos=["o/a", "o/b"])


async def test_a_search_that_finds_nothing_is_no_failure() -> None:
    assert await run(Scripted(lambda target: Found()), query="nothing") == Found()


def test_the_graph_can_be_drawn() -> None:
    drawing = default_workflow().to_mermaid()
    for node in ("plan", "read", "collect"):
        assert node in drawing
