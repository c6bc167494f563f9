"""Crawls learn on a few pages how their fields look."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.core.pipeline.drift.test_sights import document, page

from agentic.core.pipeline.drift.incidents import Cause
from agentic.core.pipeline.drift.learning import (
    MAX_LEARNT,
    MAX_TAGS,
    FieldLearner,
    LearntField,
    add_learnt,
    load_learnt,
    without_learnt,
    wrapper_keys,
)
from agentic.core.pipeline.drift.sights import PageKind, PageSight
from agentic.core.pipeline.expressions.secret_masking import NOTHING_HIDDEN, Hidden
from agentic.core.pipeline.spec.spec import DetailRules
from agentic.core.types import JSONValue
from agentic.core.wrappers import Kind, Wrapper, encode

KIND = PageKind("k", "/product/*")
SCHEMA: dict[str, JSONValue] = {
    "title": "h1",
    "price": {"selector": ".price", "type": "price"},
    "parts": {"selector": "li", "list": True},
    "sku": {"jsonld": "Product.sku"},
    "link": {"selector": "a", "attr": "href"},
    "count": {"xpath": "count(//li)"},
}
RULES = DetailRules(match=("/product/*",), config={"schema": SCHEMA})
BODY = "<h1>Amber Lamp</h1><p>Price <b class=price>4.50 EUR</b></p><ul><li>shade<li>bulb</ul><a href=/>x</a>"
ITEM: dict[str, JSONValue] = {
    "url": "http://shop.example/product/1",
    "title": "Amber Lamp",
    "price": {"amount": 4.5, "currency": "EUR"},
    "parts": ["shade", "bulb"],
    "sku": "A-1",
    "link": "/",
    "count": 2,
}


def learn(
    learner: FieldLearner,
    *,
    text: str = document(BODY),
    item: Mapping[str, JSONValue] = ITEM,
    wall: Cause | None = None,
    rules: DetailRules = RULES,
    hidden: Hidden = NOTHING_HIDDEN,
) -> dict[str, Wrapper]:
    sight = PageSight(KIND, len(text), wall)
    found = learner.learn(page(text), sight, rules, item, key="lamp-1", hidden=hidden)
    keys = wrapper_keys(rules)
    assert all(one.kind == "k" and one.key == keys[one.wrapper.name] for one in found)
    return {one.wrapper.name: one.wrapper for one in found}


def test_a_page_says_where_a_field_is_how_it_looks_and_its_value() -> None:
    found = learn(FieldLearner())
    assert found.keys() == {"title", "price", "parts", "sku", "link", "count"}
    assert [one.pages for one in found.values()] == [1] * 6
    assert found["price"].examples == {"lamp-1": "4.5"}
    assert found["price"].fingerprint.label == {"price": 1.0}
    assert found["parts"].fingerprint.count > found["title"].fingerprint.count
    assert (found["sku"].examples, found["sku"].fingerprint.samples) == ({"lamp-1": "A-1"}, 0)
    assert found["link"].kind is Kind.ADDRESS
    assert (found["link"].examples, found["link"].fingerprint.path[0]) == ({"lamp-1": "/"}, "a")
    assert found["count"].missing == 0


def test_the_first_page_is_learnt_from_and_then_ever_fewer_the_larger_they_are() -> None:
    def taken(text: str) -> list[int]:
        learner = FieldLearner()
        return [number for number in range(1, 1_001) if learn(learner, text=text)]

    assert taken(document(BODY)) == [1, 45, 133, 309, 661]
    assert len(taken(document(BODY + "<i></i>" * 1_000))) == 2
    assert taken(document(BODY + "<i></i>" * (MAX_TAGS // 2))) == []


def test_a_repaired_rule_is_learnt_from_its_first_page_on_and_the_same_rule_is_not() -> None:
    learner = FieldLearner()
    assert learn(learner)
    assert not learn(learner, rules=RULES.model_copy(deep=True))  # as the next slice has it
    repaired = DetailRules(match=RULES.match, config={"schema": {**SCHEMA, "title": "h1, h2"}})
    assert learn(learner, rules=repaired)["title"].locators[0].path == "h1, h2"
    assert not learn(learner, rules=repaired)


def test_pages_without_an_item_walls_and_other_types_teach_nothing() -> None:
    learner = FieldLearner()
    assert not learn(learner, wall=Cause.CONSENT)
    assert not learn(learner, item={"url": "http://shop.example/1", "title": None})
    json_page = page("{}").model_copy(update={"content_type": "application/json"})
    sight = PageSight(KIND, 2)
    assert not learner.learn(json_page, sight, RULES, ITEM, key=None, hidden=NOTHING_HIDDEN)
    assert learn(learner)
    assert not learn(FieldLearner(), rules=DetailRules(match=("*",), config={"schema": "${inputs.x}"}))


def test_a_page_with_all_fields_is_preferred() -> None:
    learner = FieldLearner()
    partial = {**ITEM, "sku": None}
    assert [bool(learn(learner, item=partial)) for _ in range(9)] == [False] * 8 + [True]
    learner = FieldLearner()
    assert not learn(learner, item=partial)
    assert learn(learner)["sku"].missing == 0


def test_a_rule_with_a_secret_is_not_kept() -> None:
    hidden = Hidden({"CLASS": "s3cret-name"})
    schema: dict[str, JSONValue] = {**SCHEMA, "price": {"selector": ".s3cret-name"}}
    rules = DetailRules(match=RULES.match, config={"schema": schema})
    found = learn(FieldLearner(), rules=rules, hidden=hidden)
    assert "price" not in found
    assert b"s3cret" not in b"".join(map(encode, found.values()))


def test_the_values_that_a_function_made_are_not_those_of_the_page() -> None:
    rules = RULES.model_copy(update={"python": "./shop.py:clean"})
    assert learn(FieldLearner(), rules=rules, item={**ITEM, "title": "made up"})["title"].examples == {
        "lamp-1": "Amber Lamp"
    }


@pytest.mark.parametrize("order", [1, -1])
def test_lessons_of_two_slices_add_up_in_any_order(order: int) -> None:
    fields = [LearntField("k", "a", wrapper) for wrapper in learn(FieldLearner()).values()][:1]
    other = [LearntField("l", "b", fields[0].wrapper)]
    text = None
    for one in (fields, other, fields)[::order]:
        text = add_learnt(text, one)
    assert {key: one.pages for kind in load_learnt(text).values() for key, one in kind.items()} == {
        "a": 2,
        "b": 1,
    }
    assert load_learnt(without_learnt(text, {"k"})).keys() == {"l"}


def test_lessons_of_a_newer_release_are_left_out() -> None:
    (one, *_) = (LearntField("k", "a", wrapper) for wrapper in learn(FieldLearner()).values())
    newer = json.dumps({"k": {"b": '{"name":"price","v":9}', "c": "?"}})
    assert load_learnt(add_learnt(newer, [one])) == {"k": {"a": one.wrapper}}


@settings(max_examples=5, deadline=None)
@given(st.lists(st.text(max_size=100), min_size=1, max_size=12), st.text(max_size=2_000))
def test_lessons_of_a_crawl_are_bounded(names: list[str], text: str) -> None:
    known = None
    for number, name in enumerate(names):
        wrapper = Wrapper(name, words=(text,), examples={text[:60]: text[:60]})
        fields = [LearntField("k", f"{number}-{place}", wrapper) for place in range(20)]
        known = add_learnt(known, fields)
    assert known is not None
    assert len(load_learnt(known)["k"]) == min(20 * len(names), MAX_LEARNT)
    for one in json.loads(known)["k"].values():
        assert len(one.encode()) <= 2_048
