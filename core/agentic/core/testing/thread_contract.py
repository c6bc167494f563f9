"""The contract of every store of threads."""

from __future__ import annotations

import asyncio

import pytest

from agentic.core.agents.errors import ThreadConflictError, ThreadExistsError, ThreadNotFoundError
from agentic.core.agents.threads.entries import ThreadEntry, ThreadMetadata
from agentic.core.agents.threads.store import ThreadStore
from agentic.core.llm.messages import ChatMessage

ODD_IDS = ("a/b.c", "two words", "*", ">", "Zoë 漢字 🐍", "'; DROP TABLE threads; --", "x" * 200)


def metadata(agent: str = "host", user_id: str | None = "ada", created_at: float = 1.0) -> ThreadMetadata:
    """Return the facts of a thread."""
    return ThreadMetadata(agent=agent, user_id=user_id, created_at=created_at)


def entry(text: str, turn: str = "u1") -> ThreadEntry:
    """Return an entry with a message."""
    return ThreadEntry(turn=turn, messages=(ChatMessage.user(text),), is_input=True)


class ThreadStoreContract:
    """Inherit it, and define the fixture ``store``: an empty store."""

    @pytest.fixture
    def store(self) -> ThreadStore:
        """Return the store to test."""
        raise NotImplementedError

    async def test_entries_come_back_in_order(self, store: ThreadStore) -> None:
        await store.create("t", metadata())
        entries = tuple(entry(f"message {number} 漢字 \0 \ud83d") for number in range(1, 31))
        for number, one in enumerate(entries, 1):
            await store.append("t", number, one)
        found = await store.load("t")
        assert (found.id, found.metadata, found.entries) == ("t", metadata(), entries)

    async def test_an_entry_is_added_once(self, store: ThreadStore) -> None:
        for _ in range(2):
            await store.create("t", metadata())
            await store.append("t", 1, entry("one"))
        assert (await store.load("t")).entries == (entry("one"),)

    async def test_another_entry_of_the_same_number_is_refused(self, store: ThreadStore) -> None:
        await store.create("t", metadata())
        await store.append("t", 1, entry("one"))
        with pytest.raises(ThreadConflictError):
            await store.append("t", 1, entry("other"))
        assert (await store.load("t")).entries == (entry("one"),)

    async def test_of_many_writers_of_one_number_one_succeeds(self, store: ThreadStore) -> None:
        await store.create("t", metadata())
        writes = [store.append("t", 1, entry(str(number))) for number in range(8)]
        ended = await asyncio.gather(*writes, return_exceptions=True)
        lost = [one for one in ended if isinstance(one, ThreadConflictError)]
        assert (ended.count(None), len(lost)) == (1, 7)
        kept = (await store.load("t")).entries[0].messages[0].text
        assert ended[int(kept)] is None

    async def test_an_entry_without_the_one_before_it_is_refused(self, store: ThreadStore) -> None:
        await store.create("t", metadata())
        with pytest.raises(ThreadConflictError):
            await store.append("t", 2, entry("two"))
        assert (await store.load("t")).entries == ()

    async def test_an_unknown_thread_is_not_found(self, store: ThreadStore) -> None:
        with pytest.raises(ThreadNotFoundError, match="'t'"):
            await store.load("t")
        with pytest.raises(ThreadNotFoundError):
            await store.append("t", 1, entry("one"))
        assert await store.delete("t") is False

    async def test_another_thread_of_the_same_id_is_refused(self, store: ThreadStore) -> None:
        await store.create("t", metadata())
        with pytest.raises(ThreadExistsError):
            await store.create("t", metadata(user_id="eve"))
        assert (await store.load("t")).metadata.user_id == "ada"

    async def test_a_deleted_thread_is_gone_with_all_entries(self, store: ThreadStore) -> None:
        for thread_id in ("t", "t2"):
            await store.create(thread_id, metadata())
            await store.append(thread_id, 1, entry(thread_id))
        assert await store.delete("t") is True
        with pytest.raises(ThreadNotFoundError):
            await store.append("t", 2, entry("late"))
        assert [one.id for one in await store.list()] == ["t2"]
        await store.create("t", metadata(user_id="bob"))
        assert (await store.load("t")).entries == ()
        assert (await store.load("t2")).entries == (entry("t2"),)

    async def test_threads_are_listed_by_person_and_agent_oldest_first(self, store: ThreadStore) -> None:
        await store.create("c", metadata("host", "ada", 3.0))
        await store.create("a", metadata("host", "bob", 1.0))
        await store.create("b", metadata("guide", "ada", 2.0))
        await store.create("d", metadata("guide", None, 4.0))
        await store.append("c", 1, entry("hi"))

        async def ids(user_id: str | None = None, agent: str | None = None) -> list[str]:
            found = await store.list(user_id=user_id, agent=agent)
            assert all(one.entries == () for one in found)
            return [one.id for one in found]

        assert await ids() == ["a", "b", "c", "d"]
        assert await ids(user_id="ada") == ["b", "c"]
        assert await ids(agent="guide") == ["b", "d"]
        assert await ids(user_id="ada", agent="host") == ["c"]
        assert await ids(user_id="nobody") == []

    async def test_a_thread_of_five_megabytes_works(self, store: ThreadStore) -> None:
        await store.create("t", metadata())
        large = entry("x" * 2_500_000)
        await store.append("t", 1, large)
        await store.append("t", 2, large)
        await store.append("t", 1, large)
        with pytest.raises(ThreadConflictError):
            await store.append("t", 2, entry("y" * 2_500_000))
        assert (await store.load("t")).entries == (large, large)
        assert await store.delete("t")

    @pytest.mark.parametrize("odd", ODD_IDS)
    async def test_ids_can_be_any_text(self, store: ThreadStore, odd: str) -> None:
        await store.create(odd, metadata(agent=odd[:60], user_id=odd))
        await store.append(odd, 1, entry(odd))
        assert (await store.load(odd)).entries == (entry(odd),)
        assert [one.id for one in await store.list(user_id=odd)] == [odd]
        assert await store.delete(odd)
