"""The protocol of the drift benchmark: labels, pairs of pages, and the selector that a developer wrote.

Pages are versions of test pages in the public history of recipe-scrapers. The labels of a page are its own
JSON-LD, which is removed before anything runs.
"""

from __future__ import annotations

import datetime as dt
import html
import re
import unicodedata
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rapidfuzz import fuzz  # pyright: ignore[reportMissingImports]  # installed by hand
from turbohtml import Document, parse

from agentic.core.types import JSONValue
from agentic.core.wrappers.tree import PageTree

LISTS = frozenset({"ingredients", "instructions"})
WORDS: Mapping[str, str] = {
    "title": "title name headline heading",
    "author": "author byline by chef writer creator name",
    "yields": "yield yields servings serving serves portion portions makes people personen",
    "total_time": "total time duration ready zeit totaltime",
    "rating": "rating ratings average score stars value",
    "description": "description summary intro dek subtitle",
    "ingredients": "ingredients ingredient",
    "instructions": "instructions instruction directions method steps step preparation",
}
"""Field -> the words an intent has for it."""

NEEDED = {"title": 0.95, "author": 1.0, "description": 0.9, "ingredients": 0.9, "instructions": 0.8}
MIN_DAYS = {"same": 30, "cross": 180}
MAX_PER_HOST = 3
SAME_LAYOUT = 0.5
"""Share of common classes from which two pages have one layout."""

Value = JSONValue
Atom = tuple[str, ...]


@dataclass(eq=False)
class LabelledPage:
    """A version of a page and its labels."""

    host: str
    key: str
    date: str
    labels: Mapping[str, Value]
    html: str
    _tree: list[PageTree] = field(default_factory=list)

    @property
    def day(self) -> dt.date:
        return dt.date.fromisoformat(self.date)

    def tree(self) -> PageTree:
        if not self._tree:
            self._tree.append(PageTree(without_answers(self.html), f"https://{self.host}{self.key}"))
        return self._tree[0]

    def forget(self) -> None:
        self._tree.clear()


class Pair(NamedTuple):
    """A page before and after, and further pages of its host around each date."""

    old: LabelledPage
    new: LabelledPage
    more_old: Sequence[LabelledPage]
    more_new: Sequence[LabelledPage]

    def forget(self) -> None:
        """Let go of the trees of its pages."""
        for page in (self.old, self.new, *self.more_old, *self.more_new):
            page.forget()


def without_answers(text: str) -> Document:
    """Return a page without its JSON-LD, which are the labels."""
    document = parse(text, positions=False)
    for node in document.select('script[type*="ld+json" i]'):
        node.decompose()
    return document


def half_of(host: str) -> str:
    """Return "tune" or "check": weights may be chosen by the first half only."""
    return "check" if zlib.crc32(host.encode()) // 2 % 2 else "tune"


def pairs_of(pages: Sequence[LabelledPage], kind: str) -> list[Pair]:
    hosts: dict[str, list[LabelledPage]] = defaultdict(list)
    for page in pages:
        hosts[page.host].append(page)
    found = []
    for host in sorted(hosts):
        found += list(_same(hosts[host]) if kind == "same" else _cross(hosts[host]))
    return found


def _same(pages: Sequence[LabelledPage]) -> Iterator[Pair]:
    versions: dict[str, list[LabelledPage]] = defaultdict(list)
    for page in pages:
        versions[page.key].append(page)
    count = 0
    for key in sorted(versions):
        old, *_, new = (
            sorted(versions[key], key=lambda page: page.day) * 2
            if len(versions[key]) == 1
            else sorted(versions[key], key=lambda page: page.day)
        )
        if (new.day - old.day).days < MIN_DAYS["same"] or count == MAX_PER_HOST:
            continue
        count += 1
        yield Pair(old, new, near_pages(pages, old, {key}), near_pages(pages, new, {key}))


def _cross(pages: Sequence[LabelledPage]) -> Iterator[Pair]:
    ordered = sorted(pages, key=lambda page: page.day)
    old, new = ordered[0], ordered[-1]
    if old.key == new.key or (new.day - old.day).days < MIN_DAYS["cross"]:
        return
    keys = {old.key, new.key}
    yield Pair(old, new, near_pages(ordered, old, keys), near_pages(ordered, new, keys))


def near_pages(pages: Sequence[LabelledPage], page: LabelledPage, keys: set[str]) -> list[LabelledPage]:
    """Return up to three pages of other keys, the nearest in time first."""
    others = [one for one in pages if one.key not in keys and abs((one.day - page.day).days) <= 400]
    found: dict[str, LabelledPage] = {}
    for one in sorted(others, key=lambda one: abs((one.day - page.day).days)):
        found.setdefault(one.key, one)
    return list(found.values())[:3]


def layout(tree: PageTree) -> set[tuple[str, str]]:
    return {
        (tag, name)
        for tag, element in zip(tree.tags, tree.elements, strict=True)
        for name in _classes(element.attrs.get("class"))
    }


def overlap(one: PageTree, other: PageTree) -> float:
    a, b = layout(one), layout(other)
    return len(a & b) / max(1, len(a | b))


def _classes(value: object) -> list[str]:
    return value.split() if isinstance(value, str) else list(value or ())  # type: ignore[call-overload]


# The value of a text, and whether it is right.


def plain(value: object) -> str:
    text = unicodedata.normalize("NFKC", html.unescape(html.unescape(str(value)))).lower()
    return "".join(char for char in text if char.isalnum())


_TIME = re.compile(
    r"(\d+(?:[.,]\d+)?)\s*(d(?:ays?)?\b|h(?:(?:ou)?rs?)?\b|std|stunden?|uur|heures?|timer?|godz\w*|m(?:in(?:ut\w*|s)?)?\b|min\w*)"
)
_BY = re.compile(
    r"^(recipe |written |posted |published )?(by|von|par|por|door|author|autor|af)\b[:\s]*", re.IGNORECASE
)


def minutes(text: str) -> int | None:
    total = 0.0
    for number, unit in _TIME.findall(text.lower()):
        total += float(number.replace(",", ".")) * (
            1440 if unit[0] == "d" else 60 if unit[0] in "hsutg" else 1
        )
    return int(total) or None


def coerce(name: str, text: str) -> Value:
    """Return the value that a text is for a field; None if it has none."""
    if name in ("title", "author", "description"):
        text = " ".join(text.split())
        return (_BY.sub("", text).strip() if name == "author" else text) or None
    if len(text) > 80:
        return None
    if name == "yields":
        found = re.search(r"\d+", text)
        return found.group(0) if found else None
    if name == "total_time":
        return minutes(text)
    if name == "rating":
        found = re.search(r"\d+(?:[.,]\d+)?", text)
        value = float(found.group(0).replace(",", ".")) if found else None
        return value if value is not None and value <= 10 else None
    return text


def items_f1(one: Sequence[str], other: Sequence[str]) -> float:
    if not one or not other:
        return 0.0
    a, b = [plain(text) for text in one], [plain(text) for text in other]
    left, hits = list(b), 0
    for x in a:
        for index, y in enumerate(left):
            if x == y or (abs(len(x) - len(y)) <= 0.2 * max(len(x), len(y), 1) and fuzz.ratio(x, y) >= 90):
                hits += 1
                del left[index]
                break
    return 2 * hits / (len(a) + len(b))


def agree(name: str, value: Any, gold: Any) -> float:  # noqa: PLR0911 - one for each field
    if value is None or gold is None:
        return 0.0
    if name == "ingredients":
        return items_f1(value, gold)
    if name == "instructions":
        return fuzz.ratio(plain("".join(value))[:6000], plain("".join(gold))[:6000]) / 100 if value else 0.0
    if name in ("title", "author", "description"):
        a, b = plain(value), plain(gold)
        if name == "author":
            return float(a == b)
        return fuzz.ratio(a[:3000], b[:3000]) / 100 if a and b else 0.0
    if name == "rating":
        return float(abs(value - gold) < 0.051)
    return float(value == gold)


def is_right(name: str, value: Value, gold: Value) -> bool:
    if name == "title" and value and gold:  # the heading may say more than the name: "... (easy!)"
        a, b = str(value).lower(), str(gold).lower()
        short, long = sorted((len(a), len(b)))
        if short >= 8 and long <= 2.5 * short and fuzz.token_set_ratio(a, b) >= 97:
            return True
    return agree(name, value, gold) >= NEEDED.get(name, 1.0)


def value_of(name: str, tree: PageTree, numbers: Sequence[int]) -> Value:
    if name in LISTS:
        return [text for text in map(tree.text, numbers[:400]) if plain(text)] or None
    return coerce(name, tree.text(numbers[0])) if numbers else None


# The elements with a label, and the selector of a careful developer.


def targets(tree: PageTree, name: str, gold: Value) -> list[int]:
    """Return the elements that carry a label: one, or the items of a list; empty if it is not visible."""
    return _list_targets(tree, name, gold) if name in LISTS else _single_target(tree, name, gold)


def _list_targets(tree: PageTree, name: str, gold: Any) -> list[int]:
    want = {plain(text) for text in gold}
    groups: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for number, tag in enumerate(tree.tags):
        if not 0 < tree.length(number) <= 5000:
            continue
        text = plain(tree.text(number))
        fits = text in want or (
            name == "ingredients"
            and len(text) > 8
            and any(abs(len(text) - len(one)) <= 4 and fuzz.ratio(text, one) >= 90 for one in want)
        )
        if text and fits:
            classes = _classes(tree.elements[number].attrs.get("class"))
            parent = tree.parents[number]
            groups[tag, classes[0] if classes else "", tree.tags[parent] if parent >= 0 else ""].append(
                number
            )
    best: tuple[float, list[int]] | None = None
    for group in groups.values():
        score = agree(name, [tree.text(number) for number in group], gold)
        if score >= 0.9 and (best is None or score > best[0] + 0.02):
            best = score, group
    return best[1] if best else []


def _single_target(tree: PageTree, name: str, gold: Value) -> list[int]:  # noqa: C901 - as published
    hints = set(WORDS[name].split())
    best: tuple[float, int] | None = None
    limit = 3000 if name == "description" else 90
    for number, tag in enumerate(tree.tags):
        if not 0 < tree.length(number) <= limit + 200:
            continue
        text = tree.text(number)
        if not 0 < len(text) <= limit:
            continue
        value = coerce(name, text)
        if value is None or not is_right(name, value, gold):
            continue
        around = set(tree.names[number])
        for outer in list(tree.ancestors(number))[:3]:
            around |= set(tree.names[outer])
        score: float = len(around & hints)
        if name in ("yields", "total_time", "rating"):
            parent = tree.parents[number]
            line = tree.text(parent).lower() if parent >= 0 and tree.length(parent) < 300 else ""
            if 0 < len(line) <= 80:
                score += len(set(re.findall(r"\w+", line)) & hints)
            if not score:
                continue
        if name == "title":
            score += {"h1": 5, "h2": 2}.get(tag, 0) - (3 if tag == "a" else 0)
        if name == "total_time":
            score += 2 * ("total" in around)
        score -= len(text) / 200
        if best is None or score > best[0] + 1e-9:
            best = score, number
    return [best[1]] if best else []


_ATTRIBUTES = [
    "itemprop",
    "property",
    "role",
    "aria-label",
    "data-testid",
    "data-test",
    "data-qa",
    "data-name",
    "data-role",
    "name",
]
_ODD_ID = re.compile(r"\d{3,}|[a-f0-9]{8,}")
_ODD = re.compile(r"\d{3,}|(?=[a-z]*\d)(?=\d*[a-z])[a-z0-9]{6,}$|__[A-Za-z0-9]{5,}$|^css-|^sc-|jsx-")


class Developer:
    """Writes selectors for a page."""

    def __init__(self, tree: PageTree) -> None:
        self.tree = tree
        self.index: dict[Atom, list[int]] = defaultdict(list)
        self.atoms: list[list[Atom]] = []
        for number, element in enumerate(tree.elements):
            atoms = list(_atoms(tree.tags[number], element.attrs))
            self.atoms.append(atoms)
            for atom in atoms:
                self.index[atom].append(number)

    def select(self, scope: Atom | None, atom: Atom) -> list[int]:
        hits = self.index.get(atom, [])
        if scope is None:
            return hits
        scopes = set(self.index.get(scope, ()))
        return [hit for hit in hits if any(outer in scopes for outer in self.tree.ancestors(hit))]

    def write(self, name: str, numbers: Sequence[int]) -> tuple[Atom | None, Atom] | None:
        """Return scope and element of the selector that gives these elements; None if none does."""
        found = self._candidates(name, numbers)
        hints = set(WORDS[name].split())
        return min(found, key=lambda one: _cost(one, hints)) if found else None

    def _candidates(self, name: str, numbers: Sequence[int]) -> list[tuple[Atom | None, Atom]]:
        first, want = numbers[0], set(numbers)

        def is_good(scope: Atom | None, atom: Atom) -> bool:
            hits = self.select(scope, atom)
            if name in LISTS:
                return bool(hits) and 2 * sum(hit in want for hit in hits) / (len(hits) + len(want)) >= 0.97
            return bool(hits) and hits[0] == first

        common = [
            atom
            for atom in self.atoms[first]
            if name not in LISTS
            or sum(atom in self.atoms[number] for number in numbers) >= 0.95 * len(numbers)
        ]
        found: list[tuple[Atom | None, Atom]] = [(None, atom) for atom in common if is_good(None, atom)]
        for depth, outer in enumerate(self.tree.ancestors(first)):
            if depth == 6 or self.tree.tags[outer] in ("body", "html"):
                break
            for scope in self.atoms[outer]:
                if scope[0] == "tag" and scope[1] in ("div", "span"):
                    continue
                found += [
                    (scope, atom) for atom in common if (None, atom) not in found and is_good(scope, atom)
                ]
                if len(found) > 60:
                    return found
        return found


def css_of(scope: Atom | None, atom: Atom) -> str:
    def one(atom: Atom) -> str:
        kind, *parts = (part.replace("\\", "\\\\").replace('"', '\\"') for part in atom)
        match kind:
            case "id":
                return f'[id="{parts[0]}"]'
            case "attr":
                return f'{parts[0]}[{parts[1]}="{parts[2]}"]'
            case "cls":
                return f'{parts[0]}[class~="{parts[1]}"]'
            case "cls2":
                return f'{parts[0]}[class~="{parts[1]}"][class~="{parts[2]}"]'
            case "has":
                return f"{parts[0]}[{parts[1]}]"
            case _:
                return parts[0]

    return one(atom) if scope is None else f"{one(scope)} {one(atom)}"


def _atoms(tag: str, attributes: Mapping[str, object]) -> Iterator[Atom]:
    name = attributes.get("id")
    if isinstance(name, str) and name and not _ODD_ID.search(name):
        yield "id", name
    for key in _ATTRIBUTES:
        value = attributes.get(key)
        if isinstance(value, str) and 0 < len(value) <= 40:
            yield "attr", tag, key, value
    classes = _classes(attributes.get("class"))[:8]
    yield from (("cls", tag, one) for one in classes)
    yield from (("has", tag, key) for key in attributes if key.startswith("data-") and len(key) < 30)
    if len(classes) > 1:
        yield "cls2", tag, classes[0], classes[1]
    yield "tag", tag


def _is_odd(atom: Atom) -> bool:
    text = atom[-1] if atom[0] in ("id", "cls", "cls2", "attr") else ""
    return bool(_ODD.search(text)) or (atom[0] == "cls" and len(text) > 40)


def _cost(one: tuple[Atom | None, Atom], hints: set[str]) -> float:
    from agentic.core.wrappers.words import words_of

    scope, atom = one
    order = {"id": 0, "attr": 0, "cls": 1, "cls2": 2, "has": 3, "tag": 4}
    cost = order[atom[0]] + (0 if scope is None else 1 + 0.3 * order[scope[0]])
    cost += 6 * _is_odd(atom) + (6 if scope is not None and _is_odd(scope) else 0)
    words = {word for part in (*atom[1:], *(scope or ())[1:]) for word in words_of(part)}
    return cost - 1.5 * bool(words & hints)
