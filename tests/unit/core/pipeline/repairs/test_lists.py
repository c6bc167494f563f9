"""Lists found again by stored rows, and not where other blocks show the rows."""

from __future__ import annotations

import pytest
from tests.unit.core.pipeline.repairs.sites import HOME, NAMES, ROWS, cards, tree

from agentic.core.pipeline.repairs.lists import (
    ListMatch,
    broken_selectors,
    find_item_fields,
    find_list,
    write_places,
)
from agentic.core.pipeline.repairs.paths import PathChoice
from agentic.core.pipeline.repairs.stored_rows import KnownRows
from agentic.core.types import JSONValue
from agentic.core.wrappers import PageTree

STORED = KnownRows(ROWS[:6])
NAV = '<nav><a href="/tools">Tools</a> <a href="/garden">Garden</a> <a href="/paint">Paint</a></nav>'
OTHERS = [{**row, "url": f"{HOME}/tool/{90 + at}", "title": f"New tool {at}"} for at, row in enumerate(ROWS)]


def match(page: PageTree, rows: KnownRows = STORED) -> ListMatch:
    found = find_list(page, rows)
    assert isinstance(found, ListMatch), found
    return found


def reason(page: PageTree, rows: KnownRows = STORED) -> str:
    found = find_list(page, rows)
    assert isinstance(found, str), found
    return found


def test_items_of_a_redesigned_list_are_found_with_those_that_have_no_stored_row() -> None:
    page = tree(f'{NAV}<main class="grid">{cards(ROWS)}</main>')
    found = match(page)
    assert len(found.items) == 12
    assert sorted(found.rows.values()) == [*range(6)]
    assert (found.score, found.runner_up) == (1.0, 0.0)
    places = write_places(page, found)
    assert places is not None
    assert (places.item_selector, places.link_selector) == ("div.card", "h3 > a")


def test_rows_of_a_grid_are_one_list_even_if_all_stored_rows_are_in_the_first() -> None:
    rows = "".join(f'<div class="row">{cards(ROWS[at : at + 6])}</div>' for at in (0, 6))
    page = tree(f"{NAV}<main>{rows}</main>")
    found = match(page)
    assert len(found.items) == 12
    assert write_places(page, found) is not None


def test_rows_are_found_by_their_titles_where_all_addresses_have_changed() -> None:
    renamed = [{**row, "url": f"{HOME}/t/{at}.html"} for at, row in enumerate(ROWS)]
    assert len(match(tree(f"<main>{cards(renamed)}</main>")).rows) == 6


def test_selector_must_give_items_on_the_next_page_too() -> None:
    page = tree(f'<main><div class="first">{cards(ROWS, "section")}</div></main>')
    same = tree(f'<main><div class="second">{cards(OTHERS, "section")}</div></main>', "/tools?page=2")
    other = tree(f"<main>{cards(OTHERS, 'li')}</main>".replace("card", "tile"), "/tools?page=2")
    found = match(page)
    assert (places := write_places(page, found, [same])) is not None
    assert places.item_selector == "section.card"
    assert write_places(page, found, [other]) is None


BLOCKS = {
    "heading": "<section><h2>Recently viewed</h2><div>{}</div></section>",
    "aside": "<aside><div>{}</div></aside>",
    "class": '<div class="ad-slot"><div>{}</div></div>',
    "german": "<h2>Zuletzt angesehen</h2><div>{}</div>",
}


@pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)
def test_block_beside_the_list_is_no_list_although_it_shows_all_stored_rows(block: str) -> None:
    shown = block.format(cards(ROWS[:6]))
    assert reason(tree(f"{shown}<main><ul>{cards(OTHERS, 'li')}</ul></main>")) == (
        "no block of the page has a stored row in it"
    )
    found = match(tree(f'{shown}<main><ul class="tools">{cards(ROWS, "li")}</ul></main>'))
    assert len(found.items) == 12


def test_block_without_a_name_is_not_taken_beside_a_larger_list_without_the_rows() -> None:
    body = f"<div>{cards(ROWS[:6])}</div><main><ul>{cards(OTHERS, 'li')}</ul></main>"
    assert "a block of 6 items has stored rows, and a block of 12 may be the list" in reason(tree(body))
    assert reason(tree(f"<div>{cards(ROWS[:4])}</div>")) == (
        "the block with stored rows has just 4 items, fewer than rows are stored"
    )


def test_two_blocks_that_share_the_rows_are_left_to_a_person() -> None:
    first, second = cards([*ROWS[:3], *OTHERS[:4]], "li"), cards([*ROWS[3:6], *OTHERS[4:8]], "li")
    body = f'<ul class="a">{first}</ul><h2>More</h2><ol>{second}</ol>'
    assert "two blocks have stored rows" in reason(tree(body))


def test_page_with_fewer_rows_than_a_list_needs_is_not_taken() -> None:
    body = f"<main><ul>{cards([*ROWS[:2], *OTHERS], 'li')}</ul></main>"
    assert reason(tree(body)) == "the best block has 2 of 6 stored rows, and 3 are needed"


def test_fields_within_items_are_found_by_the_stored_values_of_all_rows() -> None:
    page = tree(f'<main class="grid">{cards(ROWS)}</main>')
    found = find_item_fields(page, match(page), STORED, {"title": ".t", "price": ".p"})
    assert {name: one.path for name, one in found.items() if isinstance(one, PathChoice)} == {
        "title": "h3.name",
        "price": "b.amount",
    }


@pytest.mark.parametrize("stored", [f"{HOME}/i/tool-photo-{{}}-400x300.jpg", "/i/tool-photo-{}-400x300.jpg"])
def test_links_and_images_within_items_are_found_in_their_attributes(stored: str) -> None:
    rows: list[dict[str, JSONValue]] = [
        {**row, "photo": stored.format(NAMES[at]), "link": row["url"]} for at, row in enumerate(ROWS)
    ]
    body = cards(ROWS)
    for name in NAMES:
        image = f"<img class=lazy src=data:image/gif,1 data-src='//cdn.example/w9/tool-photo-{name}.webp'>"
        body = body.replace('<h3 class="name">', f"<figure>{image}</figure><h3 class='name'>", 1)
    page, known = tree(f"<main>{body}</main>"), KnownRows(rows[:6])
    found = find_item_fields(
        page,
        match(page, known),
        known,
        {"photo": ".p", "link": ".t a"},
        attrs={"photo": "src", "link": "href"},
    )
    places = {name: (one.path, one.attr) for name, one in found.items() if isinstance(one, PathChoice)}
    assert places == {"photo": ("img.lazy", "data-src"), "link": ("h3 > a", "href")}


def test_selector_whose_element_has_lost_its_attribute_gives_nothing() -> None:
    page = tree(f"<main>{cards(ROWS)}</main>")
    selectors = {"link": "h3 a", "photo": "h3"}
    assert broken_selectors(page, match(page), STORED, selectors, {"link": "href", "photo": "src"}) == [
        "photo"
    ]


def test_two_places_with_the_value_are_left_to_a_person() -> None:
    body = cards(ROWS).replace('<i class="left">', '<s class="before">0</s><i class="left">')
    for row in ROWS:
        body = body.replace(
            f'{row["price"]}</b><s class="before">0', f'{row["price"]}</b><s class="before">{row["price"]}'
        )
    page = tree(f"<main>{body}</main>")
    found = find_item_fields(page, match(page), STORED, {"price": ".p"})
    assert found == {"price": "'b.amount', 's.before' have the values of 'price' alike, and no name decides"}


def test_numbers_and_fields_with_few_values_do_not_tell_which_row_an_item_is() -> None:
    known = [
        {**row, "size": f"size {at // 2} of all", "price": f"1,{at}99.00"} for at, row in enumerate(ROWS)
    ]
    others = "".join(
        f'<li><a href="/x/{at}">Other {at}</a> <i>{row["size"]}</i> <b>{row["price"]}</b></li>'
        for at, row in enumerate(known)
    )
    assert (
        reason(tree(f"<ul>{others}</ul>"), KnownRows(known)) == "no block of the page has a stored row in it"
    )
