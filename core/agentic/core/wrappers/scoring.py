"""How well a candidate fits a field: features from 0 to 1, and their weighted sum."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from agentic.core.types import JSONValue
from agentic.core.wrappers.candidates import Candidate
from agentic.core.wrappers.fingerprints import Fingerprint, closeness
from agentic.core.wrappers.tree import HEADINGS, LABEL_CHARS, PageTree
from agentic.core.wrappers.values import (
    AGREES,
    SAME_LIST,
    Kind,
    agreement,
    amounts_in,
    days_of,
    likeness,
    read_value,
)
from agentic.core.wrappers.words import plain, text_words

FEATURES = (
    "names", "hint_own", "hint_near", "hint_label", "hint_heading", "label",
    "heading", "rival", "other", "tag", "heading_tag", "path",
    "size", "shape", "count", "position", "title",
    "tight", "order", "close", "amount", "seen", "same_text",
    "same_words", "same_list", "same_amount", "same_amount_rare", "same_amount_named", "near_amount",
)  # fmt: skip
WEIGHTS = (
    1.28, 0.00, 2.95, 1.47, 0.34, 2.03,
    0.64, -3.67, -1.51, 0.83, 4.36, 1.05,
    2.18, 1.41, 2.36, 2.20, 1.35, -0.50,
    0.73, 1.64, 1.61, 4.78, 2.17, 3.89,
    1.59, 0.47, 0.32, 0.65, 1.27,
)  # fmt: skip
NONE = 12.55
NONE_KNOWN = 2.12
"""Weights of :data:`FEATURES`, and the score of "it is not here": from ``tests/bench/drift_fit.py``."""


@dataclass(frozen=True)
class Aim:
    """A field to find.

    Attributes:
        kind: What its texts mean.
        is_list: Whether it has many values on a page.
        words: Words of an intent for it, and its name.
        others: Words of the other fields of the record.
        fingerprint: How its elements looked.
        seen: Short texts that were values, as letters and digits.
        attr: Attribute that held the values; empty for texts.
    """

    kind: Kind
    is_list: bool
    words: frozenset[str]
    others: frozenset[str]
    fingerprint: Fingerprint
    seen: frozenset[str] = frozenset()
    attr: str = ""


LITTLE_ALIKE = 0.3
OUTER = 0.8
"""How much less a date agrees that stands among other words, if one of its elements is the date alone."""

UNKNOWN = (0.0,) * 7
"""The last features where the value that was stored is not known."""

_SIGNS = {"★": ("stars", "rating"), "☆": ("stars", "rating"), **dict.fromkeys("$€£¥₹", ("price",))}
_LINES = frozenset(["span", "a", "div", "p", "li", "b", "strong", "em", "time"])


def trust_of(tree: PageTree, prints: Sequence[Fingerprint]) -> float:
    """Return how much of the learnt names a page still has: after a redesign the old names say nothing."""
    names = {name for one in prints for name in one.names}
    if not names:
        return 0.0
    return sum(name in tree.frequencies for name in names) / len(names)


class Scorer:
    """Gives features of the candidates of one page for one field.

    Args:
        tree: The page.
        aim: The field.
        trust: As from :func:`trust_of`.
        anchors: Other fields whose first elements are known.
        like: A page of the same layout whose names have been counted; the page itself when omitted.
    """

    def __init__(
        self,
        tree: PageTree,
        aim: Aim,
        trust: float,
        anchors: Mapping[str, int],
        *,
        like: PageTree | None = None,
    ) -> None:
        self.tree = tree
        self._aim = aim
        self._trust = trust
        learnt = aim.fingerprint
        counted = like or tree
        total, counts = len(counted), counted.frequencies
        names = [
            (name, weight, math.log(1 + total / (1 + counts[name]))) for name, weight in learnt.names.items()
        ]
        self._sum = sum(weight * rarity for _, weight, rarity in names) or 1.0
        self._names = [one for one in names if counts[one[0]]]
        self._words = [word for word in aim.words if counts[word]]
        self._others = [word for word in aim.others if counts[word]]
        self._anchors = [
            (place, *learnt.neighbours[name]) for name, place in anchors.items() if name in learnt.neighbours
        ]
        self._rivals = learnt.rivals.keys() - aim.words - learnt.label.keys()
        self._tag = learnt.path[0] if learnt.path else ""
        self._paths: dict[tuple[str, ...], float] = {}

    @property
    def kind(self) -> Kind:
        """What the texts of the field mean."""
        return self._aim.kind

    def features(self, candidate: Candidate) -> list[float]:
        """Return the features of :data:`FEATURES`."""
        tree, aim = self.tree, self._aim
        learnt, first, texts = aim.fingerprint, candidate.numbers[0], candidate.texts
        context, tag = tree.context(first), tree.tags[first]
        shared = sum(
            [min(weight, context[name]) * rarity for name, weight, rarity in self._names if name in context]
        )
        near = max([context[word] for word in self._words if word in context], default=0.0)
        others = max([context[word] for word in self._others if word in context], default=0.0)
        own = tree.names_at(first)
        if aim.is_list:
            own = (*own, *tree.names_at(tree.parents[first]))
        words = tree.label_words(first)
        if not aim.is_list and aim.kind.is_amount and len(texts[0]) <= LABEL_CHARS:
            words = (*words, *_words_in(texts[0]))
        heading = tree.heading_words(first)
        path = tree.path(first)
        if path not in self._paths:
            self._paths[path] = _common(path, learnt.path)
        below = tree.ends[first] - first
        order, close = self.beside(first)
        return [
            shared / self._sum * self._trust,
            min(1.0, sum([word in aim.words for word in own]) / 2),
            near,
            float(not aim.words.isdisjoint(words)),
            float(not aim.words.isdisjoint(heading)),
            _weighted(learnt.label, words),
            _weighted(learnt.heading, heading),
            float(not self._rivals.isdisjoint(words)),
            others * (1 - 0.7 * near),
            _tags_alike(tag, self._tag),
            float(tag == "h1")
            if self._tag == "h1"
            else -float(tag in HEADINGS and self._tag not in HEADINGS),
            self._paths[path],
            math.exp(-1.2 * abs(candidate.size - learnt.length)),
            likeness(candidate.shape, learnt.shape),
            math.exp(-0.6 * abs(math.log1p(len(candidate.numbers)) - learnt.count)) if aim.is_list else 0.0,
            1 - min(1.0, 2 * abs(first / len(tree) - learnt.position)),
            1 - abs(learnt.in_title - (not candidate.attr and tree.is_in_title(first)))
            if tree.title and not aim.is_list
            else 0.5,
            1.0 if below == 1 else 0.5 if below <= 3 else 0.0,
            order,
            close,
            plausibility(learnt, aim.kind, texts[0]),
            float(len(texts) == 1 and len(texts[0]) < 200 and self._plain(candidate) in aim.seen)
            if aim.seen
            else 0.0,
            *UNKNOWN,
        ]

    def _plain(self, candidate: Candidate) -> str:
        return candidate.plain[0] if candidate.attr else self.tree.plain(candidate.numbers[0])

    def is_labelled(self, number: int) -> bool:
        """Return whether a word of the field, or one that was in its label, stands before an element."""
        known = self._aim.words | self._aim.fingerprint.label.keys()
        return any(word in known and not word[0].isdigit() for word in self.tree.label_words(number))

    def compare(
        self, rows: Sequence[list[float]], candidates: Sequence[Candidate], known: JSONValue
    ) -> list[float]:
        """Set the last features of all candidates of a page whose stored value is known.

        Returns:
            How far each candidate agrees with it, from 0 to 1.
        """
        aim = self._aim
        agreed = [agreement(aim.kind, one.texts, known, one.plain) for one in candidates]
        if isinstance(known, str) and days_of(known):
            agreed = self._without_outer(agreed, candidates)
        best = max(agreed, default=0.0)
        rarity = 1 / math.sqrt(max(1, sum([one == 1.0 for one in agreed])))
        weight = 0.5 + min(0.5, len(plain(str(known))) / 50)
        for features, candidate, agrees in zip(rows, candidates, agreed, strict=True):
            if isinstance(known, list):
                features[-7:] = [float(agrees >= SAME_LIST), 0.0, agrees, 0.0, 0.0, 0.0, 0.0]
            elif not aim.kind.is_amount:
                alike = agrees if agrees >= LITTLE_ALIKE else 0.0
                if best == 1.0 and agrees < best:  # another one is the stored value to the letter
                    alike *= 0.5
                features[-7:] = [float(agrees == 1.0) * weight, alike, 0.0, 0.0, 0.0, 0.0, 0.0]
            else:
                named = max(features[2], features[3], features[5])
                near = max(
                    [_nearness(one, known) for one in amounts_in(aim.kind, candidate.texts[0])], default=0.0
                )
                features[-7:] = [0.0, 0.0, 0.0, agrees, agrees * rarity, agrees * named, near]
        return agreed

    def _without_outer(self, agreed: Sequence[float], candidates: Sequence[Candidate]) -> list[float]:
        """Return how far dates agree; less where an element has other words around the one of the date."""
        fit = [one for one, agrees in zip(candidates, agreed, strict=True) if agrees >= AGREES]

        def has_inner(outer: Candidate) -> bool:
            return any(
                one.attr == outer.attr
                and len(one.texts[0]) < len(outer.texts[0])
                and self.tree.is_within(one.numbers[0], outer.numbers[0])
                for one in fit
            )

        return [
            agrees * OUTER if agrees >= AGREES and has_inner(one) else agrees
            for one, agrees in zip(candidates, agreed, strict=True)
        ]

    def beside(self, first: int) -> tuple[float, float]:
        """Return how well the order and the nearness to the other fields fit."""
        if not self._anchors:
            return 0.5, 0.5
        order = close = 0.0
        for place, sign, _ in self._anchors:
            order += 0.5 + 0.5 * sign * (1 if first > place else -1)
            close += closeness(self.tree, first, place)
        return order / len(self._anchors), close / len(self._anchors)


@lru_cache(maxsize=8_192)
def _words_in(text: str) -> tuple[str, ...]:
    """Return the words of a short text with a number, and those that its signs stand for."""
    signs = (word for sign, words in _SIGNS.items() if sign in text for word in words)
    return *(word for word in text_words(text) if not word[0].isdigit()), *signs


def _tags_alike(one: str, other: str) -> float:
    if one == other:
        return 1.0
    return 0.5 if (one in _LINES and other in _LINES) or (one in HEADINGS and other in HEADINGS) else 0.0


def _weighted(learnt: Mapping[str, float], words: Collection[str]) -> float:
    total = sum(learnt.values())
    return sum(value for word, value in learnt.items() if word in words) / total if total else 0.0


def _common(one: Sequence[str], other: Sequence[str]) -> float:
    """Return the length of the longest common subsequence, as a share of the longer path."""
    if not one or not other:
        return 0.0
    row = [0] * (len(other) + 1)
    for x in one:
        diagonal = 0
        for index, y in enumerate(other, 1):
            above = row[index]
            row[index] = diagonal + 1 if x == y else max(above, row[index - 1])
            diagonal = above
    return row[-1] / max(len(one), len(other))


def plausibility(known: Fingerprint, kind: Kind, text: str) -> float:
    """Return how near the number in a text is to earlier ones.

    1 among them, 0.5 at half or twice the outermost.
    """
    if known.amounts is None:
        return 0.0
    return max((_among(known.amounts, value) for value in amounts_in(kind, text)), default=0.0)


def _among(known: tuple[float, float], value: float) -> float:
    low, high = known
    if low <= value <= high:
        return 1.0
    nearest = low if value < low else high
    return math.exp(-abs(math.log((value + 0.1) / (nearest + 0.1)))) if value >= 0 and nearest >= 0 else 0.0


def _nearness(found: float, known: JSONValue) -> float:
    wanted = known if isinstance(known, int | float) else read_value(Kind.NUMBER, str(known))
    if not isinstance(wanted, int | float) or wanted <= 0 or found <= 0:
        return 0.0
    return math.exp(-4 * abs(math.log(found / wanted)))
