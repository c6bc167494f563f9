"""Selectors of elements, written from what surrounds them and checked without a selector engine."""

from __future__ import annotations

import re
from bisect import bisect_left
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
        self._known_spans: dict[Atom, tuple[list[int], list[int]]] = {}

    @cached_property
    def atoms(self) -> Sequence[tuple[Atom, ...]]:
        """The conditions that each element fulfils."""
        tree = self.tree
        pairs = zip(tree.tags, tree.elements, strict=True)
        return [
            tuple(atom for atom in _atoms(tag, element.attrs) if not self._is_of_page(atom))
            for tag, element in pairs
        ]

    def _is_of_page(self, atom: Atom) -> bool:
        """Return whether a condition names the thing that the page is about, which other pages are not."""
        if atom.key != "aria-label" or atom.kind != "attr":
            return False
        value = plain(atom.value)
        return len(value) >= MIN_TITLE_CHARS and value in self.tree.title

    @cached_property
    def _index(self) -> Mapping[Atom, list[int]]:
        found: dict[Atom, list[int]] = defaultdict(list)
        for number, atoms in enumerate(self.atoms):
            for atom in atoms:
                found[atom].append(number)
        return found

    def select(self, selection: Selection) -> list[int]:
        """Return the elements that a selector gives, in document order."""
        hits = self._index.get(selection.atom, [])
        if selection.scope is None:
            return hits
        return [hit for hit in hits if self._fits(selection, hit)]

    def gives(self, selection: Selection, numbers: Sequence[int], *, is_list: bool) -> bool:
        """Return whether a selector gives these elements: the first of them, or all and hardly others."""
        hits = self._index.get(selection.atom, [])
        if not is_list:
            return next((hit for hit in hits if self._fits(selection, hit)), None) == numbers[0]
        wanted = set(numbers)
        if len(hits) > 3 * len(wanted) and not self._fits(selection, numbers[0]):
            return False
        found = self.select(selection)
        return 2 * sum([hit in wanted for hit in found]) >= ENOUGH * (len(found) + len(wanted))

    def _fits(self, selection: Selection, number: int) -> bool:
        """Return whether an element that fulfils the condition has the right elements around it."""
        if selection.scope is None:
            return True
        if selection.way is not None:
            return _leads(self.tree, number, selection.way, selection.scope, self.atoms)
        starts, ends = self._spans(selection.scope)
        place = bisect_left(starts, number) - 1
        return place >= 0 and ends[place] > number

    def _spans(self, scope: Atom) -> tuple[list[int], list[int]]:
        """Return where the outermost elements that fulfil a condition begin and end."""
        found = self._known_spans.get(scope)
        if found is None:
            starts: list[int] = []
            ends: list[int] = []
            for number in self._index.get(scope, ()):
                if not ends or number >= ends[-1]:
                    starts.append(number)
                    ends.append(self.tree.ends[number])
            found = self._known_spans[scope] = starts, ends
        return found

    def selections(self, numbers: Sequence[int], words: frozenset[str], *, is_list: bool) -> list[Selection]:
        """Return selectors that give these elements, those that last longest first.

        Args:
            numbers: The elements.
            words: Words that speak for a name.
            is_list: Whether all of them are wanted, and not the first that fits.
        """
        first, rest = numbers[0], numbers[1:]
        common = self.atoms[first]
        if is_list:
            others = [set(self.atoms[number]) for number in rest[:20]]
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
                atom for atom in self.atoms[outer] if atom.kind != "tag" or atom.tag not in ("div", "span")
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


def _leads(
    tree: PageTree, number: int, way: Sequence[str], scope: Atom, atoms: Sequence[Sequence[Atom]]
) -> bool:
    number = tree.parents[number]
    for tag in reversed(way):
        if number < 0 or tree.tags[number] != tag:
            return False
        number = tree.parents[number]
    return number >= 0 and scope in atoms[number]


def _atoms(tag: str, attributes: Mapping[str, object]) -> Iterator[Atom]:
    name = attributes.get("id")
    if isinstance(name, str) and name and not is_machine_made(name):
        yield Atom("id", "", "", name)
    for key in ATTRIBUTES:
        value = attributes.get(key)
        text = value if isinstance(value, str) else " ".join(value) if isinstance(value, list) else ""
        if 0 < len(text) <= MAX_NAME and "\n" not in text:
            yield Atom("attr", tag, key, text)
    given = attributes.get("class")
    classes = given.split() if isinstance(given, str) else list(given) if isinstance(given, list) else []
    for one in classes[:MAX_CLASSES]:
        yield Atom("class", tag, "", one)
    if len(classes) > 1:
        yield Atom("classes", tag, classes[0], classes[1])
    for key in attributes:
        if key.startswith("data-") and len(key) <= MAX_NAME and key not in ATTRIBUTES and _KEY.fullmatch(key):
            yield Atom("has", tag, key)
    yield Atom("tag", tag)


_TELLING = frozenset({"h1", "time", "address", "figcaption", "summary", "blockquote"})
"""Tags that describe an element by themselves."""

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
