"""An offline corpus: sites of several shapes under each redesign, and how many fields come back right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.core.wrappers.site_shapes import SHAPES, SiteShape
from tests.unit.core.wrappers.test_redesigns import HIDDEN, SHOWN
from turbohtml import parse

from agentic.core.types import JSONValue
from agentic.core.wrappers import Abstained, Found, PageTree, StoredPage, Wrapper, repair
from agentic.core.wrappers.values import agreement
from agentic.fakes.redesign.operators import Change, changed


class Cell(NamedTuple):
    """A field of a site after a redesign."""

    shape: str
    changes: tuple[Change, ...]
    field: str


def _pages(shape: SiteShape, changes: Sequence[Change], *, with_rows: bool) -> list[StoredPage]:
    return [
        StoredPage(
            PageTree(parse(changed(shape.html(row), changes, seed=5), positions=False), f"page {number}"),
            row if with_rows else None,
        )
        for number, row in enumerate(shape.rows)
    ]


@cache
def _learnt(shape_number: int) -> dict[str, Wrapper]:
    return SHAPES[shape_number].learnt()


def _works(wrapper: Wrapper, page: StoredPage, known: JSONValue) -> bool:
    hits = wrapper.locators[0].find(page.tree)
    texts = [page.tree.text(hit) for hit in hits]
    return bool(texts) and agreement(wrapper.kind, texts, known) >= 0.9


def _outcomes(designs: Sequence[tuple[Change, ...]], *, with_rows: bool) -> dict[Cell, str]:
    """Return what a repair says of each field whose selector no longer finds it."""
    found = {}
    for number, shape in enumerate(SHAPES):
        wrappers = _learnt(number)
        for changes in designs:
            pages = _pages(shape, changes, with_rows=with_rows)
            broken = [
                name
                for name, wrapper in wrappers.items()
                if not _works(wrapper, pages[0], shape.rows[0][name])
            ]
            for name, result in repair(wrappers, pages, broken).items():
                found[Cell(shape.name, changes, name)] = _outcome(wrappers[name], shape, result)
    return found


def _outcome(wrapper: Wrapper, shape: SiteShape, result: Found | Abstained) -> str:
    if isinstance(result, Abstained):
        return "unsure"
    rows = zip(result.evidence, shape.rows, strict=False)
    is_right = all(agreement(wrapper.kind, seen.new, row[wrapper.name]) >= 0.9 for seen, row in rows)
    return "right" if is_right else "wrong"


def test_shown_fields_come_back_by_their_rows_and_none_in_a_wrong_place() -> None:
    outcomes = _outcomes(SHOWN, with_rows=True)
    counts = Counter(outcomes.values())
    assert len(outcomes) > 100
    assert [cell for cell, outcome in outcomes.items() if outcome == "wrong"] == []
    assert counts["right"] >= 0.97 * len(outcomes), [
        cell for cell, outcome in outcomes.items() if outcome == "unsure"
    ]


def test_most_fields_come_back_where_nothing_is_stored() -> None:
    outcomes = _outcomes(SHOWN, with_rows=False)
    counts = Counter(outcomes.values())
    assert counts["wrong"] <= 0.02 * len(outcomes), [
        cell for cell, outcome in outcomes.items() if outcome == "wrong"
    ]
    assert counts["right"] >= 0.6 * len(outcomes), counts


def test_fields_that_are_gone_are_not_found_elsewhere() -> None:
    for with_rows in (True, False):
        outcomes = _outcomes(HIDDEN, with_rows=with_rows)
        assert [cell for cell, outcome in outcomes.items() if outcome == "wrong"] == []


@settings(max_examples=15, deadline=None)
@given(
    number=st.integers(0, len(SHAPES) - 1),
    page=st.integers(0, 2),
    with_rows=st.booleans(),
    changes=st.lists(
        st.sampled_from(["add_decoys", "duplicate_block", "swap_columns", "move_block"]),
        unique=True,
        max_size=3,
    ),
)
def test_place_that_still_gives_its_value_is_never_changed(
    number: int, page: int, *, with_rows: bool, changes: list[Change]
) -> None:
    shape, wrappers = SHAPES[number], _learnt(number)
    pages = _pages(shape, changes, with_rows=with_rows)[page:]
    right = [
        name
        for name, wrapper in wrappers.items()
        if all(_works(wrapper, one, row[name]) for one, row in zip(pages, shape.rows[page:], strict=True))
    ]
    results = repair(wrappers, pages, [*wrappers])  # as if all had broken
    assert [name for name in right if isinstance(results[name], Found)] == []
