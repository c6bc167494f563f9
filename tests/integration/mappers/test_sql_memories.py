"""Memories in SQL."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from agentic.core.agents import AgentMemoryError, ChatAgent, Memory, MemoryStore, StoredMemoryProvider
from agentic.core.llm import ScriptedModel
from agentic.core.testing import MemoryStoreContract
from agentic.mappers import Database, SqlMemoryStore, add_project, find_project
from agentic.mappers.catalog.projects import remove_project
from agentic.mappers.tables.memories import AgentMemoryModel

pytestmark = pytest.mark.integration


def store_of(database: Database, project: str) -> SqlMemoryStore:
    with database.writing() as session:
        return SqlMemoryStore(database, project_id=add_project(session, project).id)


class TestSqlMemoryStore(MemoryStoreContract):
    @pytest.fixture
    def store(self, migrated_database: Database) -> MemoryStore:
        return store_of(migrated_database, "ours")


async def test_memories_of_projects_are_apart(migrated_database: Database) -> None:
    ours, theirs = store_of(migrated_database, "ours"), store_of(migrated_database, "theirs")
    await ours.put("host", "ada", Memory.of("secret", 1.0))
    assert await theirs.load("host", "ada") == []
    await theirs.put("host", "ada", Memory.of("Secret", 2.0))
    assert await theirs.clear("host", "ada") == 1
    assert [one.content for one in await ours.load("host", "ada")] == ["secret"]


async def test_a_removed_project_takes_its_memories_along(migrated_database: Database) -> None:
    store = store_of(migrated_database, "ours")
    await store.put("host", "ada", Memory.of("Has a dog", 1.0))
    with migrated_database.writing() as session:
        remove_project(session, find_project(session, "ours"), {})
    assert await store.load("host", "ada") == []
    with pytest.raises(AgentMemoryError, match="memories cannot be stored"):
        await store.put("host", "ada", Memory.of("Has a dog", 1.0))


async def test_a_name_that_is_too_long_is_refused(migrated_database: Database) -> None:
    store = store_of(migrated_database, "ours")
    with pytest.raises(AgentMemoryError, match="the user_id of a memory has 201 characters; 200 are stored"):
        await store.put("host", "x" * 201, Memory.of("Has a dog", 1.0))


@pytest.mark.parametrize("text", ["{", "[" * 100_000, '{"id": ["my secret"]}'])
async def test_a_damaged_memory_is_an_error_that_names_the_agent_and_quotes_nothing(
    migrated_database: Database, text: str
) -> None:
    store = store_of(migrated_database, "ours")
    await store.put("host", "ada", Memory.of("Has a dog", 1.0))
    with migrated_database.writing() as session:
        session.execute(update(AgentMemoryModel).values(text=text))
    with pytest.raises(AgentMemoryError, match="a stored memory of agent 'host' cannot be read") as caught:
        await store.load("host", "ada")
    assert "secret" not in str(caught.value)


async def test_an_agent_of_another_process_remembers(migrated_database: Database, migrated_url: str) -> None:
    agent = ChatAgent(
        ScriptedModel(["ok"]), name="host", memory=[StoredMemoryProvider(store_of(migrated_database, "ours"))]
    )
    await agent.run("My name is Ada.", agent.new_thread(user_id="ada"))
    database = Database(migrated_url)
    with database.reading() as session:
        reopened = SqlMemoryStore(database, project_id=find_project(session, "ours").id)
    model = ScriptedModel(["You are Ada."])
    again = ChatAgent(model, name="host", memory=[StoredMemoryProvider(reopened)])
    await again.run("Who am I?", again.new_thread(user_id="ada"))
    assert "My name is Ada" in model.requests[0].messages[0].text
    database.dispose()
