"""What one page may cost an actor."""

from __future__ import annotations

from typing import Any

import pytest

from agentic.core.actors import ActorError
from agentic.plugins.web.actors.extract_detail import ExtractDetailActor
from agentic.plugins.web.actors.extract_list import ExtractListActor

FILLER = "word " * 100


def _nested(count: int, text: str = FILLER) -> str:
    return f"<div class=item>{text}" * count + "</div>" * count


@pytest.mark.parametrize(
    "fields", [{"text": "p"}, {"text": {"selector": ".item"}}, {"html": {"xpath": "//div"}}]
)
async def test_items_that_stand_in_each_other_are_refused_beyond_a_limit(
    act: Any, page: Any, fields: dict[str, object]
) -> None:
    with pytest.raises(ActorError, match=r"more than 100 elements that match '\.item' are nested") as caught:
        await act(ExtractListActor, page=page(_nested(1_900)), item_selector=".item", fields=fields)
    assert caught.value.failure_class == "too_large"


async def test_comments_and_their_answers_are_read(act: Any, page: Any) -> None:
    found = await act(
        ExtractListActor,
        page=page(_nested(100) * 3),
        item_selector=".item",
        fields={"text": {"selector": ".item"}},
    )
    assert len(found.items) == 300


async def test_objects_that_stand_in_each_other_are_refused_beyond_a_limit(act: Any, page: Any) -> None:
    schema = {"all": {"selector": ".item", "list": True, "fields": {"text": "p"}}}
    with pytest.raises(ActorError, match="are nested in each other"):
        await act(ExtractDetailActor, page=page(_nested(1_900)), schema=schema)


@pytest.mark.parametrize(
    "rule",
    [
        {"selector": "div", "list": True},
        {"selector": "div", "list": True, "type": "html"},
        {"selector": "div", "list": True, "regex": "word"},
        {"xpath": "//div"},
        {"xpath": "//div", "list": True, "type": "html"},
    ],
)
async def test_one_page_gives_so_much_text_and_no_more(act: Any, page: Any, rule: dict[str, object]) -> None:
    large = page(_nested(1_900))
    with pytest.raises(ActorError, match="have more than 32,000,000 characters") as caught:
        await act(ExtractDetailActor, page=large, schema={"all": {**rule, "list": True}})
    assert caught.value.failure_class == "too_large"
    # What one actor read does not count for the next.
    assert (await act(ExtractDetailActor, page=large, schema={"first": "div.item"})).item["first"]


@pytest.mark.parametrize(
    ("xpath", "said"),
    [
        ("//p[preceding-sibling::p]", "the limit is 1,000; put"),
        ("//p/following-sibling::p", "the limit is 1,000; put"),
        ("//p/preceding::node()", "the limit is 1,000; put"),
        ("//p[count( following :: * ) > 3]", "the limit is 1,000; put"),
        ("//p[../q = 'x']", "the limit is 10,000; use"),
        ("//p[//q]", "the limit is 10,000; use"),
        ("//p/following-sibling::p[1]", "the limit is 10,000; use"),
    ],
)
async def test_an_xpath_that_looks_through_a_large_page_again_and_again_is_refused(
    act: Any, page: Any, xpath: str, said: str
) -> None:
    with pytest.raises(ActorError, match=said) as caught:
        await act(ExtractDetailActor, page=page("<p>x</p>" * 12_000), schema={"a": {"xpath": xpath}})
    assert caught.value.failure_class == "too_large"


@pytest.mark.parametrize("xpath", ["//p[last()]", "//p[@class='a']", "//p[contains(., 'x')]", "count(//p)"])
async def test_an_xpath_that_goes_through_a_page_once_reads_large_ones(
    act: Any, page: Any, xpath: str
) -> None:
    large = page("<p class=a>x</p>" * 12_000)
    assert (await act(ExtractDetailActor, page=large, schema={"a": {"xpath": xpath}})).item["a"]


async def test_an_axis_with_a_number_reads_pages_of_a_usual_size(act: Any, page: Any) -> None:
    schema = {"a": {"xpath": "//dt[.='x']/following-sibling::dd[1]"}}
    found = await act(ExtractDetailActor, page=page("<dl>" + "<dt>x<dd>y" * 4_000 + "</dl>"), schema=schema)
    assert found.item["a"] == "y"
