"""The graph: a list, its items side by side, and what could not be read kept apart."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from tests.unit.plugins.hackernews.conftest import failure

from agentic.core.http import FetchError
from agentic.executors import NothingReadError, SourceRefusedError
from agentic.executors.retrying import TRIES
from agentic.plugins.hackernews.client import HackerNewsClient
from agentic.plugins.hackernews.items import HackerNewsItem, Stories, StoryQuery
from agentic.plugins.hackernews.settings import MAX_PARALLEL, StoryList
from agentic.plugins.hackernews.workflow import default_workflow, story_workflow

if TYPE_CHECKING:
    from tests.unit.plugins.hackernews.conftest import ScriptedApi

PASSING = ["timeout", "connect", "http_503", "decode", "rate_limited"]
FINAL = ["http_404", "gone", "blocked", "private_address"]

Story = Callable[..., dict[str, object]]


async def read(client: HackerNewsClient, **query: object) -> Stories:
    run = await story_workflow(client, 5.0).run(StoryQuery.model_validate(query))
    return run.output(Stories)


async def test_stories_come_in_the_order_of_the_list_with_their_ranks(
    api: ScriptedApi, client: HackerNewsClient, story: Story
) -> None:
    api.answers = {"topstories.json": [30, 10, 20], **{f"item/{i}.json": story(i) for i in (10, 20, 30)}}
    found = await read(client)
    assert [(s.rank, s.item.id) for s in found.stories] == [(1, 30), (2, 10), (3, 20)]
    assert found.warnings == ()


@pytest.mark.parametrize("name", ["top", "new", "best", "ask", "show", "job"])
async def test_every_list_of_the_api_can_be_read(
    api: ScriptedApi, client: HackerNewsClient, name: StoryList
) -> None:
    api.answers[f"{name}stories.json"] = []
    found = await read(client, list=name)
    assert (found.stories, api.asked) == ((), [f"{name}stories.json"])


async def test_no_more_stories_are_read_than_wanted(
    api: ScriptedApi, client: HackerNewsClient, story: Story
) -> None:
    api.answers = {
        "topstories.json": list(range(1, 100)),
        **{f"item/{i}.json": story(i) for i in range(1, 100)},
    }
    assert len((await read(client, limit=3)).stories) == 3
    assert len(api.asked) == 4


@pytest.mark.requirement("PL30", "PL46")
async def test_an_item_that_cannot_be_read_is_a_warning_and_the_others_are_kept(
    api: ScriptedApi, client: HackerNewsClient, story: Story
) -> None:
    api.answers = {
        "topstories.json": [1, 2, 3, 4],
        "item/1.json": None,
        "item/2.json": FetchError(
            "https://hn.test/v0/item/2.json", "http_500", "the server failed", status=500
        ),
        "item/3.json": story(3),
        "item/4.json": {"id": "four"},
    }
    found = await read(client)
    assert [(s.rank, s.item.id) for s in found.stories] == [(3, 3)]
    gone, failed, odd = found.warnings
    assert gone.startswith("item 1 is gone")
    assert "http_500" in failed
    assert "check base_url" in odd
    assert found.unread_count == 3
    assert {number: api.asked.count(f"item/{number}.json") for number in (1, 2, 3, 4)} == {
        1: 1,
        2: TRIES,
        3: 1,
        4: 1,
    }


@pytest.mark.requirement("PL30")
@pytest.mark.parametrize("path", ["topstories.json", "item/1.json"])
@pytest.mark.parametrize("word", PASSING)
async def test_what_passes_is_tried_again_and_nothing_is_missing(
    api: ScriptedApi, client: HackerNewsClient, story: Story, path: str, word: str
) -> None:
    api.answers = {"topstories.json": [1, 2], "item/1.json": story(1), "item/2.json": story(2)}
    api.failures[path] = [failure(word, 0.001), failure(word)]
    found = await read(client)
    assert ([s.item.id for s in found.stories], found.warnings, found.unread_count) == ([1, 2], (), 0)
    assert api.asked.count(path) == 3


@pytest.mark.parametrize("word", FINAL)
async def test_a_refusal_is_not_tried_again_and_costs_no_other_item(
    api: ScriptedApi, client: HackerNewsClient, story: Story, word: str
) -> None:
    api.answers = {"topstories.json": [1, 2], "item/1.json": failure(word), "item/2.json": story(2)}
    found = await read(client)
    assert [s.item.id for s in found.stories] == [2]
    assert api.asked.count("item/1.json") == 1


async def test_a_limit_that_lasts_too_long_is_not_waited_for(
    api: ScriptedApi, client: HackerNewsClient
) -> None:
    api.answers["topstories.json"] = failure("rate_limited", 90)
    with pytest.raises(SourceRefusedError, match="that is 90 s, more than max_wait_s"):
        await read(client)
    assert len(api.asked) == 1


async def test_a_list_of_which_nothing_can_be_read_fails_the_run(
    api: ScriptedApi, client: HackerNewsClient
) -> None:
    api.answers = {"topstories.json": [1, 2], "item/1.json": None, "item/2.json": None}
    with pytest.raises(
        NothingReadError, match="none of 2 stories could be read; the first one: item 1 is gone"
    ):
        await read(client)


async def test_twenty_items_are_read_side_by_side_and_never_more(story: Story) -> None:
    class Meter(HackerNewsClient):
        """Lets nobody leave before as many are inside as are allowed."""

        def __init__(self) -> None:
            self.inside = self.most = 0
            self.full = asyncio.Event()

        async def story_ids(self, story_list: StoryList) -> list[int]:
            return list(range(1, 101))

        async def item(self, item_id: int) -> HackerNewsItem:
            self.inside += 1
            self.most = max(self.most, self.inside)
            if self.inside == MAX_PARALLEL:
                self.full.set()
            await self.full.wait()
            self.inside -= 1
            return HackerNewsItem.model_validate(story(item_id))

    meter = Meter()
    found = await read(meter, limit=100)
    assert (meter.most, len(found.stories)) == (MAX_PARALLEL, 100)


def test_the_graph_can_be_drawn() -> None:
    drawing = default_workflow().to_mermaid()
    for node in ("list_stories", "fetch_item", "collect"):
        assert node in drawing
