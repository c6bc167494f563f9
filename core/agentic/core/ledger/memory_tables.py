"""Tables in memory: rows by key, sorted lists of them, and undo."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import islice
from operator import itemgetter
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)
RowT = TypeVar("RowT")

Sort = tuple[float | str, ...]
"""Position of a row in a list."""

Places = Mapping[tuple[str | int, ...], Sort]
"""The lists of a row by name, with its position in each."""

_place = itemgetter(0)


class Journal:
    """Undoes writes to any number of tables; the cost grows with the number of writes."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def add(self, undo: Callable[[], None]) -> None:
        """Record how to undo the last write."""
        self._undo.append(undo)

    def keep(self) -> None:
        """Keep all writes: forget how to undo them."""
        self._undo.clear()

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Undo the writes of the block, the newest first, if it raises."""
        begin = len(self._undo)
        try:
            yield
        except BaseException:
            while len(self._undo) > begin:
                self._undo.pop()()
            raise


class Table(Generic[KeyT, RowT]):
    """Immutable rows by key, and sorted lists of related rows."""

    def __init__(self, journal: Journal, places: Callable[[RowT], Places]) -> None:
        self._journal = journal
        self._places = places
        self._rows: dict[KeyT, RowT] = {}
        self._lists: dict[tuple[str | int, ...], list[tuple[Sort, KeyT]]] = {}

    def __getitem__(self, key: KeyT) -> RowT:
        return self._rows[key]

    def get(self, key: KeyT) -> RowT | None:
        """Return a row."""
        return self._rows.get(key)

    def __len__(self) -> int:
        return len(self._rows)

    def newest_first(self) -> Iterator[RowT]:
        """Return all rows, the newest first."""
        return reversed(self._rows.values())

    def put(self, key: KeyT, row: RowT) -> None:
        """Keep a row; it replaces another row with its key."""
        old = self._rows.get(key)
        self._journal.add(partial(self._swap, key, row, old))
        self._swap(key, old, row)

    def count(self, *name: str | int) -> int:
        """Return how many rows are in a list."""
        return len(self._lists.get(name, ()))

    def listed(self, *name: str | int, start: Sort = ()) -> Iterator[RowT]:
        """Return the rows of a list in order, from ``start`` on; do not write meanwhile."""
        entries = self._lists.get(name, [])
        begin = bisect_left(entries, start, key=_place)
        return (self._rows[key] for _, key in islice(entries, begin, None))

    def _swap(self, key: KeyT, old: RowT | None, new: RowT | None) -> None:
        before = self._places(old).items() if old is not None else frozenset()
        after = self._places(new).items() if new is not None else frozenset()
        for name, sort in before - after:
            self._take_out(name, (sort, key))
        for name, sort in after - before:
            insort(self._lists.setdefault(name, []), (sort, key))
        if new is None:
            del self._rows[key]
        else:
            self._rows[key] = new

    def _take_out(self, name: tuple[str | int, ...], entry: tuple[Sort, KeyT]) -> None:
        entries = self._lists[name]
        del entries[bisect_left(entries, entry)]
        if not entries:
            del self._lists[name]
