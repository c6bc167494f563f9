"""Threads in SQL."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from agentic.core.agents import (
    AgentThread,
    ChatAgent,
    ThreadError,
    ThreadFormatError,
    ThreadNotFoundError,
    ThreadStore,
)
from agentic.core.llm import ScriptedModel
from agentic.core.testing import ThreadStoreContract
from agentic.core.testing.thread_contract import entry, metadata
from agentic.mappers import Database, SqlThreadStore, add_project, find_project
from agentic.mappers.catalog.projects import remove_project
from agentic.mappers.tables.threads import ThreadModel

pytestmark = pytest.mark.integration


def store_of(database: Database, project: str) -> SqlThreadStore:
    with database.writing() as session:
        return SqlThreadStore(database, project_id=add_project(session, project).id)


class TestSqlThreadStore(ThreadStoreContract):
    @pytest.fixture
    def store(self, migrated_database: Database) -> ThreadStore:
        return store_of(migrated_database, "ours")


async def test_threads_of_projects_are_apart(migrated_database: Database) -> None:
    ours, theirs = store_of(migrated_database, "ours"), store_of(migrated_database, "theirs")
    await ours.create("t", metadata())
    await ours.append("t", 1, entry("secret"))
    with pytest.raises(ThreadNotFoundError):
        await theirs.load("t")
    with pytest.raises(ThreadNotFoundError):
        await theirs.append("t", 2, entry("intruder"))
    assert await theirs.delete("t") is False
    await theirs.create("t", metadata(user_id="eve"))
    assert (await ours.load("t")).metadata.user_id == "ada"


async def test_threads_are_listed_in_pages_newest_first(migrated_database: Database) -> None:
    ours, theirs = store_of(migrated_database, "ours"), store_of(migrated_database, "theirs")
    for number, created_at in enumerate((1.0, 3.0, 3.0, 2.0)):
        facts = metadata(user_id="ada" if number else "bob").model_copy(update={"created_at": created_at})
        await ours.create(f"t{number}", facts)
    await theirs.create("x", metadata())
    found: list[str] = []
    after = None
    while page := await ours.newest(1, after=after):
        found.append(page[0].id)
        after = page[0].id
    assert found == ["t1", "t2", "t3", "t0"]
    assert [one.id for one in await ours.newest(9, user_id="ada")] == ["t1", "t2", "t3"]
    assert await ours.newest(9, agent="another") == []
    with pytest.raises(ThreadNotFoundError):
        await ours.newest(9, after="x")


async def test_a_removed_project_takes_its_threads_along(migrated_database: Database) -> None:
    store = store_of(migrated_database, "ours")
    await store.create("t", metadata())
    await store.append("t", 1, entry("hi"))
    with migrated_database.writing() as session:
        remove_project(session, find_project(session, "ours"), {})
    with pytest.raises(ThreadNotFoundError):
        await store.load("t")


async def test_an_id_that_is_too_long_is_refused_before_anything_is_stored(
    migrated_database: Database,
) -> None:
    store = store_of(migrated_database, "ours")
    with pytest.raises(ThreadError, match="the id of a thread has 201 characters; 200 are stored in SQL"):
        await store.create("x" * 201, metadata())
    with pytest.raises(ThreadError, match="the user_id of a thread"):
        await store.create("t", metadata(user_id="x" * 201))
    assert await store.list() == []


@pytest.mark.parametrize("facts", ["{", "[" * 100_000, '{"agent": ["my secret"]}'])
async def test_damaged_facts_of_a_thread_are_named_when_threads_are_listed_and_never_quoted(
    migrated_database: Database, facts: str
) -> None:
    store = store_of(migrated_database, "ours")
    await store.create("t", metadata())
    with migrated_database.writing() as session:
        session.execute(update(ThreadModel).values(facts=facts))
    with pytest.raises(ThreadFormatError, match="the stored thread 't' cannot be read") as caught:
        await store.list()
    assert "secret" not in str(caught.value)
    assert await store.delete("t")
    assert await store.list() == []


async def test_another_process_continues_a_thread(migrated_database: Database, migrated_url: str) -> None:
    store = store_of(migrated_database, "ours")
    thread = ChatAgent(ScriptedModel([]), name="host", store=store).new_thread(user_id="ada")
    await ChatAgent(ScriptedModel(["hello"]), name="host").run("hi", thread)
    database = Database(migrated_url)
    with database.reading() as session:
        reopened = SqlThreadStore(database, project_id=find_project(session, "ours").id)
    again = await AgentThread.load(thread.id, reopened)
    await ChatAgent(ScriptedModel(["yes"]), name="host").run("still there?", again)
    assert len((await store.load(thread.id)).entries) == 4
    database.dispose()
