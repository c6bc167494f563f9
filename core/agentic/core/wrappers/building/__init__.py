"""From pages to places: fields by their examples, and the lists, tables and records that a page offers."""

from __future__ import annotations

from agentic.core.wrappers.building.addresses import globs_of, links_of_kind
from agentic.core.wrappers.building.examples import (
    BuiltField,
    find_examples,
    is_shown,
    wrapper_of_values,
)
from agentic.core.wrappers.building.matching import Example, Row
from agentic.core.wrappers.building.offers import (
    Offer,
    OfferedField,
    OfferKind,
    find_lists,
    find_offers,
    link_in_row,
)
from agentic.core.wrappers.building.paging import Paging, find_paging, next_link
from agentic.core.wrappers.building.pieces import COUNTED_TEXT
from agentic.core.wrappers.building.row_examples import FoundRows, are_rows, find_rows

__all__ = [
    "COUNTED_TEXT",
    "BuiltField",
    "Example",
    "FoundRows",
    "Offer",
    "OfferKind",
    "OfferedField",
    "Paging",
    "Row",
    "are_rows",
    "find_examples",
    "find_lists",
    "find_offers",
    "find_paging",
    "find_rows",
    "globs_of",
    "is_shown",
    "link_in_row",
    "links_of_kind",
    "next_link",
    "wrapper_of_values",
]
