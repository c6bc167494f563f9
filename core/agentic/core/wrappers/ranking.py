"""Candidates of a page in the order of how well they fit a field."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from agentic.core.types import JSONValue
from agentic.core.wrappers.addresses import is_address
from agentic.core.wrappers.candidates import Candidate, Candidates, twin_of
from agentic.core.wrappers.data import read_data_values
from agentic.core.wrappers.locators import Locator
from agentic.core.wrappers.scoring import (
    FEATURES,
    NONE,
    NONE_KNOWN,
    WEIGHTS,
    Aim,
    Scorer,
    plausibility,
    trust_of,
)
from agentic.core.wrappers.selecting import SelectorIndex
from agentic.core.wrappers.tree import PageTree
from agentic.core.wrappers.values import (
    AGREES,
    ROUNDED,
    Kind,
    agreement,
    days_of,
    is_day,
    is_telling,
    likeness,
    read_value,
    telling_digits,
)
from agentic.core.wrappers.words import plain
from agentic.core.wrappers.wrapper import Wrapper

ALIKE = 0.5
LITTLE_LIKE = 0.05
MIN_PLAUSIBLE = 0.2
"""Of the nearness of a number to earlier ones; a fifth of the least or five times the most is too far."""

LIKE_TIMES = 2.5
TELLING = 5.0
"""Added where chance cannot explain that a text is the stored one."""

TELLING_DIGITS = {3: 2.0, 4: 4.0}
"""Added for three digits, or more, where a value is the stored one, in one place only."""

TELLING_NAME = 2.0
"""Added where the stored text stands beside a word of the field."""

MIN_NAMED = 5
MAX_SCORED = 80
SHORT = 40
ORDER = FEATURES.index("order")
MAX_TIMES = 8.0
"""Limit for how much longer or shorter a value is than earlier values, unless it is the stored one."""


class Ranked(NamedTuple):
    """A candidate and how well it fits.

    Attributes:
        candidate: The elements.
        score: Logarithm of its odds against "the field is not on this page".
        agrees: How far it agrees with the stored value, from 0 to 1.
        bonus: The part of the score for the digits or the label of the stored value.
    """

    candidate: Candidate
    score: float
    agrees: float
    bonus: float = 0.0


class PageFacts:
    """A page of the new layout, read once for all fields.

    Args:
        tree: The page.
        row: The stored values of its record; None where nothing is known.
    """

    def __init__(self, tree: PageTree, row: Mapping[str, JSONValue] | None = None) -> None:
        self.tree = tree
        self.row = row or {}
        self.candidates = Candidates(tree)

    @cached_property
    def index(self) -> SelectorIndex:
        """For selectors."""
        return SelectorIndex(self.tree)

    @cached_property
    def data(self) -> dict[Locator, tuple[str, ...]]:
        """The values that the page holds as data."""
        return dict(read_data_values(self.tree.document, self.tree.url))

    @cached_property
    def data_by_text(self) -> Mapping[str, Sequence[Locator]]:
        """The places of data by their first text, as letters and digits only."""
        found: dict[str, list[Locator]] = defaultdict(list)
        for locator, values in self.data.items():
            found[plain(values[0])].append(locator)
        return found

    def texts_at(self, locator: Locator, *, is_list: bool) -> tuple[str, ...]:
        """Return the texts that a locator leads to, shown or held as data; the first unless it is a list."""
        found = tuple(locator.read(self.tree)) if locator.is_shown else self.data.get(locator, ())
        return found if is_list else found[:1]


def aims_of(wrappers: Mapping[str, Wrapper]) -> dict[str, Aim]:
    """Return the aim for each field of a record."""
    words = {name: wrapper.all_words for name, wrapper in wrappers.items()}
    return {
        name: Aim(
            wrapper.kind,
            wrapper.is_list,
            words[name],
            frozenset().union(*(there for other, there in words.items() if other != name)) - words[name],
            wrapper.fingerprint,
            wrapper.seen,
            next((one.attr for one in wrapper.locators), ""),
        )
        for name, wrapper in wrappers.items()
    }


def rank(
    page: PageFacts, name: str, aim: Aim, wrappers: Mapping[str, Wrapper], anchors: Mapping[str, int]
) -> list[Ranked]:
    """Return the candidates of a field, the best first."""
    trust = trust_of(page.tree, [wrapper.fingerprint for wrapper in wrappers.values()])
    scorer = Scorer(
        page.tree, aim, trust, {other: place for other, place in anchors.items() if other != name}
    )
    known = page.row.get(name)
    return table_of(scorer, likely(page, aim, known), known).ranked()


def is_plausible(wrapper: Wrapper, texts: Sequence[str], known: JSONValue) -> bool:
    """Return whether texts may be a field's value: the stored one, or one that looks like the others.

    Args:
        wrapper: The field.
        texts: As found.
        known: The value that was stored for this page.
    """
    if not texts or not texts[0] or (not wrapper.is_list and read_value(wrapper.kind, texts[0]) is None):
        return False
    if agreement(wrapper.kind, texts, known) >= ALIKE:
        return True
    one, learnt = Candidate((), tuple(texts)), wrapper.fingerprint
    return (
        abs(one.size - learnt.length) <= math.log(LIKE_TIMES) and likeness(one.shape, learnt.shape) >= ALIKE
    )


def still_fits(wrapper: Wrapper, texts: Sequence[str], known: JSONValue) -> bool:
    """Return whether texts at the old place of a field need no repair: all that can be its value.

    Fields differ from page to page more than few pages show, so this asks for less than :func:`is_plausible`.

    Args:
        wrapper: The field.
        texts: As found at its old place.
        known: The value that was stored for this page.
    """
    if is_plausible(wrapper, texts, known):
        return True
    learnt = wrapper.fingerprint
    if not texts or not texts[0] or not learnt.samples:
        return False
    if wrapper.kind.is_amount and not wrapper.is_list:
        if learnt.amounts is None:
            return read_value(wrapper.kind, texts[0]) is not None
        return plausibility(learnt, wrapper.kind, texts[0]) >= MIN_PLAUSIBLE
    one = Candidate((), tuple(texts))
    is_like = likeness(one.shape, learnt.shape) >= LITTLE_LIKE
    return is_like and abs(one.size - learnt.length) <= math.log(MAX_TIMES)


@dataclass(frozen=True)
class CandidateTable:
    """Candidates side by side.

    Attributes:
        candidates: The candidates.
        rows: Their features.
        agreed: How far each agrees with the stored value.
        known: The stored value.
        scorer: That made the features.
    """

    candidates: Sequence[Candidate]
    rows: Sequence[list[float]]
    agreed: Sequence[float]
    known: JSONValue
    scorer: Scorer

    def beside(self, scorer: Scorer) -> None:
        """Set the features that say where a candidate is among the other fields."""
        for one, row in zip(self.candidates, self.rows, strict=True):
            row[ORDER : ORDER + 2] = scorer.beside(one.numbers[0])

    @property
    def _least(self) -> float:
        """From where a value agrees to the last digit."""
        return AGREES if isinstance(self.known, str) else 1.0

    @cached_property
    def bonuses(self) -> Sequence[float]:
        """How much the digits or the label of the stored value say for each candidate."""
        fit = [at for at, agrees in enumerate(self.agreed) if agrees >= self._least]
        if not fit or not isinstance(self.known, int | float | str):
            return [0.0] * len(self.rows)
        says = TELLING_DIGITS.get(telling_digits(self.known), 0.0)
        if isinstance(self.known, str) and not says:
            named = TELLING_NAME if len(self.known) >= MIN_NAMED else 0.0
            given = {at: named * self.scorer.is_labelled(self.candidates[at].numbers[0]) for at in fit}
        else:
            given = self._by_digits(fit, says)
        return [given.get(at, 0.0) for at in range(len(self.rows))]

    def _by_digits(self, fit: Sequence[int], says: float) -> dict[int, float]:
        """Return how much it says that candidates have some digits; one of many alike loses by it."""
        is_within = self.scorer.tree.is_within
        places = {at: self.candidates[at].numbers[0] for at in fit}
        if says and not all(is_within(inner, outer) for outer, inner in pairwise(places.values())):
            return {}
        alike = [place for at, place in places.items() if self._is_one_of_many(self.candidates[at])]
        worth = says or TELLING_NAME
        return {
            at: -worth if any(is_within(inner, place) for inner in alike) else says
            for at, place in places.items()
        }

    def _is_one_of_many(self, candidate: Candidate) -> bool:
        """Return whether an element has a twin with the same label, or no label of the field."""
        tree, place = self.scorer.tree, candidate.numbers[0]
        twin = twin_of(tree, place, candidate.attr)
        if twin is None:
            return False
        return not self.scorer.is_labelled(place) or tree.label_words(place) == tree.label_words(twin)

    def ranked(self) -> list[Ranked]:
        """Return the candidates with their scores, the best first."""
        none = NONE if self.known is None else NONE + NONE_KNOWN
        found = [
            Ranked(
                one,
                sum([weight * value for weight, value in zip(WEIGHTS, row, strict=True)])
                - none
                + TELLING * is_telling(self.known, agrees, self.scorer.kind)
                + bonus,
                agrees,
                bonus,
            )
            for one, row, agrees, bonus in zip(
                self.candidates, self.rows, self.agreed, self.bonuses, strict=True
            )
        ]
        return sorted(found, key=lambda one: (-one.score, one.candidate.numbers))


def table_of(scorer: Scorer, candidates: Sequence[Candidate], known: JSONValue) -> CandidateTable:
    """Return the features of candidates."""
    rows = [scorer.features(one) for one in candidates]
    agreed = scorer.compare(rows, candidates, known) if known is not None else [0.0] * len(rows)
    return CandidateTable(candidates, rows, agreed, known, scorer)


def likely(page: PageFacts, aim: Aim, known: JSONValue) -> list[Candidate]:
    """Return the candidates of a page that have the kind and about the length of a field's values."""
    return _most_like(page.tree, aim, _possible(page, aim, known), known)


def _possible(page: PageFacts, aim: Aim, known: JSONValue) -> list[Candidate]:
    size = aim.fingerprint.length
    if aim.is_list:
        return [one for one in _groups(page.candidates, aim) if abs(one.size - size) <= math.log(MAX_TIMES)]
    singles = _singles(page.candidates, aim)
    if aim.kind.is_amount:
        return [one for one in singles if read_value(aim.kind, one.texts[0]) is not None]
    sizes = [size] if not isinstance(known, str) else [size, math.log1p(len(known))]
    low, high = math.expm1(min(sizes)) / MAX_TIMES, math.expm1(max(sizes)) * MAX_TIMES
    return [one for one in singles if low <= len(one.texts[0]) <= high]


def _groups(given: Candidates, aim: Aim) -> list[Candidate]:
    if aim.kind is Kind.ADDRESS:
        return given.groups_with(aim.attr, is_address=True)
    return [*given.groups_with(aim.attr), *given.groups] if aim.attr else given.groups


def _singles(given: Candidates, aim: Aim) -> list[Candidate]:
    if aim.kind is Kind.ADDRESS:
        shown = (one for one in given.singles if is_address(one.texts[0])) if not aim.attr else ()
        return [*given.singles_with(aim.attr, is_address=True), *shown]
    return [*given.singles_with(aim.attr), *given.singles] if aim.attr else given.singles


def _most_like(tree: PageTree, aim: Aim, candidates: list[Candidate], known: JSONValue) -> list[Candidate]:
    """Return the candidates that are worth all features: those that a few cheap ones put first."""
    if len(candidates) <= MAX_SCORED:
        return candidates
    learnt = aim.fingerprint
    near = tree.nearness_to(aim.words)
    is_wanted = _wanted(tree, aim, known)
    tag = learnt.path[0] if learnt.path else ""

    def cheap(one: Candidate) -> float:
        first = one.numbers[0]
        alike = 3 * math.exp(-1.2 * abs(one.size - learnt.length)) + 2 * likeness(one.shape, learnt.shape)
        return alike + 2 * near[first] + (tree.tags[first] == tag) + 10 * is_wanted(one)

    kept = sorted(range(len(candidates)), key=lambda index: -cheap(candidates[index]))[:MAX_SCORED]
    return [candidates[index] for index in sorted(kept)]


def _wanted(tree: PageTree, aim: Aim, known: JSONValue) -> Callable[[Candidate], bool]:
    """Return a quick check for the stored value, or for a value of another page."""
    if aim.kind.is_amount and not aim.is_list:
        return lambda one: known is not None and agreement(aim.kind, one.texts, known) >= ROUNDED
    if aim.kind is Kind.ADDRESS:
        return lambda one: known is not None and agreement(aim.kind, one.texts, known) >= ALIKE
    wanted = {plain(str(one)) for one in (known if isinstance(known, list) else [known])} | aim.seen
    longest = 2 * max(map(len, wanted)) + SHORT
    value = plain(known) if isinstance(known, str) and len(known) >= MIN_NAMED else ""
    days = days_of(known) if isinstance(known, str) else frozenset()

    def is_wanted(one: Candidate) -> bool:
        first = one.numbers[0]
        if (len(one.texts[0]) if one.attr else tree.length(first)) >= longest:
            return False
        shown = one.plain[0] if one.attr else tree.plain(first)
        return shown in wanted or (value != "" and value in shown) or is_day(one.texts[0], days)

    return is_wanted
