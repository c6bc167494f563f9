"""Sitemaps (sitemaps.org 0.9): XML and text, gzipped or not, read piece by piece."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from agentic.core.http.transports.unpacking import GZIP_MAGIC, TooManyMembersError, Unpacker
from agentic.core.reading.markup import MarkupError, elements

PIECE_BYTES = 64 * 1024
MAX_UNPACKED_BYTES = 64 * 1024 * 1024  # the protocol allows 50 MB; a bomb would be gigabytes
UTF_8_BOM = b"\xef\xbb\xbf"
UTF_16_BOMS = (b"\xff\xfe", b"\xfe\xff")
ROOTS = frozenset({"urlset", "sitemapindex"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """What a sitemap lists.

    Attributes:
        address: As it stands there.
        is_sitemap: Whether it is another sitemap, not a page.
        lastmod: As it stands there, "" if nothing does.
        published: The same of Google's news extension.
        title: The same.
    """

    address: str
    is_sitemap: bool = False
    lastmod: str = ""
    published: str = ""
    title: str = ""


def read_sitemap(body: bytes) -> Iterator[Listed]:
    """Yield what a sitemap lists, in its order.

    Raises:
        MarkupError: It is none, or broken from here on: truncated, no gzip, larger than 64 MiB unpacked.
    """
    pieces = iter(_pieces(body))
    first = next(pieces, b"")
    everything = chain([first], pieces)
    is_markup = first.removeprefix(UTF_8_BOM).lstrip()[:1] == b"<" or first[:2] in UTF_16_BOMS
    return _from_markup(everything) if is_markup else _from_lines(everything)


def _pieces(body: bytes) -> Iterator[bytes]:
    if body[:2] == GZIP_MAGIC:
        yield from _unpacked(body)
        return
    for start in range(0, len(body), PIECE_BYTES):
        yield body[start : start + PIECE_BYTES]


def _unpacked(body: bytes) -> Iterator[bytes]:
    """Yield the content of a gzip file, a piece of limited size at a time."""
    left = MAX_UNPACKED_BYTES
    try:
        for piece in Unpacker("gzip").feed(body):
            left -= len(piece)
            if left < 0:
                raise MarkupError(f"it is larger than {MAX_UNPACKED_BYTES} bytes unpacked")
            yield piece
    except (zlib.error, TooManyMembersError) as exc:
        raise MarkupError(f"its gzip is broken: {exc}") from None


def _from_markup(pieces: Iterable[bytes]) -> Iterator[Listed]:
    known: dict[str, str] = {}
    for element in elements(pieces):
        root, *inner = element.path
        if root not in ROOTS:
            raise MarkupError(f"its root is <{root}>, not <urlset> or <sitemapindex>")
        if len(inner) == 1:
            if address := known.get("loc"):
                yield _listed(address, known, is_sitemap=inner[0] == "sitemap")
            known = {}
        elif inner and element.text:
            known["/".join(inner[1:])] = element.text


def _listed(address: str, known: dict[str, str], *, is_sitemap: bool) -> Listed:
    return Listed(
        address=address,
        is_sitemap=is_sitemap,
        lastmod=known.get("lastmod", ""),
        published=known.get("news/publication_date", ""),
        title=known.get("news/title", ""),
    )


def _from_lines(pieces: Iterable[bytes]) -> Iterator[Listed]:
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        if len(rest) > PIECE_BYTES:
            break
        yield from _addresses(lines)
    yield from _addresses([rest])


def _addresses(lines: Iterable[bytes]) -> Iterator[Listed]:
    for line in lines:
        text = line.decode("utf-8-sig", "replace").strip()
        if text.startswith(("http://", "https://")):
            yield Listed(address=text)
        elif text and not text.startswith("#"):
            raise MarkupError(f"it is neither XML nor a list of URLs: {text[:80]!r}")
