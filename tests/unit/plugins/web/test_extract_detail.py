"""Items of detail pages."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pydantic import ValidationError
from tests.unit.plugins.web.conftest import NoNetwork

from agentic.core.actors import ActorContext, ActorError
from agentic.core.http import Fetcher, HttpPolicy
from agentic.core.types import JSONValue
from agentic.plugins.web.actors.extract_detail import ExtractDetailActor, ExtractDetailInput
from agentic.plugins.web.reading.fields import FieldRule
from agentic.plugins.web.reading.json_schema import fit

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


async def test_alternatives_are_tried_in_their_order_while_nothing_is_found(act: Any, page: Any) -> None:
    number = {
        "selector": ".cost",
        "type": "number",
        "alternatives": [{"selector": ".price", "type": "number"}],
    }
    item = await read(
        act,
        page,
        price=number,
        tags={
            "selector": ".label",
            "list": True,
            "alternatives": [".none", {"selector": ".tag", "list": True}],
        },
        title={"selector": "h1", "alternatives": [".price"]},
        none={"selector": ".a", "default": "?", "alternatives": [".b"]},
    )
    assert [item[name] for name in ("price", "tags", "title", "none")] == [
        1234.5,
        ["red", "tall"],
        "A good lamp",
        "?",
    ]
    json_page = page('{"name": "A"}', content_type="application/json")
    schema = {"title": {"json": "title", "alternatives": [{"json": "name"}]}}
    assert (await act(ExtractDetailActor, page=json_page, schema=schema)).item["title"] == "A"


async def test_required_field_without_any_alternative_fails(act: Any, page: Any) -> None:
    with pytest.raises(ActorError, match=r"field 'sum': '\.a' matches nothing"):
        await read(act, page, sum={"selector": ".a", "required": True, "alternatives": [".b"]})
    with pytest.raises(ValidationError, match="a boolean is false where nothing is found"):
        FieldRule.model_validate({"selector": ".a", "type": "boolean", "alternatives": [".b"]})


async def test_a_field_may_be_called_url(act: Any, page: Any) -> None:
    item = await read(act, page, url={"selector": "img", "attr": "src", "type": "url"})
    assert item == {"url": "http://shop.example/list/img/lamp.png"}


async def test_a_required_field_that_is_not_there_is_a_failure(act: Any, page: Any) -> None:
    with pytest.raises(ActorError, match=r"field 'rating': '.*' matches nothing on") as caught:
        await read(act, page, rating={"selector": ".rating", "required": True})
    assert caught.value.failure_class == "selector_missing"


@pytest.mark.parametrize(
    ("kind", "selector"), [("integer", ".price"), ("number", ".title"), ("integer", ".tag")]
)
async def test_a_text_of_another_type_is_a_failure_of_a_required_field(
    act: Any, page: Any, kind: str, selector: str
) -> None:
    with pytest.raises(ActorError, match=f"is not a valid {kind}") as caught:
        await read(act, page, field={"selector": selector, "type": kind, "required": True})
    assert caught.value.failure_class == "schema_invalid"


@pytest.mark.parametrize(
    ("rule", "value", "instead"),
    [
        ({"selector": ".title", "type": "number"}, None, "null"),
        ({"selector": ".title", "type": "number", "default": 0}, 0, "its default"),
        ({"selector": ".title", "type": "price"}, None, "null"),
        ({"selector": ".title", "type": "date"}, None, "null"),
        ({"selector": "li", "type": "integer", "list": True}, [None, None], "null"),
        ({"xpath": "//h1", "type": "integer", "default": -1}, -1, "its default"),
    ],
)
async def test_a_field_that_cannot_be_read_costs_only_itself(
    page: Any, rule: dict[str, object], value: object, instead: str
) -> None:
    warned: list[tuple[str, str]] = []
    context = ActorContext(
        http=Fetcher(HttpPolicy(), NoNetwork()), tally=lambda *warning: warned.append(warning)
    )
    schema = {"title": "h1", "field": rule}
    given = ExtractDetailInput.model_validate({"page": page(LAMP), "schema": schema})
    item = (await ExtractDetailActor().run(context, given)).item
    assert item == {"url": "http://shop.example/list/", "title": "A good lamp", "field": value}
    assert {subject for subject, _ in warned} == {"field 'field'"}
    assert all(
        f"is not a valid {rule['type']}" in text and text.endswith(f"is {instead}") for _, text in warned
    )


async def test_without_a_counter_each_field_that_cannot_be_read_is_a_warning(page: Any) -> None:
    warned: list[str] = []
    context = ActorContext(http=Fetcher(HttpPolicy(), NoNetwork()), warn=warned.append)
    schema = {"price": {"selector": "h1", "type": "price"}, "rating": ".rating"}
    given = ExtractDetailInput.model_validate({"page": page(LAMP), "schema": schema})
    await ExtractDetailActor().run(context, given)
    assert warned == [
        "field 'price': 'A good lamp' on http://shop.example/list/ is not a valid price; the field is null"
    ]


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({}, "at least 1 item"),
        ({"a": "h1["}, "is not a CSS selector"),
        ({"a": "h1::text"}, "is not a CSS selector; leave out '::text'"),
        ({"a": "a.next::attr(href)"}, 'give it to a field as {"selector": "a.next", "attr": "href"}'),
        ({"a": "//h1/text()"}, 'give it to a field as {"xpath": "//h1"}'),
        ({"a": {"selector": "h1", "regex": "("}}, "regular expression '(' cannot be used"),
        ({"a": {"selectr": "h1"}}, "schema.a.selectr"),
        ({"a": {"selector": "h1", "type": "data"}}, "'string', 'integer'"),
    ],
)
async def test_a_schema_that_cannot_be_is_refused_before_anything_runs(
    act: Any, page: Any, schema: dict[str, object], reason: str
) -> None:
    with pytest.raises(ValidationError, match=re.escape(reason)):
        await read(act, page, **schema)


DESCRIBED = """<html><head><meta property="og:title" content="Lamp"><meta name="author" content="Ada">
<script type="application/ld+json">{"@context": "https://schema.org", "@graph": [
 {"@type": ["Product", "Thing"], "name": "Lamp", "brand": {"@id": "#b"},
  "offers": [{"@type": "Offer", "price": 12.5}, {"@type": "Offer", "price": "7"}]},
 {"@type": "Brand", "@id": "#b", "name": "Brightly"}]}</script>
<script type="application/ld+json">{broken</script></head>
<body><div class="review"><b>Ada</b><time datetime="2026-10-31T14:04:00Z">yesterday</time></div>
<div class="review"><b>Bob</b><p>fine<br>lamp</p></div></body></html>"""


@pytest.fixture
def described(act: Any, page: Any) -> Any:
    async def read(**schema: object) -> Any:
        item = (await act(ExtractDetailActor, page=page(DESCRIBED), schema=schema)).item
        return {name: value for name, value in item.items() if name != "url"}

    return read


@pytest.mark.requirement("SP19")
async def test_fields_are_read_from_json_ld_and_meta_elements(described: Any) -> None:
    item = await described(
        name={"jsonld": "Product.name"},
        brand={"jsonld": "Thing.brand.name"},
        price={"jsonld": "Product.offers.price", "type": "number"},
        prices={"jsonld": "Offer.price", "type": "number", "list": True},
        offers={"jsonld": "Product.offers", "type": "json", "list": True},
        title={"meta": "og:title"},
        author={"meta": "author"},
        isbn={"jsonld": "Book.isbn"},
    )
    assert item == {
        "name": "Lamp",
        "brand": "Brightly",
        "price": 12.5,
        "prices": [12.5, 7],
        "offers": [{"@type": "Offer", "price": 12.5}, {"@type": "Offer", "price": "7"}],
        "title": "Lamp",
        "author": "Ada",
        "isbn": None,
    }


async def test_a_value_with_its_language_is_that_value(act: Any, page: Any) -> None:
    data = '{"@type": "Product", "name": [{"@value": "Lamp", "@language": "en"}, {"@value": "Lampe"}]}'
    schema = {"name": {"jsonld": "Product.name"}, "names": {"jsonld": "Product.name", "list": True}}
    described = page(f"<script type='application/ld+json'>{data}</script>")
    item = (await act(ExtractDetailActor, page=described, schema=schema)).item
    assert (item["name"], item["names"]) == ("Lamp", ["Lamp", "Lampe"])


async def test_objects_and_lists_of_objects_have_fields_of_their_own(described: Any) -> None:
    when = {"selector": "time", "attr": "datetime", "type": "datetime"}
    item = await described(
        first={"selector": ".review", "fields": {"by": "b", "at": when}},
        reviews={"selector": ".review", "list": True, "fields": {"by": "b", "text": "p"}},
        about={
            "fields": {"title": {"meta": "og:title"}, "reviews": {"selector": ".review", "type": "boolean"}}
        },
        absent={"selector": ".answer", "fields": {"by": "b"}},
    )
    assert item == {
        "first": {"by": "Ada", "at": "2026-10-31T14:04:00+00:00"},
        "reviews": [{"by": "Ada", "text": None}, {"by": "Bob", "text": "fine lamp"}],
        "about": {"title": "Lamp", "reviews": True},
        "absent": None,
    }


async def test_xpath_leads_to_elements_attributes_and_values(described: Any) -> None:
    item = await described(
        names={"xpath": "//div[@class='review']/b", "list": True},
        at={"xpath": "//time/@datetime", "type": "date"},
        count={"xpath": "count(//div)", "type": "integer"},
        markup={"xpath": "//b", "type": "html"},
        absent={"xpath": "string(//em)"},
        inner={"selector": ".review", "list": True, "fields": {"by": {"xpath": "//b"}}},
    )
    assert item == {
        "names": ["Ada", "Bob"],
        "at": "2026-10-31",
        "count": 2,
        "markup": "<b>Ada</b>",
        "absent": None,
        "inner": [{"by": "Ada"}, {"by": "Bob"}],
    }


async def test_xpath_reads_the_text_of_an_element_as_a_selector_does(act: Any, page: Any) -> None:
    html = "<div><p>Sep 28, 2012<br>Oslo<script>menu('a')</script></p> <b>Size:</b> 7 X 5<br></div>"
    size = '//b[normalize-space()="Size:"]/following-sibling::node()[1][self::text()]'
    schema = {"day": {"xpath": "//p"}, "size": {"xpath": size}}
    item = (await act(ExtractDetailActor, page=page(html), schema=schema)).item
    assert (item["day"], item["size"]) == ("Sep 28, 2012 Oslo", "7 X 5")


async def test_a_field_that_is_not_there_is_its_default(described: Any) -> None:
    item = await described(
        stock={"selector": ".stock", "type": "integer", "default": 0},
        who={"selector": "b", "type": "html"},
        nested={"selector": ".no", "fields": {"a": "b"}, "default": {}},
    )
    assert item == {"stock": 0, "who": "<b>Ada</b>", "nested": {}}


async def test_a_required_object_that_is_not_there_is_a_failure(described: Any) -> None:
    with pytest.raises(ActorError, match=r"field 'answer': '\.answer' matches nothing on") as caught:
        await described(answer={"selector": ".answer", "required": True, "fields": {"by": "b"}})
    assert caught.value.failure_class == "selector_missing"


async def test_a_page_that_is_no_html_is_a_failure(act: Any, page: Any) -> None:
    with pytest.raises(ActorError, match="application/json, not HTML") as caught:
        await act(ExtractDetailActor, page=page("{}", content_type="application/json"), schema={"a": "b"})
    assert caught.value.failure_class == "not_html"


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ({}, "give one of selector, xpath, jsonld, meta and json, not nothing"),
        ({"selector": "a", "meta": "b"}, "not selector and meta"),
        ({"xpath": "//a["}, "is not a valid XPath"),
        ({"xpath": "shout(//a)"}, "is not a valid XPath"),
        ({"selector": "a", "required": True, "default": 1}, "needs no default"),
        ({"meta": 'a"]'}, "should match pattern"),
        ({"fields": {}}, "at least 1 item"),
    ],
)
async def test_a_rule_that_makes_no_sense_is_refused(described: Any, rule: object, reason: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(reason)):
        await described(field=rule)


STRICT = {
    "type": "object",
    "properties": {
        "stock": {"type": "integer", "minimum": 1},
        "price": {"type": "number"},
        "title": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "sold": {"type": "boolean"},
    },
    "required": ["stock"],
    "additionalProperties": False,
}


async def fitted(act: Any, page: Any, json_schema: object, **schema: object) -> Any:
    return (await act(ExtractDetailActor, page=page(LAMP), schema=schema, json_schema=json_schema)).item


async def test_a_json_schema_makes_texts_what_it_asks_for(act: Any, page: Any) -> None:
    item = await fitted(
        act, page, STRICT, stock=".stock", price=".price", tags=".tag", title="h1", sold=".sold"
    )
    assert item == {
        "url": "http://shop.example/list/",
        "stock": 12,
        "price": 1234.5,
        "tags": ["red"],
        "title": "A good lamp",
    }


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"stock": "h1"}, "stock: 'A good lamp' is not of type 'integer'"),
        ({"title": "h1"}, "'stock' is a required property"),
        ({"stock": ".stock", "more": "h1"}, "Additional properties are not allowed"),
    ],
)
async def test_an_item_that_does_not_fit_its_json_schema_is_a_failure(
    act: Any, page: Any, fields: dict[str, str], reason: str
) -> None:
    with pytest.raises(ActorError, match=reason) as caught:
        await fitted(act, page, STRICT, **fields)
    assert caught.value.failure_class == "schema_invalid"


async def test_a_json_schema_that_is_none_is_refused_before_anything_runs(act: Any, page: Any) -> None:
    with pytest.raises(ValidationError, match="it is not a JSON Schema: at type"):
        await fitted(act, page, {"type": "objekt"}, stock=".stock")


async def test_a_json_schema_is_not_fetched_from_elsewhere(act: Any, page: Any) -> None:
    elsewhere = {"properties": {"stock": {"$ref": "http://127.0.0.1:9/schema.json"}}}
    with pytest.raises(
        ActorError, match=r"refers to 'http://127.0.0.1:9/schema.json', which is not in it"
    ) as caught:
        await fitted(act, page, elsewhere, stock=".stock")
    assert caught.value.failure_class == "schema_invalid"


@pytest.mark.parametrize(
    ("keywords", "names", "said"),
    [
        ({"pattern": "^(a+)+$"}, "a" * 40 + "b", "does not match"),
        ({"type": "array", "uniqueItems": True}, [{"a": 1}, {"a": 1.0}], "not unique"),
        ({"patternProperties": {"^(x+)+$": {"type": "string"}}}, {"x" * 40: 1}, "is not of type"),
        (
            {"patternProperties": {"^(x+)+$": {}}, "additionalProperties": False},
            {"x" * 40: 1, "x" * 40 + "!": 1},
            "Additional properties are not allowed",
        ),
        ({"additionalProperties": {"type": "string"}}, {"y": 1}, "is not of type"),
    ],
)
def test_keywords_that_look_at_texts_of_a_page_do_not_backtrack(
    keywords: dict[str, JSONValue], names: JSONValue, said: str
) -> None:
    with pytest.raises(ActorError, match=said):
        fit({"name": names}, {"properties": {"name": keywords}}, "http://shop.example/")


def test_keywords_that_look_at_texts_of_a_page_take_what_fits() -> None:
    schema: dict[str, JSONValue] = {
        "properties": {"a": {"pattern": "é$"}, "b": {"uniqueItems": True}},
        "patternProperties": {"^c": {"type": "integer"}},
        "additionalProperties": False,
    }
    item: dict[str, JSONValue] = {"a": "caf\u00e9", "b": [1, "1", True, [1], None], "c1": 3}
    assert fit(item, schema, "http://shop.example/") == item


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"properties": {"a": {"pattern": r"(a)\1"}}}, "back-reference"),
        ({"patternProperties": {"(?=a)": {}}}, "look-ahead"),
        ({"patternProperties": {"a": {}}, "unevaluatedProperties": False}, "use additionalProperties"),
    ],
)
async def test_a_json_schema_that_would_backtrack_is_refused(
    act: Any, page: Any, schema: dict[str, object], said: str
) -> None:
    with pytest.raises(ValidationError, match=said):
        await fitted(act, page, schema, name="h1")
