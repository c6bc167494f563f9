"""Items of detail pages."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from agentic.core.actors import ActorError
from agentic.plugins.web.extract_detail import ExtractDetailActor
from agentic.plugins.web.fields import parse_number

LAMP = """<h1 class="title"> A  good
 lamp </h1><p class="price">now 1,234.50 EUR</p><p class="stock">12 left</p>
<img src="img/lamp.png"><ul><li class="tag">red</li><li class="tag">tall</li></ul>
<span class="sku" data-code="SKU-77/b"></span>"""


async def read(act: Any, page: Any, **schema: object) -> Any:
    return (await act(ExtractDetailActor, page=page(LAMP), schema=schema)).item


@pytest.mark.requirement("SP19")
async def test_fields_are_read_by_selector_attribute_pattern_and_type(act: Any, page: Any) -> None:
    item = await read(
        act,
        page,
        title="h1.title",
        price={"selector": ".price", "type": "number"},
        stock={"selector": ".stock", "type": "integer"},
        image={"selector": "img", "attr": "src", "type": "url"},
        tags={"selector": ".tag", "list": True},
        code={"selector": ".sku", "attr": "data-code", "regex": r"SKU-(\d+)"},
        is_tagged={"selector": ".tag", "type": "boolean"},
        is_sold={"selector": ".sold", "type": "boolean"},
    )
    assert item == {
        "url": "http://shop.example/list/",
        "title": "A good lamp",
        "price": 1234.5,
        "stock": 12,
        "image": "http://shop.example/list/img/lamp.png",
        "tags": ["red", "tall"],
        "code": "77",
        "is_tagged": True,
        "is_sold": False,
    }


async def test_a_field_that_is_not_there_is_null(act: Any, page: Any) -> None:
    item = await read(act, page, rating=".rating", marks={"selector": ".mark", "list": True})
    assert (item["rating"], item["marks"]) == (None, [])


async def test_a_field_may_be_called_url(act: Any, page: Any) -> None:
    item = await read(act, page, url={"selector": "img", "attr": "src", "type": "url"})
    assert item == {"url": "http://shop.example/list/img/lamp.png"}


async def test_a_required_field_that_is_not_there_is_a_failure(act: Any, page: Any) -> None:
    with pytest.raises(ActorError, match="field 'rating': nothing on") as caught:
        await read(act, page, rating={"selector": ".rating", "required": True})
    assert caught.value.failure_class == "selector_missing"


@pytest.mark.parametrize(
    ("kind", "selector"), [("integer", ".price"), ("number", ".title"), ("integer", ".tag")]
)
async def test_a_text_of_another_type_is_a_failure(act: Any, page: Any, kind: str, selector: str) -> None:
    with pytest.raises(ActorError, match=f"is no {kind}") as caught:
        await read(act, page, field={"selector": selector, "type": kind})
    assert caught.value.failure_class == "schema_invalid"


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({}, "at least 1 item"),
        ({"a": "h1["}, "is no CSS selector"),
        ({"a": {"selector": "h1", "regex": "("}}, "is no regular expression"),
        ({"a": {"selectr": "h1"}}, "selector"),
        ({"a": {"selector": "h1", "type": "date"}}, "'string', 'integer'"),
    ],
)
async def test_a_schema_that_cannot_be_is_refused_before_anything_runs(
    act: Any, page: Any, schema: dict[str, object], reason: str
) -> None:
    with pytest.raises(ValidationError, match=reason.replace("(", r"\(")):
        await read(act, page, **schema)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("£51.77", 51.77),
        ("1 234 567 people", 1_234_567),
        ("-3 degrees", -3),
        ("1,234.50 EUR", 1234.5),
        ("12 34", 12),
        ("none", None),
    ],
)
def test_numbers_are_found_in_text(text: str, number: float | None) -> None:
    assert parse_number(text, whole=False) == number


@given(st.integers(-(10**12), 10**12))
def test_a_grouped_number_is_read_as_what_it_is(number: int) -> None:
    assert parse_number(f"about {number:,} items", whole=True) == number


@given(st.floats(0, 10**9).map(lambda x: round(x, 2)))
def test_a_price_is_read_as_what_it_is(price: float) -> None:
    assert parse_number(f"{price:,.2f} EUR", whole=False) == price
