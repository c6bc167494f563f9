"""Facts about the entries of a feed in XML: identity, address and times in the words of the feed.

The libraries that read feeds guess some of these: a time from a number, an address from the first link.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NoReturn
from urllib.parse import urljoin
from xml.parsers import expat

from agentic.core.reading.markup import MAX_CHARACTERS, MAX_DEPTH, MarkupError

ATOM = "http://www.w3.org/2005/Atom"
ROOTS = frozenset({"rss", "feed", "rdf", "channel"})
ENTRIES = frozenset({"item", "entry"})
PARENTS = frozenset({"channel", "rss", "rdf", "feed"})
TEXTS = frozenset({"title", "summary", "description", "body"})
PUBLISHED = ("pubdate", "published", "issued", "date")
UPDATED = ("lastbuilddate", "updated", "modified")
TIMES = frozenset({*PUBLISHED, *UPDATED})
READ = TIMES | {"link", "guid"}
HTML_TYPES = frozenset({"", "text/html", "application/xhtml+xml"})
RELATIONS = "http://www.iana.org/assignments/relation/"
LATE_RELATIONS = ("self", "edit", "enclosure", "replies")
"""The links to take for the address of an entry, in this order, if all its links are of these kinds."""
ENDED_EARLY = frozenset(
    {
        expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS],
        expat.errors.codes[expat.errors.XML_ERROR_UNCLOSED_TOKEN],
        expat.errors.codes[expat.errors.XML_ERROR_PARTIAL_CHAR],
        expat.errors.codes[expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION],
    }
)


@dataclass(slots=True)
class EntryFacts:
    """An entry; missing values are None.

    Attributes:
        id: Its own.
        link: Its address, absolute only if the feed or a base made it so.
        own_link: The same as the feed wrote it.
        is_link: Whether its id is not said to be something else than an address.
        published: As the feed wrote it, like ``updated``.
        base: The base for its addresses, if the feed names one.
        title: Its own, if an extension's came first: libraries take the first. ``summary`` likewise.
    """

    id: str | None = None
    link: str | None = None
    own_link: str | None = None
    is_link: bool = True
    published: str | None = None
    updated: str | None = None
    base: str | None = None
    title: str | None = None
    summary: str | None = None


@dataclass(slots=True)
class FeedFacts:
    """A feed.

    Attributes:
        root: The name of its root element, in lower case without prefix.
        home: The address of its site, absolute if it has a base.
        own: The address that it gives itself.
        base: The base for its addresses, if it names one.
        entries: Its entries, in its order; only whole ones.
        is_odd: It has markup in its texts, or texts in base64.
        fault: Why reading ended before the end; None if it did not.
        is_cut: It ends before its end, and entries may be missing.
        is_short: It ends before its end, perhaps within the last end tags.
        whole: Number of bytes up to the end of the last whole entry, or of another whole part of the feed.
        open: The end tags that are missing there.
    """

    root: str = ""
    home: str | None = None
    own: str | None = None
    base: str | None = None
    entries: list[EntryFacts] = field(default_factory=list)
    is_odd: bool = False
    fault: str | None = None
    is_cut: bool = False
    is_short: bool = False
    whole: int = 0
    open: bytes = b""


def feed_facts(body: bytes) -> FeedFacts:
    """Return the facts of a feed, as far as it is well-formed.

    Args:
        body: XML in UTF-8.

    Raises:
        MarkupError: It declares entities, or is nested too deep.
    """
    reader = _Reader(body)
    try:
        reader.parser.Parse(body, True)
    except MarkupError:
        raise
    except (LookupError, ValueError) as exc:  # its charset
        reader.found.fault = str(exc)
    except expat.ExpatError as exc:
        reader.found.fault = f"it is not well-formed XML: {exc}"
        rest = body[reader.found.whole :].lstrip()
        is_over = reader.has_ended or rest.startswith(b"</")
        reader.found.is_cut = exc.code in ENDED_EARLY and not is_over
        reader.found.is_short = exc.code in ENDED_EARLY
    return reader.take()


@dataclass(slots=True)
class _Link:
    href: str
    own: str
    relation: str
    kind: str


class _Reader:
    """Handlers of expat; it reads names with their prefixes, because many prefixes are not declared."""

    def __init__(self, body: bytes) -> None:
        self.found = FeedFacts()
        self.has_ended = False
        self._body = body
        self._names: list[str] = []
        self._locals: list[str] = []
        self._open: tuple[str, ...] = ()
        self._bases: list[tuple[int, str | None]] = [(-1, None)]  # with the depths of their elements
        self._spaces: dict[str, str] = {"atom": ATOM, "a10": ATOM}
        self._depth = 0
        self._entry = EntryFacts()
        self._is_inside = False
        self._entry_depth = -1
        self._texts: dict[str, str] = {}
        self._foreign: set[str] = set()
        self._links: list[_Link] = []
        self._home_links: list[_Link] = []
        self._key: str | None = None
        self._text: list[str] = []
        self._room = 0
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.EntityDeclHandler = self._entity

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        depth, local = self._depth, _local(name)
        if depth >= MAX_DEPTH:
            raise MarkupError(f"its elements are nested more than {MAX_DEPTH} levels deep")
        if depth and self._locals[-1] in TEXTS:
            self.found.is_odd = True
        self._names.append(name)
        self._locals.append(local)
        self._depth = depth + 1
        if attributes:
            self._read_attributes(attributes, depth)
        if self._is_inside:
            if depth == self._entry_depth + 1:
                self._start_of_part(name, local, attributes)
        elif depth == 0:
            self.found.root, self.found.base = local, self._base
        elif local in ENTRIES and self._locals[-2] in PARENTS:
            self._begin(attributes)
        elif depth <= 2:
            self._start_of_feed(local, attributes)

    @property
    def _base(self) -> str | None:
        return self._bases[-1][1]

    def _read_attributes(self, attributes: Mapping[str, str], depth: int) -> None:
        for name, value in attributes.items():
            if name.startswith("xml"):
                if name.startswith("xmlns:"):
                    self._spaces[name[6:]] = value
                elif name == "xml:base":
                    self._bases.append((depth, _joined(self._base, value)))
            elif name == "mode" and value == "base64":
                self.found.is_odd = True

    def _begin(self, attributes: Mapping[str, str]) -> None:
        self._entry, self._is_inside = EntryFacts(base=self._base), True
        self._entry_depth = self._depth - 1
        self._texts, self._foreign = {}, set()
        if about := attributes.get("rdf:about"):
            self._texts["about"] = about
        self._links = []

    def _start_of_feed(self, local: str, attributes: Mapping[str, str]) -> None:
        if local == "channel" and self._depth == 2:
            self.found.base = self._base
        elif local == "link" and self._locals[-2] in PARENTS:
            self._add_link(self._home_links, attributes)
            self._keep_text(local)

    def _start_of_part(self, name: str, local: str, attributes: Mapping[str, str]) -> None:
        if (key := self._key_of_part(name, local, attributes)) is not None:
            self._keep_text(key)

    def _key_of_part(self, name: str, local: str, attributes: Mapping[str, str]) -> str | None:
        """Return the key for the text of a part; None for a part that is not needed."""
        match local:
            case "link":
                if not self._is_own(name):
                    return "foreign link"
                self._add_link(self._links, attributes)
            case "title" | "description":  # Dublin Core, media, iTunes and Google Merchant have them, too
                if not self._is_own(name):
                    self._foreign.add(local)
                    return None
                return local if local in self._foreign else None
            case "guid":
                if attributes.get("isPermaLink", "").strip().lower() == "false":
                    self._entry.is_link = False
            case "id":
                return local if self.found.root == "feed" or self._is_atom(name) else None
            case "encoded":  # the fast library reads it in RSS 2.0 only
                self.found.is_odd = self.found.is_odd or self.found.root == "rdf"
                return None
        return local if local in READ else None

    def _keep_text(self, key: str) -> None:
        self._key, self._text, self._room = key, [], MAX_CHARACTERS
        self.parser.CharacterDataHandler = self._characters

    def _add_link(self, links: list[_Link], attributes: Mapping[str, str]) -> None:
        if href := attributes.get("href", "").strip():
            relation = attributes.get("rel", "").strip().lower().removeprefix(RELATIONS)
            address = _joined(self._base, href) or href
            links.append(
                _Link(address, href, relation or "alternate", attributes.get("type", "").strip().lower())
            )

    def _is_own(self, name: str) -> bool:
        """Return whether a part of an entry belongs to the format, not to one of its extensions."""
        return name.rpartition(":")[0] == self._names[self._entry_depth].rpartition(":")[0] or self._is_atom(
            name
        )

    def _is_atom(self, name: str) -> bool:
        return self._spaces.get(name.partition(":")[0]) == ATOM if ":" in name else False

    def _end(self, name: str) -> None:
        depth = self._depth = self._depth - 1
        self._names.pop()
        self._locals.pop()
        if self._key is not None:
            self._end_of_text(self._key)
        if self._bases[-1][0] == depth:
            self._bases.pop()
        if self._is_inside:
            if depth != self._entry_depth:
                return
            self._end_of_entry()
        if depth and self._locals[-1] in PARENTS:
            end = self._body.find(b">", self.parser.CurrentByteIndex)
            self.found.whole, self._open = end + 1, tuple(self._names)
            self.has_ended = _local(name) == "channel" and self.found.root == "rss"

    def _end_of_text(self, key: str) -> None:
        text, self._key = "".join(self._text).strip(), None
        self.parser.CharacterDataHandler = None
        if not text:
            return
        if not self._is_inside:
            self.found.home = self.found.home or _joined(self._base, text)
            return
        if key == "link" and key not in self._texts:
            self._texts["joined"] = _joined(self._base, text) or text
        self._texts.setdefault(key, text)

    def _end_of_entry(self) -> None:
        entry, texts = self._entry, self._texts
        self._is_inside = False
        entry.id = texts.get("id") or texts.get("guid") or texts.get("about")
        chosen = min(self._links, key=_rank) if self._links else None  # the first of the best
        if "link" in texts:
            entry.link, entry.own_link = texts["joined"], texts["link"]
        elif chosen is not None:
            entry.link, entry.own_link = chosen.href, chosen.own
        elif (guid := texts.get("guid")) and entry.is_link and _is_address(guid):
            entry.link = entry.own_link = guid
        elif (elsewhere := texts.get("foreign link")) and _is_address(elsewhere):
            entry.link = entry.own_link = elsewhere
        entry.title, entry.summary = texts.get("title"), texts.get("description")
        entry.published = next((texts[name] for name in PUBLISHED if name in texts), None)
        entry.updated = next((texts[name] for name in UPDATED if name in texts), None)
        self.found.entries.append(entry)

    def take(self) -> FeedFacts:
        """Return all facts that were found."""
        found = self.found
        if found.is_odd:
            for entry in found.entries:
                entry.title = entry.summary = None
        found.open = b"".join(f"</{name}>".encode() for name in reversed(self._open))
        hrefs = {link.relation: link.href for link in reversed(self._home_links)}  # the first of each
        found.home, found.own = found.home or hrefs.get("alternate"), hrefs.get("self")
        return found

    def _characters(self, text: str) -> None:
        if self._room > 0:
            self._text.append(text[: self._room])
            self._room -= len(text)

    def _entity(self, name: str, *_declared: object) -> NoReturn:
        # A few of them, each built from the one before, expand to gigabytes.
        raise MarkupError(f"it declares the entity {name!r}")


def _rank(link: _Link) -> int:
    if link.relation == "alternate":
        return 0 if link.kind in HTML_TYPES else 1
    return 3 + LATE_RELATIONS.index(link.relation) if link.relation in LATE_RELATIONS else 2


def _joined(base: str | None, address: str | None) -> str | None:
    if address is None or base is None:
        return address if address is not None else base
    try:
        return urljoin(base, address.strip())
    except ValueError:
        return base


def _is_address(text: str) -> bool:
    return text.lower().startswith(("http://", "https://"))


@lru_cache(maxsize=1024)
def _local(name: str) -> str:
    return name.rpartition(":")[2].lower()
