"""Sitemaps (sitemaps.org 0.9): XML, feeds and text, packed or not, valid or not, read piece by piece.

A valid sitemap in UTF-8 is read as a stream. All others are decoded and repaired as a whole, and the rest of
a broken one is read tag by tag.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html import unescape
from itertools import chain, islice

from agentic.core.http.charsets import decode, decode_xml, find_charset
from agentic.core.http.transports.unpacking import GZIP_MAGIC, TooManyMembersError, Unpacker
from agentic.core.reading.lenient_xml import repair_xml
from agentic.core.reading.markup import Ended, MarkupError, elements

PIECE_BYTES = 64 * 1024
HEAD_BYTES = 64 * 1024
"""Where the first element is looked for: some servers print warnings before it."""
MAX_UNPACKED_BYTES = 64 * 1024 * 1024  # the protocol allows 50 MB; a bomb would be gigabytes
MAX_LINE_CHARACTERS = 10_000
QUOTES = "\"' \t\r\n"
UTF_8_BOM = b"\xef\xbb\xbf"

ENTRIES = {
    "urlset": ("url", "sitemap"),
    "sitemapindex": ("sitemap", "url"),
    "rss": ("item",),
    "rdf": ("item",),
    "feed": ("entry",),
}
"""Root -> elements that list something; in RSS they are inside the channel."""
_ALL_ENTRIES = frozenset({"url", "sitemap", "item", "entry"})
_ROOT = re.compile(r"<(?:[\w.-]{1,40}:)?(urlset|sitemapindex|rss|feed|rdf)\b", re.IGNORECASE)
_DECLARED = re.compile(rb"<\?xml\s[^>]{0,200}?\bencoding\s*=\s*[\"']([^\"'<>]{1,40})", re.IGNORECASE)
_TAG = re.compile(r"<(?:!--|!\[CDATA\[|(/?)(?:[\w.-]{1,40}:)?([A-Za-z_][\w.-]{0,40})([^<>]{0,4000})>)")
_HREF = re.compile(r"\bhref\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_REL = re.compile(r"\brel\s*=\s*[\"']?([\w-]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """What a sitemap lists.

    Attributes:
        address: As it stands there.
        is_sitemap: Whether it is another sitemap, not a page.
        lastmod: As it stands there, "" if nothing does.
        published: The same of Google's news extension, or of a feed.
        title: The same.
    """

    address: str
    is_sitemap: bool = False
    lastmod: str = ""
    published: str = ""
    title: str = ""


class NotASitemapError(MarkupError):
    """It is something else, such as a web page."""


@dataclass(slots=True)
class SitemapNotes:
    """What is worth a warning about a sitemap.

    Attributes:
        repairs: The changes that made it readable, as parts of a sentence.
        unlisted_count: Entries without an address.
    """

    repairs: tuple[str, ...] = ()
    unlisted_count: int = 0


@dataclass(slots=True)
class _Entry:
    """An entry that is being read."""

    texts: dict[str, str] = field(default_factory=dict)
    link: str = ""

    def take(self, name: str, text: str) -> None:
        if text:
            self.texts.setdefault(name, text)

    def take_link(self, rel: str, href: str) -> None:
        """Take a link of Atom: the page, not its comments or its edit address."""
        if href and rel in ("", "alternate"):
            self.link = self.link or href

    def listed(self, *, is_sitemap: bool) -> Listed | None:
        texts = self.texts
        address = texts.get("loc") or self.link or texts.get("link") or self._identity()
        address = address.strip(QUOTES).replace("&amp;", "&")  # some sites escape it twice
        if not address:
            return None
        return Listed(
            address=address,
            is_sitemap=is_sitemap,
            lastmod=texts.get("lastmod") or texts.get("updated") or "",
            published=texts.get("news/publication_date")
            or texts.get("pubdate")
            or texts.get("published")
            or "",
            title=texts.get("news/title") or texts.get("title") or "",
        )

    def _identity(self) -> str:
        """Return the identity of an entry that is an address: feeds without links have it there."""
        found = self.texts.get("guid") or self.texts.get("id") or ""
        return found if found.startswith(("http://", "https://")) else ""


def read_sitemap(
    body: bytes, content_type: str | None = None, notes: SitemapNotes | None = None
) -> Iterator[Listed]:
    """Yield what a sitemap lists, in its order; it may be RSS, Atom, or a text with one address a line.

    Args:
        body: As it came; perhaps a gzip file.
        content_type: The ``Content-Type``, for its charset.
        notes: Receives the repairs.

    Raises:
        NotASitemapError: It is something else.
        MarkupError: It cannot be read further, or parts of it are missing: truncated, no gzip, larger than 64
            MiB unpacked. What could be read comes before.
    """
    notes = SitemapNotes() if notes is None else notes
    count = 0
    if _is_plain(body):
        try:
            for one in _from_elements(elements(_pieces(body)), notes):
                count += 1
                yield one
        except NotASitemapError:
            raise
        except (MarkupError, ValueError):  # it is broken, or in a charset that expat does not know
            notes.unlisted_count = 0
        else:
            if count or notes.unlisted_count or not _lists_something(body):
                return
    whole, fault = _whole(body)
    yield from islice(_from_whole(whole, fault, content_type, notes), count, None)


def _lists_something(body: bytes) -> bool:
    """Whether a sitemap without entries has addresses: its elements are not nested as they should be."""
    return any(b"<loc" in piece for piece in _pieces(body))


def _is_plain(body: bytes) -> bool:
    """Whether it seems to be XML in UTF-8: then it is read piece by piece, without a copy of all of it."""
    try:
        head = next(iter(_pieces(body)), b"")[:1_024].removeprefix(UTF_8_BOM)
    except MarkupError:
        return False
    declared = _DECLARED.match(head)
    charset = find_charset(declared[1].decode("latin-1")) if declared else "utf-8"
    return head[:1] == b"<" and charset == "utf-8" and head[:9].lower() != b"<!doctype"


def _whole(body: bytes) -> tuple[bytes, MarkupError | None]:
    """Return all of the content that can be unpacked, and why that is not all of it."""
    pieces: list[bytes] = []
    fault: MarkupError | None = None
    try:
        pieces.extend(_pieces(body))
    except MarkupError as exc:
        fault = exc
    return b"".join(pieces), fault


def _pieces(body: bytes) -> Iterator[bytes]:
    """Yield the content a piece at a time; some files are packed twice."""
    if body[:2] == GZIP_MAGIC:
        unpacked = _unpacked([body])
        first = next(unpacked, b"")
        everything = chain([first], unpacked)
        yield from _unpacked(everything) if first[:2] == GZIP_MAGIC else everything
        return
    for start in range(0, len(body), PIECE_BYTES):
        yield body[start : start + PIECE_BYTES]


def _unpacked(packed: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the content of a gzip file, a piece of limited size at a time."""
    left = MAX_UNPACKED_BYTES
    unpacker = Unpacker("gzip")
    try:
        for data in packed:
            for piece in unpacker.feed(data):
                left -= len(piece)
                if left < 0:
                    raise MarkupError(f"it is larger than {MAX_UNPACKED_BYTES} bytes unpacked")
                yield piece
    except (zlib.error, TooManyMembersError) as exc:
        raise MarkupError(f"its gzip is broken: {exc}") from None
    if not unpacker.is_whole:
        raise MarkupError("its gzip data is incomplete")


def _from_elements(found: Iterable[Ended], notes: SitemapNotes) -> Iterator[Listed]:
    entry, depth, kinds = _Entry(), 0, frozenset[str]()
    for element in found:
        path = [name.lower() for name in element.path]
        if not depth:
            kinds = _kinds_of(element.path[0])
            depth = 3 if path[0] == "rss" else 2
        inner = path[depth - 1 :]
        if len(inner) == 1 and inner[0] in kinds:
            if listed := entry.listed(is_sitemap=inner[0] == "sitemap"):
                yield listed
            else:
                notes.unlisted_count += 1
            entry = _Entry()
        elif len(inner) == 1:  # the channel's own fields
            entry = _Entry()
        elif inner:
            entry.take("/".join(inner[1:]), element.text)
            if inner[1:] == ["link"]:
                entry.take_link(element.attributes.get("rel", ""), element.attributes.get("href", ""))


def _kinds_of(root: str) -> frozenset[str]:
    if (kinds := ENTRIES.get(root.lower())) is None:
        raise NotASitemapError(f"its root is <{root[:80]}>, not <urlset>, <sitemapindex>, <rss> or <feed>")
    return frozenset(kinds)


def _from_whole(
    body: bytes, fault: MarkupError | None, content_type: str | None, notes: SitemapNotes
) -> Iterator[Listed]:
    """Yield the entries of a sitemap that is not valid XML in UTF-8.

    Args:
        body: Unpacked, as far as possible.
        fault: Why that is not all of it.
        content_type: The ``Content-Type``.
        notes: Receives the repairs.
    """
    text = decode_xml(body, content_type).text
    root = _ROOT.search(text, 0, HEAD_BYTES)
    if root is None:
        yield from _from_text(body, content_type, fault)
        return
    repaired = repair_xml(text.encode("utf-8", "replace"), "application/xml; charset=utf-8")
    count = 0
    try:
        for one in _from_elements(elements([repaired.body]), notes):
            count += 1
            yield one
        if not (count or notes.unlisted_count) and b"<loc" in repaired.body:
            raise MarkupError("its entries are not directly in its root")
        if fault is not None:
            raise fault
        notes.repairs = repaired.repairs
    except (MarkupError, ValueError) as exc:
        if "entity" in str(exc) and "declares" in str(exc):
            raise
        yield from islice(_from_tags(repaired.body.decode()), count, None)
        raise fault or MarkupError(str(exc)) from None


def _from_tags(text: str) -> Iterator[Listed]:
    """Yield the entries of broken XML: whatever is not closed, a value counts if another tag follows it."""
    entry: _Entry | None = None
    kind = name = value = ""
    at = 0
    while tag := _TAG.search(text, at):
        if name and entry is not None:
            entry.take(name, value or unescape(text[at : tag.start()]).strip())
        value, at = "", tag.end()
        if tag[2] is None:
            end = text.find("-->" if tag[0] == "<!--" else "]]>", at)
            if end < 0:
                break
            value = text[at:end].strip() if tag[0] != "<!--" else ""
            at = end + 3
            continue
        is_end, name = tag[1] == "/", tag[2].lower()
        if name in _ALL_ENTRIES:
            if entry is not None and (listed := entry.listed(is_sitemap=kind == "sitemap")):
                yield listed
            entry, kind, name = (None, "", "") if is_end else (_Entry(), name, "")
        elif is_end:
            name = ""
        elif entry is not None and name == "link" and (href := _HREF.search(tag[3])):
            rel = _REL.search(tag[3])
            entry.take_link(rel[1] if rel else "", unescape(href[1] or href[2]))
    if entry is not None and (listed := entry.listed(is_sitemap=kind == "sitemap")):
        yield listed


def _from_text(body: bytes, content_type: str | None, fault: MarkupError | None) -> Iterator[Listed]:
    """Yield the addresses of a text, one a line."""
    text = decode(body, content_type).text
    if fault is None and not text.strip("\ufeff\0 \t\r\n"):
        raise NotASitemapError("it is empty")
    count = odd_count = 0
    odd = ""
    for line in text.lstrip("\ufeff").replace("\0", "").splitlines():
        words = line[:MAX_LINE_CHARACTERS].split()
        if words and words[0].lower().startswith(("http://", "https://", "/")):
            count += 1
            yield Listed(address=words[0])
        elif words and not words[0].startswith("#"):
            odd_count += 1
            odd = odd or line.strip()[:80]
    if fault is not None:
        raise fault
    if odd and not count:
        raise NotASitemapError(f"it is neither XML nor a list of URLs: {odd!r}")
    if odd:
        raise MarkupError(f"{odd_count} of its lines are not URLs, such as {odd!r}")
