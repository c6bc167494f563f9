"""The pages in progress in a slice of a crawl: a limited number, and pages that only wait."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import Any

Task = asyncio.Task[Any]


def site_of(url: str) -> str:
    """Return the prefix of all URLs of a canonical URL's host and port: ``http://a.example/``."""
    return url[: url.index("/", len("https://")) + 1]


class PageSlots:
    """Counts pages in progress. A page that waits for its host, or for a retry, leaves its slot to another.

    Args:
        count: Number of slots.
        clock: Monotonic seconds.
        left: Called when a page has left its slot.
    """

    def __init__(self, count: int, clock: Callable[[], float], left: Callable[[], object]) -> None:
        self._count = count
        self._clock = clock
        self._left = left
        self._running: dict[Task, PageSlot] = {}
        self._waiting: dict[Task, PageSlot] = {}
        self._returning: deque[tuple[asyncio.Future[None], Task]] = deque()

    @property
    def is_free(self) -> bool:
        """Whether another page may begin."""
        return len(self._running) < self._count

    @property
    def is_empty(self) -> bool:
        """Whether no page is in progress."""
        return not self._running and not self._waiting

    @property
    def is_idle(self) -> bool:
        """Whether all pages only wait."""
        return not self._running

    @property
    def waiting_count(self) -> int:
        """How many pages wait."""
        return len(self._waiting)

    @property
    def oldest(self) -> float | None:
        """When the page that runs longest began or resumed; None if none runs."""
        slot = next(iter(self._running.values()), None)
        return None if slot is None else slot.began_at

    @property
    def has_begun(self) -> bool:
        """Whether a waiting page would lose work if it began again."""
        return any(slot.is_begun for slot in self._waiting.values())

    def begin(self, task: Task, slot: PageSlot) -> None:
        """Give a page a slot."""
        slot.task = task
        slot.began_at = self._clock()
        self._running[task] = slot

    def end(self, task: Task) -> None:
        """Record that a page has ended."""
        slot = self._running.pop(task, None) or self._waiting.pop(task, None)
        if slot is not None:
            slot.task = (
                None  # its context holds the slot: both, and their result, would wait for garbage collection
            )
        self._let_in()

    def leave(self, task: Task, slot: PageSlot) -> None:
        """Make a page wait without a slot."""
        if self._running.pop(task, None) is None:
            return  # it has ended
        self._waiting[task] = slot
        self._let_in()
        self._left()

    def enter(self, task: Task) -> None:
        """Give a page a slot again, an extra one if all are taken."""
        if (slot := self._waiting.pop(task, None)) is not None:
            self.begin(task, slot)

    async def enter_in_turn(self, task: Task) -> None:
        """Wait for a slot: pages that began earlier continue before others begin."""
        if not self.is_free:
            turn = asyncio.get_running_loop().create_future()
            self._returning.append((turn, task))
            await turn
        self.enter(task)

    def unbegun(self) -> list[Task]:
        """Return the waiting pages that have done nothing yet: they can be cancelled and begin again."""
        return [task for task, slot in self._waiting.items() if not slot.is_begun]

    def crowded_sites(self, least: int) -> frozenset[str]:
        """Return the sites with at least ``least`` waiting pages."""
        if len(self._waiting) < least:
            return frozenset()
        sites = Counter(site_of(slot.url) for slot in self._waiting.values())
        return frozenset(site for site, count in sites.items() if count >= least)

    def __iter__(self) -> Iterator[Task]:
        """Iterate over all pages in progress."""
        return iter([*self._running, *self._waiting])

    def _let_in(self) -> None:
        while self._returning and self.is_free:
            turn, task = self._returning.popleft()
            if not turn.done():  # otherwise it was cancelled
                self.enter(task)
                turn.set_result(None)


class PageSlot:
    """The slot of one page. Implements :class:`agentic.core.http.politeness.slots.Slot`.

    Attributes:
        url: Of the page.
        task: Fetches and reads it; None before it begins, and after its end.
        began_at: When it began or resumed.
        is_begun: Whether it was already requested, or failed.
    """

    __slots__ = ("_slots", "began_at", "is_begun", "task", "url")

    def __init__(self, slots: PageSlots, url: str) -> None:
        self._slots = slots
        self.url = url
        self.task: Task | None = None
        self.began_at = 0.0
        self.is_begun = False

    def leave(self) -> None:
        """See :meth:`agentic.core.http.politeness.slots.Slot.leave`."""
        if self.task is not None:
            self._slots.leave(self.task, self)

    def enter(self) -> None:
        """See :meth:`agentic.core.http.politeness.slots.Slot.enter`."""
        if self.task is not None:
            self._slots.enter(self.task)

    async def enter_in_turn(self) -> None:
        """See :meth:`agentic.core.http.politeness.slots.Slot.enter_in_turn`."""
        if self.task is not None:
            await self._slots.enter_in_turn(self.task)
