"""The addresses of files in elements: images, lazy ones too, documents, sounds, films."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from turbohtml import Element

SETS = ("srcset", "data-srcset", "data-lazy-srcset", "imagesrcset")

# Scripts put these into src when the image comes into view; until then src holds a placeholder.
LAZY = ("data-src", "data-original", "data-lazy-src", "data-lazy", "data-bg", "data-background-image")

PLAIN = ("src", "data", "href", "xlink:href", "content")
"""Attributes with one address; ``data`` of ``object``, ``content`` of ``meta``."""

WITHIN = "img, video, audio, embed, object, image"
"""What is looked for in an element without an address of its own."""

NO_FILE = ("data:", "blob:", "about:", "javascript:", "mailto:", "tel:")
"""Begin what no request can bring."""

# https://html.spec.whatwg.org/multipage/images.html#parsing-a-srcset-attribute: an address may hold commas.
_CANDIDATE = re.compile(r"[\s,]*(\S+)")
_DESCRIPTORS = re.compile(r"[^,(]*(?:\([^)]*\)?[^,(]*)*")
_SIZE = re.compile(r"(\d+(?:\.\d+)?|\.\d+)([wx])")
_STYLE_URL = re.compile(r"url\(\s*(?:\"([^\"]*)\"|'([^']*)'|([^)\"'\s]*))\s*\)", re.IGNORECASE)


class Candidate(NamedTuple):
    """One of several sizes of an image: its address, its width in pixels or 0, and its density."""

    address: str
    width: float
    density: float


def addresses_of(element: Element, attr: str | None = None) -> list[str]:
    """Return the addresses of the files that an element names, unchanged.

    Of an image in several sizes it is the largest, and of a lazy image the image, not the placeholder.
    A film may have its picture as well. An element without an address, such as ``figure``, stands for the
    images and films in it.

    Args:
        element: As a selector found it.
        attr: Attribute with the address, instead of the usual ones.
    """
    if attr is not None:
        return _given(_value(element, attr))
    if found := _own(element):
        return found
    if element.tag in ("img", "picture") and (pooled := _of_picture(element)):
        return [pooled]
    return [address for inner in element.select(WITHIN) for address in addresses_of(inner)]


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


def _own(element: Element) -> list[str]:
    """Return the addresses that belong to an element: one, and the picture of a film."""
    main = largest(_candidates(element)) or _single(element)
    if main is None and element.tag in ("video", "audio"):
        main = next(filter(None, map(_single, element.select("source"))), None)
    own = [] if main is None else [main]
    if element.tag == "video":
        own += _given(_value(element, "poster"))
    if not own and (style := _value(element, "style")):
        return [address for one in _STYLE_URL.findall(style) for address in _given("".join(one))]
    return own


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


def _of_picture(element: Element) -> str | None:
    """Return the largest image of a ``picture``, or of the one that an image without an address is in."""
    picture = element if element.tag == "picture" else element.parent
    if not isinstance(picture, Element) or picture.tag != "picture":
        return None
    inside = picture.select("img, source")
    found = largest(one for inner in inside for one in _candidates(inner))
    return found or next(filter(None, map(_single, inside)), None)


def _given(value: str) -> list[str]:
    return [value] if value and not value.lower().startswith(NO_FILE) and value[0] != "#" else []


def _value(element: Element, name: str) -> str:
    return (element.attr(name) or "").strip()
