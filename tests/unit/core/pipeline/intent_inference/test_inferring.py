"""Words and pages become intents whose places all come from the program."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.core.pipeline.conftest import NoNetwork
from turbohtml import parse

from agentic.core.actors import ActorContext, ActorError, ItemOutput, ItemsOutput, Page
from agentic.core.hooks import get_registry
from agentic.core.http import Fetcher, HttpPolicy
from agentic.core.llm import ScriptedModel
from agentic.core.pipeline import IntentSpec, RuleBuilder
from agentic.core.pipeline.intent_inference import (
    FieldNotOnPageError,
    InferredIntent,
    NothingFitsError,
    UnusableAnswerError,
    WordsError,
    infer_intent,
)
from agentic.core.pipeline.steps.calls import call_until_done
from agentic.core.types import JSONValue
from agentic.core.wrappers import Offer, PageTree, find_offers

LIST = "https://shop.example/lamps"
LAMPS = ("Amber", "Birch", "Coral", "Dune")


def _list(paging: str) -> str:
    cards = "".join(
        f'<li><a class="name" href="/lamps/{number}">{name}</a> <b class="price">{number}9.50 €</b> '
        f'<i class="sold">sold {number} times</i></li>'
        for number, name in enumerate(LAMPS, 1)
    )
    return f'<main><ul class="lamps">{cards}</ul>{paging}</main>'


def _lamp(number: int, name: str) -> str:
    return (
        f'<main><h1>{name}</h1><b class="price">{number}9.50 €</b>'
        f'<dl><dt>Rating</dt><dd class="stars">4.{number}</dd><dt>Made of</dt><dd>Oak</dd></dl></main>'
    )


NEXT = '<a rel="next" href="/lamps?page=2">Next</a>'
NUMBERS = '<div class="pager"><a href="?page=1">1</a> <a href="?page=2">2</a> <a href="?page=3">3</a></div>'


@dataclass
class MemorySite:
    """Pages in memory, read by the actors that a pipeline uses."""

    pages: Mapping[str, str]

    async def fetch(self, url: str) -> PageTree:
        if url not in self.pages:
            raise ActorError(f"{url} is missing", failure_class="http_404", status=404)
        return self.tree(url)

    async def alike(self, url: str) -> Sequence[str]:
        return [one for one in self.pages if one.startswith(f"{LIST}/")]

    def tree(self, url: str) -> PageTree:
        return PageTree(parse(self.pages[url], positions=False), url)

    async def read(self, intent: IntentSpec, url: str) -> Sequence[Mapping[str, JSONValue]]:
        ctx = ActorContext(http=Fetcher(HttpPolicy(), NoNetwork()))
        actors = get_registry().actors
        given = {"page": self._page(url), "item_selector": intent.items, "fields": intent.fields}
        if intent.kind == "rows":
            found = await call_until_done(actors["extract_list"], ctx, given)
            return cast(ItemsOutput, found).items or ()
        detail = {"page": self._page(url), "schema": intent.fields}
        return [cast(ItemOutput, await call_until_done(actors["extract_detail"], ctx, detail)).item]

    def _page(self, url: str) -> Page:
        return Page(
            url=url,
            final_url=url,
            status=200,
            content_type="text/html",
            text=self.pages[url],
            content_hash="0",
            fetched_at=datetime(2026, 1, 1, tzinfo=UTC),
        )


def shop(paging: str = NEXT, **more: str) -> MemorySite:
    lamps = {f"{LIST}/{number}": _lamp(number, name) for number, name in enumerate(LAMPS, 1)}
    return MemorySite({LIST: _list(paging), **lamps, **more})


def wanted(*fields: Mapping[str, JSONValue], **more: JSONValue) -> str:
    return json.dumps({"record": "lamp", "fields": fields, **more})


def picking(offers: Sequence[Offer], record: int, **places: str) -> str:
    """Return the answer that picks the places of these names."""
    numbers: dict[str, int] = {}
    number = 0
    for position, offer in enumerate(offers):
        for field in offer.fields:
            number += 1
            if position == record:
                numbers[field.name] = number
    return json.dumps(
        {"record": record + 1, "places": {key: numbers.get(name, 0) for key, name in places.items()}}
    )


TITLE: Mapping[str, JSONValue] = {"name": "title"}
PRICE: Mapping[str, JSONValue] = {"name": "price", "type": "price"}
RATING: Mapping[str, JSONValue] = {"name": "rating", "type": "number"}


async def inferred(site: MemorySite, *answers: str) -> InferredIntent:
    model = ScriptedModel(answers)
    found = await infer_intent(model, "lamps", [LIST], site)
    assert found.calls == len(answers)
    return found


async def test_fields_of_a_list_are_read_from_its_rows() -> None:
    site = shop()
    offers = find_offers([site.tree(LIST)])
    found = await inferred(
        site, wanted(TITLE, PRICE, limit=9), picking(offers, 0, title="title", price="price")
    )
    intent = found.intent
    assert (intent.kind, intent.items, intent.next) == ("rows", "ul.lamps li", 'a[rel~="next"]')
    assert intent.limit == 9
    assert found.not_applied == ()
    built = await RuleBuilder(get_registry().actors).build(intent)
    assert [getattr(step, "actor", step.type) for step in built.steps] == [
        "fetch",
        "extract_list",
        "aggregate",
    ]


async def test_fields_that_only_details_have_make_a_pipeline_of_details() -> None:
    site = shop()
    offers = find_offers([site.tree(LIST)])
    details = [one for one in find_offers([site.tree(f"{LIST}/{n}") for n in (1, 2, 3)]) if not one.items]
    found = await inferred(
        site,
        wanted(TITLE, RATING, filters=[{"words": "good ones", "field": "rating", "op": ">", "value": 4}]),
        picking(offers, 0, title="title", rating=""),
        picking(details, 0, title="title", rating="rating"),
    )
    assert (found.intent.kind, found.intent.items, found.intent.link) == ("list", "ul.lamps li", "a.name")
    assert set(found.intent.fields) == {"title", "rating"}
    assert [(one.field, one.op, one.value) for one in found.intent.filters] == [("rating", ">", 4)]
    assert found.count == len(LAMPS)


async def test_list_is_tried_on_its_further_pages_of_the_same_host() -> None:
    site = shop(NUMBERS.replace('"?page=3"', '"http://internal.example/"'), **{f"{LIST}?page=2": _list("")})
    answers = wanted(TITLE, PRICE), picking(find_offers([site.tree(LIST)]), 0, title="title", price="price")
    found = await inferred(site, *answers)  # one of the pages does not exist
    assert found.checked == {LIST: 4, f"{LIST}?page=2": 4}
    assert found.values == {"title": 8, "price": 8}
    chained = shop(NEXT, **{f"{LIST}?page={n}": _list(NEXT.replace("2", str(n + 1))) for n in (2, 3, 4)})
    found = await inferred(chained, *answers)
    assert list(found.checked) == [LIST, f"{LIST}?page=2", f"{LIST}?page=3"]
    other = shop(
        NUMBERS, **{f"{LIST}?page=2": "<ul class='lamps'><li><a class='name' href='/x'>Old</a></li></ul>"}
    )
    with pytest.raises(FieldNotOnPageError, match=r"no record on .*page=2 has price") as caught:
        await inferred(other, *answers)
    assert (caught.value.field, caught.value.url) == ("price", f"{LIST}?page=2")


async def test_fields_of_a_page_are_tried_on_pages_of_its_layout() -> None:
    site = shop()
    page = f"{LIST}/1"
    offers = find_offers([site.tree(page)])
    answers = wanted(TITLE, RATING), picking(offers, len(offers) - 1, title="title", rating="rating")
    found = await infer_intent(ScriptedModel(answers), "the lamp", [page], site)
    assert (found.intent.kind, found.intent.url) == ("page", page)
    assert list(found.checked) == [f"{LIST}/{number}" for number in (1, 2, 3)]
    assert found.values == {"title": 3, "rating": 3}


async def test_type_that_the_texts_do_not_have_becomes_a_text() -> None:
    site = shop()
    offers = find_offers([site.tree(LIST)])
    sold: dict[str, JSONValue] = {"name": "sold", "type": "date"}
    found = await inferred(site, wanted(TITLE, sold), picking(offers, 0, title="title", sold="sold"))
    rule = found.intent.fields["sold"]
    assert isinstance(rule, dict)
    assert "type" not in rule


async def test_list_without_a_link_to_the_next_page_keeps_no_filter() -> None:
    site = shop(NUMBERS)
    offers = find_offers([site.tree(LIST)])
    cheap: JSONValue = {"words": "under 20", "field": "price", "op": "<", "value": 20}
    found = await inferred(
        site,
        wanted(TITLE, PRICE, filters=[cheap], limit=5),
        picking(offers, 0, title="title", price="price"),
    )
    assert (found.intent.filters, found.intent.limit) == ((), None)
    assert [one.words for one in found.not_applied] == ["under 20", "at most 5"]
    assert "Not applied: under 20 (the list has no link to its next page" in found.intent.goal


@pytest.mark.parametrize(
    ("pager", "details", "untold"),
    [
        (NUMBERS, ("/lamps/*",), []),
        (NUMBERS.replace("?page=", "/lamps/1"), (), ["the further pages of the list"]),
    ],
)
async def test_details_of_a_list_with_numbered_pages_are_crawled_where_their_addresses_differ(
    pager: str, details: tuple[str, ...], untold: list[str]
) -> None:
    site = shop(pager)
    offers = find_offers([site.tree(LIST)])
    own = [one for one in find_offers([site.tree(f"{LIST}/{n}") for n in (1, 2, 3)]) if not one.items]
    found = await inferred(
        site,
        wanted(RATING),
        picking(offers, 0, rating=""),
        picking(own, 0, rating="rating"),
    )
    assert (found.intent.kind, found.intent.details) == ("list", details)
    assert bool(found.intent.next) is bool(details)
    assert [one.words for one in found.not_applied] == untold
    built = await RuleBuilder(get_registry().actors).build(found.intent)
    assert built.steps[0].type == ("crawl" if details else "actor")


async def test_field_that_no_page_has_ends_with_the_places_that_there_are() -> None:
    site = shop()
    offers = find_offers([site.tree(LIST)])
    details = [one for one in find_offers([site.tree(f"{LIST}/{n}") for n in (1, 2, 3)]) if not one.items]
    with pytest.raises(NothingFitsError, match="no place for weight") as caught:
        await inferred(
            site,
            wanted(TITLE, {"name": "weight"}),
            picking(offers, 0, title="title", weight=""),
            picking(details, 0, title="title", weight=""),
        )
    assert caught.value.missing == ("weight",)
    assert "Made of 'Oak'" in caught.value.offered


async def test_missing_field_is_named_where_the_pages_of_a_list_cannot_be_read() -> None:
    site = MemorySite({LIST: _list("")})
    answers = wanted(TITLE, RATING), picking(find_offers([site.tree(LIST)]), 0, title="title", rating="")
    with pytest.raises(NothingFitsError, match="no place for rating") as caught:
        await inferred(site, *answers)
    assert caught.value.missing == ("rating",)


async def test_field_that_only_a_filter_needs_may_be_missing() -> None:
    site = shop()
    offers = find_offers([site.tree(LIST)])
    found = await inferred(
        site,
        wanted(
            TITLE,
            {"name": "colour", "is_asked": False},
            filters=[{"words": "in green", "field": "colour", "value": "green"}],
        ),
        picking(offers, 0, title="title", colour=""),
    )
    assert [one.reason for one in found.not_applied] == ["the pages have no place for colour"]


def _strings(value: JSONValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _strings(part)


SITE = shop()
OFFERS = [*find_offers([SITE.tree(LIST)]), *find_offers([SITE.tree(f"{LIST}/{n}") for n in (1, 2, 3)])]
KNOWN = {
    "",
    *(one.path for offer in OFFERS for field in offer.fields for one in field.locators),
    *(text for offer in OFFERS for text in (offer.items, offer.link)),
    *(offer.paging.selector for offer in OFFERS if offer.paging is not None),
    *("string", "url", "number", "price", "href", "src"),
}
NUMBER = st.integers(-1, 12) | st.sampled_from(["h1", "1", None, True, 2.0, [1]])
ANSWER = st.fixed_dictionaries(
    {"record": NUMBER, "places": st.fixed_dictionaries({"title": NUMBER, "price": NUMBER})}
) | st.dictionaries(st.sampled_from(["record", "places", "items"]), NUMBER, max_size=3)


@settings(max_examples=80, deadline=None)
@given(st.lists(ANSWER, min_size=4, max_size=4))
async def test_any_answers_give_places_of_the_program_or_an_error(answers: list[Any]) -> None:
    model = ScriptedModel([wanted(TITLE, PRICE), *map(json.dumps, answers)])
    try:
        found = await infer_intent(model, "lamps", [LIST], SITE)
    except (NothingFitsError, UnusableAnswerError, WordsError):
        return
    assert set(_strings([*found.intent.fields.values()])) <= KNOWN
    assert {found.intent.items or "", found.intent.link or "", found.intent.next or ""} <= KNOWN
    assert found.intent.url == LIST
    assert found.calls <= 5
