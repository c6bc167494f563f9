"""Wrappers: the knowledge of a field besides its selector, learnt from run to run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import cast

from agentic.core.types import JSONValue
from agentic.core.wrappers.addresses import value_at
from agentic.core.wrappers.errors import WrapperVersionError
from agentic.core.wrappers.fingerprints import Fingerprint, merged, observed
from agentic.core.wrappers.locators import MAX_LOCATORS, Locator, LocatorKind
from agentic.core.wrappers.tree import PageTree
from agentic.core.wrappers.values import Kind
from agentic.core.wrappers.words import plain, words_of

VERSION = 1
MAX_BYTES = 2_048
MAX_EXAMPLES = 8
MAX_EXAMPLE_CHARS = 60
_PLAIN = ("name", "kind", "is_list", "words", "pages", "missing")
_FINGERPRINT = tuple(one.name for one in fields(Fingerprint))
_EMPTY: tuple[JSONValue, ...] = (None, "", [])


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A field of a record: where it is, how it looks, which values it has.

    Attributes:
        name: Of the field.
        kind: What its texts mean.
        is_list: Whether it has many values on a page.
        words: Words that an intent has for it.
        locators: Where it is, the best first.
        fingerprint: How its elements looked.
        pages: How many pages it was looked for on.
        missing: On how many of them it was not.
        examples: Natural key -> the beginning of the value, the latest last.
    """

    name: str
    kind: Kind = Kind.TEXT
    is_list: bool = False
    words: tuple[str, ...] = ()
    locators: tuple[Locator, ...] = ()
    fingerprint: Fingerprint = field(default_factory=Fingerprint)
    pages: int = 0
    missing: int = 0
    examples: Mapping[str, str] = field(default_factory=dict)

    @property
    def null_rate(self) -> float:
        """Share of the pages without a value."""
        return self.missing / self.pages if self.pages else 0.0

    @property
    def all_words(self) -> frozenset[str]:
        """The words that speak for the field: of its name, and of the intent."""
        return frozenset(part for text in (self.name, *self.words) for part in words_of(text))

    @property
    def seen(self) -> frozenset[str]:
        """Short texts that were values, as letters and digits."""
        if self.kind is not Kind.TEXT or self.is_list:
            return frozenset()
        texts = (plain(text) for text in self.examples.values() if len(text) < MAX_EXAMPLE_CHARS)
        return frozenset(text for text in texts if len(text) > 4)


@dataclass(frozen=True, slots=True)
class Observation:
    """The fields of one record, as a run read them.

    Attributes:
        tree: The page.
        key: Natural key of the record.
        found: Field -> its elements; without those that were not there.
        values: Field -> its value; the text of its elements where it is left out. A value without elements
            is one that the page holds as data.
        attrs: Field -> the attribute of its elements that holds the value, where it is not their text.
    """

    tree: PageTree
    key: str
    found: Mapping[str, Sequence[int]]
    values: Mapping[str, JSONValue] = field(default_factory=dict)
    attrs: Mapping[str, str] = field(default_factory=dict)


def learn(wrappers: Mapping[str, Wrapper], seen: Observation) -> dict[str, Wrapper]:
    """Return the wrappers of a record after one more page. The size of each stays within 2 KB."""
    return {name: _learnt(wrapper, seen) for name, wrapper in wrappers.items()}


def observation_of(
    tree: PageTree, key: str, wrappers: Mapping[str, Wrapper], values: Mapping[str, JSONValue] | None = None
) -> Observation:
    """Return the fields of a record as the first place of each that gives something reads them.

    Places that only actors read are passed over.

    Args:
        tree: The page.
        key: Natural key of the record.
        wrappers: All fields of the record.
        values: Field -> its value, where a run has read it.
    """
    found: dict[str, Sequence[int]] = {}
    attrs: dict[str, str] = {}
    for name, wrapper in wrappers.items():
        for locator in wrapper.locators:
            if hits := _hits(locator, tree):
                found[name] = hits if wrapper.is_list else hits[:1]
                attrs |= {name: locator.attr} if locator.attr else {}
                break
    return Observation(tree, key, found, values or {}, attrs)


def _hits(locator: Locator, tree: PageTree) -> list[int]:
    """Return the elements at a place that have a value."""
    try:
        found = locator.find(tree)
    except (ValueError, TypeError):  # an expression for a number, or that only actors read
        return []
    return [number for number in found if value_at(tree, number, locator.attr)] if locator.attr else found


def merge(one: Wrapper, other: Wrapper) -> Wrapper:
    """Return a wrapper of a field that knows what two runs learnt; of two kinds, the first's."""
    return replace(
        one,
        locators=tuple(dict.fromkeys((*one.locators, *other.locators)))[:MAX_LOCATORS],
        fingerprint=merged(one.fingerprint, other.fingerprint),
        pages=one.pages + other.pages,
        missing=one.missing + other.missing,
        examples=_latest({**_without(one.examples, other.examples), **other.examples}),
    )


def encode(wrapper: Wrapper) -> bytes:
    """Return a wrapper as canonical JSON: the same knowledge is the same bytes.

    It has at most 2 KB if the name of the field has at most 100 characters.
    """
    for limit in range(MAX_EXAMPLES, -1, -1):
        kept = dict(list(wrapper.examples.items())[-limit:]) if limit else {}
        data = _encoded(replace(wrapper, examples=kept))
        if len(data) <= MAX_BYTES:
            return data
    small = _encoded(_smallest(wrapper))
    return small if len(small) <= MAX_BYTES else _encoded(_bare(wrapper))


def decode(data: bytes) -> Wrapper:
    """Return the wrapper of :func:`encode`.

    Raises:
        WrapperVersionError: A newer version wrote it.
        ValueError: It is not a wrapper.
    """
    given = json.loads(data)
    if not isinstance(given, dict) or "name" not in given:
        raise ValueError("these bytes are not a wrapper")
    if given.get("v") != VERSION:
        raise WrapperVersionError(given.get("v"), VERSION)
    known = given["fingerprint"]
    tuples = {key: tuple(known[key]) for key in ("path", "shape")}
    amounts = known.get("amounts")
    neighbours = {name: cast(tuple[float, float], tuple(pair)) for name, pair in known["neighbours"].items()}
    fingerprint = Fingerprint(
        **{**known, **tuples, "amounts": tuple(amounts) if amounts else None, "neighbours": neighbours}
    )
    return Wrapper(
        name=given["name"],
        kind=Kind(given["kind"]),
        is_list=given["is_list"],
        words=tuple(given["words"]),
        locators=tuple(map(_from_list, given["locators"])),
        fingerprint=fingerprint,
        pages=given["pages"],
        missing=given["missing"],
        examples=dict(given["examples"]),
    )


def _learnt(wrapper: Wrapper, seen: Observation) -> Wrapper:
    numbers = seen.found.get(wrapper.name) or ()
    value = seen.values.get(wrapper.name)
    attr = seen.attrs.get(wrapper.name, "")
    if value in _EMPTY:
        value = value_at(seen.tree, numbers[0], attr) if numbers else None
    if value is None:
        return replace(wrapper, pages=wrapper.pages + 1, missing=wrapper.missing + 1)
    fingerprint = wrapper.fingerprint
    if numbers:
        others = {name: there for name, there in seen.found.items() if name != wrapper.name}
        fingerprint = merged(fingerprint, observed(seen.tree, wrapper.kind, numbers, others, attr))
    text = str(value[0] if isinstance(value, list) and value else value)[:MAX_EXAMPLE_CHARS]
    example = {seen.key[:MAX_EXAMPLE_CHARS]: text}
    return replace(
        wrapper,
        fingerprint=fingerprint,
        pages=wrapper.pages + 1,
        examples=_latest({**_without(wrapper.examples, example), **example}),
    )


def _without(examples: Mapping[str, str], keys: Mapping[str, str]) -> dict[str, str]:
    return {key: one for key, one in examples.items() if key not in keys}


def _latest(examples: Mapping[str, str]) -> dict[str, str]:
    return dict(list(examples.items())[-MAX_EXAMPLES:])


def _encoded(wrapper: Wrapper) -> bytes:
    known = wrapper.fingerprint
    data = {
        **{name: getattr(wrapper, name) for name in _PLAIN},
        "locators": [_as_list(one) for one in wrapper.locators],
        "fingerprint": {name: getattr(known, name) for name in _FINGERPRINT},
        "examples": list(wrapper.examples.items()),  # their order says which is the latest
        "v": VERSION,
    }
    text = json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode("utf-8", "replace")  # JSON may hold half of a surrogate pair


def _as_list(locator: Locator) -> list[JSONValue]:
    more = [locator.attr] if locator.attr else []
    return [locator.kind.value, locator.path, locator.script, *more]


def _from_list(given: Sequence[str]) -> Locator:
    kind, path, script, *more = given
    if len(more) > 1:
        raise ValueError(f"{given} is not a place of a field")
    return Locator(LocatorKind(kind), path, script, *more)


def _smallest(wrapper: Wrapper) -> Wrapper:
    """Return a wrapper without what takes most room: long locators and names that say least."""
    known = wrapper.fingerprint
    locators = tuple(one for one in wrapper.locators if len(one.path) <= 120)[:3]

    def first(weights: Mapping[str, float]) -> dict[str, float]:
        return {name: weight for name, weight in list(weights.items())[:6] if len(name) <= 30}

    cut = replace(
        known, names=first(known.names), label=first(known.label), heading={}, rivals=first(known.rivals),
        neighbours=dict(list(known.neighbours.items())[:6]),
    )  # fmt: skip
    return replace(wrapper, locators=locators, words=wrapper.words[:8], fingerprint=cut, examples={})


def _bare(wrapper: Wrapper) -> Wrapper:
    """Return a wrapper with its counts alone: all else has names as long as no site and no rule has them."""
    return replace(wrapper, locators=(), words=(), fingerprint=Fingerprint(), examples={})
