"""A page's elements side by side in arrays: texts, words and labels are read once for all fields."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain, islice

from turbohtml import Document, Element, Text

from agentic.core.reading.addresses import base_of
from agentic.core.wrappers.words import NAMING, plain, text_words, words_of

UNSEEN = frozenset(
    ["head", "script", "style", "noscript", "template", "svg", "iframe", "option", "select", "textarea"]
)
HEADINGS = frozenset(["h1", "h2", "h3", "h4", "h5", "h6"])
_NAMES = frozenset(["dt", "th", "label", "strong", "b", "legend", "caption"])
_INLINE = frozenset(
    [
        "a",
        "abbr",
        "b",
        "bdi",
        "bdo",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "ins",
        "kbd",
        "label",
        "mark",
        "q",
        "s",
        "samp",
        "small",
        "span",
        "strong",
        "sub",
        "sup",
        "time",
        "u",
        "var",
        "wbr",
    ]
)
_TAG = re.compile(r"[a-z][a-z0-9-]*")
LABEL_CHARS = 60
LABEL_WORDS = 8
PATH = 6
MAX_NAME_CHARS = 120
MAX_TITLE_CHARS = 250
NEAR = 0.7
"""How much less the words of an element say about its children than about itself."""

_FAINT = 0.15
_SHOWN = (Element, Text)


class PageTree:
    """The visible elements of a page, numbered in document order.

    Args:
        document: The page. It is only read.
        url: Its address, for evidence.

    Attributes:
        elements: The elements, without scripts, styles, forms' choices and the head.
        parents: Number of each element's parent; -1 for the outermost.
        ends: Number behind the last element below each.
        tags: Name of each; ``*`` for names that selectors cannot have.
    """

    def __init__(self, document: Document, url: str = "") -> None:
        self.document = document
        self.url = url
        self.elements: list[Element] = []
        self.parents: list[int] = []
        self.ends: list[int] = []
        self.tags: list[str] = []
        self._starts: list[int] = []
        self._stops: list[int] = []
        self._pieces: list[str] = []
        self._read(document)
        self._text = "".join(self._pieces)
        self._texts: dict[int, str] = {}
        self._plain: dict[int, str] = {}
        self._label_words: dict[int, tuple[str, ...]] = {}
        self._heading_words: dict[str, frozenset[str]] = {}
        self._paths: dict[int, tuple[str, ...]] = {}
        self._contexts: dict[int, Mapping[str, float]] = {-1: {}}

    def __len__(self) -> int:
        return len(self.elements)

    def text(self, number: int) -> str:
        """Return the text of an element, blanks collapsed."""
        found = self._texts.get(number)
        if found is None:
            piece = self._text[self._starts[number] : self._stops[number]]
            found = self._texts[number] = " ".join(piece.split())
        return found

    def length(self, number: int) -> int:
        """Return about how many characters the text of an element has."""
        return self._stops[number] - self._starts[number]

    def plain(self, number: int) -> str:
        """Return the text of an element as letters and digits only."""
        found = self._plain.get(number)
        if found is None:
            found = self._plain[number] = plain(self.text(number))
        return found

    def is_within(self, number: int, outer: int) -> bool:
        """Return whether an element is another or below it."""
        return outer <= number < self.ends[outer]

    def label_words(self, number: int) -> tuple[str, ...]:
        """Return the last words of the label of an element."""
        found = self._label_words.get(number)
        if found is None:
            found = self._label_words[number] = tuple(text_words(self.label(number))[-LABEL_WORDS:])
        return found

    def heading_words(self, number: int) -> frozenset[str]:
        """Return the words of the heading before an element."""
        text = self.headings[number]
        found = self._heading_words.get(text)
        if found is None:
            found = self._heading_words[text] = frozenset(text_words(text))
        return found

    def is_in_title(self, number: int) -> bool:
        """Return whether the text of an element, of some length, is a part of the page's title."""
        if not self.title or self.length(number) > MAX_TITLE_CHARS:
            return False
        found = self.plain(number)
        return len(found) > 3 and found in self.title

    def ancestors(self, number: int) -> Iterator[int]:
        """Yield the elements around one, the nearest first."""
        number = self.parents[number]
        while number >= 0:
            yield number
            number = self.parents[number]

    def path(self, number: int) -> tuple[str, ...]:
        """Return the names of an element and of up to five around it, the nearest first."""
        found = self._paths.get(number)
        if found is None:
            around = (self.tags[outer] for outer in islice(self.ancestors(number), PATH - 1))
            found = self._paths[number] = (self.tags[number], *around)
        return found

    @cached_property
    def base(self) -> str:
        """What addresses on the page are relative to."""
        return base_of(self.document, self.url)

    @cached_property
    def numbers(self) -> Mapping[Element, int]:
        """Element -> its number."""
        return {element: number for number, element in enumerate(self.elements)}

    @cached_property
    def children(self) -> Sequence[Sequence[int]]:
        """The numbers of the elements right below each."""
        found: list[list[int]] = [[] for _ in self.elements]
        for number, parent in enumerate(self.parents):
            if parent >= 0:
                found[parent].append(number)
        return found

    @cached_property
    def title(self) -> str:
        """The texts of ``<title>`` and the like as letters and digits only."""
        nodes = self.document.select('head title, meta[property="og:title"], meta[name="twitter:title"]')
        return " ".join(plain(node.attr("content") or node.text) for node in nodes)

    @cached_property
    def _counts(self) -> Mapping[str, int]:
        found: dict[str, int] = {}
        for number in range(len(self)):
            if 0 < self.length(number) <= 300 and self.ends[number] - number <= 4:
                parent = self.parents[number]
                text = self.plain(number)
                if parent >= 0 and self.length(parent) < 600 and self.plain(parent) == text:
                    continue
                found[text] = found.get(text, 0) + 1
        return found

    def texts_count(self, number: int) -> int:
        """Return on how many elements of a page the short text of one stands."""
        return self._counts.get(self.plain(number), 1) if self.length(number) <= 300 else 1

    @cached_property
    def _lower_text(self) -> str:
        return " ".join(self._text.split()).lower()

    def is_repeated(self, number: int) -> bool:
        """Return whether the short text of an element stands on another one, too."""
        # Most fields have a value of their own: to count the texts of all elements takes long.
        return self._occurrences(self.text(number).lower()) != 1 and self.texts_count(number) > 1

    def _occurrences(self, text: str) -> int:
        """Return how often a text stands between other characters than letters and digits; at most 2."""
        page, count, start = f" {self._lower_text} ", 0, 0
        while text and count < 2 and (start := page.find(text, start + 1)) >= 0:
            stop = start + len(text)
            count += not (page[start - 1].isalnum() or page[stop : stop + 1].isalnum())
        return count

    @cached_property
    def attributes(self) -> Sequence[tuple[tuple[str, str], ...]]:
        """The attributes of each element; the parts of a list of names are joined by blanks."""
        return [_attributes_of(element) for element in self.elements]

    def attributes_at(self, number: int) -> tuple[tuple[str, str], ...]:
        """Return the attributes of one element; a further page of a repair is asked for a few."""
        if "attributes" in self.__dict__:
            return self.attributes[number]
        return _attributes_of(self.elements[number])

    @cached_property
    def names(self) -> Sequence[tuple[str, ...]]:
        """The words in the class, id, itemprop, data attributes and the like of each element."""
        known: dict[tuple[tuple[str, str], ...], tuple[str, ...]] = {(): ()}
        found = []
        for given in self.attributes:
            naming = tuple([one for one in given if one[0] in NAMING or one[0].startswith("data-")])
            names = known.get(naming)
            if names is None:
                names = known[naming] = tuple(dict.fromkeys(_names_of(naming)))
            found.append(names)
        return found

    @cached_property
    def frequencies(self) -> Counter[str]:
        """How many elements have each name."""
        return Counter(chain.from_iterable(self.names))

    def context(self, number: int) -> Mapping[str, float]:
        """Return the names of an element and of those around it, with weights that fall by ``NEAR``."""
        known = self._contexts
        missing = []
        while number not in known:
            missing.append(number)
            number = self.parents[number]
        context = known[number]
        for inner in reversed(missing):
            around = {name: weight for name, held in context.items() if (weight := held * NEAR) > _FAINT}
            names = self.names_at(inner)
            context = known[inner] = around | dict.fromkeys(names, 1.0) if names else around
        return context

    def nearness_to(self, words: Collection[str]) -> Sequence[float]:
        """Return the highest weight that any of some words has in the context of each element."""
        found: list[float] = []
        named = {names: any(name in words for name in names) for names in set(self.names)}
        for names, parent in zip(self.names, self.parents, strict=True):
            around = found[parent] * NEAR if parent >= 0 else 0.0
            found.append(1.0 if named[names] else around if around > _FAINT else 0.0)
        return found

    def names_at(self, number: int) -> tuple[str, ...]:
        """Return the names of one element; a crawl asks for a few, and does not read all."""
        if "names" in self.__dict__:
            return self.names[number]
        return tuple(dict.fromkeys(_names_of(self.attributes_at(number))))

    @cached_property
    def headings(self) -> Sequence[str]:
        """The text of the nearest heading or name before each element; may be empty."""
        found: list[str] = []
        latest = ""
        for number, tag in enumerate(self.tags):
            found.append(latest)
            is_name = tag in HEADINGS or tag in _NAMES
            if is_name and 1 < self.length(number) <= LABEL_CHARS + 20:
                text = self.text(number)
                latest = text if 1 < len(text) <= LABEL_CHARS else latest
        return found

    def label(self, number: int) -> str:
        """Return the text that names an element: before it in its line, or in the cell or line before it."""
        inner, start = number, self._starts[number]
        for _ in range(3):  # a value is often wrapped once or twice
            parent = self.parents[inner]
            if parent < 0:
                break
            ahead = self._starts[parent]
            if start - ahead > 2 * LABEL_CHARS:
                return self._sibling_text(inner)
            if words := " ".join(self._text[ahead:start].split()):
                return words if len(words) <= LABEL_CHARS else self._sibling_text(inner)
            inner = parent
        return ""

    def _sibling_text(self, number: int) -> str:
        """Return the short text of the element right before one; empty if it is long."""
        siblings = self.children[self.parents[number]]
        place = bisect_left(siblings, number)
        if not place or self.length(siblings[place - 1]) > 2 * LABEL_CHARS:
            return ""
        text = self.text(siblings[place - 1])
        return text if len(text) <= LABEL_CHARS else ""

    def _read(self, document: Document) -> None:
        if document.root is None:
            return
        add, length = self._pieces.append, 0
        stack: list[tuple[Element | Text | None, int]] = [(document.root, -1)]
        # A piece of text, an element to open, or None to close the element of that number.
        while stack:
            node, parent = stack.pop()
            if isinstance(node, Text):
                piece = node.data
                add(piece)
                length += len(piece)
                continue
            if node is None:
                self._stops[parent] = length
                self.ends[parent] = len(self.elements)
                if self.tags[parent] not in _INLINE:
                    add(" ")
                    length += 1
                continue
            tag = node.tag
            if tag in UNSEEN:
                continue
            number = len(self.elements)
            if tag not in _INLINE:
                add(" ")
                length += 1
            self.elements.append(node)
            self.parents.append(parent)
            self.ends.append(0)
            self.tags.append(_selectable(tag))
            self._starts.append(length)
            self._stops.append(length)
            stack.append((None, number))
            stack += [(child, number) for child in reversed(node.children) if isinstance(child, _SHOWN)]


@lru_cache(maxsize=256)
def _selectable(tag: str) -> str:
    return tag if _TAG.fullmatch(tag) else "*"  # `o:p` is not a name in selectors


def _attributes_of(element: Element) -> tuple[tuple[str, str], ...]:
    given = element.attrs
    if not given:
        return ()
    return tuple(
        (key, value if isinstance(value, str) else " ".join(value or ())) for key, value in given.items()
    )


def _names_of(given: Iterable[tuple[str, str]]) -> list[str]:
    found: list[str] = []
    for key, value in given:
        if key not in NAMING:
            if not key.startswith("data-"):
                continue
            found += words_of(key[5:])
        for text in value.split() if key == "class" else (value,):
            if len(text) <= MAX_NAME_CHARS:
                found += words_of(text)
    return found
