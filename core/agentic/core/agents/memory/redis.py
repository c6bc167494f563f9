"""The memories of agents in a Redis or Valkey server.

    agentic:memories:{PROJECT}:AGENT:USER     a hash: a memory as JSON by its id

USER is empty for the agent itself.
A person is one key, so that all memories are read, removed and evicted together.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Self

from agentic.core.agents.memory.records import AgentMemoryError, Memory
from agentic.core.bus.subjects import token
from agentic.core.logging import get_logger
from agentic.core.stores.redis_server import RedisServer, Script, server_errors, server_name, told

log = get_logger(__name__)

KEY_PREFIX = "agentic:memories:"

CLEAR = Script("""
-- KEYS: a person. Returns how many memories there were.
local count = redis.call('HLEN', KEYS[1])
redis.call('UNLINK', KEYS[1])
return count
""")


class RedisMemoryStore:
    """Keeps the memories of a project, without an end; implements :class:`agentic.core.agents.MemoryStore`.

    Each call is one command or one script: it happens as a whole or not at all. It is sent again if its
    answer is lost. The settings of the server decide which memories survive its death; see
    :class:`~agentic.core.stores.redis_checkpoints.RedisCheckpointStore`. With a ``maxmemory-policy`` other
    than ``noeviction`` the server removes people when its memory is full: ``eviction.allowed`` is logged.
    """

    def __init__(self, server: RedisServer, *, project: str) -> None:
        """Store the arguments; nothing is read or written yet. See :meth:`open`."""
        self._server = server
        self._project = project
        self._prefix = f"{KEY_PREFIX}{{{token(project)}}}:"

    @classmethod
    @asynccontextmanager
    async def open(
        cls, url: str, *, project: str = "default", wait_s: float = 10
    ) -> AsyncGenerator[Self, None]:
        """Open the memories of a project on a server, or a cluster, until the block ends.

        Args:
            url: As ``redis://user:password@host:6379/0``; ``rediss://`` for TLS, ``unix://`` for a socket.
            project: Name of the project.
            wait_s: Seconds to wait for the server if it is gone later; now it must be available.

        Raises:
            AgentMemoryError: The server cannot be used.
        """
        with _reporting(project):
            name = server_name(url)
        with _reporting(project, f" in {name}"):
            server = await RedisServer.connect(url, name=name, wait_s=wait_s)
        try:
            if server.evicts:
                log.warning("eviction.allowed", server=server.name, policy=server.evicts, project=project)
            yield cls(server, project=project)
        finally:
            await server.aclose()

    async def load(self, agent: str, user_id: str) -> Sequence[Memory]:
        """Return the memories of a person; see :class:`~agentic.core.agents.MemoryStore`."""
        with self._reporting():
            texts = await self._server.ask("HVALS", self._key(agent, user_id))
        return [Memory.read(text, f"a stored memory of agent {agent!r}") for text in texts]

    async def put(self, agent: str, user_id: str, memory: Memory) -> None:
        """Keep a memory; see :class:`~agentic.core.agents.MemoryStore`."""
        with self._reporting():
            await self._server.ask("HSET", self._key(agent, user_id), memory.id, memory.stored())

    async def clear(self, agent: str, user_id: str) -> int:
        """Remove the memories of a person; see :class:`~agentic.core.agents.MemoryStore`."""
        with self._reporting():
            count: int = await self._server.run(CLEAR, [self._key(agent, user_id)])
        return count

    def _key(self, agent: str, user_id: str) -> str:
        return f"{self._prefix}{token(agent)}:{token(user_id) if user_id else ''}"

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        with _reporting(self._project, f" in {self._server.name}"):
            yield


@contextmanager
def _reporting(project: str, where: str = "") -> Iterator[None]:
    """Turn the errors of an unusable server into errors of this store.

    Raises:
        AgentMemoryError: The server cannot be used.
    """
    try:
        yield
    except UnicodeError as exc:
        raise AgentMemoryError(f"memories of project {project!r} cannot be stored: {exc}") from exc
    except server_errors() as exc:
        reason = told(exc)
        raise AgentMemoryError(f"memories of project {project!r} cannot be stored{where}: {reason}") from exc
