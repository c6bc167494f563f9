"""Places of fields within the items of a list, found by the stored values of many items together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agentic.core.linear import LinearPattern
from agentic.core.types import JSONValue
from agentic.core.wrappers.values import is_finite
from agentic.core.wrappers.words import plain, words_of

ItemValues = Mapping[str, JSONValue]
"""Place within an item -> its value."""

AGREES = 0.8
"""Least share of the rows whose stored value stands at a place."""

AHEAD = 0.15
"""How far a place must be ahead of the next one, unless its name decides."""

MIN_PAIRS = 2
MIN_WEAK = 4
"""Pairs that must agree where the values are small numbers or booleans, which agree by chance."""

MIN_DIFFERENT = 3
WEAK_BELOW = 100
TELLING = 12
"""Letters and digits of a text that no other place has by chance."""

NEAR = 0.5
"""Numbers of another place from half to twice the stored ones may be the field, too: after a sale began."""

THOUSAND = 3
_AMOUNT = LinearPattern(r"\d(?:[\d.,'\x20\xa0]*\d)?")
_SPACES = str.maketrans("", "", "' \xa0")

STILL_THERE = 0.5
"""Least share of the items of another page with a value at a place."""

_EARLIER = frozenset(
    (
        "old", "was", "before", "previous", "original", "regular", "list", "strike", "strikethrough",
        "crossed", "msrp", "rrp", "uvp", "compare", "del", "past", "former",
    )
)  # fmt: skip
"""Names of earlier values: after a sale began, the stored price stands there."""


@dataclass(frozen=True, slots=True)
class PathChoice:
    """The place of a field within an item.

    Attributes:
        path: Leads to it.
        score: Share of the rows whose value stands there.
        runner_up: That of the next place.
        seen: Number of the item, its stored value, and the value there now; up to three.
        attr: Attribute that holds the value; empty for the text.
    """

    path: str
    score: float
    runner_up: float
    seen: tuple[tuple[int, JSONValue, JSONValue], ...]
    attr: str = ""


@dataclass(frozen=True, slots=True)
class _Agreement:
    path: str
    share: float
    count: int
    different: int
    is_weak: bool
    is_named: bool
    is_near: bool


def choose_paths(
    items: Sequence[ItemValues],
    pairs: Sequence[tuple[int, Mapping[str, JSONValue]]],
    wanted: Mapping[str, str],
    others: Sequence[Sequence[ItemValues]] = (),
    same_place: Sequence[Mapping[str, int]] = (),
) -> dict[str, PathChoice | str]:
    """Return the new place of each field, or why it cannot be said.

    A field's stored values must stand at a place in nearly all rows. Of several such places its name decides,
    or none is taken. A place is taken by one field only.

    Args:
        items: Of a page.
        pairs: Number of an item, and its stored row.
        wanted: Field -> its old path.
        others: Items of further pages.
        same_place: For each item: path -> the element that it leads to. Paths that lead to the same elements
            count as one.
    """
    found = {
        name: _choice(name, old, items, pairs, others, same_place) for name, old in sorted(wanted.items())
    }
    taken: dict[str, list[str]] = {}
    for name, choice in found.items():
        if isinstance(choice, PathChoice):
            taken.setdefault(choice.path, []).append(name)
    for path, names in taken.items():
        if len(names) > 1:
            for name in names:
                found[name] = f"{path!r} has the values of {' and of '.join(names)}"
    return found


def agrees(found: JSONValue, stored: JSONValue) -> bool:
    """Return whether a value is the stored one: the same text, number, or list of them."""
    if isinstance(stored, dict):
        stored = stored.get("amount")
    if isinstance(found, bool) or isinstance(stored, bool) or found is None or stored is None:
        return found is stored
    if isinstance(stored, list) or isinstance(found, list):
        both = isinstance(stored, list) and isinstance(found, list) and len(found) == len(stored)
        return both and bool(stored) and all(map(agrees, found, stored))  # type: ignore[arg-type]  # both are lists
    if isinstance(found, dict):
        return False
    if isinstance(found, int | float) or isinstance(stored, int | float):
        return any(
            abs(one - other) <= 1e-9 * max(1.0, abs(other))
            for one in _numbers(found)
            for other in _numbers(stored)
        )
    return isinstance(stored, str) and bool(plain(found)) and plain(found) == plain(stored)


def is_empty(value: JSONValue) -> bool:
    """Return whether a value says nothing."""
    return value in (None, "", [], {})


def name_words(path: str) -> tuple[str, ...]:
    """Return the words of the last name in a path or selector."""
    quoted = path.split('"')
    return words_of(quoted[-2] if len(quoted) > 2 else path.rsplit(".", 1)[-1])


def _numbers(value: JSONValue) -> tuple[float, ...]:
    """Return the numbers that a value may be: ``1.299`` is one and a bit, or more than a thousand."""
    if isinstance(value, int | float):
        return (float(value),) if is_finite(value) else ()
    if not isinstance(value, str):
        return ()
    letters = plain(value)
    found = _AMOUNT.search(value) if 2 * sum(map(str.isdigit, letters)) > len(letters) else None
    if found is None:
        return ()
    digits = found[0].translate(_SPACES)
    *ahead, last = digits.replace(",", ".").split(".")
    whole = float("".join((*ahead, last)))
    if not ahead or len({mark for mark in digits if mark in ".,"}) == 1 < len(ahead):
        return (whole,)  # no mark, or several of one kind: 1.299.000
    decimal = float(f"{''.join(ahead)}.{last}")
    return (decimal, whole) if len(ahead) == 1 and len(last) == THOUSAND else (decimal,)


def _choice(
    name: str,
    old: str,
    items: Sequence[ItemValues],
    pairs: Sequence[tuple[int, Mapping[str, JSONValue]]],
    others: Sequence[Sequence[ItemValues]],
    same_place: Sequence[Mapping[str, int]],
) -> PathChoice | str:
    known = [(at, row[name]) for at, row in pairs if not is_empty(row.get(name))]
    if not known:
        return f"no stored row that was found again has a value of {name!r}"
    counted = list(_merged(_agreements(name, old, items, known), items, same_place))
    counted.sort(key=lambda one: -one.share)
    best = _best_of(name, counted, known)
    if isinstance(best, str):
        return best
    if not best.is_named and _is_of_earlier(best.path, name, old):
        return f"{best.path!r} has the stored values of {name!r}, but its name is one of earlier values"
    if not all(_is_there(best.path, there) for there in others):
        return f"{best.path!r} has the stored values of {name!r}, but gives nothing on the next page"
    runner_up = max([one.share for one in counted if one is not best], default=0.0)
    seen = tuple((at, stored, items[at].get(best.path)) for at, stored in known[:3])
    return PathChoice(best.path, best.share, runner_up, seen)


def _best_of(
    name: str, counted: Sequence[_Agreement], known: Sequence[tuple[int, JSONValue]]
) -> _Agreement | str:
    """Return the place with the stored values; its name decides between places that are alike."""
    fit = [one for one in counted if one.share >= AGREES and _is_enough(one, known)]
    if not fit:
        nearest = f"; {counted[0].path!r} has {counted[0].count} of {len(known)}" if counted else ""
        return f"no place has the stored values of {name!r}{nearest}"
    alike = [one for one in counted if fit[0].share - one.share < AHEAD or one.is_near]
    if len(alike) == 1:
        return fit[0]
    named = [one for one in alike if one.is_named and one in fit]
    if len(named) == 1:
        return named[0]
    paths = ", ".join([repr(one.path) for one in alike[:3]])
    return f"{paths} have the values of {name!r} alike, and no name decides"


def _agreements(
    name: str, old: str, items: Sequence[ItemValues], known: Sequence[tuple[int, JSONValue]]
) -> Iterator[_Agreement]:
    names = {words_of(name), name_words(old)} - {()}
    paths = dict.fromkeys(path for at, _ in known for path in items[at])
    for path in paths:
        same = [stored for at, stored in known if agrees(items[at].get(path), stored)]
        near = [stored for at, stored in known if _is_near(items[at].get(path), stored)]
        is_near = len(near) >= AGREES * len(known)
        if same or is_near:
            different = {plain(str(stored)) for stored in same}
            yield _Agreement(
                path,
                len(same) / len(known),
                len(same),
                len(different),
                all(map(_is_weak, same)),
                name_words(path) in names,
                is_near,
            )


def _merged(
    found: Iterator[_Agreement], items: Sequence[ItemValues], same_place: Sequence[Mapping[str, int]]
) -> Iterator[_Agreement]:
    """Yield the first of all paths that lead to the same elements."""
    seen: set[tuple[int | None, ...]] = set()
    for one in found:
        if same_place:
            trail = tuple(same_place[at].get(one.path) for at in range(len(items)))
            if trail in seen:
                continue
            seen.add(trail)
        yield one


def _is_enough(one: _Agreement, known: Sequence[tuple[int, JSONValue]]) -> bool:
    """Return whether an agreement is more than chance."""
    if one.is_weak and not one.is_named:
        return one.count >= MIN_WEAK and one.different >= MIN_DIFFERENT
    if one.count < MIN_PAIRS:
        text = known[0][1]
        return len(known) == 1 and isinstance(text, str) and (one.is_named or len(plain(text)) >= TELLING)
    return one.different > 1 or one.is_named


def _is_near(found: JSONValue, stored: JSONValue) -> bool:
    """Return whether two numbers are near each other, as a price and an earlier price are."""
    if isinstance(stored, dict):
        stored = stored.get("amount")
    if isinstance(found, bool) or isinstance(stored, bool):
        return False
    if _is_weak(found) or _is_weak(stored):
        return False
    return any(
        other > 0 and NEAR <= one / other <= 1 / NEAR for one in _numbers(found) for other in _numbers(stored)
    )


def _is_weak(value: JSONValue) -> bool:
    if isinstance(value, bool):
        return True
    number = value if isinstance(value, int | float) and is_finite(value) else None
    return (number is not None and number == int(number) and abs(number) < WEAK_BELOW) or (
        isinstance(value, str) and len(plain(value)) < 3
    )


def _is_of_earlier(path: str, name: str, old: str) -> bool:
    return not _EARLIER.isdisjoint(name_words(path)) and _EARLIER.isdisjoint(
        (*words_of(name), *name_words(old))
    )


def _is_there(path: str, items: Sequence[ItemValues]) -> bool:
    return not items or sum(not is_empty(item.get(path)) for item in items) >= STILL_THERE * len(items)
