"""What pages say about themselves."""

from __future__ import annotations

from typing import Any

import pytest

from agentic.core.actors import ActorError
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
