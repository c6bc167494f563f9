"""What the API says, and what we make of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from agentic.core.http import FetchError, UnexpectedAnswerError
from agentic.plugins.hackernews.client import HackerNewsClient

if TYPE_CHECKING:
    from tests.unit.plugins.hackernews.conftest import ScriptedApi

Story = Callable[..., dict[str, object]]


async def test_titles_are_unescaped_and_texts_stay_html(
    api: ScriptedApi, client: HackerNewsClient, story: Story
) -> None:
    api.answers["item/7.json"] = story(7, title="Ask HN: R&amp;D &#x27;yes&#x27;?", text="<p>a &amp; b")
    item = await client.item(7)
    assert item is not None
    assert (item.plain_title, item.text) == ("Ask HN: R&D 'yes'?", "<p>a &amp; b")


async def test_null_is_an_item_that_is_gone(api: ScriptedApi, client: HackerNewsClient) -> None:
    api.answers["item/7.json"] = None
    assert await client.item(7) is None


async def test_a_deleted_item_keeps_id_type_and_time(api: ScriptedApi, client: HackerNewsClient) -> None:
    api.answers["item/7.json"] = {"deleted": True, "id": 7, "time": 1_700_000_000, "type": "story"}
    item = await client.item(7)
    assert item is not None
    assert (item.deleted, item.by, item.plain_title, item.type) == (True, None, None, "story")


async def test_fields_the_api_may_add_change_nothing(
    api: ScriptedApi, client: HackerNewsClient, story: Story
) -> None:
    api.answers["item/7.json"] = story(7, mood="sunny")
    item = await client.item(7)
    assert item is not None
    assert item.model_dump(exclude_unset=True) == story(7, mood="sunny")


@pytest.mark.parametrize(
    "answer", [{"error": "Permission denied"}, {"id": 0}, {"id": 7, "score": "many"}, [7]]
)
async def test_an_answer_of_another_shape_names_the_url_and_the_fault(
    api: ScriptedApi, client: HackerNewsClient, answer: object
) -> None:
    api.answers["item/7.json"] = answer
    with pytest.raises(UnexpectedAnswerError, match=r"https://hn\.test/v0/item/7\.json .*check base_url"):
        await client.item(7)


async def test_a_list_that_is_null_is_refused(client: HackerNewsClient) -> None:
    with pytest.raises(UnexpectedAnswerError, match=r"topstories\.json .* valid list"):
        await client.story_ids("top")


async def test_a_failed_fetch_keeps_its_failure_class(api: ScriptedApi, client: HackerNewsClient) -> None:
    api.answers["topstories.json"] = FetchError("https://hn.test/v0/topstories.json", "timeout", "too slow")
    with pytest.raises(FetchError) as caught:
        await client.story_ids("top")
    assert caught.value.failure_class == "timeout"
