from __future__ import annotations

import json
from typing import get_args

import pytest

from agentic.core.pipeline.drift.incidents import Cause
from agentic.core.pipeline.drift.sights import wall_in
from agentic.fakes.jobs import pages
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


def test_moved_pages_are_gone_at_their_old_address_and_all_links_lead_to_the_new_one() -> None:
    redesigns, shop = Redesigns(), Shop(products=40)
    site = RedesignedSite(shop, "/shop", redesigns)
    redesigns.add(Redesign(path="/shop/category/*", changes=("move_pages",), seed=2))
    assert site.page("/category/lamps", "", "") is None
    moved, home, sitemap = (site.page(path, "", "") for path in ("/category-2/lamps", "/", "/sitemap.xml"))
    assert moved is not None
    assert b'href="../product/1"' in moved.body
    for page in (home, sitemap):
        assert page is not None
        assert b"category-2/lamps" in page.body
        assert b"category/" not in page.body
    redesigns.reset()
    assert site.page("/category/lamps", "", "") is not None


def test_keys_of_json_are_renamed_and_its_values_stay() -> None:
    redesigns = Redesigns()
    site = RedesignedSite(Shop(products=40), "/shop", redesigns)
    redesigns.add(Redesign(path="/shop/scripted/*", changes=("rename_keys",)))
    page = site.page("/scripted/data/lamps.json", "", "")
    assert page is not None
    first = json.loads(page.body)["data"]["entries"][0]
    assert first.keys() == {"name", "href", "amount", "ycnerruc"}
    assert first["amount"].keys() == {"value"}


def test_parts_of_pages_are_changed_and_the_values_stay() -> None:
    shop = Shop(products=40).page("/category/lamps", "", "")
    assert shop is not None
    after = changed(shop.body.decode(), ("move_list", "change_paging"), 3)
    assert after.count('class="tile-3"') == 7 + 4  # four of the seven once more, as seen before
    assert after.index("Recently viewed") < after.index('class="results"')
    form = changed(pages.login("token", ""), ("rename_login",), 3)
    assert 'name="account[secret3]"' in form
    assert 'name="account[mail3]"' in form
    assert 'value="token"' in form
