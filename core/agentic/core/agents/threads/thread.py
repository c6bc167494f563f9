"""A thread: one conversation, in memory or in a store. Agents have no state; threads have all of it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager

from agentic.core.agents.errors import ThreadFormatError
from agentic.core.agents.requests import PendingRequest
from agentic.core.agents.threads.entries import (
    THREAD_FORMAT,
    ThreadEntry,
    ThreadMetadata,
    ThreadTurn,
    reading,
    turns_of,
)
from agentic.core.agents.threads.holding import Holding
from agentic.core.agents.threads.store import ThreadStore
from agentic.core.finishing import finish
from agentic.core.ids import new_id
from agentic.core.llm.messages import ChatMessage
from agentic.core.llm.usage import TokenUsage
from agentic.core.types import JSONValue


class AgentThread:
    """A conversation. Agent Framework calls it ``AgentSession``, LangGraph a thread.

    It is a log of entries. Each entry is kept in the store as it comes, so a thread can be loaded in
    another process at any time, and the agent continues it there.

    Attributes:
        id: Its id.
        metadata: Its agent, its user, and when it began.
        store: Where it is kept; None for this process only.
        entries: All entries, oldest first.
        on_usage: Called with the use of models in each new entry.
    """

    def __init__(
        self,
        metadata: ThreadMetadata,
        *,
        thread_id: str | None = None,
        store: ThreadStore | None = None,
        entries: Sequence[ThreadEntry] = (),
        is_kept: bool = False,
    ) -> None:
        self.id = thread_id or new_id()
        self.metadata = metadata
        self.store = store
        self.entries = list(entries)
        self.on_usage: Callable[[TokenUsage], None] | None = None
        self._turns = turns_of(self.entries)
        self._messages = [message for entry in self.entries for message in entry.messages]
        self._is_kept = is_kept
        self._holding = Holding(self.id)

    @classmethod
    def new(
        cls, agent: str, *, user_id: str | None = None, store: ThreadStore | None = None, title: str = ""
    ) -> AgentThread:
        """Return an empty thread; a store has it from its first entry on.

        Args:
            agent: Name of the agent.
            user_id: The person who speaks.
            store: Where to keep it.
            title: A few words for lists.
        """
        facts = ThreadMetadata(agent=agent, user_id=user_id, created_at=time.time(), title=title)
        return cls(facts, store=store)

    @classmethod
    async def load(cls, thread_id: str, store: ThreadStore) -> AgentThread:
        """Return a stored thread.

        Raises:
            ThreadNotFoundError: The store does not have it.
            ThreadFormatError: It cannot be read.
        """
        found = await store.load(thread_id)
        return cls(found.metadata, thread_id=thread_id, store=store, entries=found.entries, is_kept=True)

    async def save(self, store: ThreadStore) -> None:
        """Keep the thread in a store, from now on with each entry.

        Raises:
            ThreadExistsError: The store has another thread of this id.
            ThreadConflictError: The store's thread has other entries.
        """
        await store.create(self.id, self.metadata)
        for number, entry in enumerate(self.entries, 1):
            await store.append(self.id, number, entry)
        self.store, self._is_kept = store, True

    def held(self) -> AbstractAsyncContextManager[None]:
        """Hold the thread for one run; agents do so. Another run of this object waits for its end.

        Raises:
            ThreadInUseError: The run that holds it waits for this one (a tool of its agent asks for it), or
                works in another event loop.
        """
        return self._holding.held()

    @property
    def messages(self) -> tuple[ChatMessage, ...]:
        """All messages, oldest first."""
        return tuple(self._messages)

    @property
    def notes(self) -> dict[str, JSONValue]:
        """Effects that are kept for all turns, by key: summaries of the earlier conversation."""
        return {key: value for entry in self.entries for key, value in entry.notes.items()}

    @property
    def turn(self) -> ThreadTurn | None:
        """The last turn."""
        return next(reversed(self._turns.values()), None)

    @property
    def pending(self) -> tuple[PendingRequest, ...]:
        """The requests that it waits for."""
        turn = self.turn
        return () if turn is None or turn.ended else turn.pending

    @property
    def usage(self) -> TokenUsage:
        """The use of models in all turns."""
        return sum((turn.usage for turn in self._turns.values()), TokenUsage())

    def find_turn(self, turn_id: str) -> ThreadTurn | None:
        """Return a turn by its id."""
        return self._turns.get(turn_id)

    async def append(self, entry: ThreadEntry) -> None:
        """Add an entry: to the store first, if there is one.

        Raises:
            ThreadConflictError: Another process has added one meanwhile; nothing is changed.
        """
        if self.store is None:
            self._take(entry)
            return
        await finish(
            self._keep(self.store, entry)
        )  # else the store could have an entry that the thread lacks

    async def _keep(self, store: ThreadStore, entry: ThreadEntry) -> None:
        await self.ensure_kept()
        await store.append(self.id, len(self.entries) + 1, entry)
        self._take(entry)

    def _take(self, entry: ThreadEntry) -> None:
        self.entries.append(entry)
        self._messages += entry.messages
        self._turns[entry.turn] = self._turns.get(entry.turn, ThreadTurn(entry.turn)).with_entry(entry)
        if entry.usage is not None and self.on_usage is not None:
            self.on_usage(entry.usage)

    async def refresh(self) -> None:
        """Read the entries that other processes have added. A thread without a store is unchanged.

        Raises:
            ThreadNotFoundError: The store does not have it.
            ThreadFormatError: It cannot be read.
        """
        if self.store is not None:
            self.entries = list((await self.store.load(self.id)).entries)
            self._turns = turns_of(self.entries)
            self._messages = [message for entry in self.entries for message in entry.messages]
            self._is_kept = True

    async def ensure_kept(self) -> None:
        """Create it in its store, if it is new.

        Raises:
            ThreadExistsError: The store has another thread of this id.
        """
        if self.store is not None and not self._is_kept:
            await self.store.create(self.id, self.metadata)
            self._is_kept = True

    def serialize(self) -> bytes:
        """Return the whole thread as JSON."""
        document = {
            "format": THREAD_FORMAT,
            "id": self.id,
            "metadata": self.metadata.model_dump(),
            "entries": [entry.model_dump(exclude_defaults=True) for entry in self.entries],
        }
        return json.dumps(document, separators=(",", ":")).encode()

    @classmethod
    def deserialize(cls, data: bytes | str, *, store: ThreadStore | None = None) -> AgentThread:
        """Return the thread that :meth:`serialize` wrote.

        Args:
            data: The JSON.
            store: A store that has this thread, if there is one.

        Raises:
            ThreadFormatError: It is not a thread, or one of another version.
        """
        with reading("not a stored thread"):
            document = json.loads(data)
            version = document["format"]
            if version != THREAD_FORMAT:
                raise ThreadFormatError(
                    f"the thread has format {version!r}, but this version reads {THREAD_FORMAT}; use the "
                    "version of agentic-pipelines that wrote it"
                )
            return cls(
                ThreadMetadata.model_validate(document["metadata"]),
                thread_id=document["id"],
                store=store,
                entries=[ThreadEntry.model_validate(entry) for entry in document["entries"]],
                is_kept=store is not None,
            )
