"""Items of JSON: answers of APIs, and what scripts of pages hold."""

from __future__ import annotations

from typing import Any
from urllib.parse import urljoin

import pytest
from pydantic import ValidationError

from agentic.core.actors import ActorError
from agentic.core.types import JSONValue
from agentic.plugins.web.actors.extract_detail import ExtractDetailActor
from agentic.plugins.web.actors.extract_list import ExtractListActor
from agentic.plugins.web.actors.json_items import JsonActor, JsonInput
from agentic.plugins.web.reading.paging import PageRequest

HITS = """{"hits": [
    {"title": "One", "points": 7, "at": "2026-03-01T10:00:00Z", "by": {"name": "a"}, "path": "/items/1"},
    {"title": "Two", "points": null, "at": "2026-03-02T10:00:00Z", "tags": ["x", "y"], "path": "/items/2"}
], "total": 2}"""
API = "http://api.example/search?q=a"


@pytest.fixture
def answer(page: Any) -> Any:
    def make(text: str, content_type: str = "application/json") -> Any:
        return page(text, url=API, content_type=content_type)

    return make


async def test_each_element_of_a_list_is_an_item_with_all_it_has(act: Any, answer: Any) -> None:
    found = await act(JsonActor, page=answer(HITS), items="hits")
    assert [item["title"] for item in found.items] == ["One", "Two"]
    assert found.items[0]["by"] == {"name": "a"}
    assert (found.list_item_urls, found.next_url) == ((), None)


async def test_fields_are_paths_within_an_item_and_keep_the_type_they_have(act: Any, answer: Any) -> None:
    found = await act(
        JsonActor,
        page=answer(HITS),
        items="hits",
        fields={
            "name": "title",
            "points": "points",
            "day": {"json": "at", "type": "date"},
            "score": {"json": "points", "type": "string"},
            "author": "by.name",
            "tags": {"json": "tags", "list": True},
        },
    )
    assert found.items == (
        {"name": "One", "points": 7, "day": "2026-03-01", "score": "7", "author": "a", "tags": []},
        {
            "name": "Two",
            "points": None,
            "day": "2026-03-02",
            "score": None,
            "author": None,
            "tags": ["x", "y"],
        },
    )


async def test_objects_may_be_nested(act: Any, answer: Any) -> None:
    text = '{"rows": [{"id": 1, "offers": [{"price": "9.90"}, {"price": "8"}], "shop": {"name": "s"}}]}'
    fields = {
        "id": "id",
        "offers": {"json": "offers", "list": True, "fields": {"price": {"json": "price", "type": "number"}}},
        "shop": {"json": "shop", "fields": {"called": "name"}},
    }
    found = await act(JsonActor, page=answer(text), items="rows", fields=fields)
    assert found.items == ({"id": 1, "offers": [{"price": 9.9}, {"price": 8}], "shop": {"called": "s"}},)


async def test_the_link_of_an_item_is_absolute_and_its_url(act: Any, answer: Any) -> None:
    found = await act(JsonActor, page=answer(HITS), items="hits", link="path", fields={"title": "title"})
    assert found.list_item_urls == ("http://api.example/items/1", "http://api.example/items/2")
    assert [item["url"] for item in found.items] == list(found.list_item_urls)


async def test_an_answer_that_is_a_list_or_one_object_needs_no_path(act: Any, answer: Any) -> None:
    listed = await act(JsonActor, page=answer('[{"a": 1}, {"a": 2}]'))
    assert listed.items == ({"a": 1}, {"a": 2})
    alone = await act(JsonActor, page=answer('{"a": 1}'))
    assert alone.items == ({"url": API, "a": 1},)
    texts = await act(JsonActor, page=answer('["x", 5]'))
    assert texts.items == ({"value": "x"}, {"value": 5})


@pytest.mark.parametrize(
    "text",
    [
        '[{"a": 1}]',
        '\ufeff[{"a": 1}]',
        ')]}\'\n[{"a": 1}]',
        ')]}\',\n[{"a": 1}]',
        'while(1);[{"a": 1}]',
        'for (;;);[{"a": 1}]',
        'callback([{"a": 1}]);',
        '/**/ jQuery123_4([{"a": 1}])',
        '{"a": 1}\n',
        '[{"a": 1, "b": NaN}]',
    ],
)
async def test_what_apis_put_around_their_data_is_left_out(act: Any, answer: Any, text: str) -> None:
    found = await act(JsonActor, page=answer(text), fields={"a": "a"})
    assert [item["a"] for item in found.items] == [1]


async def test_lines_of_json_are_a_list(act: Any, answer: Any) -> None:
    found = await act(JsonActor, page=answer('{"a": 1}\n\n{"a": 2}\r\n{"a": 3}', "application/x-ndjson"))
    assert [item["a"] for item in found.items] == [1, 2, 3]


@pytest.mark.parametrize(
    ("text", "kind"),
    [("<html>", "text/html"), ("", "application/json"), ('{"a":', "application/json"), ("[" * 9_000, "")],
)
async def test_what_is_no_json_is_told_with_its_type(act: Any, answer: Any, text: str, kind: str) -> None:
    with pytest.raises(ActorError, match=f"{API.partition('?')[0]}.*{kind or 'no content type'}") as caught:
        await act(JsonActor, page=answer(text, kind))
    assert caught.value.failure_class == "decode"


async def test_a_path_that_leads_nowhere_is_a_warning_or_a_failure(act: Any, answer: Any) -> None:
    found = await act(JsonActor, page=answer(HITS), items="results")
    assert found.items == ()
    with pytest.raises(ActorError, match=r"'results' matches nothing on http://api") as caught:
        await act(JsonActor, page=answer(HITS), items="results", required=True)
    assert caught.value.failure_class == "selector_missing"


async def test_a_field_that_has_another_type_names_itself(act: Any, answer: Any) -> None:
    fields = {"points": {"json": "title", "type": "integer", "required": True}}
    with pytest.raises(ActorError, match=r"'points': 'One' on http://api.* is not a valid integer"):
        await act(JsonActor, page=answer(HITS), items="hits", fields=fields)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"items": "hits["}, "'hits\\[' is not a JMESPath expression"),
        ({"items": "lenght(hits)"}, "calls unknown function 'lenght'"),
        ({"items": "hits", "fields": {"a": "b["}}, "not a JMESPath"),
        ({"paging": {}}, "give one of next, link_header, cursor, page, offset, not nothing"),
        ({"paging": {"page": "p", "offset": "o"}}, "not page and offset"),
        ({"paging": {"cursor": "next"}}, "cursor and param belong together"),
        ({"paging": {"next": "n", "first": 0}}, "first is the first number"),
        ({"pages": 3}, "several pages need paging"),
        ({"json": {"query": "x"}}, "a JSON body needs a url"),
        ({"url": API, "json": [1], "paging": {"page": "p"}}, "make it a mapping"),
    ],
)
def test_what_cannot_work_is_refused_before_a_run(config: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        JsonInput.model_validate(config)


NEXT_JS = """<html><script>window.dataLayer = window.dataLayer || [];</script>
<script id="__NEXT_DATA__" type="application/json">
{"props": {"products": [{"name": "Lamp", "price": 5}]}}</script>
<script type="application/json">{"other": 1}</script></html>"""


async def test_the_json_of_a_script_is_read_by_its_id(act: Any, page: Any) -> None:
    found = await act(JsonActor, page=page(NEXT_JS), script="__NEXT_DATA__", items="props.products")
    assert found.items == ({"name": "Lamp", "price": 5},)


@pytest.mark.parametrize(
    "script",
    [
        'window.__STATE__ = {"shop": {"name": "S"}};',
        'window["__STATE__"]={"shop":{"name":"S"}}</',
        "var __STATE__ = {shop: {name: 'S', /* now */ sizes: [1, 2,],},};",
        "const __STATE__={shop:{name:`S`}};window.other=1",
        'self.__STATE__ = JSON.parse(\'{"shop": {"name": "\\u0053"}}\');',
        r"""window.__STATE__ = JSON.parse("{\"shop\": {\"name\": \"S\"}}")""",
        "if (__STATE__ == 1) {}\nx.__STATE__ = 5; __STATE__ = {'shop': {'name': 'S'}}",
    ],
)
async def test_the_json_of_a_script_is_read_by_the_variable_it_sets(act: Any, page: Any, script: str) -> None:
    html = f"<script src=a.js></script><script>{script}</script><p>__STATE__ = {{}}</p>"
    for name in ("__STATE__", "window.__STATE__"):
        found = await act(JsonActor, page=page(html), script=name, items="shop", fields={"name": "name"})
        assert found.items == ({"name": "S"},)


async def test_a_script_that_is_not_there_is_a_failure_that_names_it(act: Any, page: Any) -> None:
    with pytest.raises(ActorError, match="'__NUXT__' has JSON on http://shop") as caught:
        await act(JsonActor, page=page(NEXT_JS), script="__NUXT__")
    assert caught.value.failure_class == "selector_missing"


async def test_a_field_of_a_page_may_stand_in_a_script(act: Any, page: Any) -> None:
    schema = {
        "title": "title",
        "name": {"json": "props.products[0].name"},
        "price": {"json": "props.products[0].price", "script": "__NEXT_DATA__", "type": "number"},
        "names": {"json": "props.products[].name", "list": True},
        "product": {"json": "props.products[0]", "fields": {"cost": {"json": "price"}}},
        "none": {"json": "nothing", "default": 0},
    }
    found = await act(ExtractDetailActor, page=page(f"<title>T</title>{NEXT_JS}"), schema=schema)
    del found.item["url"]
    assert found.item == {
        "title": "T",
        "name": "Lamp",
        "price": 5,
        "names": ["Lamp"],
        "product": {"cost": 5},
        "none": 0,
    }


async def test_extract_detail_reads_a_json_answer_by_json_paths_only(act: Any, answer: Any) -> None:
    found = await act(ExtractDetailActor, page=answer(HITS), schema={"first": {"json": "hits[0].title"}})
    assert found.item == {"url": API, "first": "One"}
    with pytest.raises(ActorError, match=r"'first': .* is application/json, not HTML; .*json: PATH"):
        await act(ExtractDetailActor, page=answer(HITS), schema={"first": "h1"})
    with pytest.raises(ActorError, match="read it with the actor json"):
        await act(ExtractListActor, page=answer(HITS), item_selector="li")


def test_a_parameter_is_set_and_the_others_stay_as_they_are_written() -> None:
    asked = PageRequest(url="http://a.example/?q=%C3%BC+b&page=1&page=2&x")
    assert asked.with_value("page", 3).url == "http://a.example/?q=%C3%BC+b&page=3&x"
    assert (
        asked.with_value("after", "a/b=").url == "http://a.example/?q=%C3%BC+b&page=1&page=2&x&after=a%2Fb%3D"
    )
    assert asked.value("q") == "ü b"


def test_a_place_in_a_body_is_set_in_a_copy() -> None:
    body: JSONValue = {"query": "{}", "variables": {"first": 2}}
    asked = PageRequest(url="http://a.example/", body=body).with_value("variables.after", "c1")
    assert asked.body == {"query": "{}", "variables": {"first": 2, "after": "c1"}}
    assert body == {"query": "{}", "variables": {"first": 2}}
    assert asked.value("variables.after") == "c1"


@pytest.mark.parametrize(
    "body",
    [
        '{"hits": [{"id": 1},],}',
        "{'hits': [{id: 1}]}",
        '{"hits": [/* first */ {"id": 1}]} // end',
        '{"hits": [{"id": 1}]}<!-- 0.2 s -->',
        'var found = {"hits": [{"id": 1}]};',
    ],
)
async def test_an_answer_with_a_small_fault_is_read(act: Any, answer: Any, body: str) -> None:
    assert (await act(JsonActor, page=answer(body), items="hits")).items == ({"id": 1},)


@pytest.mark.parametrize("body", ['{"hits": [{"id": 1}, {"id": 2', '{"a": 1}{"b": 2} x', "<html>", ""])
async def test_an_answer_that_is_not_whole_is_a_failure(act: Any, answer: Any, body: str) -> None:
    with pytest.raises(ActorError, match="is not JSON"):
        await act(JsonActor, page=answer(body), items="hits")


@pytest.mark.parametrize("more", ["false", '"false"', '"no"', "0", "null", "[]"])
async def test_an_api_may_say_in_words_that_there_is_no_more(act: Any, answer: Any, more: str) -> None:
    body = f'{{"hits": [{{"id": 1}}], "more": {more}, "next": "/2"}}'
    found = await act(
        JsonActor, page=answer(body), items="hits", paging={"next": "next", "more": "more"}, pages=2
    )
    assert (len(found.items), found.next_url) == (1, None)


@pytest.mark.parametrize("more", ["/items/", "https://a.example/page/0", "c/no", "true", "1"])
async def test_an_address_or_a_cursor_says_that_there_is_more(act: Any, answer: Any, more: str) -> None:
    page = answer(f'{{"hits": [{{"id": 1}}], "more": "{more}", "next": "/2"}}')
    found = await act(JsonActor, page=page, items="hits", paging={"next": "next", "more": "more"}, pages=1)
    assert found.next_url == urljoin(API, "/2")
