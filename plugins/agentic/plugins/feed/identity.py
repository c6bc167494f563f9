"""Finds the stored row of each entry of a poll.

Most feeds give each entry an id of its own, which is the key of its row. Other feeds give all entries one id,
number them by their place, or make new ids for each answer. So entries with a new or doubtful id are compared
with the rows of their feed: no entry is lost, and none is stored twice.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from agentic.core.reading.addresses import absolute
from agentic.core.reading.dates import as_utc, parse_moment
from agentic.core.types import JSONValue
from agentic.plugins.feed.models import ENTRY_KEY_LENGTH

Item = Mapping[str, JSONValue]
_Compared = tuple[bool | None, bool | None, bool | None]
SHOWN_CHARACTERS = 60
RENEWED = 2
"""Number of entries of one answer that would have a row except for a new id; one may be an accident."""


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """The parts of a row that identify its entry."""

    key: str
    id: str | None = None
    link: str | None = None
    title: str | None = None
    published_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """Values of the rows to compare with entries; any of them is enough."""

    keys: frozenset[str] = frozenset()
    ids: frozenset[str] = frozenset()
    links: frozenset[str] = frozenset()
    titles: frozenset[str] = frozenset()
    times: frozenset[datetime] = frozenset()


@dataclass(frozen=True, slots=True)
class Identified:
    """The keys of entries, in their order, None for those without identity; and a sentence for each doubt."""

    keys: tuple[str | None, ...]
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Entry:
    """Equal entries of an answer.

    Attributes:
        indexes: Where they are.
        keys: Possible keys of their row, the usual one first.
        is_shared: Other entries of the answer have the same usual key.
        is_unlike: They have different texts.
    """

    indexes: tuple[int, ...]
    keys: tuple[str, ...]
    id: str | None
    link: str | None
    title: str | None
    times: frozenset[datetime]
    is_shared: bool = False
    is_unlike: bool = False

    @property
    def key(self) -> str:
        return self.keys[0]

    @property
    def has_id(self) -> bool:
        """Whether it has an id other than its link: the link stands in for a missing id."""
        return self.id is not None and (self.link is None or absolute(self.link, self.id) != self.link)


def entry_key(item: Item) -> str:
    """Return the usual key of an entry: its id, else its link, else a hash of title and time, or of its text.

    Raises:
        ValueError: It has none of them.
    """
    if (found := usual_key(item)) is not None:
        return found
    raise ValueError("it has no id, no link, no title, no time and no text")


def usual_key(item: Item) -> str | None:
    """Return the same; None if it has none of them."""
    return next(iter(_keys(item)), None)


def question_of(items: Sequence[Item], stored: Mapping[str, StoredEntry]) -> Question | None:
    """Return which rows are needed to identify entries; None for most polls.

    Args:
        items: The entries of one answer.
        stored: The rows with the usual keys of these entries.
    """
    hard = _hard(_entries(items), stored)
    if not hard:
        return None
    apart = [entry for entry in hard if entry.link is None and entry.id is None]
    return Question(
        keys=frozenset(one for entry in hard for key in entry.keys for one in _schemes(key)),
        ids=frozenset(entry.id for entry in hard if entry.id and (entry.is_shared or entry.key in stored)),
        links=frozenset(one for entry in hard if entry.link for one in _schemes(entry.link)),
        titles=frozenset(entry.title for entry in apart if entry.title),
        times=frozenset(time for entry in apart for time in entry.times),
    )


def identify(items: Sequence[Item], stored: Mapping[str, StoredEntry]) -> Identified:
    """Return the keys of the entries of one answer.

    Args:
        items: The entries.
        stored: Rows of their feed: the rows with their usual keys, and the rows for :func:`question_of`.
    """
    entries = _entries(items)
    hard = _hard(entries, stored)
    doubtful = {entry.indexes for entry in hard}
    found = {entry.indexes: entry.key for entry in entries if entry.indexes not in doubtful}
    rows = {key: row for key, row in stored.items() if key not in set(found.values())}
    found |= _matched(hard, rows, stored, is_renewed=not any(entry.key in stored for entry in entries))
    new = [entry for entry in hard if entry.indexes not in found]
    named, doubts = _named(new, {*found.values(), *stored})
    keys = {index: key for indexes, key in (found | named).items() for index in indexes}
    unlike = sum(len(entry.indexes) for entry in entries if entry.is_unlike)
    if unlike:
        doubts.append(
            f"{unlike} entries with equal ids, links and titles have different texts; the last is kept"
        )
    return Identified(tuple(keys.get(index) for index in range(len(items))), tuple(doubts))


def _entries(items: Sequence[Item]) -> list[_Entry]:
    """Return the different entries of an answer."""
    found: dict[object, _Entry] = {}
    texts: dict[object, set[str | None]] = defaultdict(set)
    for index, item in enumerate(items):
        if not (keys := _keys(item)):
            continue
        entry = _Entry(
            (index,), keys, _text(item, "id"), _text(item, "url"), _text(item, "title"), _times(item)
        )
        content = _content(item)
        is_text_only = entry.link is None and entry.title is None
        same = (entry.key, entry.link, entry.title, entry.times, content if is_text_only else None)
        texts[same].add(content)
        earlier = found.get(same)
        found[same] = replace(entry, indexes=(*earlier.indexes, index)) if earlier else entry
    counted = Counter(entry.key for entry in found.values())
    return [
        replace(entry, is_shared=counted[entry.key] > 1, is_unlike=len(texts[same]) > 1)
        if counted[entry.key] > 1 or len(texts[same]) > 1
        else entry
        for same, entry in found.items()
    ]


def _hard(entries: Iterable[_Entry], stored: Mapping[str, StoredEntry]) -> list[_Entry]:
    """Return the entries whose usual key may not be the key of their row."""
    return [
        entry
        for entry in entries
        if entry.is_shared or (row := stored.get(entry.key)) is None or not _is_clear(entry, row)
    ]


def _is_clear(entry: _Entry, row: StoredEntry) -> bool:
    link, title, time = _compared(entry, row)
    if title is False:
        return False
    return time is not False if link is None else link


def _matched(
    hard: Sequence[_Entry],
    rows: Mapping[str, StoredEntry],
    stored: Mapping[str, StoredEntry],
    *,
    is_renewed: bool,
) -> dict[tuple[int, ...], str]:
    """Return the keys of the rows that entries have, the surest first."""
    if not rows:
        return {}
    judge = _Judge(hard, rows, stored)
    pairs = [
        (rank, entry.indexes, row.key)
        for entry in hard
        for row in judge.near(entry)
        if (rank := judge.rank(entry, row))
    ]
    renewed = [(1, *pair) for pair in judge.renewed()] if is_renewed else []
    if len(renewed) >= RENEWED:
        pairs += renewed
    found: dict[tuple[int, ...], str] = {}
    used: set[str] = set()
    for _, indexes, key in sorted(pairs, key=lambda pair: -pair[0]):
        if indexes not in found and key not in used:
            found[indexes] = key
            used.add(key)
    return found


class _Judge:
    """Compares entries with rows."""

    def __init__(
        self, hard: Sequence[_Entry], rows: Mapping[str, StoredEntry], stored: Mapping[str, StoredEntry]
    ) -> None:
        self._hard = hard
        self._stored = stored
        self._rows: dict[object, list[StoredEntry]] = defaultdict(list)
        for row in rows.values():
            marks = {("key", _plain(row.key)), ("id", _plain(row.id)), ("link", _plain(row.link))}
            for mark in (*marks, ("title", row.title), ("time", row.published_at)):
                if mark[1] is not None:
                    self._rows[mark].append(row)
        self._links = Counter(_plain(entry.link) for entry in hard)
        self._row_links = Counter(_plain(row.link) for row in stored.values())
        ids = Counter(row.id for row in stored.values() if row.id)
        self._shared = {entry.key for entry in hard if entry.is_shared or (entry.id and ids[entry.id] > 1)}

    def near(self, entry: _Entry) -> Iterable[StoredEntry]:
        """Return the rows that might be of an entry."""
        marks: list[tuple[str, object]] = [("key", _plain(key)) for key in entry.keys]
        marks += [("id", _plain(entry.id)), ("link", _plain(entry.link))]
        if entry.link is None and entry.id is None:
            marks += [("title", entry.title), *(("time", time) for time in entry.times)]
        return {row.key: row for mark in marks for row in self._rows.get(mark, ())}.values()

    def rank(self, entry: _Entry, row: StoredEntry) -> int:
        """Return how sure it is that a row is of an entry; 0 if it is of another one."""
        compared = _compared(entry, row)
        if row.key in entry.keys[1:] and False not in compared:
            return 60
        if self._is_same_id(entry, row):
            return self._rank_of_same_id(entry, compared)
        link, title, time = compared
        if link is False or (title is False and not time):
            return 0
        return (
            30 + 2 * (title is True) + (time is True) if self._is_same_otherwise(entry, row, compared) else 0
        )

    def renewed(self) -> Iterable[tuple[tuple[int, ...], str]]:
        """Return the entries that would have a row if their ids were not new, and the rows."""
        for entry in self._hard:
            rows = self._rows.get(("link", _plain(entry.link)), ()) if entry.link else ()
            if len(rows) == 1 and self._links[_plain(entry.link)] == 1:
                _, title, time = _compared(entry, rows[0])
                if title and time is not False:
                    yield entry.indexes, rows[0].key

    def _is_same_otherwise(self, entry: _Entry, row: StoredEntry, compared: _Compared) -> bool:
        """Return whether a row with another id, and no other link, is of an entry."""
        link, title, time = compared
        if row.key in entry.keys:  # an id came later
            return True
        if not entry.has_id:  # the feed has dropped its ids, or the entry has never had one
            return bool(link or time or (title and time is None))
        is_displaced = entry.key in self._stored and self._is_only(entry)
        return bool(link and title and (time or (time is None and is_displaced)))

    def _is_only(self, entry: _Entry) -> bool:
        """Return whether the link of an entry is its own."""
        link = _plain(entry.link)
        return self._links[link] == 1 and self._row_links[link] <= 1

    def _is_same_id(self, entry: _Entry, row: StoredEntry) -> bool:
        if entry.has_id or entry.link is None:
            return row.key == entry.key or _plain(row.id or row.key) == _plain(entry.id or entry.key)
        return _plain(row.key) == _plain(entry.key)

    def _rank_of_same_id(self, entry: _Entry, compared: _Compared) -> int:
        link, title, time = compared
        sure = 4 * (link is True) + 2 * (title is True) + (time is True)
        if entry.key in self._shared:
            if (link and entry.has_id and self._is_only(entry)) or (
                link is not False and (title or (time and title is not False))
            ):
                return 50 + sure
            return 40 if link is not False and time else 0
        if link is not False and (link or title or time):
            return 50 + sure
        if title or time:  # only its link was changed
            return 20 + sure
        # Neither link nor title are the same: the id was given to another entry.
        return 10 if link is not False or title is not False else 0


def _named(new: Sequence[_Entry], taken: set[str]) -> tuple[dict[tuple[int, ...], str], list[str]]:
    """Return keys for entries without a row, and the doubts about them."""
    found: dict[tuple[int, ...], str] = {}
    doubts: list[str] = []
    apart: Counter[str] = Counter()
    as_one: Counter[str] = Counter()
    for entry in new:
        is_text_only = entry.is_shared and not (entry.link or entry.title or entry.times)
        keys = entry.keys[1:] if is_text_only else entry.keys
        key = next((key for key in keys if key not in taken), None)
        if key != entry.key:
            (as_one if key is None else apart)[entry.id or entry.link or entry.title or ""] += 1
        found[entry.indexes] = key or entry.key
        taken.add(found[entry.indexes])
    for name, count in apart.items():
        doubts.append(
            f"the id {name[:SHOWN_CHARACTERS]!r} is not unique: {count} more entries have it, and are "
            "identified by link, title or text"
        )
    for name, count in as_one.items():
        doubts.append(
            f"{count} entries do not differ from the entry {name[:SHOWN_CHARACTERS]!r}, and were merged"
        )
    return found, doubts


def _compared(entry: _Entry, row: StoredEntry) -> _Compared:
    """Return whether link, title and time of an entry and a row are the same; None if one has none."""
    link = _plain(entry.link) == _plain(row.link) if entry.link and row.link else None
    title = entry.title == row.title if entry.title and row.title else None
    time = row.published_at in entry.times if entry.times and row.published_at else None
    return link, title, time


def _keys(item: Item) -> tuple[str, ...]:
    """Return the possible keys of an entry, the usual one first."""
    title, time = _text(item, "title"), _text(item, "published") or _text(item, "updated")
    hashed = [_hashed(f"{title or ''}\n{time or ''}")] if title or time else []
    content = _content(item)
    texts = [_hashed(f"{title or ''}\n{time or ''}\n{content}")] if content else []
    names = [name for name in (_text(item, "id"), _text(item, "url")) if name]
    written = [name if len(name) <= ENTRY_KEY_LENGTH else _hashed(name) for name in names]
    keys = tuple(dict.fromkeys([*written, *hashed, *texts]))
    return keys or _keys_of_files(item)


def _keys_of_files(item: Item) -> tuple[str, ...]:
    """Return the key of an entry that has nothing but files, such as an episode without a title."""
    files = item.get("enclosures")
    addresses = (
        [str(one.get("url") or "") for one in files if isinstance(one, dict)]
        if isinstance(files, list)
        else []
    )
    return tuple(_hashed(address) for address in addresses[:1] if address)


def _content(item: Item) -> str | None:
    return _text(item, "content") or _text(item, "summary")


def _times(item: Item) -> frozenset[datetime]:
    """Return the times of an entry: rows of earlier versions have the second one for the first."""
    found = (parse_moment(text) for name in ("published", "updated") if (text := _text(item, name)))
    return frozenset(as_utc(moment).astimezone(UTC) for moment in found if moment is not None)


def _schemes(text: str) -> Iterable[str]:
    """Return an address with both schemes, other texts alone."""
    yield text
    if text.startswith("http://"):
        yield f"https://{text[7:]}"
    elif text.startswith("https://"):
        yield f"http://{text[8:]}"


def _plain(text: str | None) -> str | None:
    """Return a text without differences that make no other entry: upper case, the scheme of an address."""
    return None if text is None else text.casefold().removeprefix("https://").removeprefix("http://")


def _text(item: Item, name: str) -> str | None:
    value = item.get(name)
    return str(value) if value else None


def _hashed(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()}"
