"""Fields of a record that are broken, and their new places. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from agentic.core.actors import Page
from agentic.core.types import JSONValue
from agentic.core.wrappers import (
    Abstained,
    Found,
    Kind,
    Locator,
    PageTree,
    StoredPage,
    Wrapper,
    learn,
    locators_of,
    observation_of,
    repair,
    with_locators,
    wrapper_of_values,
)
from agentic.core.wrappers.addresses import is_address
from agentic.core.wrappers.amounts import is_one_amount
from agentic.core.wrappers.rules import comparable, kind_of_values, wrapper_of_rule
from agentic.core.wrappers.values import agreement
from agentic.core.wrappers.words import plain

Values = Mapping[str, JSONValue]
Fault = Literal["missing", "odd", "repeated"]

MAX_PLACES = 8
"""Places of a repaired rule: the new ones, and the old ones behind them."""

TRIED_FIRST = 3
"""Pages that are tried as the first one."""

SAME = 0.9
FEW = 3
EMPTY: tuple[JSONValue, ...] = (None, "", [], {})


@dataclass(frozen=True, slots=True)
class LookedAtPage:
    """A page of the new layout.

    Attributes:
        page: As it was fetched.
        item: Its fields, read with the rules in effect.
        row: The stored row; empty without one.
        tree: Its elements.
        is_suspect: Whether this run has read it and overwritten its row.
    """

    page: Page
    item: Values
    row: Values
    tree: PageTree
    is_suspect: bool = False


def broken_fields(
    rules: Mapping[str, JSONValue], pages: Sequence[LookedAtPage], faults: Mapping[str, Fault]
) -> dict[str, Fault]:
    """Return the fields to repair: those that alarmed, and those that are gone together with them.

    A field that is read on most pages as it was stored is not broken, whatever alarmed. Rows that this run
    has overwritten say nothing about it.

    Args:
        rules: Of all fields.
        pages: Of the new layout.
        faults: The fields that alarmed.
    """
    found: dict[str, Fault] = {}
    for name in rules:
        stored = [page for page in pages if page.row.get(name) not in EMPTY and not page.is_suspect]
        same = sum(_is_as_stored(page.item.get(name), page.row[name]) for page in stored)
        is_gone = len(stored) >= FEW and all(page.item.get(name) in EMPTY for page in stored)
        if is_gone:
            found[name] = "missing"
        elif name in faults and not (stored and 2 * same > len(stored)):
            found[name] = faults[name]
    return found


def lacks(page: LookedAtPage, name: str, broken: Collection[str]) -> bool:
    """Return whether the stored row says that a page has no value for a field.

    A row that was read with broken rules lacks all broken fields, and says nothing.
    """
    is_whole = len(broken) == 1 or any(page.row.get(other) not in EMPTY for other in broken)
    return bool(page.row) and is_whole and not page.is_suspect and page.row.get(name) in EMPTY


def shows_fault(page: LookedAtPage, faults: Mapping[str, Fault]) -> bool:
    """Return whether a page shows one of the faults; if not, it still has the layout of before.

    Where no row says which fields the page has, most of the missing ones have to be missing. A row that lacks
    the only one may have been read with broken rules.
    """
    wanted = [name for name, fault in faults.items() if fault == "missing"]
    missing = [name for name in wanted if page.item.get(name) in EMPTY]
    if page.is_suspect:
        return len(wanted) < len(faults) or 2 * len(missing) > len(wanted)
    if not page.row and wanted:
        return 2 * len(missing) > len(wanted)
    return any(len(faults) == 1 or not lacks(page, name, faults) for name in missing) or any(
        not _is_as_stored(page.item.get(name), page.row.get(name)) for name in faults if name not in wanted
    )


def most_telling(pages: Sequence[LookedAtPage]) -> list[LookedAtPage]:
    """Return pages with those first whose rows say most: many values, which no other row has.

    A value such as 0, which half of the rows have, stands in many places of a page.
    """
    rows = [_plain_row(page.row) for page in pages]
    times = Counter((name, str(value)) for row in rows for name, value in row.items())

    def order(at: int) -> tuple[int, int]:
        row = rows[at]
        return -len(row), sum(times[name, str(value)] for name, value in row.items())

    return [pages[at] for at in sorted(range(len(pages)), key=order)]


def find_places(
    rules: Mapping[str, JSONValue],
    pages: Sequence[LookedAtPage],
    broken: Collection[str],
    learnt: Mapping[str, Wrapper],
) -> dict[str, Found | Abstained]:
    """Return the new places of broken fields, by the stored rows first.

    Args:
        rules: Of all fields.
        pages: Of the new layout; those with rows are best.
        broken: Names of the fields to repair.
        learnt: What earlier runs know of fields.
    """
    known = _wrappers(rules, pages, broken, learnt)
    stored = [StoredPage(page.tree, _plain_row(page.row) or None) for page in pages]
    found: dict[str, Found | Abstained] = {}
    left = [name for name in broken if name in known]
    # The first page has the candidates, and its value may say little: "0" stands in many places.
    for first in range(min(TRIED_FIRST, max(1, len(stored)))):
        tried = repair(known, [*stored[first:], *stored[:first]], left) if left else {}
        found = {**tried, **found} | {name: one for name, one in tried.items() if isinstance(one, Found)}
        left = [name for name in left if not isinstance(found[name], Found)]
    for name in broken:
        if name not in known:
            reason = f"the rule of {name!r} is more than a value at a place; correct it by hand"
            found[name] = Abstained(reason, 0.0, ())
    return found


def rule_at(rule: JSONValue, place: Locator) -> JSONValue:
    """Return a rule that reads one place and has no alternatives."""
    return with_locators(rule, [place], is_list=is_list(rule))


def repaired_rule(rule: JSONValue, new: Sequence[Locator], fault: Fault, *, is_part: bool) -> JSONValue:
    """Return a rule with new places.

    Places that found nothing stay behind the new ones, for pages that are still as before; if only a part of
    the pages has the new layout, before them. Places that found something wrong go.

    Args:
        rule: The rule in effect.
        new: The new places, the best first.
        fault: The fault that alarmed.
        is_part: Whether only a part of the pages has the new layout.
    """
    old = locators_of(rule) if fault == "missing" else []
    new = [one for one in new if one not in old]
    places = [*old, *new] if is_part else [*new, *old]
    return with_locators(rule, places[:MAX_PLACES], is_list=is_list(rule))


def is_same(found: JSONValue, stored: JSONValue) -> bool:
    """Return whether a value that was read is the stored one."""
    found, stored = comparable(found), comparable(stored)
    if found in EMPTY or stored in EMPTY:
        return found in EMPTY and stored in EMPTY
    if isinstance(stored, int | float) and isinstance(found, int | float):
        return abs(found - stored) <= 1e-6 * max(1.0, abs(stored))
    is_flag = isinstance(found, bool)
    if isinstance(found, int | float) and not is_flag and isinstance(stored, str) and is_one_amount(stored):
        is_below = stored.strip()[:1] in ("-", "\u2212")
        return is_below == (found < 0) and agreement(Kind.NUMBER, [stored], abs(found)) >= SAME  # "18.50"
    texts = [str(one) for one in found] if isinstance(found, list) else [str(found)]
    known: JSONValue = [str(one) for one in stored] if isinstance(stored, list) else str(stored)
    every = known if isinstance(known, list) else [known]
    kind = Kind.ADDRESS if all(map(is_address, every)) else Kind.TEXT
    return agreement(kind, texts, known) >= SAME


def _is_as_stored(found: JSONValue, stored: JSONValue) -> bool:
    """Return whether a value is the stored one, without a label or other text around it."""
    if isinstance(found, str) and isinstance(stored, str):
        return (plain(found) or found) == (plain(stored) or stored)
    return is_same(found, stored)


def _wrappers(
    rules: Mapping[str, JSONValue],
    pages: Sequence[LookedAtPage],
    broken: Collection[str],
    learnt: Mapping[str, Wrapper],
) -> dict[str, Wrapper]:
    """Return the wrapper of each field: as it was learnt, else from its stored values."""
    known: dict[str, Wrapper] = {}
    for name, rule in rules.items():
        made = wrapper_of_rule(name, rule)
        if made is not None:
            values = [one for page in pages if (one := comparable(page.row.get(name))) not in EMPTY]
            kind = kind_of_values(rule, values)
            shape = wrapper_of_values(name, values, kind=kind, locators=made.locators)
            known[name] = replace(shape, is_list=made.is_list)
    for page in pages:
        whole = {name: one for name, one in known.items() if name not in broken}
        seen = observation_of(page.tree, page.tree.url, whole)
        known |= learn({name: known[name] for name in seen.found}, seen)
    # The rule says where a field is now, its wrapper how it looked.
    return known | {
        name: replace(one, kind=known[name].kind, locators=known[name].locators)
        for name, one in learnt.items()
        if name in known
    }


def hits_at(locator: Locator, tree: PageTree) -> list[int]:
    """Return the visible elements that a place leads to; none for a place in data."""
    try:
        return locator.find(tree)
    except (ValueError, TypeError):  # an expression for a number, or that only actors read
        return []


def is_list(rule: JSONValue) -> bool:
    """Return whether a rule reads several values of a page."""
    return isinstance(rule, dict) and bool(rule.get("list"))


def _plain_row(row: Values) -> dict[str, JSONValue]:
    return {name: plain for name, value in row.items() if (plain := comparable(value)) not in EMPTY}


def tree_of(page: Page) -> PageTree:
    """Return the elements of a page of HTML."""
    from turbohtml import parse

    return PageTree(parse(page.text, positions=False), page.final_url)
