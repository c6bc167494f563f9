"""What pages say about themselves."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.plugins.web.conftest import NoNetwork

from agentic.core.actors import ActorContext, ActorError
from agentic.core.http import Fetcher, HttpPolicy
from agentic.plugins.web.actors.extract_detail import ExtractDetailActor
from agentic.plugins.web.actors.structured_data import StructuredDataActor

MICRODATA = """<div itemscope itemtype="https://schema.org/Product https://schema.org/Thing" itemid="#lamp">
<h1 itemprop="name">Lamp</h1><img itemprop="image" src="lamp.png"><a itemprop="url" href="/lamp">more</a>
<div itemprop="offers" itemscope itemtype="http://schema.org/Offer"><meta itemprop="price" content="12.50">
<time itemprop="validFrom" datetime="2026-10-31">today</time><data itemprop="sku" value="7">seven</data></div>
<span itemprop="color">red</span><span itemprop="color">blue</span></div><p itemprop="stray">x</p>"""
RDFA = """<div vocab="https://schema.org/" typeof="Person" resource="#ada">
<span property="schema:name">Ada</span>
<a property="url" href="/ada">page</a>
<div property="address" typeof="PostalAddress"><i property="city">Łódź</i></div></div>"""
META = """<meta property="og:title" content="Lamp"><meta property="og:image" content="1.png">
<meta property="og:image" content="2.png"><meta name="twitter:card" content="summary">
<meta name="viewport" content="a">"""
LD = """<script type="application/ld+json">[{"@type": "A"}, 5]</script><script type="application/ld+json"><!--
{"@graph": [{"@type": "B", "x": NaN}, {"@id": "c"}]}; --></script>
<script type="application/ld+json">{</script>"""


async def read(act: Any, page: Any, html: str) -> dict[str, Any]:
    item: dict[str, Any] = (await act(StructuredDataActor, page=page(html))).item
    return item


async def test_microdata_has_types_nested_objects_and_absolute_addresses(act: Any, page: Any) -> None:
    assert (await read(act, page, MICRODATA))["microdata"] == [
        {
            "@type": ["Product", "Thing"],
            "@id": "http://shop.example/list/",
            "name": "Lamp",
            "image": "http://shop.example/list/lamp.png",
            "url": "http://shop.example/lamp",
            "offers": {"@type": "Offer", "price": "12.50", "validFrom": "2026-10-31", "sku": "7"},
            "color": ["red", "blue"],
        }
    ]


async def test_rdfa_lite_is_read_alike(act: Any, page: Any) -> None:
    assert (await read(act, page, RDFA))["rdfa"] == [
        {
            "@type": "Person",
            "@id": "http://shop.example/list/",
            "name": "Ada",
            "url": "http://shop.example/ada",
            "address": {"@type": "PostalAddress", "city": "Łódź"},
        }
    ]


async def test_opengraph_and_its_relatives_are_one_mapping(act: Any, page: Any) -> None:
    assert (await read(act, page, META))["opengraph"] == {
        "og:title": "Lamp",
        "og:image": ["1.png", "2.png"],
        "twitter:card": "summary",
    }


async def test_json_ld_is_a_list_of_objects_whatever_it_was(act: Any, page: Any) -> None:
    assert (await read(act, page, LD))["json_ld"] == [{"@type": "A"}, {"@type": "B", "x": None}, {"@id": "c"}]


async def test_objects_nested_for_ever_end(act: Any, page: Any) -> None:
    deep = '<div itemscope itemprop="a">' * 900
    assert (await read(act, page, f"<div itemscope>{deep}"))["microdata"]


async def test_a_page_that_says_nothing_can_be_a_failure(act: Any, page: Any) -> None:
    assert (await read(act, page, "<p>hi</p>"))["json_ld"] == []
    with pytest.raises(ActorError, match="has no JSON-LD") as caught:
        await act(StructuredDataActor, page=page("<p>hi</p>"), required=True)
    assert caught.value.failure_class == "empty"


async def test_a_page_that_is_no_html_is_a_failure(act: Any, page: Any) -> None:
    with pytest.raises(ActorError) as caught:
        await act(StructuredDataActor, page=page("", content_type="image/png"))
    assert caught.value.failure_class == "not_html"


async def linked(page: Any, html: str, actor: Any, **config: object) -> tuple[Any, list[tuple[str, str]]]:
    """Return the item of a page, and the warnings about it."""
    warned: list[tuple[str, str]] = []
    context = ActorContext(
        http=Fetcher(HttpPolicy(), NoNetwork()), tally=lambda *warning: warned.append(warning)
    )
    output = await actor().run(context, actor.Input.model_validate({"page": page(html), **config}))
    return output.item, warned


BROKEN = """<script type="application/ld+json">{"@type": "Offer", "price": 19,90}</script>
<script type=" Application/LD+JSON; charset=utf-8">
{"@type": "schema:Product", "name": "12" TV", "sku": NaN,}</script>
<script type="application/ld+json"></script>"""


async def test_one_broken_script_leaves_the_others_and_is_a_warning(page: Any) -> None:
    item, warned = await linked(page, BROKEN, StructuredDataActor)
    assert item["json_ld"] == [{"@type": "schema:Product", "name": '12" TV', "sku": None}]
    sentence = "the JSON-LD of http://shop.example/list/ cannot be read: line 1: expected a key before '90}'"
    assert warned == [("JSON-LD", f"{sentence}; use `selector` or `regex`")]


async def test_a_broken_script_is_one_warning_for_all_fields_of_a_page(page: Any) -> None:
    schema = {
        "name": {"jsonld": "Product.name"},
        "sku": {"jsonld": "Product.sku", "default": "none"},
        "price": {"jsonld": "Offer.price", "type": "number"},
    }
    item, warned = await linked(page, BROKEN, ExtractDetailActor, schema=schema)
    assert (item["name"], item["sku"], item["price"]) == ('12" TV', "none", None)
    assert [subject for subject, _ in warned] == ["JSON-LD"]
