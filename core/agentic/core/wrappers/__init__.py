"""Wrappers of fields: knowledge that finds a field again when its selector breaks.

Pure functions on parsed pages: nothing here fetches, stores or asks a model.
"""

from __future__ import annotations

from agentic.core.wrappers.building import (
    BuiltField,
    Offer,
    OfferedField,
    OfferKind,
    Paging,
    find_examples,
    find_offers,
    globs_of,
    wrapper_of_values,
)
from agentic.core.wrappers.data import DataValue, finds, read_data_values
from agentic.core.wrappers.errors import WrapperError, WrapperVersionError
from agentic.core.wrappers.locators import Locator, LocatorKind, write_locators
from agentic.core.wrappers.ranking import is_plausible
from agentic.core.wrappers.repair import (
    Abstained,
    Found,
    PlaceChoice,
    RepairEvidence,
    StoredPage,
    choose,
    repair,
)
from agentic.core.wrappers.rules import locators_of, rule_of, with_locators
from agentic.core.wrappers.tree import PageTree
from agentic.core.wrappers.values import Kind
from agentic.core.wrappers.wrapper import Observation, Wrapper, decode, encode, learn, merge

__all__ = [
    "Abstained",
    "BuiltField",
    "DataValue",
    "Found",
    "Kind",
    "Locator",
    "LocatorKind",
    "Observation",
    "Offer",
    "OfferKind",
    "OfferedField",
    "PageTree",
    "Paging",
    "PlaceChoice",
    "RepairEvidence",
    "StoredPage",
    "Wrapper",
    "WrapperError",
    "WrapperVersionError",
    "choose",
    "decode",
    "encode",
    "find_examples",
    "find_offers",
    "finds",
    "globs_of",
    "is_plausible",
    "learn",
    "locators_of",
    "merge",
    "read_data_values",
    "repair",
    "rule_of",
    "with_locators",
    "wrapper_of_values",
    "write_locators",
]
