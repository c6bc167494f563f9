"""Locators that hold on all pages and last."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.core.wrappers.pages import LAMPS, new_page, old_page, tree_of

from agentic.core.wrappers import Locator, LocatorKind, find_examples, finds, read_data_values, write_locators
from agentic.core.wrappers.locators import Place
from agentic.core.wrappers.selecting import MANY, Atom, Selection, SelectorIndex, is_durable, is_machine_made
from agentic.core.wrappers.tree import PageTree


@pytest.mark.parametrize(
    "name",
    ["css-1q2w3e", "sc-bdVaJa", "jsx-3034", "post-18231", "Text-module_base__6gHGt", "a8f3c2d9e1", "_3xKp"],
)
def test_names_that_a_build_made_are_known(name: str) -> None:
    assert is_machine_made(name)


@pytest.mark.parametrize(
    "name", ["price", "product-title", "recipe_card", "wprm-recipe-ingredient", "h2o", "step-1"]
)
def test_names_that_a_person_chose_are_kept(name: str) -> None:
    assert not is_machine_made(name)


@pytest.mark.parametrize("name", ["mt-4", "text-lg", "flex", "grid", "w-full"])
def test_names_of_looks_do_not_last(name: str) -> None:
    assert not is_durable(name)


def _place(tree: PageTree, selector: str) -> Place:
    return Place(SelectorIndex(tree), tuple(Locator(LocatorKind.CSS, selector).find(tree)))


@pytest.mark.parametrize("path", ["count(//p)", "string(//p)", "boolean(//p)", "//p/@class"])
def test_expression_for_a_text_or_a_number_leads_to_no_element(path: str) -> None:
    assert Locator(LocatorKind.XPATH, path).find(tree_of("<p class=x>y</p>")) == []


def test_expression_for_a_text_between_elements_has_texts_and_finds() -> None:
    tree = tree_of("<p><b>Pages:</b> 96<br><b>Size:</b> <i>7 X 5</i></p>")
    step = "following-sibling::node()[1][self::text()]"
    place = Locator(LocatorKind.XPATH, f'//b[normalize-space()="Pages:"]/{step}')
    assert (place.find(tree), place.read(tree)) == ([], ["96"])
    assert finds(place, tree)
    assert Locator(LocatorKind.CSS, "i").read(tree) == ["7 X 5"]
    assert not finds(Locator(LocatorKind.XPATH, f'//b[normalize-space()="Year:"]/{step}'), tree)


def test_locators_of_a_field_are_of_different_kinds_and_hold_on_all_pages() -> None:
    trees = [old_page(lamp) for lamp in LAMPS]
    locators = write_locators(
        [_place(tree, "td.weight") for tree in trees], frozenset({"weight"}), is_list=False
    )
    assert locators[0].path == "td.weight"
    assert len(locators) >= 2
    assert any(one.kind is LocatorKind.XPATH and '"Weight"' in one.path for one in locators)
    for locator in locators:
        assert [tree.text(locator.find(tree)[0]) for tree in trees] == [f"{lamp.weight} g" for lamp in LAMPS]


def test_field_without_any_name_is_found_by_the_text_before_it() -> None:
    trees = [new_page(lamp) for lamp in LAMPS]
    locators = write_locators(
        [_place(tree, "dl dd:last-child") for tree in trees], frozenset({"weight"}), is_list=False
    )
    assert Locator(LocatorKind.XPATH, '//dt[normalize-space()="Weight"]/following::dd[1]') in locators


LEAVES = st.sampled_from(["<p>x</p>", "<b class=k>y</b>", "<i id=n>z</i>", "<li class='k m'>w</li>", "text"])
NAMES = st.sampled_from(["", " class=k", " id=a", " class='m o'"])
BODIES = st.recursive(
    LEAVES,
    lambda inner: st.builds(
        lambda tag, name, parts: f"<{tag}{name}>{''.join(parts)}</{tag}>",
        st.sampled_from(["div", "section", "ul", "main"]),
        NAMES,
        st.lists(inner, max_size=4),
    ),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(BODIES)
def test_index_selects_what_the_selector_engine_selects(body: str) -> None:
    tree = tree_of(f"<body>{body}</body>")
    index = SelectorIndex(tree)
    atoms = sorted({atom for number in range(len(tree)) for atom in index.atoms(number)})
    for atom in atoms:
        for scope in [None, *atoms[:6]]:
            selection = Selection(scope, atom)
            assert index.select(selection) == Locator(LocatorKind.CSS, selection.css).find(tree)
    way = Selection(Atom("tag", "div"), Atom("tag", "p"), ("ul",))
    assert index.select(way) == Locator(LocatorKind.CSS, way.css).find(tree)


def test_examples_are_found_with_two_places_each() -> None:
    trees = [old_page(lamp) for lamp in LAMPS]
    lamp = LAMPS[0]
    found = find_examples(
        trees,
        [{"title": lamp.title, "price": lamp.price, "parts": list(lamp.parts[:2]), "no": "Nowhere at all"}],
    )
    assert found["no"] is None
    for name in ("title", "price", "parts"):
        field = found[name]
        assert field is not None, name
        assert len(field.locators) >= 2
        assert len(field.texts) == 3
    parts, price = found["parts"], found["price"]
    assert parts is not None
    assert parts.texts[2] == LAMPS[2].parts
    assert price is not None
    assert [texts[0] for texts in price.texts] == [one.price for one in LAMPS]


def test_values_held_as_data_have_places() -> None:
    tree = tree_of(
        """<meta property="og:title" content="Amber Lamp"><script type="application/ld+json">
        {"@type": "Product", "name": "Amber Lamp", "offers": {"price": 49.9}}</script>
        <script type="application/json" id="state">
        {"item": {"sku-no": "A1"}}</script><p>nothing</p>"""
    )
    values = {one.locator.path: one.values for one in read_data_values(tree.document, tree.url)}
    assert values == {
        "og:title": ("Amber Lamp",),
        "Product.name": ("Amber Lamp",),
        "Product.offers.price": ("49.9",),
        'item."sku-no"': ("A1",),
    }
    assert finds(Locator(LocatorKind.META, "og:title"), tree)
    assert not finds(Locator(LocatorKind.META, "og:description"), tree)
    built = find_examples([tree], [{"name": "Amber Lamp"}])["name"]
    assert built is not None
    assert [one.kind for one in built.locators] == [LocatorKind.JSONLD, LocatorKind.META]


def test_examples_of_two_layouts_give_places_for_both() -> None:
    old = "<title>{0}</title><h1 class=name>{0}</h1><p class=price>{1}</p>"
    new = "<title>{0}</title><h1 class=name>{0}</h1><div class=buy><b class=amount>{1}</b></div>"
    trees = [
        tree_of(old.format("Amber", "5")),
        tree_of(new.format("Birch", "6")),
        tree_of(new.format("Coral", "7")),
    ]
    rows = [{"price": "5"}, {"price": "6"}]
    price = find_examples(trees, rows)["price"]
    assert price is not None
    assert price.texts == (("5",), ("6",), ("7",))
    assert price.held == 3
    first = {one.path for one in price.locators if one.find(trees[0])}
    assert first
    assert first < {one.path for one in price.locators}


def test_elements_with_names_that_selectors_cannot_have_are_found() -> None:
    tree = tree_of("<body><div class=w><b>Price</b><o:p><o:p class=v>12.50</o:p></o:p></div></body>")
    built = find_examples([tree], [{"price": "12.50"}])["price"]
    assert built is not None
    for locator in built.locators:
        assert tree.text(locator.find(tree)[0]) == "12.50"


def test_deep_page_is_read_without_recursion() -> None:
    tree = tree_of("<div>" * 450 + "<p>bottom</p>" + "</div>" * 450)
    bottom = tree.tags.index("p")
    assert len(tree.path(bottom)) == 6
    assert tree.text(bottom) == "bottom"


@pytest.mark.parametrize("count", [0, MANY])
def test_condition_gives_the_same_elements_however_many_were_asked_for_before(count: int) -> None:
    index = SelectorIndex(tree_of('<b class="price\u00a0now">1</b><b class="price  old">2</b>'))
    for number in range(count):
        index.elements(Atom("class", "b", "", f"c{number}"))
    assert [index.tree.text(number) for number in index.elements(Atom("class", "b", "", "price"))] == ["2"]
