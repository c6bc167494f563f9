"""Places of fields that were read from the element of another field: the address of a link, and its text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from agentic.core.wrappers.addresses import kindred, value_at
from agentic.core.wrappers.candidates import Candidate
from agentic.core.wrappers.tree import PageTree
from agentic.core.wrappers.wrapper import Wrapper

MAX_AROUND = 3
MAX_BELOW = 6


def partner_of(name: str, wrappers: Mapping[str, Wrapper]) -> str | None:
    """Return the field that was read from the same elements as another one; None without any.

    Args:
        name: Of a field that is an attribute.
        wrappers: All fields of the record.
    """
    own = wrappers[name]
    places = {(one.kind, one.path): one.attr for one in own.locators if one.attr}

    def is_partner(other: Wrapper) -> bool:
        there = ((one.attr, places.get((one.kind, one.path), one.attr)) for one in other.locators)
        return other.is_list == own.is_list and any(attr != mine for attr, mine in there)

    return next((other for other, wrapper in wrappers.items() if is_partner(wrapper)), None)


def beside(tree: PageTree, numbers: tuple[int, ...], attr: str) -> Candidate | None:
    """Return the elements with an attribute that are, wrap or are within others, with the same text."""
    for key in kindred(attr):
        found = [next(_with_value(tree, number, key), None) for number in numbers]
        there = tuple(number for number in found if number is not None)
        if there and len({*there}) == len(numbers):
            return Candidate(there, tuple(value_at(tree, number, key) for number in there), key)
    return None


def _with_value(tree: PageTree, number: int, attr: str) -> Iterator[int]:
    """Yield the elements with an attribute at another one: itself, the nearest around it, then below it."""
    around = islice(tree.ancestors(number), MAX_AROUND)
    below = range(number + 1, min(tree.ends[number], number + MAX_BELOW))
    for one in (number, *around, *below):  # a link beside the text may lead to a profile elsewhere
        if tree.text(one) == tree.text(number) and value_at(tree, one, attr):
            yield one
