"""Repair: where the fields of a record are on pages of a new layout, or that it cannot be said."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agentic.core.types import JSONValue
from agentic.core.wrappers.candidates import MAX_GROUP, Candidate
from agentic.core.wrappers.locators import Locator, Place, unnamed_locators, write_locators
from agentic.core.wrappers.ranking import PageFacts, Ranked, aims_of, rank, scored
from agentic.core.wrappers.scoring import Aim, Scorer, plausibility, trust_of
from agentic.core.wrappers.selecting import is_frail
from agentic.core.wrappers.tree import PageTree
from agentic.core.wrappers.values import Kind, read_value
from agentic.core.wrappers.words import plain
from agentic.core.wrappers.wrapper import Wrapper

MAX_CHOICES = 10
MAX_PAGES = 6
ACCEPT = {(False, False): 0.5, (False, True): 0.35, (True, False): 0.45, (True, True): 0.2}
"""Least probability of an accepted place, by: its row is stored, there are several pages.

Measured by ``tests/bench/drift.py``: each keeps wrong places at a few in a hundred.
"""

MIN_SAMPLES = 3
MIN_PLAUSIBLE = 0.2
SURE = 0.8
"""From this probability a found field says where the others are."""

OTHER_PAGE = 0.4
"""How much a further page counts: pages of one layout are not independent of each other."""

AGREES = 0.9
AGREEMENT = 5.0
"""Added for each further page with its own stored value there: chance does not hit two."""

MISSING = -3.0
SAME_TEXT = -4.0
SHORT = 12
FAR = 7.0
FAR_AWAY = -4.0
_TRIED = 3


@dataclass(frozen=True, slots=True)
class StoredPage:
    """A page of the new layout, and the row that was stored for its natural key.

    Attributes:
        tree: The page.
        row: Field -> value; None where no row is stored.
    """

    tree: PageTree
    row: Mapping[str, JSONValue] | None = None


@dataclass(frozen=True, slots=True)
class RepairEvidence:
    """The texts of a place on one page.

    Attributes:
        url: Of the page.
        old: The stored value; None where nothing was stored.
        new: The texts that stand there now; may be empty.
    """

    url: str
    old: JSONValue
    new: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlaceChoice:
    """A place that may be the field's.

    Attributes:
        numbers: Its elements on the first page.
        texts: Their texts there.
        label: The text that names it there; may be empty.
        path: Names of the elements around it, the outermost first.
        probability: That it is the field's, as far as the program can say.
    """

    numbers: tuple[int, ...]
    texts: tuple[str, ...]
    label: str
    path: tuple[str, ...]
    probability: float


@dataclass(frozen=True, slots=True)
class Found:
    """A field has a new place.

    Attributes:
        place: The place.
        runner_up: Probability of the best other value.
        locators: That lead there on the pages, the best first.
        evidence: One entry for each page.
        choices: All places that were weighed, up to ten.
    """

    place: PlaceChoice
    runner_up: float
    locators: tuple[Locator, ...]
    evidence: tuple[RepairEvidence, ...]
    choices: tuple[PlaceChoice, ...]


@dataclass(frozen=True, slots=True)
class Abstained:
    """It cannot be said where a field is.

    Attributes:
        reason: One sentence.
        best: Probability of the best place.
        choices: The places that a person or a model may choose from, up to ten.
    """

    reason: str
    best: float
    choices: tuple[PlaceChoice, ...]


def repair(
    wrappers: Mapping[str, Wrapper],
    pages: Sequence[StoredPage],
    broken: Collection[str],
    *,
    accept: float | None = None,
) -> dict[str, Found | Abstained]:
    """Return for each broken field of a record its new place, or why it has none.

    Rows that were stored for the same key weigh most; then the fingerprint, the words of the intent and the
    shape of the values, on all pages; then the places of the other fields of the record. Fields that are not
    broken are left alone.

    Args:
        wrappers: All fields of the record.
        pages: Of the new layout; those with rows are best. The first six count.
        broken: Names of the fields to repair.
        accept: Least probability of a place; as measured unless given.
    """
    if not pages:
        return {name: Abstained("no page of the new layout is given", 0.0, ()) for name in broken}
    return _Repair(wrappers, pages, accept).fields(broken)


def choose(
    wrappers: Mapping[str, Wrapper], pages: Sequence[StoredPage], name: str, choice: PlaceChoice
) -> Found | Abstained:
    """Return a place that a person or a model chose, if its locators hold on the pages.

    Args:
        wrappers: All fields of the record.
        pages: As they were given to :func:`repair`.
        name: Of the field.
        choice: One of the result's choices.
    """
    return _Repair(wrappers, pages, None).chosen(name, choice)


class _Repair:
    def __init__(
        self, wrappers: Mapping[str, Wrapper], pages: Sequence[StoredPage], accept: float | None
    ) -> None:
        ordered = sorted(pages, key=lambda page: page.row is None)[:MAX_PAGES]
        self._wrappers = wrappers
        self._pages = [PageFacts(page.tree, page.row) for page in ordered]
        self._aims = aims_of(wrappers)
        self._best_trails: dict[tuple[str, tuple[int, ...]], list[list[int]]] = {}
        self._accept = {name: accept if accept is not None else self._least(name) for name in wrappers}
        prints = [wrapper.fingerprint for wrapper in wrappers.values()]
        self._trusts = [trust_of(page.tree, prints) for page in self._pages]

    def chosen(self, name: str, choice: PlaceChoice) -> Found | Abstained:
        return self._placed(name, [choice], 0.0)

    def _least(self, name: str) -> float:
        has_row = any(page.row.get(name) is not None for page in self._pages)
        return ACCEPT[has_row, len(self._pages) > 1]

    def fields(self, broken: Collection[str]) -> dict[str, Found | Abstained]:
        anchors = [self._working(page, broken) for page in self._pages]
        found = {name: self._weighed(name, anchors) for name in broken}
        sure = {name for name, choices in found.items() if choices and choices[0].probability >= SURE}
        again = [name for name in broken if name not in sure] if sure else []
        for name in sure:
            self._add_anchor(name, found[name][0], anchors)
        for name in again:
            found[name] = self._weighed(name, anchors)
        return self._decided(found)

    def _working(self, page: PageFacts, broken: Collection[str]) -> dict[str, int]:
        """Return where the fields are that are not broken."""
        places = {}
        for name, wrapper in self._wrappers.items():
            if name not in broken and wrapper.locators and (hits := wrapper.locators[0].find(page.tree)):
                places[name] = hits[0]
        return places

    def _add_anchor(self, name: str, choice: PlaceChoice, anchors: Sequence[dict[str, int]]) -> None:
        anchors[0][name] = choice.numbers[0]
        if self._pages[1:]:
            for place in self._places(self._wrappers[name], choice.numbers)[1:]:
                page = next(at for at, page in enumerate(self._pages) if page.index is place.index)
                anchors[page][name] = place.numbers[0]

    def _weighed(self, name: str, anchors: Sequence[Mapping[str, int]]) -> list[PlaceChoice]:
        """Return the likeliest places of a field, one for each value."""
        aim, first = self._aims[name], self._pages[0]
        best = _by_value(rank(first, name, aim, self._wrappers, anchors[0]))[: MAX_CHOICES + 2]
        scores = [
            one.score
            + (self._on_others(name, aim, one, anchors) if one.score > best[0].score - FAR else FAR_AWAY)
            for one in best
        ]
        top = max(0.0, *scores) if scores else 0.0
        odds = [math.exp(score - top) for score in scores]
        mass = math.exp(-top) + sum(odds)
        choices = [
            _choice(first.tree, one.candidate, odd / mass) for one, odd in zip(best, odds, strict=True)
        ]
        return sorted(choices, key=lambda choice: -choice.probability)[:MAX_CHOICES]

    def _on_others(self, name: str, aim: Aim, one: Ranked, anchors: Sequence[Mapping[str, int]]) -> float:
        """Return the score that the other pages add to a place, and keep where it is on them."""
        others = self._pages[1:]
        if not others:
            return 0.0
        best = MISSING * len(others)
        agreeing = {plain(str(self._pages[0].row.get(name)))} if one.agrees >= AGREES else set()
        for trail in self._trails(aim, one.candidate.numbers):
            scores = [
                self._score_there(at, name, aim, hits, one, anchors[at]) for at, hits in enumerate(trail, 1)
            ]
            agreed = agreeing | {value for _, value in scores if value}
            total = sum(score for score, _ in scores) + AGREEMENT * max(0, len(agreed) - 1) / OTHER_PAGE
            if total > best:
                best = total
                self._best_trails[name, one.candidate.numbers] = trail
        return OTHER_PAGE * best

    def _trails(self, aim: Aim, numbers: tuple[int, ...]) -> Iterator[list[list[int]]]:
        """Yield the elements on each further page that are found in the same way as on the first page."""
        first, *others = self._pages
        selections = first.index.selections(numbers, aim.words, is_list=aim.is_list)[:_TRIED]
        for selection in selections:
            yield [_with_text(page.tree, page.index.select(selection)) for page in others]
        if not selections or is_frail(selections[0]):
            for locator in unnamed_locators(Place(first.index, numbers), is_list=aim.is_list):
                if locator.find(first.tree)[: len(numbers)] == [*numbers]:
                    yield [_with_text(page.tree, locator.find(page.tree)) for page in others]

    def _score_there(
        self, at: int, name: str, aim: Aim, hits: Sequence[int], one: Ranked, places: Mapping[str, int]
    ) -> tuple[float, str]:
        """Return the score of elements on a further page, and the stored value if it is theirs."""
        page = self._pages[at]
        hits = hits[: MAX_GROUP if aim.is_list else 1]
        texts = tuple(map(page.tree.text, hits))
        if not texts or (not aim.is_list and read_value(aim.kind, texts[0]) is None):
            return MISSING, ""
        others = {other: place for other, place in places.items() if other != name}
        scorer = Scorer(page.tree, aim, self._trusts[at], others)
        known = page.row.get(name)
        ranked = scored(scorer, [Candidate(tuple(hits), texts)], known)[0]
        score = ranked.score
        if aim.kind is Kind.TEXT and texts == one.candidate.texts and plain(texts[0]) not in aim.seen:
            score += SAME_TEXT if len(texts[0]) > SHORT or aim.is_list else SAME_TEXT / 2
        value = plain(str(known)) if ranked.agrees >= AGREES else ""
        return max(MISSING, min(score, -MISSING)), value

    def _places(self, wrapper: Wrapper, numbers: tuple[int, ...]) -> list[Place]:
        """Return the elements of a place on each page that has some."""
        first, *others = self._pages
        trail = self._best_trails.get((wrapper.name, numbers))
        if trail is None:
            trails = self._trails(self._aims[wrapper.name], numbers) if others else iter(())
            trail = max(trails, key=lambda one: sum(map(bool, one)), default=[])
        there = zip(others, trail, strict=False)
        return [
            Place(first.index, numbers),
            *(Place(page.index, tuple(hits)) for page, hits in there if hits),
        ]

    def _placed(self, name: str, choices: Sequence[PlaceChoice], runner_up: float) -> Found | Abstained:
        """Return the first choice with its locators; it is refused if none holds on the pages."""
        wrapper, place = self._wrappers[name], choices[0]
        places = self._places(wrapper, place.numbers)
        locators = write_locators(places, wrapper.all_words, is_list=wrapper.is_list)
        if not locators:
            reason = f"no selector gives the best place of {name!r} on all {len(places)} pages"
            return Abstained(reason, place.probability, tuple(choices))
        if not self._is_plausible(wrapper, places):
            reason = f"the numbers at the best place of {name!r} are far from the numbers before"
            return Abstained(reason, place.probability, tuple(choices))
        rows = {page.index: page.row for page in self._pages}
        evidence = tuple(
            RepairEvidence(
                one.index.tree.url,
                rows[one.index].get(name),
                tuple(map(one.index.tree.text, one.numbers if wrapper.is_list else one.numbers[:1])),
            )
            for one in places
        )
        return Found(place, runner_up, tuple(locators), evidence, tuple(choices))

    def _is_plausible(self, wrapper: Wrapper, places: Sequence[Place]) -> bool:
        """Return whether the numbers of a place are near the learnt ones, if enough were learnt."""
        learnt = wrapper.fingerprint
        has_row = any(page.row.get(wrapper.name) is not None for page in self._pages)
        if has_row or learnt.amounts is None or learnt.samples < MIN_SAMPLES:
            return True
        values = [read_value(wrapper.kind, one.index.tree.text(one.numbers[0])) for one in places]
        return sum(plausibility(learnt, value) for value in values) >= MIN_PLAUSIBLE * len(values)

    def _decided(self, found: Mapping[str, list[PlaceChoice]]) -> dict[str, Found | Abstained]:
        """Accept the surest places first; an element is the place of one field only."""
        taken: set[int] = set()
        decided: dict[str, Found | Abstained] = {}
        for name in sorted(found, key=lambda name: -(found[name][0].probability if found[name] else 0.0)):
            choices = [one for one in found[name] if taken.isdisjoint(one.numbers)]
            best = choices[0].probability if choices else 0.0
            second = choices[1].probability if len(choices) > 1 else 0.0
            if not choices:
                decided[name] = Abstained(f"no element of the page can be {name!r}", 0.0, ())
            elif best < self._accept[name]:
                least = f"below {self._accept[name]:.2f}"
                reason = f"the best place of {name!r} has a probability of {best:.2f}, {least}"
                decided[name] = Abstained(reason, best, tuple(choices))
            else:
                decided[name] = self._placed(name, choices, second)
                if isinstance(decided[name], Found):
                    taken.update(choices[0].numbers)
        return {name: decided[name] for name in found}


def _with_text(tree: PageTree, numbers: Sequence[int]) -> list[int]:
    return [number for number in numbers if tree.text(number)]


def _choice(tree: PageTree, candidate: Candidate, probability: float) -> PlaceChoice:
    first = candidate.numbers[0]
    path = tuple(reversed(tree.path(first)))
    return PlaceChoice(candidate.numbers, candidate.texts, tree.label(first), path, round(probability, 4))


def _by_value(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Return one candidate for each value, with the odds of all that have it."""
    first: dict[str, Ranked] = {}
    odds: dict[str, float] = {}
    for one in ranked[:80]:
        key = "".join(map(plain, one.candidate.texts))[:400]
        first.setdefault(key, one)
        odds[key] = odds.get(key, 0.0) + math.exp(min(one.score, 700))
    found = [one._replace(score=math.log(odds[key])) for key, one in first.items()]
    return sorted(found, key=lambda one: -one.score)
