"""Repairs under each operator of a redesign: found, or given up, never wrong."""

from __future__ import annotations

from typing import cast

import pytest
from tests.unit.core.wrappers.pages import LAMPS, SELECTORS, html_of, learnt
from turbohtml import parse

from agentic.core.types import JSONValue
from agentic.core.wrappers import Abstained, Found, Kind, PageTree, StoredPage, repair
from agentic.core.wrappers.values import read_value
from agentic.fakes.redesign.operators import Change, changed

HARSH: tuple[Change, ...] = (
    "hash_classes",
    "drop_ids",
    "strip_attributes",
    "wrap",
    "change_tags",
    "add_decoys",
)
SHOWN: tuple[tuple[Change, ...], ...] = (
    ("hash_classes",),
    ("rename_classes", "drop_ids"),
    ("hash_classes", "wrap"),
    ("hash_classes", "unwrap"),
    ("hash_classes", "swap_columns"),
    ("hash_classes", "move_block"),
    ("hash_classes", "change_tags"),
    ("hash_classes", "add_decoys"),
    ("hash_classes", "duplicate_block"),
    HARSH,
)
HIDDEN: tuple[tuple[Change, ...], ...] = (
    ("hash_classes", "lazy_text"),
    ("hash_classes", "value_to_attribute"),
    ("hash_classes", "drop_fields"),
    ("consent_wall",),
    ("soft_404",),
)


def _pages(changes: tuple[Change, ...], *, with_rows: bool) -> list[StoredPage]:
    pages = []
    for lamp in LAMPS:
        html = changed(html_of(lamp, is_new=False), changes, seed=3)
        tree = PageTree(parse(html, positions=False), f"https://shop.example/{lamp.key}")
        pages.append(StoredPage(tree, cast(dict[str, JSONValue], lamp.row) if with_rows else None))
    return pages


def _wrong(results: dict[str, Found | Abstained]) -> list[str]:
    return [name for name, one in results.items() if isinstance(one, Found) and not _is_right(name, one)]


def _is_right(name: str, found: Found) -> bool:
    expected = [lamp.row[name] for lamp in LAMPS[: len(found.evidence)]]
    return [_value(name, one.new) for one in found.evidence] == expected


def _value(name: str, texts: tuple[str, ...]) -> object:
    if name == "parts":
        return [*texts]
    return read_value(Kind.NUMBER, texts[0]) if name == "weight" else texts[0]


@pytest.mark.parametrize("changes", SHOWN, ids="+".join)
def test_shown_fields_with_rows_are_found(changes: tuple[Change, ...]) -> None:
    results = repair(learnt(), _pages(changes, with_rows=True), sorted(SELECTORS))
    assert _wrong(results) == []
    assert [name for name, one in results.items() if not isinstance(one, Found)] == []


@pytest.mark.parametrize("changes", [*SHOWN, *HIDDEN], ids="+".join)
@pytest.mark.parametrize("with_rows", [True, False], ids=["rows", "no-rows"])
def test_no_field_is_found_in_a_wrong_place(changes: tuple[Change, ...], *, with_rows: bool) -> None:
    assert _wrong(repair(learnt(), _pages(changes, with_rows=with_rows), sorted(SELECTORS))) == []
