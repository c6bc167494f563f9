"""Addresses in attributes of elements, and whether two of them lead to the same thing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from turbohtml import Element

from agentic.core.reading.addresses import absolute
from agentic.core.wrappers.tree import PageTree
from agentic.core.wrappers.words import plain

LINKS = frozenset({"href", "data-href", "data-url"})
MEDIA = frozenset(
    {
        "src", "poster", "data-src", "data-original", "data-lazy", "data-lazy-src", "data-image", "data-full",
        "data-url",
    }
)  # fmt: skip
ADDRESSES = LINKS | MEDIA
"""Attributes that hold one address."""

SAME_PATH = 0.95
"""How far an address agrees with one on another host, or with other parameters."""

SAME_FILE = 0.9
"""How far an address agrees with one in another folder, or within another address."""

LIKE_FILE = 0.6
"""How far an address agrees with one whose last part begins or ends with its own."""

MAX_ADDRESS_CHARS = 2_000
MAX_FILE_CHARS = 100
MIN_FILE_CHARS = 8
"""A shorter name, such as ``1.jpg``, is the name of many files."""

_CONTACTS = ("mailto:", "tel:")
_NOT_PAGES = ("javascript:", "data:", *_CONTACTS)
_IMAGES = frozenset({"avif", "bmp", "gif", "jpeg", "jpg", "png", "svg", "tif", "tiff", "webp"})
_BORDERS = str.maketrans("?&=", "///")
_SIZE = re.compile(r"(?:[-_.@](?:\d{2,4}x\d{2,4}|\d{2,4}[wh]|[23]x|scaled|thumb|small|medium|large))+$")


def kindred(attr: str) -> list[str]:
    """Return an attribute and those that may hold its values after a redesign, itself first."""
    usual = next((some for some in (LINKS, MEDIA) if attr in some), frozenset({attr}))
    return [attr, *sorted(usual - {attr})]


def link_of(tree: PageTree, number: int, attr: str = "href") -> str | None:
    """Return the absolute address in an attribute of an element, without its fragment; None without one."""
    return _link_of(tree, tree.elements[number], attr)


def _link_of(tree: PageTree, element: Element, attr: str) -> str | None:
    given = element.attrs.get(attr)
    text = given.strip().partition("#")[0] if isinstance(given, str) else ""
    if not text or text.lower().startswith(_NOT_PAGES):
        return None
    return absolute(tree.base, text)


def value_at(tree: PageTree, number: int, attr: str) -> str:
    """Return the text of an element, or the value of an attribute; addresses are absolute."""
    return value_of(tree, tree.elements[number], attr) if attr else tree.text(number)


def value_of(tree: PageTree, element: Element, attr: str) -> str:
    """Return the value of an attribute of an element of a page; addresses are absolute."""
    given = element.attrs.get(attr)
    text = given.strip() if isinstance(given, str) else " ".join(given or ())
    if attr in ADDRESSES and not text.lower().startswith(_CONTACTS):
        return _link_of(tree, element, attr) or ""
    return text


def is_address(value: object) -> bool:
    """Return whether a value is one absolute address."""
    return isinstance(value, str) and value.startswith(("https://", "http://")) and " " not in value.strip()


class _Address(NamedTuple):
    host: str
    path: str
    query: frozenset[tuple[str, str]]
    file: str
    is_image: bool

    @property
    def site(self) -> str:
        """The longest part of the host but its last one: a site keeps it in another country."""
        *parts, last = self.host.split(".")
        return max(parts, key=len) if parts else last

    @property
    def is_telling(self) -> bool:
        """Whether chance cannot explain that another address has its path."""
        return len(plain(self.path)) >= MIN_FILE_CHARS


def _parts_of(address: str) -> _Address | None:
    """Return the parts of an address; None if it cannot be read, or is very long."""
    return _split(address) if len(address) <= MAX_ADDRESS_CHARS else None


@lru_cache(maxsize=4_096)
def _split(address: str) -> _Address | None:
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        return None
    path = unquote(parts.path).strip().rstrip("/").lower()
    pairs = (one.partition("=") for one in parts.query.split("&") if one)
    query = frozenset((key, value) for key, _, value in pairs)
    # Services that resize images have the address of the image in theirs.
    image = _image_in(path) or _image_in(unquote(unquote(parts.query)).lower())
    name = (image or path.rpartition("/")[2])[-MAX_FILE_CHARS:]
    host = parts.netloc.lower().removeprefix("www.")
    return _Address(host, path, query, plain(_SIZE.sub("", name)), image != "")


def _image_in(text: str) -> str:
    """Return the name of the last image in a part of an address, without its ending; "" without one."""
    parts = (part.rpartition(".") for part in reversed(text.translate(_BORDERS).split("/")))
    return next((name for name, _, ending in parts if ending in _IMAGES), "")


def same_address(found: str, wanted: str) -> float:
    """Return how far an address leads to the same thing as another one, from 0 to 1.

    A redesign often moves images to another host, in other sizes, and pages to another folder.
    """
    a, b = _parts_of(found), _parts_of(wanted)
    if a is None or b is None or not (a.path or a.query) or not (b.path or b.query):
        return float(found == wanted != "")
    is_host = a.host == b.host or not b.host
    if a.path == b.path and a.query == b.query and is_host:
        return 1.0
    if _differ(a, b):
        return 0.0
    if a.path == b.path and (is_host or a.is_telling):
        return SAME_PATH
    return _same_file(a, b)


def _same_file(found: _Address, wanted: _Address) -> float:
    """Return how far the last parts of two paths agree; a page of another site may be about the same name."""
    may_differ = found.site == wanted.site or not wanted.host or (found.is_image and wanted.is_image)
    short, long = sorted((found.file, wanted.file), key=len)
    if len(short) < MIN_FILE_CHARS or not may_differ:
        return 0.0
    if short == long:
        return SAME_FILE
    return LIKE_FILE if long.startswith(short) or long.endswith(short) else 0.0


def is_telling_address(value: str) -> bool:
    """Return whether chance cannot explain that a page has an address again."""
    parts = _parts_of(value)
    return parts is not None and len(plain(parts.path) + plain(str(sorted(parts.query)))) >= MIN_FILE_CHARS


def _differ(one: _Address, other: _Address) -> bool:
    """Return whether a parameter of both has two values, and it is not the size of an image."""
    if one.is_image or other.is_image:
        return False
    a, b = dict(one.query), dict(other.query)
    return any(a[key] != b[key] for key in a.keys() & b.keys())


def same_addresses(found: Sequence[str], wanted: Sequence[str]) -> float:
    """Return the share of addresses that two lists have in common: as a whole, by path, or by file."""
    left, rest, hits = [*wanted], [*found], 0
    for key in (_place_of, _path_of, _file_of):
        known = Counter(map(key, left))
        unmatched = []
        for one in rest:
            if (place := key(one)) and known[place] > 0:
                known[place] -= 1
                hits += 1
            else:
                unmatched.append(one)
        rest, left = unmatched, _without(left, key, known)
    return 2 * hits / (len(found) + len(wanted)) if found and wanted else 0.0


def _without(left: Sequence[str], key: Callable[[str], object], known: Counter[object]) -> list[str]:
    """Return the addresses whose keys are still known."""
    kept = []
    for one in left:
        place = key(one)
        if known[place] > 0:
            known[place] -= 1
            kept.append(one)
    return kept


def _place_of(address: str) -> object:
    parts = _parts_of(address)
    return (parts.host, parts.path, parts.query) if parts is not None else address


def _path_of(address: str) -> object:
    parts = _parts_of(address)
    return (parts.path, parts.query) if parts is not None and parts.is_telling else None


def _file_of(address: str) -> object:
    parts = _parts_of(address)
    if parts is None or len(parts.file) < MIN_FILE_CHARS:
        return None
    return parts.file if parts.is_image else (parts.file, parts.site)
