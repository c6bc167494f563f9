"""The graphs: targets one after the other, what cannot be read kept apart, and what passes tried again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from agentic.core.http import FetchError
from agentic.executors import NothingReadError
from agentic.plugins.reddit.client import RedditClient
from agentic.plugins.reddit.reading.items import Found, RedditQuery, Target
from agentic.plugins.reddit.workflow import default_workflow, reddit_workflow

ReadTarget = Callable[[Target], Found]


class Scripted(RedditClient):
    """Reads what a function says; notes the targets, and how many were read at the same time."""

    def __init__(self, read: ReadTarget) -> None:
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


def posts_of(target: Target) -> Found:
    if target.what == "tree":
        return Found(comments=({"name": f"t1_{target.name}"},))
    return Found(posts=({"name": f"t3_{target.name}"},))


def failing(*failure_classes: str, retry_after_s: float | None = None) -> ReadTarget:
    """Fail with each class in turn, then read."""
    left = list(failure_classes)

    def read(target: Target) -> Found:
        if left:
            raise FetchError("https://api.test/x", left.pop(0), "no", retry_after_s=retry_after_s)
        return posts_of(target)

    return read


async def run(
    client: RedditClient,
    max_wait_s: float = 5.0,
    *,
    is_tree: bool = False,
    is_paced: bool = False,
    **query: object,
) -> Found:
    workflow = reddit_workflow(client, max_wait_s, is_tree=is_tree, is_paced=is_paced)
    return (await workflow.run(RedditQuery.model_validate(query))).output(Found)


async def test_targets_are_read_one_after_the_other_in_their_order() -> None:
    client = Scripted(posts_of)
    found = await run(client, subreddits=["a", "b", "c"])
    assert [post["name"] for post in found.posts] == ["t3_a", "t3_b", "t3_c"]
    assert client.most == 1


async def test_the_comments_of_what_was_found_are_read_after_it_and_posts_are_kept() -> None:
    client = Scripted(posts_of)
    found = await run(client, is_tree=True, read="comments", subreddits=["a", "b"])
    assert [(one.what, one.name) for one in client.targets] == [
        ("listing", "a"),
        ("listing", "b"),
        ("tree", "t3_a"),
        ("tree", "t3_b"),
    ]
    assert [post["name"] for post in found.posts] == ["t3_a", "t3_b"]
    assert [comment["name"] for comment in found.comments] == ["t1_t3_a", "t1_t3_b"]


async def test_what_was_wrong_with_listings_is_told_with_their_comments() -> None:
    found = await run(Scripted(failing("http_404")), is_tree=True, read="comments", subreddits=["a", "b"])
    assert len(found.comments) == 1
    assert len(found.warnings) == 1


async def test_listings_without_posts_have_no_comments_and_are_no_failure() -> None:
    found = await run(Scripted(lambda target: Found()), is_tree=True, read="comments", subreddits=["a"])
    assert found == Found()


@pytest.mark.parametrize("word", ["timeout", "connect", "http_502", "decode", "rate_limited"])
async def test_what_passes_is_tried_again(word: str) -> None:
    client = Scripted(failing(word, word, retry_after_s=0.001))
    assert len((await run(client, subreddits=["a"])).posts) == 1
    assert len(client.targets) == 3


@pytest.mark.parametrize("word", ["http_404", "http_403", "blocked", "auth_expired", "robots_denied"])
async def test_a_refusal_is_not_tried_again_and_costs_no_other_target(word: str) -> None:
    client = Scripted(failing(word))
    found = await run(client, subreddits=["a", "b"])
    assert [post["name"] for post in found.posts] == ["t3_b"]
    assert len(client.targets) == 2
    (warning,) = found.warnings
    assert warning.startswith("https://api.test/x was not fetched")


async def test_a_failure_that_stays_is_given_up_after_six_tries() -> None:
    client = Scripted(failing(*["http_500"] * 9))
    with pytest.raises(NothingReadError, match="http_500"):
        await run(client, subreddits=["a"])
    assert len(client.targets) == 6


async def test_to_let_others_go_first_is_no_failed_try_of_a_feed() -> None:
    words = ["rate_limited"] * 20 + ["http_500"] * 5
    client = Scripted(failing(*words, retry_after_s=0.001))
    assert len((await run(client, subreddits=["a"], is_paced=True)).posts) == 1
    assert len(client.targets) == 26
    again = Scripted(failing(*words, "http_500", retry_after_s=0.001))
    with pytest.raises(NothingReadError, match="http_500"):
        await run(again, subreddits=["a"], is_paced=True)


async def test_a_limit_that_lasts_too_long_is_not_waited_for() -> None:
    with pytest.raises(
        NothingReadError, match=r"it could not be read: .* that is 90 s, more than max_wait_s"
    ):
        await run(Scripted(failing("rate_limited", retry_after_s=90)), max_wait_s=60, subreddits=["a"])


async def test_a_run_of_which_nothing_can_be_read_fails_with_the_first_reason() -> None:
    with pytest.raises(NothingReadError, match=r"none of 2 could be read; the first one: .*http_404"):
        await run(Scripted(failing("http_404", "blocked")), subreddits=["a", "b"])


async def test_scores_of_nothing_are_nothing() -> None:
    assert await run(Scripted(posts_of), read="scores") == Found()


def test_the_graphs_can_be_drawn() -> None:
    for node in ("plan", "read", "collect"):
        assert node in default_workflow().to_mermaid()
    tree = reddit_workflow(Scripted(posts_of), 1.0, is_tree=True)
    assert "pick_trees" in tree.to_mermaid()
