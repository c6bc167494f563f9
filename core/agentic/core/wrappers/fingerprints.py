"""Fingerprints: how the elements of a field looked, besides their selector."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agentic.core.wrappers.addresses import value_at
from agentic.core.wrappers.tree import PageTree
from agentic.core.wrappers.values import Kind, Shape, read_value, shape_of
from agentic.core.wrappers.words import text_words

MAX_NAMES = 20
MAX_LABEL_WORDS = 8
MAX_RIVALS = 8
MAX_SAMPLES = 50
"""Later samples count as the fiftieth, to follow a slow change."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """How the elements of a field looked on the pages where they were found."""

    samples: int = 0
    path: tuple[str, ...] = ()
    names: Mapping[str, float] = field(default_factory=dict)
    label: Mapping[str, float] = field(default_factory=dict)
    heading: Mapping[str, float] = field(default_factory=dict)
    rivals: Mapping[str, float] = field(default_factory=dict)
    shape: Shape = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    length: float = 0.0
    count: float = 1.0
    position: float = 0.0
    in_title: float = 0.0
    repeats: float = 0.0
    neighbours: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    amounts: tuple[float, float] | None = None


def observed(
    tree: PageTree,
    kind: Kind,
    numbers: Sequence[int],
    others: Mapping[str, Sequence[int]],
    attr: str = "",
) -> Fingerprint:
    """Return the fingerprint of elements on one page.

    Args:
        tree: The page.
        kind: Of the field.
        numbers: Its elements.
        others: Elements of the other fields of the record.
        attr: Attribute that holds the value; empty for the text.
    """
    first = numbers[0]
    texts = [value_at(tree, number, attr) for number in numbers[:60]]
    own = _weights(tree.label_words(first))
    amount = read_value(kind, texts[0]) if kind.is_amount else None
    names = dict(tree.context(first))
    if len(numbers) > 1:
        last = tree.context(numbers[-1])
        names = {name: weight for name, weight in names.items() if name in last}
    return Fingerprint(
        samples=1,
        path=tree.path(first),
        names=_largest(names, MAX_NAMES),
        label=_largest(own, MAX_LABEL_WORDS),
        heading=_largest(_weights(text_words(tree.headings[first])), MAX_LABEL_WORDS),
        rivals=_rivals(tree, kind, first, amount, own) if kind.is_amount else {},
        shape=shape_of(texts),
        length=math.log1p(sum(map(len, texts)) / len(texts)),
        count=math.log1p(len(numbers)),
        position=first / len(tree),
        in_title=float(not attr and tree.is_in_title(first)),
        repeats=float(not attr and tree.is_repeated(first)),
        neighbours={
            name: (_order(first, there[0]), closeness(tree, first, there[0]))
            for name, there in others.items()
            if there
        },
        amounts=None if not isinstance(amount, int | float) else (float(amount), float(amount)),
    )


def merged(one: Fingerprint, other: Fingerprint) -> Fingerprint:
    """Return a fingerprint that has seen what both have seen."""
    if not one.samples:
        return other
    if not other.samples:
        return one
    a, b = one.samples, other.samples
    share = b / (a + b)

    def mean(x: float, y: float) -> float:
        return round(x + (y - x) * share, 4)

    def means(x: Mapping[str, float], y: Mapping[str, float], limit: int) -> dict[str, float]:
        return _largest({key: mean(x.get(key, 0.0), y.get(key, 0.0)) for key in {*x, *y}}, limit)

    def pair(x: tuple[float, float] | None, y: tuple[float, float] | None) -> tuple[float, float] | None:
        if x is None or y is None:
            return x or y
        return mean(x[0], y[0]), mean(x[1], y[1])

    amounts = [amount for amount in (one.amounts, other.amounts) if amount is not None]
    return Fingerprint(
        samples=min(a + b, MAX_SAMPLES),
        path=one.path if a >= b else other.path,
        names=means(one.names, other.names, MAX_NAMES),
        label=means(one.label, other.label, MAX_LABEL_WORDS),
        heading=means(one.heading, other.heading, MAX_LABEL_WORDS),
        rivals=means(one.rivals, other.rivals, MAX_RIVALS),
        shape=tuple(mean(x, y) for x, y in zip(one.shape, other.shape, strict=True)),  # type: ignore[arg-type]
        length=mean(one.length, other.length),
        count=mean(one.count, other.count),
        position=mean(one.position, other.position),
        in_title=mean(one.in_title, other.in_title),
        repeats=mean(one.repeats, other.repeats),
        neighbours={
            key: p
            for key in sorted({*one.neighbours, *other.neighbours})
            if (p := pair(one.neighbours.get(key), other.neighbours.get(key))) is not None
        },
        amounts=(min(low for low, _ in amounts), max(high for _, high in amounts)) if amounts else None,
    )


def closeness(tree: PageTree, one: int, other: int) -> float:
    """Return how small the part of the page is that holds two elements: near 1 side by side, 0 far apart."""
    around = one
    while around >= 0 and not tree.is_within(other, around):
        around = tree.parents[around]
    if around < 0:
        return 0.0
    return _share_outside(tree, around)


def _near(tree: PageTree, number: int, least: float) -> range:
    """Return the elements that are at least so close to one: all below the same outer element."""
    near = range(0)
    for around in (number, *tree.ancestors(number)):
        if _share_outside(tree, around) < least:
            break
        near = range(around, tree.ends[around])
    return near


def _share_outside(tree: PageTree, around: int) -> float:
    return round(1 - math.sqrt((tree.ends[around] - around) / len(tree)), 4)


def _order(one: int, other: int) -> float:
    return 1.0 if one > other else -1.0


def _weights(words: Sequence[str]) -> dict[str, float]:
    return dict.fromkeys(words[-MAX_LABEL_WORDS:], 1.0)


def _largest(weights: Mapping[str, float], limit: int) -> dict[str, float]:
    best = sorted(weights.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]
    return {name: round(weight, 4) for name, weight in best if weight > 0.02}


def _rivals(
    tree: PageTree, kind: Kind, first: int, amount: object, own: Mapping[str, float]
) -> dict[str, float]:
    """Return the words before other values of the same kind near the field: those that it is not."""
    known = {*own, *text_words(tree.text(first))}
    found: dict[str, float] = {}
    for number in _near(tree, first, 0.6):
        if tree.length(number) > 200 or number == first or tree.ends[number] - number > 3:
            continue
        text = tree.text(number)
        value = read_value(kind, text) if text and len(text) <= 40 else None
        if value is None or value == amount:
            continue
        for word in (*tree.label_words(number)[-3:], *text_words(text)[:3]):
            if word not in known and not word[0].isdigit():
                found[word] = found.get(word, 0.0) + 1.0
    return _largest({word: 1.0 for word, count in found.items() if count <= 8}, MAX_RIVALS)
