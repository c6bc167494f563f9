"""Repair: where the fields of a record are on pages of a new layout, or that it cannot be said."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from agentic.core.types import JSONValue
from agentic.core.wrappers.addresses import value_at
from agentic.core.wrappers.candidates import MAX_GROUP, Candidate
from agentic.core.wrappers.locators import (
    ENOUGH,
    MAX_LOCATORS,
    Locator,
    Place,
    unnamed_locators,
    write_locators,
)
from agentic.core.wrappers.places.held import equal_places, holding_places, named_places
from agentic.core.wrappers.places.old import OldPlace
from agentic.core.wrappers.places.partners import beside, partner_of
from agentic.core.wrappers.ranking import (
    ALIKE,
    MIN_PLAUSIBLE,
    CandidateTable,
    PageFacts,
    Ranked,
    aims_of,
    likely,
    table_of,
)
from agentic.core.wrappers.scoring import LITTLE_ALIKE, Aim, Scorer, plausibility, trust_of
from agentic.core.wrappers.selecting import is_frail
from agentic.core.wrappers.tree import PageTree
from agentic.core.wrappers.values import AGREES, Kind, agreement, read_value
from agentic.core.wrappers.words import plain, text_words
from agentic.core.wrappers.wrapper import Wrapper

MAX_CHOICES = 10
MAX_PAGES = 6
ACCEPT = {(False, False): 0.5, (False, True): 0.35, (True, False): 0.25, (True, True): 0.2}
"""Least probability of an accepted place, by: its row is stored, there are several pages.

Measured by ``tests/bench/drift.py``: each keeps wrong places at a few in a hundred.
"""

MARGIN = 1.5
"""How much likelier the best place has to be than the next one."""

MIN_SAMPLES = 3
SURE = 0.8
"""From this probability a found field says where the others are."""

OTHER_PAGE = 0.4
"""How much a further page counts: pages of one layout are not independent of each other."""

AGREEMENT = 5.0
"""Added for each further page with its own stored value there: chance does not hit two."""

HELD = 0.9
"""Probability of a place in data that holds the stored values: not measured, because the corpus has none."""

MISSING = -3.0
SAME_TEXT = -4.0
SHORT = 12
FAR = 7.0
FAR_AWAY = -4.0
MAX_WEIGHED = 80
_TRIED = 3
_FEW = 8
_Spot = tuple[str, tuple[int, ...], str]
"""Name of a field, elements, and the attribute that is read."""


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
        locator: Leads to it where it is held as data: it has no elements then.
        attr: Attribute of the elements that holds the texts; empty where they are shown.
    """

    numbers: tuple[int, ...]
    texts: tuple[str, ...]
    label: str
    path: tuple[str, ...]
    probability: float
    locator: Locator | None = None
    attr: str = ""


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
        self._best_trails: dict[_Spot, list[list[int]]] = {}
        self._accept = {name: accept if accept is not None else self._least(name) for name in wrappers}
        self._trust = trust_of(self._pages[0].tree, [wrapper.fingerprint for wrapper in wrappers.values()])
        self._tables: dict[str, CandidateTable] = {}
        self._known_trails: dict[_Spot, list[list[list[int]]]] = {}
        self._tables_there: dict[tuple[int, _Spot], CandidateTable | None] = {}
        self._alike: dict[_Spot, tuple[Candidate, ...]] = {}

    def chosen(self, name: str, choice: PlaceChoice) -> Found | Abstained:
        if choice.locator is not None:
            return self._held(self._wrappers[name], [choice.locator], [choice])
        return self._placed(name, [choice], 0.0)

    def _least(self, name: str) -> float:
        has_row = any(page.row.get(name) is not None for page in self._pages)
        return ACCEPT[has_row, len(self._pages) > 1]

    def fields(self, broken: Collection[str]) -> dict[str, Found | Abstained]:
        old = {name: OldPlace(self._wrappers[name], self._pages) for name in broken}
        kept = {name for name, place in old.items() if place.fits and not place.is_doubtful}
        repaired = self._repaired([name for name in broken if name not in kept])
        for name, result in repaired.items():
            evidence = result.evidence if isinstance(result, Found) else ()
            stored = [(one.old, one.new) for one in evidence if one.old is not None]
            if old[name].fits and not old[name].is_disproved_by(stored):
                kept.add(name)
        return {name: _kept(name) if name in kept else repaired[name] for name in broken}

    def _repaired(self, broken: Collection[str]) -> dict[str, Found | Abstained]:
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
            for place in self._places(name, choice)[1:]:
                page = next(at for at, page in enumerate(self._pages) if page.index is place.index)
                anchors[page][name] = place.numbers[0]

    def _weighed(self, name: str, anchors: Sequence[Mapping[str, int]]) -> list[PlaceChoice]:
        """Return the likeliest places of a field, one for each value."""
        aim, first = self._aims[name], self._pages[0]
        scorers = [self._scorer(page, name, anchors[at]) for at, page in enumerate(self._pages)]
        families = _families(first.tree, aim, self._table(name, scorers[0]).ranked())[: MAX_CHOICES + 2]
        best = [one for one, _ in families]
        self._alike |= {_spot(name, one.candidate): others for one, others in families}
        far = self._far(name)
        scores = [
            one.score + (self._on_others(name, one, scorers) if one.score > best[0].score - far else FAR_AWAY)
            for one in best
        ]
        top = max(0.0, *scores) if scores else 0.0
        odds = [math.exp(score - top) for score in scores]
        mass = math.exp(-top) + sum(odds)
        choices = [
            _choice(first.tree, one.candidate, odd / mass) for one, odd in zip(best, odds, strict=True)
        ]
        return sorted(choices, key=lambda choice: -choice.probability)[:MAX_CHOICES]

    def _far(self, name: str) -> float:
        """Return how far behind the first place one may be to be looked for on further pages.

        A place further behind could not overtake it, but by stored values of the other pages.
        """
        count = len(self._pages) - 1
        if not count or self._is_known_on_others(name):
            return FAR
        return min(FAR, 2 * OTHER_PAGE * count * -MISSING)

    def _scorer(self, page: PageFacts, name: str, anchors: Mapping[str, int]) -> Scorer:
        others = {other: place for other, place in anchors.items() if other != name}
        return Scorer(page.tree, self._aims[name], self._trust, others, like=self._pages[0].tree)

    def _table(self, name: str, scorer: Scorer) -> CandidateTable:
        """Return the candidates of a field on the first page."""
        table = self._tables.get(name)
        if table is not None:
            table.beside(scorer)  # nothing else has changed
            return table
        first = self._pages[0]
        known = first.row.get(name)
        table = self._tables[name] = table_of(scorer, likely(first, self._aims[name], known), known)
        return table

    def _on_others(self, name: str, one: Ranked, scorers: Sequence[Scorer]) -> float:
        """Return the score that the other pages add to a place, and keep where it is on them."""
        others = self._pages[1:]
        if not others:
            return 0.0
        best = MISSING * len(others)
        agreeing = {plain(str(self._pages[0].row.get(name)))} if one.agrees >= AGREES else set()
        for trail in self._trails(name, one.candidate):
            scores = [self._score_there(at, name, hits, one, scorers[at]) for at, hits in enumerate(trail, 1)]
            agreed = agreeing | {value for _, value in scores if value}
            total = sum(score for score, _ in scores) + AGREEMENT * max(0, len(agreed) - 1) / OTHER_PAGE
            if len(agreed) <= 1 and self._is_known_on_others(name):
                total -= max(0.0, one.bonus) / OTHER_PAGE  # it is not the stored value there
            if total > best:
                best = total
                self._best_trails[_spot(name, one.candidate)] = trail
        return OTHER_PAGE * best

    def _is_known_on_others(self, name: str) -> bool:
        return any(page.row.get(name) is not None for page in self._pages[1:])

    def _trails(self, name: str, place: Candidate | PlaceChoice) -> list[list[list[int]]]:
        """Return the elements on each further page that are found in the same way as on the first page."""
        spot = _spot(name, place)
        known = self._known_trails.get(spot)
        if known is None:
            known = self._known_trails[spot] = []
            for trail in self._trails_of(self._aims[name], place):
                if trail not in known:
                    known.append(trail)
        return known

    def _trails_of(self, aim: Aim, place: Candidate | PlaceChoice) -> Iterator[list[list[int]]]:
        first, *others = self._pages
        numbers, attr = place.numbers, place.attr
        selections = first.index.selections(numbers, aim.words, is_list=aim.is_list)[:_TRIED]
        for selection in selections:
            yield [_with_value(page.tree, page.index.select(selection), attr) for page in others]
        if not selections or is_frail(selections[0]):
            for locator in unnamed_locators(Place(first.index, numbers), is_list=aim.is_list):
                if locator.find(first.tree)[: len(numbers)] == [*numbers]:
                    yield [_with_value(page.tree, locator.find(page.tree), attr) for page in others]

    def _score_there(
        self, at: int, name: str, hits: Sequence[int], one: Ranked, scorer: Scorer
    ) -> tuple[float, str]:
        """Return the score of elements on a further page, and the stored value if it is theirs."""
        aim = self._aims[name]
        spot = name, tuple(hits[: MAX_GROUP if aim.is_list else 1]), one.candidate.attr
        table = self._table_there(at, spot, scorer)
        if table is None:
            return MISSING, ""
        ranked, texts = table.ranked()[0], table.candidates[0].texts
        score = ranked.score
        if one.agrees >= ALIKE and table.known is None:
            score = max(score, 0.0)  # how the new layout differs from the old one counts on one page
        if not aim.kind.is_amount and texts == one.candidate.texts and plain(texts[0]) not in aim.seen:
            score += SAME_TEXT if len(texts[0]) > SHORT or aim.is_list else SAME_TEXT / 2
        value = plain(str(table.known)) if ranked.agrees >= AGREES else ""
        return max(MISSING, min(score, -MISSING)), value

    def _table_there(self, at: int, spot: _Spot, scorer: Scorer) -> CandidateTable | None:
        """Return elements on a further page as a table of one candidate; None if they cannot be the field."""
        if (at, spot) in self._tables_there:
            table = self._tables_there[at, spot]
            if table is not None:
                table.beside(scorer)
            return table
        name, hits, attr = spot
        page, aim = self._pages[at], self._aims[name]
        texts = _texts_of(page.tree, hits, attr)
        table = None
        if texts and (aim.is_list or read_value(aim.kind, texts[0]) is not None):
            table = table_of(scorer, [Candidate(hits, texts, attr)], page.row.get(name))
        self._tables_there[at, spot] = table
        return table

    def _places(self, name: str, place: Candidate | PlaceChoice) -> list[Place]:
        """Return the elements of a place on each page that has some."""
        first, *others = self._pages
        trail = self._best_trails.get(_spot(name, place))
        if trail is None:
            trails = self._trails(name, place) if others else []
            trail = max(trails, key=lambda one: sum(map(bool, one)), default=[])
        there = zip(others, trail, strict=False)
        return [
            Place(first.index, place.numbers),
            *(Place(page.index, tuple(hits)) for page, hits in there if hits),
        ]

    def _placed(self, name: str, choices: Sequence[PlaceChoice], runner_up: float) -> Found | Abstained:
        """Return the first choice with its locators; it is refused if none holds on the pages."""
        wrapper, place = self._wrappers[name], choices[0]
        places, locators = self._written(wrapper, place)
        for other in self._alike.get(_spot(name, place), ()) if not locators else ():
            places, locators = self._written(wrapper, other)
            if locators:
                place = _choice(self._pages[0].tree, other, place.probability)
                break
        if not locators:
            reason = f"no selector gives the best place of {name!r} on all {len(places)} pages"
            return Abstained(reason, place.probability, tuple(choices))
        if not self._is_plausible(wrapper, places, place.attr):
            reason = f"the numbers at the best place of {name!r} are far from the numbers before"
            return Abstained(reason, place.probability, tuple(choices))
        pages = {page.index: page for page in self._pages}
        evidence = tuple(
            RepairEvidence(
                one.index.tree.url,
                pages[one.index].row.get(name),
                _texts_of(one.index.tree, one.numbers if wrapper.is_list else one.numbers[:1], place.attr),
            )
            for one in places
        )
        if not wrapper.is_list:
            texts = [one.new[0] for one in evidence]
            held = equal_places(texts, [pages[one.index] for one in places])
            locators = [*locators[: MAX_LOCATORS - len(held)], *held]
        return Found(place, runner_up, tuple(locators), evidence, tuple(choices))

    def _written(self, wrapper: Wrapper, place: Candidate | PlaceChoice) -> tuple[list[Place], list[Locator]]:
        places = self._places(wrapper.name, place)
        words, is_list = wrapper.all_words, wrapper.is_list
        return places, write_locators(places, words, is_list=is_list, attr=place.attr)

    def _is_plausible(self, wrapper: Wrapper, places: Sequence[Place], attr: str) -> bool:
        """Return whether the numbers of a place are near the learnt ones, if enough were learnt."""
        learnt = wrapper.fingerprint
        has_row = any(page.row.get(wrapper.name) is not None for page in self._pages)
        if has_row or learnt.amounts is None or learnt.samples < MIN_SAMPLES:
            return True
        texts = [text for one in places for text in _texts_of(one.index.tree, one.numbers[:1], attr)]
        near = [plausibility(learnt, wrapper.kind, text) for text in texts]
        return sum(near) >= MIN_PLAUSIBLE * len(near)

    def _decided(self, found: Mapping[str, list[PlaceChoice]]) -> dict[str, Found | Abstained]:
        """Accept the surest places first; an element is the place of one field only."""
        taken = {
            (number, next((one.attr for one in self._wrappers[name].locators), ""))
            for name, number in self._working(self._pages[0], found).items()
        }
        decided: dict[str, Found | Abstained] = {}
        for name in sorted(found, key=lambda name: -(found[name][0].probability if found[name] else 0.0)):
            others = taken | self._of_plainer_fields(name, found)
            choices = [one for one in found[name] if others.isdisjoint(_elements_of(one))]
            best = choices[0].probability if choices else 0.0
            second = choices[1].probability if len(choices) > 1 else 0.0
            if not choices:
                decided[name] = Abstained(f"no element of the page can be {name!r}", 0.0, ())
            elif choices[0] is not found[name][0] and self._is_claimed(found[name][0], taken, best):
                reason = f"the best place of {name!r} may belong to a field with a plainer name"
                decided[name] = Abstained(reason, best, tuple(choices))
            elif best < max(
                accept := self._accepted(name, choices[0]), MARGIN * (rival := self._rival(name, choices))
            ):
                least = f"below {accept:.2f}" if best < accept else f"another one {rival:.2f}"
                reason = f"the best place of {name!r} has a probability of {best:.2f}, {least}"
                decided[name] = Abstained(reason, best, tuple(choices))
            else:
                decided[name] = self._placed(name, choices, second)
                if isinstance(decided[name], Found):
                    taken.update(_elements_of(choices[0]))
        decided |= {name: self._beside_partner(name, one, decided) for name, one in decided.items()}
        results = ((name, decided[name]) for name in found)
        return {
            name: self._with_data(name, one) if isinstance(one, Abstained) else one for name, one in results
        }

    def _beside_partner(
        self, name: str, result: Found | Abstained, decided: Mapping[str, Found | Abstained]
    ) -> Found | Abstained:
        """Return the place at the new one of the field that was read from the same element, if it is sure."""
        attr, partner = self._aims[name].attr, partner_of(name, self._wrappers)
        there = decided.get(partner) if partner is not None else None
        if not attr or isinstance(result, Found) or not isinstance(there, Found):
            return result
        one = beside(self._pages[0].tree, there.place.numbers, attr)
        if (
            one is None
            or there.place.probability < SURE
            or read_value(self._aims[name].kind, one.texts[0]) is None
        ):
            return result
        choice = _choice(self._pages[0].tree, one, there.place.probability)
        others = [other for other in result.choices if _elements_of(other) != _elements_of(choice)]
        placed = self._placed(name, [choice, *others[: MAX_CHOICES - 1]], 0.0)
        return placed if isinstance(placed, Found) else result

    def _accepted(self, name: str, choice: PlaceChoice) -> float:
        """Return the least probability of a place.

        More is asked of a text unlike the only stored one, and of an address that nothing stored speaks for.
        """
        aim, known = self._aims[name], [value for page in self._pages if (value := page.row.get(name))]
        is_unlike = (
            len(known) == 1
            and not aim.kind.is_amount
            and agreement(aim.kind, choice.texts, known[0]) < LITTLE_ALIKE
        ) or (not known and aim.kind is Kind.ADDRESS)
        return max(self._accept[name], SURE) if is_unlike else self._accept[name]

    def _is_claimed(self, first: PlaceChoice, taken: Collection[tuple[int, str]], best: float) -> bool:
        """Return whether a place of a plainer field is likelier than the places that are left."""
        return not any(one in taken for one in _elements_of(first)) and first.probability >= MARGIN * best

    def _rival(self, name: str, choices: Sequence[PlaceChoice]) -> float:
        """Return the probability of the best place elsewhere on the page that has another value."""
        tree, first, *others = self._pages[0].tree, *choices
        is_text, value = not self._aims[name].kind.is_amount, text_words(" ".join(first.texts))

        def is_elsewhere(other: PlaceChoice) -> bool:
            pairs = ((one, two) for one in first.numbers[:_FEW] for two in other.numbers[:_FEW])
            return not any(tree.is_within(one, two) or tree.is_within(two, one) for one, two in pairs)

        def has_value(other: PlaceChoice) -> bool:
            words = text_words(" ".join(other.texts))
            starts = range(len(words) - len(value) + 1) if value else ()
            is_part = any(words[start : start + len(value)] == value for start in starts)
            return is_text and (is_part or first.texts == other.texts)

        return next((one.probability for one in others if is_elsewhere(one) and not has_value(one)), 0.0)

    def _of_plainer_fields(
        self, name: str, found: Mapping[str, Sequence[PlaceChoice]]
    ) -> set[tuple[int, str]]:
        """Return the best places of fields with a part of the words of one: `price` of `old_price`."""
        words = self._aims[name].words
        least = found[name][0].probability / 2 if found[name] else 0.0
        plainer = [other for other in found if self._aims[other].words and self._aims[other].words < words]
        best = (found[other][0] for other in plainer if found[other])
        return {element for one in best if one.probability >= least for element in _elements_of(one)}

    def _with_data(self, name: str, abstained: Abstained) -> Found | Abstained:
        """Return a place in data that holds the stored values; else offer those with words of the field."""
        wrapper, first = self._wrappers[name], self._pages[0]
        holding = holding_places(wrapper, self._pages)
        if holding and self._accept[name] <= HELD:
            return self._held(wrapper, holding, abstained.choices)
        shown = [text for choice in abstained.choices for text in choice.texts[:1]]
        offered = tuple(_held_choice(first, one, 0.0) for one in named_places(wrapper, first, shown))
        return replace(abstained, choices=(*abstained.choices[: MAX_CHOICES - len(offered)], *offered))

    def _held(
        self, wrapper: Wrapper, locators: Sequence[Locator], choices: Sequence[PlaceChoice]
    ) -> Found | Abstained:
        """Return a place in data, if it holds something on each page."""
        texts = [page.texts_at(locators[0], is_list=False) for page in self._pages]
        if not all(texts):
            return Abstained(f"{locators[0].path} holds nothing on some of the pages", 0.0, tuple(choices))
        evidence = tuple(
            RepairEvidence(page.tree.url, page.row.get(wrapper.name), there)
            for page, there in zip(self._pages, texts, strict=True)
        )
        place = _held_choice(self._pages[0], locators[0], HELD)
        return Found(place, 0.0, tuple(locators[:ENOUGH]), evidence, (place, *choices[: MAX_CHOICES - 1]))


def _held_choice(page: PageFacts, locator: Locator, probability: float) -> PlaceChoice:
    return PlaceChoice((), page.data[locator][:1], "", tuple(locator.path.split(".")), probability, locator)


def _kept(name: str) -> Abstained:
    return Abstained(f"the old place of {name!r} still gives values that fit", 0.0, ())


def _spot(name: str, place: Candidate | PlaceChoice) -> _Spot:
    return name, place.numbers, place.attr


def _elements_of(choice: PlaceChoice) -> list[tuple[int, str]]:
    """Return its elements and the attribute that is read: a link has a text and an address."""
    return [(number, choice.attr) for number in choice.numbers]


def _texts_of(tree: PageTree, numbers: Sequence[int], attr: str) -> tuple[str, ...]:
    return tuple([value_at(tree, number, attr) for number in numbers])


def _with_value(tree: PageTree, numbers: Sequence[int], attr: str) -> list[int]:
    return [number for number in numbers if value_at(tree, number, attr)]


def _choice(tree: PageTree, candidate: Candidate, probability: float) -> PlaceChoice:
    first = candidate.numbers[0]
    path = tuple(reversed(tree.path(first)))
    return PlaceChoice(
        candidate.numbers,
        candidate.texts,
        tree.label(first),
        path,
        round(probability, 4),
        attr=candidate.attr,
    )


def _families(
    tree: PageTree, aim: Aim, ranked: Sequence[Ranked]
) -> list[tuple[Ranked, tuple[Candidate, ...]]]:
    """Return the best candidate of each value with the odds of all that have it, and the others."""
    families: list[list[Ranked]] = []
    by_text: dict[str, list[Ranked]] = {}
    may_wrap = not aim.is_list and aim.kind.is_amount
    for one in ranked[:MAX_WEIGHED]:
        key = "".join(one.candidate.plain)[:400]
        family = by_text.get(key)
        if family is None and may_wrap:
            family = next((of for of in families if _is_same(tree, aim.kind, of[0], one)), None)
        if family is None:
            family = []
            families.append(family)
        family.append(one)
        by_text.setdefault(key, family)
    found = [
        (
            family[0]._replace(score=math.log(sum(math.exp(min(one.score, 700)) for one in family))),
            tuple(one.candidate for one in family[1:]),
        )
        for family in families
    ]
    return sorted(found, key=lambda family: -family[0].score)


def _is_same(tree: PageTree, kind: Kind, one: Ranked, other: Ranked) -> bool:
    """Return whether of two candidates one wraps the other, and both have the same amount."""
    a, b = one.candidate.numbers[0], other.candidate.numbers[0]
    if not (tree.is_within(a, b) or tree.is_within(b, a)):
        return False
    return read_value(kind, one.candidate.texts[0]) == read_value(kind, other.candidate.texts[0])
