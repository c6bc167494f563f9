"""Values that no element has for itself: texts between elements, as in ``<b>Pages:</b> 144<br>``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from turbohtml import Element, Node, Text

from agentic.core.wrappers.building.expressions import expression_of, is_label, label_in
from agentic.core.wrappers.building.matching import ExampleMatch, Reading, read_as, reading_of, score_of
from agentic.core.wrappers.building.naming import named_share
from agentic.core.wrappers.candidates import MAX_ELEMENTS, MAX_TEXT_CHARS
from agentic.core.wrappers.locators import Locator, LocatorKind
from agentic.core.wrappers.selecting import Atom, Selection, SelectorIndex, cost_of
from agentic.core.wrappers.tree import LABEL_CHARS, PageTree
from agentic.core.wrappers.words import text_words

MAX_STEPS = 3
"""Line breaks and blanks between a label and its value, and the value itself."""

COUNTED_TEXT = "/text()[normalize-space()]"
"""Step from an element to the texts right in it."""

_TRIED = 6
_LOCATORS = 3
MAX_OUTER_CHARS = 20_000
"""Elements with more text are not searched."""

_BLANKS = " \t\r\n"
"""Blanks for XPath, without the no-break space."""

_BY_LABEL = 3.0
_BEHIND = "following-sibling::node()"
_OWN_LABEL = "starts-with(normalize-space()"
_LABELLED = 1.0


class FoundTexts(NamedTuple):
    """Places of a field whose texts stand between elements.

    Attributes:
        locators: Expressions for the text, the best first.
        texts: The text on each page; empty where the page lacks it.
        type: Type of a rule that reads the texts as in the examples.
        regex: Takes the value out of the text; empty if it is the value.
        label: The text that names it; may be empty.
        right: Pages on which it gives the example.
        wrong: Pages on which it gives something else.
        is_part: Whether the value is a part of the text, and no label says which one.
        is_named: Whether the label has a word of the field.
    """

    locators: tuple[Locator, ...]
    texts: tuple[str, ...]
    type: str
    regex: str
    label: str
    right: tuple[int, ...]
    wrong: tuple[int, ...]
    is_part: bool
    is_named: bool = False


class OwnText(NamedTuple):
    """A text of an element that has other elements in it.

    Attributes:
        number: The element.
        place: Which of its texts it is, counted from 1.
        text: Blanks collapsed.
        label: The text of the element before it; may be empty.
        tag: Name of that element.
        steps: How many nodes the text is behind that element.
        is_last: Whether it is the last of these texts.
    """

    number: int
    place: int
    text: str
    label: str
    tag: str
    steps: int
    is_last: bool


class OwnTexts:
    """The texts of a page that are not all of an element.

    Args:
        index: The page.
    """

    def __init__(self, index: SelectorIndex) -> None:
        self.index = index

    @property
    def tree(self) -> PageTree:
        """The page."""
        return self.index.tree

    @cached_property
    def all(self) -> Sequence[OwnText]:
        """All of them, in document order."""
        tree, found = self.tree, list[OwnText]()
        for number in range(min(len(tree), MAX_ELEMENTS)):
            if tree.ends[number] == number + 1 or not 0 < tree.length(number) <= MAX_OUTER_CHARS:
                continue
            nodes = tree.elements[number].children
            there = [at for at, node in enumerate(nodes) if isinstance(node, Text) and _is_filled(node)]
            for place, at in enumerate(there, 1):
                text = " ".join(nodes[at].text.split())
                if 0 < len(text) <= MAX_TEXT_CHARS:
                    label = _label_before(tree, nodes, at)
                    found.append(OwnText(number, place, text, *label, place == len(there)))
        return found


class _Piece(NamedTuple):
    """An own text that has the example of its page."""

    own: OwnText
    reading: Reading
    score: float


def find_pieces(
    pages: Sequence[OwnTexts],
    examples: Sequence[str | None],
    words: frozenset[str],
    values: frozenset[str],
) -> FoundTexts | None:
    """Return the texts between elements that are the examples of a field; None if no text is.

    Args:
        pages: First the pages of the examples, then others.
        examples: The value on each page: empty where the page lacks it, None where it is not known.
        words: Words of the field.
        values: The examples of all fields, on which no place may depend.
    """
    shown = [at for at, example in enumerate(examples) if example]
    best: tuple[tuple[float, ...], FoundTexts] | None = None
    for at in shown[:2]:
        found = _holding(pages[at], examples[at] or "", words)
        for piece in sorted(found, key=lambda one: -one.score)[:_TRIED]:
            paths = list(_paths(pages[at].index, piece.own, words, values))
            tried = [_judged(piece, path, pages, examples) for _, path in paths]
            for (cost, _), one in zip(paths, tried, strict=True):
                if one is None:
                    continue
                score = _rank_of(one, piece.score - 0.2 * cost)
                if best is None or score > best[0]:
                    best = score, _with_others(one, tried, words)
    return best[1] if best is not None else None


def _with_others(one: FoundTexts, tried: Sequence[FoundTexts | None], words: frozenset[str]) -> FoundTexts:
    """Return places with others that give the same; beside a label, none that counts."""
    same = [other for other in tried if other is not None and other.texts == one.texts]
    places = dict.fromkeys(other.locators[0] for other in (one, *same) if other.label == one.label)
    is_named = not words.isdisjoint(text_words(one.label))
    return one._replace(locators=tuple(islice(places, _LOCATORS)), is_named=is_named)


def _holding(page: OwnTexts, example: str, words: frozenset[str]) -> Iterator[_Piece]:
    for own in page.all:
        reading = read_as(own.text, example)
        if reading is not None:
            share = named_share(page.tree, own.number, words, head=own.label) if own.label else 0.0
            score = score_of(reading, own.text, example) + share + _LABELLED * bool(own.label)
            yield _Piece(own, reading, score)


def _rank_of(one: FoundTexts, score: float) -> tuple[float, ...]:
    return (
        len(one.right) - len(one.wrong),
        not one.is_part,
        sum(map(bool, one.texts)),
        bool(one.label),
        score,
    )


def _judged(
    piece: _Piece, path: str, pages: Sequence[OwnTexts], examples: Sequence[str | None]
) -> FoundTexts | None:
    place = Locator(LocatorKind.XPATH, path)
    texts = tuple(next(iter(place.read(page.tree)), "") for page in pages)
    both = [*enumerate(zip(texts, examples, strict=True))]
    right = tuple(at for at, (text, known) in both if known and _is_read(read_as(text, known), piece.reading))
    wrong = tuple(at for at, (text, known) in both if text and known is not None and at not in right)
    known = [examples[at] or "" for at in right]
    found = [texts[at] for at in right]
    is_part = piece.reading == "part"
    if not right or (
        is_part and not expression_of([*zip(known, found, strict=True)], [*filter(None, texts)])
    ):
        return None
    own_label = label_in(piece.own.text) if _OWN_LABEL in path else ""
    match = ExampleMatch((piece.own.number,), "", piece.reading, piece.score)
    kind, regex = reading_of(
        match,
        known,
        [(text,) for text in found],
        [(text,) if text else () for text in texts],
        label=own_label,
    )
    label = own_label or (piece.own.label if _BEHIND in path else "")
    is_labelled = own_label and all(
        read_as(text.removeprefix(own_label).strip(), one) not in (None, "part")
        for text, one in zip(found, known, strict=True)
    )
    return FoundTexts((place,), texts, kind, regex, label, right, wrong, is_part and not is_labelled)


def _is_read(reading: Reading | None, wanted: Reading) -> bool:
    return reading is not None and (reading in ("same", wanted) or wanted in ("same", "like"))


def _is_filled(node: Text) -> bool:
    return bool(node.data.strip(_BLANKS))


def _label_before(tree: PageTree, nodes: Sequence[Node], at: int) -> tuple[str, str, int]:
    """Return the text of the element before a text, its name, and how many nodes the text is behind it."""
    for steps in range(1, min(MAX_STEPS, at) + 1):
        ahead = nodes[at - steps]
        if isinstance(ahead, Element) and ahead.tag != "br":
            number = tree.numbers.get(ahead)
            label = tree.text(number) if number is not None and tree.length(number) <= 2 * LABEL_CHARS else ""
            is_named = number is not None and is_label(label)
            return (label, tree.tags[number or 0], steps) if is_named else ("", "", 0)
        if isinstance(ahead, Text) and _is_filled(ahead):
            break
    return "", "", 0


def _paths(
    index: SelectorIndex, own: OwnText, words: frozenset[str], values: frozenset[str]
) -> Iterator[tuple[float, str]]:
    """Yield expressions for a text, each with how soon it may break."""
    if own.label and own.label not in values:
        step = f"{_BEHIND}[{own.steps}][self::text()]"
        yield _BY_LABEL, f'//{own.tag}[normalize-space()="{own.label}"]/{step}'
        yield _BY_LABEL + 1, f'//*[normalize-space()="{own.label}"]/{step}'
    label = label_in(own.text)
    if label and label not in values:
        tag = index.tree.tags[own.number]
        yield _BY_LABEL, f'//{tag}/text()[{_OWN_LABEL}, "{label}")]'
        yield _BY_LABEL + 1, f'//text()[{_OWN_LABEL}, "{label}")]'
    for selection in islice(index.selections((own.number,), words, is_list=False), _LOCATORS):
        if not (named := xpath_of(selection)):
            continue
        outer, cost = f"(//{named})[1]", cost_of(selection, words)
        yield cost + own.place, f"{outer}{COUNTED_TEXT}[{own.place}]"
        if own.is_last and own.place > 1:
            yield cost + 1, f"{outer}{COUNTED_TEXT}[last()]"


def xpath_of(selection: Selection) -> str:
    """Return a selector as XPath for an element at any depth; empty if a name in it cannot be written."""
    atoms = [selection.atom] if selection.scope is None else [selection.scope, selection.atom]
    names = [atom.key.replace("-", "_") for atom in atoms if atom.kind in ("attr", "has")]
    if any('"' in atom.value + atom.key for atom in atoms) or not all(map(str.isidentifier, names)):
        return ""
    between = "//" if selection.way is None else "/".join(("", *selection.way, ""))
    return between.join(map(_condition, atoms))


def _condition(atom: Atom) -> str:
    match atom.kind:
        case "id":
            return f'*[@id="{atom.value}"]'
        case "attr":
            return f'{atom.tag}[@{atom.key}="{atom.value}"]'
        case "class":
            return f"{atom.tag}[{_has_class(atom.value)}]"
        case "classes":
            return f"{atom.tag}[{_has_class(atom.key)} and {_has_class(atom.value)}]"
        case "has":
            return f"{atom.tag}[@{atom.key}]"
        case _:
            return atom.tag


def _has_class(name: str) -> str:
    return f'contains(concat(" ", normalize-space(@class), " "), " {name} ")'
