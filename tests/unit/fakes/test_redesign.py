from __future__ import annotations

from typing import get_args

import pytest

from agentic.core.pipeline.drift.incidents import Cause
from agentic.core.pipeline.drift.sights import wall_in
from agentic.fakes.pages import json_script
from agentic.fakes.redesign.operators import (
    KEEPS_VALUES,
    LABEL,
    WALLS,
    Change,
    changed,
    labels_of,
    without_labels,
)
from agentic.fakes.redesign.orders import Redesign, RedesignedSite, Redesigns
from agentic.fakes.redesign.tree import parse
from agentic.fakes.shop.site import Shop

PAGE = (
    '<!doctype html><html lang="en"><head><title>A &amp; B</title>'
    f"{json_script({'name': 'A </script> B'})}</head><body><main><nav>menu</nav><article>"
    f'<h1 id="t" class="title" {LABEL}="title">Brass &amp; glass lamp</h1>'
    f'<p><span class="price" itemprop="price" {LABEL}="price">12.50</span> <span class="unit">EUR</span></p>'
    f'<dl><dt>SKU</dt><dd class="sku" {LABEL}="sku">A-1</dd><dt>In stock</dt><dd {LABEL}="stock">7</dd></dl>'
    "</article><p>end</p></main></body></html>"
)
LABELS = {"title": "Brass & glass lamp", "price": "12.50", "sku": "A-1", "stock": "7"}
HIDDEN: frozenset[Change] = frozenset(("lazy_text", "value_to_attribute"))


def test_a_page_that_is_read_and_written_stays_the_same() -> None:
    assert changed(PAGE, ()) == PAGE
    shop = Shop(products=3).page("/product/1", "", "")
    assert shop is not None
    assert parse(shop.body.decode()).markup() == shop.body.decode()


@pytest.mark.parametrize("change", sorted(KEEPS_VALUES - HIDDEN))
def test_a_changed_layout_still_says_where_its_values_are(change: Change) -> None:
    after = changed(PAGE, (change,), 3)
    found = labels_of(after)
    assert found == {
        **LABELS,
        **({"sku": "SKU: A-1", "stock": "In stock: 7"} if change == "merge_labels" else {}),
    }
    assert after != PAGE
    assert after == changed(PAGE, (change,), 3)
    assert LABEL not in without_labels(after)


def test_hidden_values_are_in_attributes_or_scripts() -> None:
    for change in HIDDEN:
        after = changed(PAGE, (change,))
        assert set(labels_of(after).values()) == {""}
        assert all(text.replace("&", "&amp;") in after or text in after for text in LABELS.values())


def test_a_dropped_field_and_another_format_are_labelled_as_such() -> None:
    assert labels_of(changed(PAGE, ("drop_fields",), 1)).keys() == LABELS.keys() - {"price"}
    assert labels_of(changed(PAGE, ("change_format",)))["price"] == "12,50"


@pytest.mark.parametrize(
    ("change", "cause"),
    [("consent_wall", Cause.CONSENT), ("login_wall", Cause.LOGIN), ("soft_404", Cause.GONE)],
)
def test_walls_replace_the_page_and_are_recognized(change: Change, cause: Cause) -> None:
    after = changed(PAGE, (change,))
    assert not labels_of(after)
    assert wall_in(after, "http://shop/product/1") is cause


@pytest.mark.parametrize("change", sorted(set(get_args(Change)) - WALLS))
def test_no_changed_layout_is_taken_for_a_wall(change: Change) -> None:
    assert wall_in(changed(PAGE, (change,)), "http://shop/product/1") is None


def test_pages_are_redesigned_after_some_requests_on_a_share_of_them_until_the_reset() -> None:
    redesigns, shop = Redesigns(), Shop(products=40)
    site = RedesignedSite(shop, "/shop", redesigns)

    def is_old(number: int) -> bool:
        before, after = (one.page(f"/product/{number}", "", "") for one in (shop, site))
        assert before is not None
        assert after is not None
        return before.body == after.body

    redesigns.add(Redesign(path="/shop/product/*", changes=("hash_classes",), after=2))
    assert [is_old(1) for _ in range(4)] == [True, True, False, False]
    redesigns.add(Redesign(path="/shop/product/*", changes=("hash_classes",), share=0.5))
    half = [is_old(number) for number in range(1, 41)]
    assert 8 < sum(half) < 32
    assert half == [is_old(number) for number in range(1, 41)]
    redesigns.add(Redesign(path="/shop/product/*"))
    assert is_old(1)
    redesigns.reset()
    assert is_old(2)
