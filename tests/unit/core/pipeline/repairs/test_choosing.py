"""A model chooses among the places that a repair is not sure about."""

from __future__ import annotations

import json

import pytest
from tests.unit.core.wrappers.pages import LAMPS, learnt, new_page

from agentic.core.llm import ScriptedModel
from agentic.core.pipeline.intent_inference import UnusableAnswerError
from agentic.core.pipeline.intent_inference.conversing import Conversation
from agentic.core.pipeline.repairs.choosing import choose_places
from agentic.core.wrappers import Abstained, Found, StoredPage, repair

WRAPPERS = learnt()
PAGES = [StoredPage(new_page(lamp)) for lamp in LAMPS]


def _unsure(*names: str) -> dict[str, Found | Abstained]:
    return repair(WRAPPERS, PAGES, names, accept=1.1)


def _number_of(result: Found | Abstained, text: str) -> int:
    return next(at for at, choice in enumerate(result.choices, 1) if text in choice.texts[0])


async def test_chosen_numbers_become_places_that_hold_on_all_pages() -> None:
    results = _unsure("price", "weight")
    answer = {
        "price": _number_of(results["price"], LAMPS[0].price),
        "weight": _number_of(results["weight"], str(LAMPS[0].weight)),
    }
    model = ScriptedModel([json.dumps(answer)])
    chosen = await choose_places(Conversation(model), WRAPPERS, PAGES, results)
    for name in answer:
        found = chosen[name]
        assert isinstance(found, Found), name
        texts = [seen.new[0].removesuffix(" g") for seen in found.evidence]
        assert texts == [str(lamp.row[name]) for lamp in LAMPS]
    assert len(model.requests) == 1  # for all fields
    shown = json.loads(model.requests[0].messages[-1].text)
    assert all(len(places) <= 10 for places in shown["places"].values())


async def test_model_is_told_the_page_and_the_stored_value_of_the_record_whose_page_it_is() -> None:
    first, second = LAMPS[:2]
    pages = [StoredPage(new_page(first)), StoredPage(new_page(second), {"price": str(second.row["price"])})]
    results = repair(WRAPPERS, pages, ["price"], accept=1.1)
    model = ScriptedModel(['{"price": 0}'])
    await choose_places(Conversation(model), WRAPPERS, pages, results)
    shown = json.loads(model.requests[0].messages[-1].text)
    assert shown["title"] == new_page(second).title != new_page(first).title
    assert shown["fields"]["price"]["stored"] == str(second.row["price"])
    texts = [text for place in shown["places"]["price"] for text in place["texts"]]
    assert second.price in texts
    assert first.price not in texts


async def test_zero_leaves_a_field_without_a_place() -> None:
    results = _unsure("price")
    chosen = await choose_places(Conversation(ScriptedModel(['{"price": 0}'])), WRAPPERS, PAGES, results)
    assert chosen == results


async def test_nothing_is_asked_where_nothing_is_unsure() -> None:
    model = ScriptedModel([])
    results = {"price": Abstained("gone", 0.0, ())}
    assert await choose_places(Conversation(model), WRAPPERS, PAGES, results) == results
    assert model.requests == []


async def test_number_of_no_place_is_asked_for_once_more_and_then_refused() -> None:
    model = ScriptedModel(['{"price": 99}', '{"price": true}'])
    with pytest.raises(UnusableAnswerError, match="'price' needs a number from 0 to"):
        await choose_places(Conversation(model), WRAPPERS, PAGES, _unsure("price"))
    assert len(model.requests) == 2
