"""Agents as data that remember people in NATS and in a Redis server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from cryptography.fernet import Fernet
from tests.commands import invoke
from tests.databases import only_sqlite

from agentic.core.agents import RedisMemoryStore
from agentic.core.cli.main import build_app
from agentic.core.errors import AgenticError
from agentic.core.services import ServiceSupervisor, nats_service, valkey_service
from agentic.core.types import JSONValue
from agentic.mappers import ExecutionStatus

if TYPE_CHECKING:
    from tests.integration.plugins.chat.conftest import Desk, Line, Write

pytestmark = [pytest.mark.integration, only_sqlite]

HELLO = "- Hello.\n- Hello again.\n"
REDIS: dict[str, JSONValue] = {"kind": "redis", "url": "${secrets.MEMORY_URL}"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def servers(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Mapping[str, str]]:
    """Return the URLs of a NATS server and a Redis server."""
    home: Path = tmp_path_factory.mktemp("servers")
    async with ServiceSupervisor(home, [nats_service(home), valkey_service(home)]) as supervisor:
        yield supervisor.urls


@pytest.fixture
def named(line: Line, servers: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> Line:
    """The command line, with the servers in its settings, and one as a secret."""
    monkeypatch.setenv("AGENTIC_NATS_URL", servers["nats"])
    monkeypatch.setenv("AGENTIC_BROKER_URL", servers["broker"])
    monkeypatch.setenv("AGENTIC_SECRET_KEYS", Fernet.generate_key().decode())
    result = invoke(build_app(), ("secrets", "set", "MEMORY_URL"), servers["broker"])
    assert result.exit_code == 0, result.output
    return line


def words(line: Line, memory: JSONValue, name: str) -> None:
    """Add an agent that repeats the beginning of what it reads."""
    line.add(HELLO, model="fake:words", tools=[], memory=memory, name=name)


@pytest.mark.requirement("NA14", "ME05", "ST01")
@pytest.mark.parametrize("memory", [{"kind": "nats"}, {"kind": "redis"}, REDIS], ids=["nats", "redis", "url"])
def test_people_are_remembered_in_other_conversations_exported_and_forgotten(
    named: Line, memory: JSONValue, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if memory == REDIS:
        monkeypatch.delenv("AGENTIC_BROKER_URL")
    words(named, memory, request.node.callspec.id)
    for user in ("bob", "eve"):
        named("chat", "help", f"My name is {user}.", "--user", user)
    told = named("chat", "help", "Who am I?", "--user", "bob", "--new")
    assert "My name is bob" in told
    whole = json.loads(named("threads", "export", "--user", "bob"))
    assert [one["memory"]["content"] for one in whole["memories"]] == ["My name is bob"]
    named("threads", "delete", "--user", "bob", "--yes")
    assert json.loads(named("threads", "export", "--user", "bob"))["memories"] == []
    assert json.loads(named("threads", "export", "--user", "eve"))["memories"]
    assert "bob" not in named("chat", "help", "Who am I?", "--user", "bob", "--new")


async def test_executions_of_workers_remember_too(
    desk: Desk, write: Write, servers: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTIC_BUDGET_URL", servers["broker"])
    config = write(HELLO, memory={"kind": "redis"}, user="ada", prompt="My name is Ada.", name="worker")
    assert (await desk.run(desk.add(config))).status is ExecutionStatus.SUCCEEDED
    async with RedisMemoryStore.open(servers["broker"], project="shop") as store:
        assert [one.content for one in await store.load("worker", "ada")] == ["My name is Ada"]


@pytest.mark.parametrize(("kind", "told"), [("nats", "AGENTIC_NATS_URL"), ("redis", "AGENTIC_BROKER_URL")])
async def test_a_server_that_no_setting_names_fails_the_execution(
    desk: Desk, write: Write, monkeypatch: pytest.MonkeyPatch, kind: str, told: str
) -> None:
    for name in ("NATS", "BROKER", "BUDGET"):
        monkeypatch.delenv(f"AGENTIC_{name}_URL", raising=False)
    outcome = await desk.run(desk.add(write(HELLO, memory={"kind": kind})))
    assert outcome.status is ExecutionStatus.FAILED
    assert told in str(outcome.error)


def test_nothing_is_deleted_while_the_memories_cannot_be_reached(
    named: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    words(named, {"kind": "nats"}, "away")
    named("chat", "help", "My name is bob.", "--user", "bob")
    monkeypatch.delenv("AGENTIC_NATS_URL")
    with pytest.raises(AgenticError, match="AGENTIC_NATS_URL"):
        named("threads", "delete", "--user", "bob", "--yes")
    assert [one["user"] for one in named.threads()] == ["bob"]
