"""Where the agents of a project keep their memories: in the database, in NATS, or in a Redis server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from pydantic import ValidationError

from agentic.core.actors.ports import SecretStore
from agentic.core.agents.memory.later import LaterMemoryStore
from agentic.core.agents.memory.records import AgentMemoryError, Memory
from agentic.core.agents.memory.stored import BUCKET, KeyValueMemoryStore, MemoryStore
from agentic.core.agents.specs.loading import usable_name
from agentic.core.agents.specs.spec import AgentSpec, AgentToolSpec, MemorySpec
from agentic.core.agents.specs.toolsets import secret_named
from agentic.core.settings import Settings, load_settings
from agentic.core.threads import in_thread
from agentic.executors.errors import ExecutionError

if TYPE_CHECKING:
    from agentic.mappers import AgentModel, Database

REDIS_SCHEMES = ("redis://", "rediss://", "unix://")
OUTSIDE = frozenset({"nats", "redis"})
"""Kinds of memory that the database does not hold."""


class MemorySetupError(ExecutionError, ValueError):
    """The memory of an agent has no server."""


def memory_stores(
    spec: AgentSpec,
    *,
    database: Database,
    project_id: str,
    secrets: SecretStore,
    settings: Settings,
) -> Mapping[str, MemoryStore]:
    """Return the stores that an agent and the agents below it need, by kind; each is opened at its first use.

    Args:
        spec: The agent.
        database: Holds its project.
        project_id: The project.
        secrets: Of the project; they may have the URL of the server.
        settings: Name the servers.

    Raises:
        MemorySetupError: A server is not named, or two are.
    """
    from agentic.mappers import SqlMemoryStore

    stores: dict[str, MemoryStore] = {"sql": SqlMemoryStore(database, project_id=project_id)}
    wanted = [one for _, one in named_memories(spec, "")]
    if any(one.kind == "nats" for one in wanted):
        if settings.nats is None:
            raise MemorySetupError(
                "its memory is in NATS, but no server is named; set AGENTIC_NATS_URL, or use memory: "
                "{kind: sql}"
            )
        stores["nats"] = LaterMemoryStore(lambda: _nats(settings, database, project_id))
    urls = {one.url for one in wanted if one.kind == "redis"}
    if len(urls) > 1:
        raise MemorySetupError("it and its agents have memories on two Redis servers; use one url for all")
    if urls:
        given = urls.pop() or _server_of(settings)
        stores["redis"] = LaterMemoryStore(lambda: _redis(given, secrets, database, project_id))
    return stores


def _server_of(settings: Settings) -> str:
    known = (settings.budget, settings.broker)
    found = next((one for one in known if one is not None and one.startswith(REDIS_SCHEMES)), None)
    if found is None:
        raise MemorySetupError(
            "its memory is in a Redis server, but none is named; set memory: {kind: redis, url: "
            "'${secrets.NAME}'}, or AGENTIC_BROKER_URL"
        )
    return found


@asynccontextmanager
async def _redis(
    url: str, secrets: SecretStore, database: Database, project_id: str
) -> AsyncIterator[MemoryStore]:
    from agentic.core.agents.memory.redis import RedisMemoryStore

    name = secret_named(url)
    found = url if name is None else (await secrets.secret(name)).get_secret_value()
    project = await in_thread(_name_of, database, project_id)
    async with RedisMemoryStore.open(found, project=project) as store:
        yield store


@asynccontextmanager
async def _nats(settings: Settings, database: Database, project_id: str) -> AsyncIterator[MemoryStore]:
    from agentic.core.bus import BusError
    from agentic.core.bus.opening import open_bus

    project = await in_thread(_name_of, database, project_id)
    async with open_bus(settings, project) as bus:
        try:
            bucket = bus.bucket(BUCKET, project=project)
        except BusError as exc:
            raise AgentMemoryError(f"memories of project {project!r} cannot be stored: {exc}") from exc
        yield KeyValueMemoryStore(bucket)


def _name_of(database: Database, project_id: str) -> str:
    from agentic.mappers import ProjectModel

    with database.reading() as session:
        return session.get_one(ProjectModel, project_id).name


class PersonMemories:
    """The memories of a person that are outside of the database: of all chat agents of a project.

    Args:
        database: Holds the agents.
        project_id: The project.
    """

    def __init__(self, database: Database, project_id: str) -> None:
        self._database = database
        self._project_id = project_id

    async def load(self, user_id: str) -> list[tuple[str, Memory]]:
        """Return the memories, each with the name of its agent.

        Raises:
            MemorySetupError: A server is not named in the settings of this process.
            AgentMemoryError: A server cannot be used.
        """
        async with self._opened() as found:
            return [(agent, memory) for agent, store in found for memory in await store.load(agent, user_id)]

    async def clear(self, user_id: str) -> int:
        """Remove the memories; return how many there were. Raises as :meth:`load`."""
        async with self._opened() as found:
            return sum([await store.clear(agent, user_id) for agent, store in found])

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[list[tuple[str, MemoryStore]]]:
        found: dict[tuple[str, str, str | None], MemoryStore] = {}
        for row in await in_thread(self._agents):
            spec = _spec_of(row)
            if spec is None:
                continue
            for name, wanted in named_memories(spec, usable_name(row.agent_name)):
                if wanted.kind in OUTSIDE and (name, wanted.kind, wanted.url) not in found:
                    stores = project_stores(spec, row, self._database)
                    found[name, wanted.kind, wanted.url] = stores[wanted.kind]
        async with AsyncExitStack() as stack:
            for store in found.values():
                if isinstance(store, LaterMemoryStore):
                    stack.push_async_callback(store.aclose)
            yield [(name, store) for (name, _, _), store in found.items()]

    def _agents(self) -> list[AgentModel]:
        from agentic.mappers import list_agents

        with self._database.reading() as session:
            return [one for one in list_agents(session, self._project_id) if one.agent_platform == "chat"]


def _spec_of(row: AgentModel) -> AgentSpec | None:
    """Return the agent of a row; None if its config is invalid, so that it never remembered anything."""
    from agentic.plugins.chat.settings import ChatSettings

    try:
        return ChatSettings.model_validate(row.config)
    except ValidationError:
        return None


def named_memories(spec: AgentSpec, name: str) -> Iterator[tuple[str, MemorySpec]]:
    """Yield the memories of an agent and of the agents below it, each with the name that it is kept by."""
    if spec.memory is not None:
        yield spec.name or name, spec.memory
    for tool in spec.tools:
        if isinstance(tool, AgentToolSpec):
            yield from named_memories(tool.agent, tool.name or "agent")


def project_stores(spec: AgentSpec, row: AgentModel, database: Database) -> Mapping[str, MemoryStore]:
    """Return the stores of the agent of a row; see :func:`memory_stores`."""
    from agentic.mappers.vault.keys import SecretKeys
    from agentic.mappers.vault.vault import SqlSecrets

    settings = load_settings()
    return memory_stores(
        spec,
        database=database,
        project_id=row.project_id,
        secrets=SqlSecrets(database, row.project_id, SecretKeys.configured(settings)),
        settings=settings,
    )
