"""The addresses of files in elements: images, lazy ones too, documents, sounds, films."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from turbohtml import Element

from agentic.core.linear import LinearPattern

SETS = ("srcset", "data-srcset", "data-lazy-srcset", "imagesrcset")

# Scripts put these into src when the image comes into view; until then src holds a placeholder.
LAZY = ("data-src", "data-original", "data-lazy-src", "data-lazy", "data-bg", "data-background-image")

PLAIN = ("src", "data", "href", "xlink:href", "content")
"""Attributes with one address; ``data`` of ``object``, ``content`` of ``meta``."""

WITHIN = "img, video, audio, embed, object, image"
"""What is looked for in an element without an address of its own."""

MAX_INSIDE = 20_000
"""Elements of a page that are looked at because they are inside of selected ones: these may be nested."""

COST_OF_SEARCH = 100
"""A search counts as much as this number of elements."""

NO_FILE = ("data:", "blob:", "about:", "javascript:", "mailto:", "tel:")
"""Begin what no request can bring."""

# https://html.spec.whatwg.org/multipage/images.html#parsing-a-srcset-attribute: an address may hold commas.
_CANDIDATE = re.compile(r"[\s,]*+(\S++)")
_DESCRIPTORS = re.compile(r"[^,(]*+(?:\([^)]*+\)?[^,(]*+)*+")
_SIZE = re.compile(r"(\d++(?:\.\d++)?|\.\d++)([wx])")
_STYLE_URL = LinearPattern(r"""url\(\s*(?:"([^"]*)"|'([^']*)'|([^)"'\s]*))\s*\)""", ignore_case=True)


class Candidate(NamedTuple):
    """One of several sizes of an image: its address, its width in pixels or 0, and its density."""

    address: str
    width: float
    density: float


class FileAddresses:
    """Reads the addresses of files in elements of one page.

    Args:
        attr: Attribute with the address, instead of the usual ones.

    Attributes:
        is_cut: Whether some elements were left out because there is too much inside of them.
    """

    def __init__(self, attr: str | None = None) -> None:
        self._attr = attr
        self._left = MAX_INSIDE
        self.is_cut = False

    def of(self, element: Element) -> list[str]:
        """Return the addresses of the files that an element names, unchanged.

        Of an image in several sizes it is the largest, and of a lazy image the image, not the placeholder.
        A film may have its picture as well. An element without an address, such as ``figure``, stands for the
        images and films in it.
        """
        if self._attr is not None:
            return _given(_value(element, self._attr))
        if found := self._own(element):
            return found
        if element.tag in ("img", "picture") and (pooled := self._of_picture(element)):
            return [pooled]
        return [address for inner in self._inside(element, WITHIN) for address in self._own(inner)]

    def _own(self, element: Element) -> list[str]:
        """Return the addresses that belong to an element: one, and the picture of a film."""
        main = largest(_candidates(element)) or _single(element)
        if main is None and element.tag in ("video", "audio"):
            main = next(filter(None, map(_single, self._inside(element, "source"))), None)
        own = [] if main is None else [main]
        if element.tag == "video":
            own += _given(_value(element, "poster"))
        if not own and (style := _value(element, "style")):
            found = _STYLE_URL.finditer(style)
            return [address for one in found for address in _given(one[1] or one[2] or one[3])]
        return own

    def _of_picture(self, element: Element) -> str | None:
        """Return the largest image of a ``picture``, or of the one that an image without an address is in."""
        picture = element if element.tag == "picture" else element.parent
        if not isinstance(picture, Element) or picture.tag != "picture":
            return None
        inside = self._inside(picture, "img, source")
        found = largest(one for inner in inside for one in _candidates(inner))
        return found or next(filter(None, map(_single, inside)), None)

    def _inside(self, element: Element, selector: str) -> Sequence[Element]:
        if self._left <= 0:
            self.is_cut = True
            return ()
        found = element.select(selector)
        self.is_cut = self.is_cut or len(found) > self._left
        kept = found[: self._left]
        self._left -= len(kept) + COST_OF_SEARCH
        return kept


def largest(candidates: Iterable[Candidate]) -> str | None:
    """Return the address of the largest image; of several, the first. None without any."""
    known = list(candidates)
    if not known:
        return None
    return max(known, key=lambda one: (one.width, one.density)).address


def candidates_in(srcset: str) -> Iterator[Candidate]:
    """Yield the images of a ``srcset``, as browsers read it; those with faulty sizes are left out."""
    at = 0
    while (found := _CANDIDATE.match(srcset, at)) is not None:
        at = found.end()
        address, words = found[1], ""
        if address.endswith(","):
            address = address.rstrip(",")
        elif (more := _DESCRIPTORS.match(srcset, at)) is not None:
            at, words = more.end(), more[0]
        if address and (size := _size_of(words)) is not None:
            yield Candidate(address, *size)


def _size_of(descriptors: str) -> tuple[float, float] | None:
    width, density = 0.0, 1.0
    for word in descriptors.split():
        found = _SIZE.fullmatch(word)
        if found is not None and found[2] == "w":
            width = float(found[1])
        elif found is not None:
            density = float(found[1])
        elif not word.endswith("h"):
            return None
    return width, density


def _single(element: Element) -> str | None:
    """Return the first usable address in the attributes with one address."""
    for name in (*LAZY, *PLAIN):
        for address in _given(_value(element, name)):
            if name not in LAZY or "/" in address or "." in address:  # not data-lazy="true"
                return address
    return None


def _candidates(element: Element) -> Iterator[Candidate]:
    for name in SETS:
        for one in candidates_in(_value(element, name)):
            if not one.address.lower().startswith(NO_FILE):
                yield one


def _given(value: str) -> list[str]:
    return [value] if value and not value.lower().startswith(NO_FILE) and value[0] != "#" else []


def _value(element: Element, name: str) -> str:
    return (element.attr(name) or "").strip()
