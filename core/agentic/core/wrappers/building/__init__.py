"""From pages to places: fields by their examples, and the lists, tables and records that a page offers."""

from __future__ import annotations

from agentic.core.wrappers.building.addresses import globs_of
from agentic.core.wrappers.building.examples import BuiltField, find_examples, wrapper_of_values
from agentic.core.wrappers.building.offers import Offer, OfferedField, OfferKind, find_lists, find_offers
from agentic.core.wrappers.building.paging import Paging, find_paging, next_link

__all__ = [
    "BuiltField",
    "Offer",
    "OfferKind",
    "OfferedField",
    "Paging",
    "find_examples",
    "find_lists",
    "find_offers",
    "find_paging",
    "globs_of",
    "next_link",
    "wrapper_of_values",
]
