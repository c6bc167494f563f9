"""The port to stores of threads, and the store in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agentic.core.agents.errors import ThreadConflictError, ThreadExistsError, ThreadNotFoundError
from agentic.core.agents.threads.entries import ThreadEntry, ThreadMetadata
from agentic.core.records import record


@record
class StoredThread:
    """A thread as a store has it.

    Attributes:
        id: Its id.
        metadata: Its facts.
        entries: Its entries, in order.
    """

    id: str
    metadata: ThreadMetadata
    entries: tuple[ThreadEntry, ...] = ()


class ThreadStore(Protocol):
    """Keeps threads: each as its facts and a log of entries. Agent Framework has a ``ChatMessageStore``."""

    async def create(self, thread_id: str, metadata: ThreadMetadata) -> None:
        """Keep a new thread without entries; to create the same one twice does nothing.

        Raises:
            ThreadExistsError: Another one has its id.
        """
        ...

    async def append(self, thread_id: str, number: int, entry: ThreadEntry) -> None:
        """Keep one more entry, atomically; to append the same one twice does nothing.

        Args:
            thread_id: The thread.
            number: The number of the entry, from 1.
            entry: The entry.

        Raises:
            ThreadConflictError: The thread has another entry of that number, or lacks the one before it.
            ThreadNotFoundError: It does not exist.
        """
        ...

    async def load(self, thread_id: str) -> StoredThread:
        """Return a thread.

        Raises:
            ThreadNotFoundError: It does not exist.
            ThreadFormatError: It cannot be read.
        """
        ...

    async def list(self, *, user_id: str | None = None, agent: str | None = None) -> Sequence[StoredThread]:
        """Return the threads of a person or an agent, without their entries, oldest first.

        Raises:
            ThreadFormatError: The facts of one cannot be read.
        """
        ...

    async def delete(self, thread_id: str) -> bool:
        """Remove a thread with all its entries; return whether there was one."""
        ...


class MemoryThreadStore:
    """Keeps threads in this process."""

    def __init__(self) -> None:
        self._threads: dict[str, StoredThread] = {}

    async def create(self, thread_id: str, metadata: ThreadMetadata) -> None:
        """Keep a new thread; see :class:`ThreadStore`."""
        known = self._threads.setdefault(thread_id, StoredThread(thread_id, metadata))
        if known.metadata != metadata:
            raise ThreadExistsError(thread_id)

    async def append(self, thread_id: str, number: int, entry: ThreadEntry) -> None:
        """Keep one more entry; see :class:`ThreadStore`."""
        known = self._known(thread_id)
        if number <= len(known.entries) and known.entries[number - 1] == entry:
            return
        if number != len(known.entries) + 1:
            raise ThreadConflictError(thread_id, number)
        self._threads[thread_id] = StoredThread(thread_id, known.metadata, (*known.entries, entry))

    async def load(self, thread_id: str) -> StoredThread:
        """Return a thread; see :class:`ThreadStore`."""
        return self._known(thread_id)

    async def list(self, *, user_id: str | None = None, agent: str | None = None) -> Sequence[StoredThread]:
        """Return the threads of a person or an agent; see :class:`ThreadStore`."""
        found = [
            StoredThread(one.id, one.metadata)
            for one in self._threads.values()
            if user_id in (None, one.metadata.user_id) and agent in (None, one.metadata.agent)
        ]
        return sorted(found, key=lambda one: (one.metadata.created_at, one.id))

    async def delete(self, thread_id: str) -> bool:
        """Remove a thread; see :class:`ThreadStore`."""
        return self._threads.pop(thread_id, None) is not None

    def _known(self, thread_id: str) -> StoredThread:
        if thread_id not in self._threads:
            raise ThreadNotFoundError(thread_id)
        return self._threads[thread_id]
