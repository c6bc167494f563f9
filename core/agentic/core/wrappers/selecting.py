"""Selectors of elements, written from what surrounds them and checked without a selector engine."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain, islice
from typing import NamedTuple

from agentic.core.wrappers.tree import PageTree
from agentic.core.wrappers.words import plain, words_of

ATTRIBUTES = (
    "itemprop", "property", "data-testid", "data-test", "data-qa", "data-name", "data-role", "data-field",
    "role", "aria-label", "name", "rel",
)  # fmt: skip
"""Attributes whose values describe an element, the most durable first."""

MANY = 32
"""Conditions from which it takes less time to read the names of all elements of a page."""

MAX_CLASSES = 8
MAX_SCOPES = 8
MAX_FOUND = 24
ENOUGH = 0.97
"""Share (F1) of the wanted items that a selector of a list must give."""

# Names that a build made: hashes of CSS modules and CSS in JS, counters, ids of a database.
_MACHINE = re.compile(
    r"\d{3,}|^(?:css|sc|jsx|jss|emotion|svelte|astro|chakra|makestyles|mui)-|__[A-Za-z0-9_-]{5,}$|^_|"
    r"[-_][A-Za-z0-9]*\d[A-Za-z0-9]*[a-zA-Z][A-Za-z0-9]*$|^(?=[a-zA-Z0-9]{5,}$)[a-zA-Z]*\d+[a-zA-Z]|"
    r"^[b-df-hj-np-tv-xz]{5,}$|[a-z][A-Z][a-z]?[A-Z]"
)
_HEX = re.compile(r"[a-f0-9]{8,}")
# Names that say how an element looks, not what it is: any redesign changes them.
_LOOK = re.compile(
    r"^(?:[a-z]{1,2}:)?-?(?:[mp][trblxy]?|w|h|min|max|text|font|bg|border|flex|grid|gap|space|items|justify|self|col|row|leading|"
    r"tracking|rounded|shadow|z|top|left|right|bottom|inset|opacity|overflow|block|inline|hidden|relative|absolute|wrap|order|"
    r"align|is|has|d|has-text|wp|elementor|vc|et)(?:-|$)"
)
MAX_NAME = 40
MIN_TITLE_CHARS = 8


class Atom(NamedTuple):
    """One condition on an element.

    Attributes:
        kind: ``id``, ``attr``, ``class``, ``classes``, ``has`` or ``tag``.
        tag: Name of the element; empty for an id.
        key: The attribute; the first class of two.
        value: The value to have.
    """

    kind: str
    tag: str
    key: str = ""
    value: str = ""

    @property
    def css(self) -> str:
        """The condition as a compound selector."""
        value = _quoted(self.value)
        match self.kind:
            case "id":
                return f"#{value}" if _IDENTIFIER.fullmatch(self.value) else f'[id="{value}"]'
            case "attr":
                return f'{self.tag}[{self.key}="{value}"]'
            case "class":
                return _class(self.tag, self.value)
            case "classes":
                return _class(_class(self.tag, self.key), self.value)
            case "has":
                return f"{self.tag}[{self.key}]"
            case _:
                return self.tag


_IDENTIFIER = re.compile(r"-?[A-Za-z_][A-Za-z0-9_-]*")


class Selection(NamedTuple):
    """A condition, and one on an element around it, or on the way between them."""

    scope: Atom | None
    atom: Atom
    way: tuple[str, ...] | None = None

    @property
    def css(self) -> str:
        """The selector."""
        if self.scope is None:
            return self.atom.css
        if self.way is None:
            return f"{self.scope.css} {self.atom.css}"
        return " > ".join((self.scope.css, *self.way, self.atom.css))


class SelectorIndex:
    """Which elements of a page fulfil each condition.

    Args:
        tree: The page.
    """

    def __init__(self, tree: PageTree) -> None:
        self.tree = tree
        self._known_atoms: dict[tuple[str, tuple[tuple[str, str], ...]], tuple[Atom, ...]] = {}
        self._known_elements: dict[Atom, list[int]] = {}
        self._known_selections: dict[tuple[tuple[int, ...], frozenset[str], bool], list[Selection]] = {}
        self._known_spans: dict[Atom, list[tuple[int, int]]] = {}

    def atoms(self, number: int) -> tuple[Atom, ...]:
        """Return the conditions that an element fulfils."""
        one = self.tree.tags[number], self.tree.attributes_at(number)
        found = self._known_atoms.get(one)
        if found is None:
            found = self._known_atoms[one] = tuple(
                atom for atom in _atoms(*one) if not self._is_of_page(atom)
            )
        return found

    def _is_of_page(self, atom: Atom) -> bool:
        """Return whether a condition names the thing that the page is about, which other pages are not."""
        if atom.key != "aria-label" or atom.kind != "attr":
            return False
        value = plain(atom.value)
        return len(value) >= MIN_TITLE_CHARS and value in self.tree.title

    def elements(self, atom: Atom) -> list[int]:
        """Return the elements that fulfil a condition, in document order."""
        found = self._known_elements.get(atom)
        if found is None:
            found = self._known_elements[atom] = self._find(atom)
        return found

    def _find(self, atom: Atom) -> list[int]:
        if "_parts" not in self.__dict__ and len(self._known_elements) < MANY and atom.tag != "*":
            # A further page is asked for a few conditions: to read the names of all elements takes longer.
            numbers = self.tree.numbers
            return [numbers[one] for one in self.tree.document.select(atom.css) if one in numbers]
        match atom.kind:
            case "tag":
                return self._parts.get(("tag", atom.tag), [])
            case "id":
                return self._parts.get(("id", atom.value), [])
            case "attr":
                found = self._parts.get((atom.key, atom.value), [])
            case "has":
                found = self._parts.get(("has", atom.key), [])
            case _:
                found = self._parts.get(("class", atom.value), [])
        if atom.kind == "classes":
            both = set(self._parts.get(("class", atom.key), ()))
            found = [number for number in found if number in both]
        tags = self.tree.tags
        return [number for number in found if tags[number] == atom.tag]

    @cached_property
    def _parts(self) -> Mapping[tuple[str, str], list[int]]:
        """The elements with each tag, class, and attribute that a condition may name."""
        found: dict[tuple[str, str], list[int]] = defaultdict(list)
        for number, (tag, attributes) in enumerate(zip(self.tree.tags, self.tree.attributes, strict=True)):
            found["tag", tag].append(number)
            for key, value in attributes:
                if key == "class":
                    for one in {*value.split(" ")} - {""}:  # a no-break space is part of a class
                        found["class", one].append(number)
                elif key in _INDEXED:
                    found[key, value].append(number)
                elif key.startswith("data-"):
                    found["has", key].append(number)
        return found

    def select(self, selection: Selection) -> list[int]:
        """Return the elements that a selector gives, in document order."""
        return self.elements(selection.atom) if selection.scope is None else [*self._hits(selection)]

    def gives(self, selection: Selection, numbers: Sequence[int], *, is_list: bool) -> bool:
        """Return whether a selector gives these elements: the first of them, or all and hardly others."""
        if not is_list:
            return next(self._hits(selection), None) == numbers[0]
        wanted = set(numbers)
        most = len(wanted) * (2 / ENOUGH - 1)
        found = [*islice(self._hits(selection), int(most) + 1)]  # more cannot be enough
        return 2 * len(wanted.intersection(found)) >= ENOUGH * (len(found) + len(wanted))

    def _hits(self, selection: Selection) -> Iterator[int]:
        """Yield the elements that a selector gives, in document order."""
        scope, hits = selection.scope, self.elements(selection.atom)
        if scope is None or not hits:
            return iter(hits)
        if selection.way is not None:
            return self._hits_below(scope, selection.way, selection.atom)
        return self._hits_within(scope, hits)

    def _hits_within(self, scope: Atom, hits: Sequence[int]) -> Iterator[int]:
        for start, end in self._spans(scope):
            low = bisect_right(hits, start)
            yield from hits[low : bisect_left(hits, end, low)]

    def _hits_below(self, scope: Atom, way: Sequence[str], atom: Atom) -> Iterator[int]:
        """Yield the elements at the end of a way from those that fulfil a condition."""
        tags, children = self.tree.tags, self.tree.children
        ends: list[int] = []
        for start in self.elements(scope):
            level = [start]
            for tag in (*way, atom.tag):
                level = [child for outer in level for child in children[outer] if tags[child] == tag]
                if not level:
                    break
            ends += level
        # One scope may be within another one.
        return iter(
            sorted(ends) if atom.kind == "tag" else [end for end in sorted(ends) if atom in self.atoms(end)]
        )

    def _spans(self, scope: Atom) -> list[tuple[int, int]]:
        """Return where the outermost elements that fulfil a condition begin and end."""
        found = self._known_spans.get(scope)
        if found is None:
            found = self._known_spans[scope] = []
            for number in self.elements(scope):
                if not found or number >= found[-1][1]:
                    found.append((number, self.tree.ends[number]))
        return found

    def selections(self, numbers: Sequence[int], words: frozenset[str], *, is_list: bool) -> list[Selection]:
        """Return selectors that give these elements, those that last longest first.

        Args:
            numbers: The elements.
            words: Words that speak for a name.
            is_list: Whether all of them are wanted, and not the first that fits.
        """
        key = tuple(numbers), words, is_list
        found = self._known_selections.get(key)
        if found is None:
            found = self._known_selections[key] = self._selections(numbers, words, is_list=is_list)
        return found

    def _selections(self, numbers: Sequence[int], words: frozenset[str], *, is_list: bool) -> list[Selection]:
        first, rest = numbers[0], numbers[1:]
        common = self.atoms(first)
        if is_list:
            others = [set(self.atoms(number)) for number in rest[:20]]
            common = tuple(
                atom for atom in common if sum([atom in one for one in others]) >= 0.95 * len(others)
            )
        common = tuple(sorted(common, key=lambda atom: cost_of(Selection(None, atom), words)))[:4]
        alone = (Selection(None, atom) for atom in common)
        says_something = (one for one in chain(alone, self._scoped(first, common, words)) if is_specific(one))
        giving = (one for one in says_something if self.gives(one, numbers, is_list=is_list))
        found = list(islice(giving, MAX_FOUND))
        return sorted(found, key=lambda one: (cost_of(one, words), len(one.css), one.css))

    def _scoped(self, first: int, common: Sequence[Atom], words: frozenset[str]) -> Iterator[Selection]:
        tree = self.tree
        way: tuple[str, ...] = ()
        tag = Atom("tag", tree.tags[first])
        for depth, outer in enumerate(tree.ancestors(first)):
            if depth == MAX_SCOPES or tree.tags[outer] in ("body", "html"):
                break
            scopes = [
                atom for atom in self.atoms(outer) if atom.kind != "tag" or atom.tag not in ("div", "span")
            ]
            scopes.sort(key=lambda atom: cost_of(Selection(None, atom), words))
            for scope in scopes[:3]:
                yield from (Selection(scope, atom) for atom in common)
                if depth < 4:
                    yield Selection(scope, tag, way)
            way = (tree.tags[outer], *way)


def is_frail(selection: Selection) -> bool:
    """Return whether a selector depends on a name that a build made."""
    atoms = (selection.atom, selection.scope)
    return any(one is not None and _frailty(one) >= _MACHINE_COST for one in atoms)


def names_in(selection: Selection) -> frozenset[Atom]:
    """Return the names that a selector depends on: when one of them changes, it breaks."""
    atoms = (selection.atom, selection.scope)
    return frozenset(one for one in atoms if one is not None and (one.kind != "tag" or one.tag in _TELLING))


def is_specific(selection: Selection) -> bool:
    """Return whether a selector names more than tags that any page has.

    A ``p`` or ``div p`` gives something on every page: after a redesign it would be wrong without a word.
    """
    atoms = (selection.atom, selection.scope)
    return any(one is not None and (one.kind != "tag" or one.tag in _TELLING) for one in atoms)


def is_durable(name: str) -> bool:
    """Return whether a class or id looks chosen by a person, and describes the element."""
    return not is_machine_made(name) and not _LOOK.match(name)


@lru_cache(maxsize=16_384)
def is_machine_made(name: str) -> bool:
    """Return whether a class or id looks made by a build or a database."""
    return (
        len(name) > MAX_NAME
        or bool(_MACHINE.search(name))
        or bool(_HEX.search(name) and any(map(str.isdigit, name)))
    )


def _atoms(tag: str, attributes: Sequence[tuple[str, str]]) -> Iterator[Atom]:
    if attributes:
        given = dict(attributes)
        name = given.get("id", "")
        if name and not is_machine_made(name):
            yield Atom("id", "", "", name)
        for key in ATTRIBUTES:
            text = given.get(key, "")
            if 0 < len(text) <= MAX_NAME and "\n" not in text:
                yield Atom("attr", tag, key, text)
        classes = [one for one in given.get("class", "").split(" ") if one]
        for one in classes[:MAX_CLASSES]:
            yield Atom("class", tag, "", one)
        if len(classes) > 1:
            yield Atom("classes", tag, classes[0], classes[1])
        for key in given:
            if (
                key.startswith("data-")
                and len(key) <= MAX_NAME
                and key not in ATTRIBUTES
                and _KEY.fullmatch(key)
            ):
                yield Atom("has", tag, key)
    yield Atom("tag", tag)


_TELLING = frozenset({"h1", "time", "address", "figcaption", "summary", "blockquote"})
"""Tags that describe an element by themselves."""

_INDEXED = frozenset({"id", *ATTRIBUTES})
_KEY = re.compile(r"data-[a-z][a-z-]*")
_ORDER = {"id": 0.0, "attr": 0.0, "class": 1.0, "classes": 2.0, "has": 3.0, "tag": 4.0}
_MACHINE_COST = 6.0
_LOOK_COST = 2.5


@lru_cache(maxsize=65_536)
def cost_of(one: Selection, words: frozenset[str]) -> float:
    """Return how soon a selector is likely to break: the lowest is the best."""
    atom, scope = one.atom, one.scope
    cost = _ORDER[atom.kind] + _frailty(atom)
    if atom.kind == "tag" and atom.tag in _TELLING:
        cost -= 2.5
    if scope is not None:
        cost += 1 + 0.3 * _ORDER[scope.kind] + _frailty(scope)
    if one.way is not None:
        cost += 0.7 * len(one.way)
    named = any(part in words for one in (atom, scope) if one is not None for part in _words(one))
    return cost - 1.5 * named


def _frailty(atom: Atom) -> float:
    if atom.kind == "attr" and atom.key in ("itemprop", "property"):
        return 0.0
    names = [name for name in (atom.value, atom.key if atom.kind == "classes" else "") if name]
    return max((_frailty_of(name) for name in names), default=0.0)


def _frailty_of(name: str) -> float:
    return _MACHINE_COST if is_machine_made(name) else _LOOK_COST if _LOOK.match(name) else 0.0


def _words(atom: Atom) -> Iterator[str]:
    yield from words_of(atom.tag)
    yield from words_of(atom.value)
    yield from words_of(atom.key)


def _class(ahead: str, name: str) -> str:
    return f"{ahead}.{name}" if _IDENTIFIER.fullmatch(name) else f'{ahead}[class~="{_quoted(name)}"]'


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
