"""Wrappers of fields: knowledge that finds a field again when its selector breaks.

Pure functions on parsed pages: nothing here fetches, stores or asks a model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.lazily import loaded

if TYPE_CHECKING:
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
    from agentic.core.wrappers.repairing import (
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
    from agentic.core.wrappers.wrapper import (
        Observation,
        Wrapper,
        decode,
        encode,
        learn,
        merge,
        observation_of,
    )

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
    "observation_of",
    "read_data_values",
    "repair",
    "rule_of",
    "with_locators",
    "wrapper_of_values",
    "write_locators",
]

_HOMES = {
    "Abstained": "repairing",
    "BuiltField": "building",
    "DataValue": "data",
    "Found": "repairing",
    "Kind": "values",
    "Locator": "locators",
    "LocatorKind": "locators",
    "Observation": "wrapper",
    "Offer": "building",
    "OfferKind": "building",
    "OfferedField": "building",
    "PageTree": "tree",
    "Paging": "building",
    "PlaceChoice": "repairing",
    "RepairEvidence": "repairing",
    "StoredPage": "repairing",
    "Wrapper": "wrapper",
    "WrapperError": "errors",
    "WrapperVersionError": "errors",
    "choose": "repairing",
    "decode": "wrapper",
    "encode": "wrapper",
    "find_examples": "building",
    "find_offers": "building",
    "finds": "data",
    "globs_of": "building",
    "is_plausible": "ranking",
    "learn": "wrapper",
    "locators_of": "rules",
    "merge": "wrapper",
    "observation_of": "wrapper",
    "read_data_values": "data",
    "repair": "repairing",
    "rule_of": "rules",
    "with_locators": "rules",
    "wrapper_of_values": "building",
    "write_locators": "locators",
}


def __getattr__(name: str) -> object:
    # A crawl learns wrappers, and repairs and builds no fields.
    return loaded(__name__, _HOMES, name)
