"""An index of vectors in Qdrant: on a server, or in a folder or the memory of this process."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self
from uuid import NAMESPACE_OID, uuid5

from agentic.core.agents.memory.embedding import Embedder
from agentic.core.agents.memory.records import AgentMemoryError, Memory
from agentic.core.agents.memory.vectors import VectorEntry, VectorMatch, unit_vector
from agentic.core.bus.subjects import token
from agentic.core.errors import line_of

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient, models

IN_MEMORY = ":memory:"

_PERSON = "person"
_MEMORY = "memory"
_PAGE = 1_000


class QdrantVectorIndex:
    """Keeps the vectors of a project in a collection; implements :class:`agentic.core.agents.VectorIndex`.

    The name of the collection ends with the embedder's: vectors of two embedders never meet. Projects share a
    collection; each point has the project, agent and person in its payload, and each request filters by them.
    Needs the extra ``qdrant``.
    """

    def __init__(
        self, client: AsyncQdrantClient, embedder: Embedder, *, collection: str, project: str, where: str
    ) -> None:
        """Store the arguments; nothing is read or written yet. See :meth:`open`."""
        self._client = client
        self._embedder = embedder.name
        self._dimension = embedder.dimension
        self._collection = collection
        self._project = project
        self._where = where

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        place: str | Path,
        embedder: Embedder,
        *,
        project: str = "default",
        collection: str = "agentic",
        api_key: str | None = None,
        timeout_s: int = 10,
    ) -> AsyncGenerator[Self, None]:
        """Open the vectors of a project until the block ends; create the collection if it is missing.

        Args:
            place: The URL of a server, such as ``"http://localhost:6333"``; a folder, for one process at a
                time; or ``":memory:"``. The last two compare with all vectors.
            embedder: Makes the vectors.
            project: Name of the project.
            collection: The beginning of the collection's name.
            api_key: Of the server.
            timeout_s: Seconds for one request.

        Raises:
            AgentMemoryError: Qdrant cannot be used, or its client is not installed.
        """
        is_server = isinstance(place, str) and "://" in place
        where = str(place).rpartition("@")[2] if is_server else str(place)
        name = f"{collection}-{token(embedder.name).replace('=', '_').replace('/', '_')}"
        with _reporting(where):
            client = _client(place, is_server=is_server, api_key=api_key, timeout_s=timeout_s)
        try:
            with _reporting(where):
                await _create(client, name, embedder.dimension, is_server=is_server)
            yield cls(client, embedder, collection=name, project=project, where=where)
        finally:
            await client.close()

    @property
    def embedder(self) -> str:
        """The name of its embedder."""
        return self._embedder

    async def upsert(self, entries: Sequence[VectorEntry]) -> None:
        """Keep memories; see :class:`~agentic.core.agents.VectorIndex`."""
        from qdrant_client import models

        points = [
            models.PointStruct(
                id=self._point(entry.agent, entry.user_id, entry.memory.id),
                vector=list(unit_vector(entry.vector, self._embedder, self._dimension)),
                payload={
                    _PERSON: self._person(entry.agent, entry.user_id),
                    _MEMORY: entry.memory.stored(),
                },
            )
            for entry in entries
        ]
        with _reporting(self._where):
            for start in range(0, len(points), _PAGE):
                await self._client.upsert(self._collection, points[start : start + _PAGE])

    async def search(
        self,
        vector: Sequence[float],
        *,
        agent: str,
        user_ids: Sequence[str],
        limit: int,
        min_score: float = -1.0,
    ) -> Sequence[VectorMatch]:
        """Return the nearest memories; see :class:`~agentic.core.agents.VectorIndex`."""
        people = {self._person(agent, user_id): user_id for user_id in user_ids}
        wanted = list(unit_vector(vector, self._embedder, self._dimension))
        with _reporting(self._where):
            found = await self._client.query_points(
                self._collection,
                query=wanted,
                query_filter=_of_people(*people),
                limit=limit,
                score_threshold=min_score if min_score > -1 else None,
            )
        return [
            VectorMatch(
                memory=_memory(point.payload),
                user_id=people[(point.payload or {})[_PERSON]],
                score=min(max(point.score, -1.0), 1.0),
            )
            for point in found.points
        ]

    async def load(self, agent: str, user_id: str) -> Sequence[Memory]:
        """Return all memories of a person; see :class:`~agentic.core.agents.VectorIndex`."""
        found: list[Memory] = []
        offset = None
        while True:
            with _reporting(self._where):
                points, offset = await self._client.scroll(
                    self._collection,
                    scroll_filter=_of_people(self._person(agent, user_id)),
                    limit=_PAGE,
                    offset=offset,
                )
            found += [_memory(point.payload) for point in points]
            if offset is None:
                return found

    async def delete(self, agent: str, user_id: str, ids: Sequence[str]) -> None:
        """Remove memories; see :class:`~agentic.core.agents.VectorIndex`."""
        from qdrant_client import models

        if not ids:  # which Qdrant refuses
            return
        points: list[models.ExtendedPointId] = [self._point(agent, user_id, one) for one in ids]
        with _reporting(self._where):
            await self._client.delete(self._collection, models.PointIdsList(points=points))

    async def clear(self, agent: str, user_id: str) -> int:
        """Remove the memories of a person; see :class:`~agentic.core.agents.VectorIndex`."""
        from qdrant_client import models

        chosen = _of_people(self._person(agent, user_id))
        with _reporting(self._where):
            count = await self._client.count(self._collection, count_filter=chosen)
            await self._client.delete(self._collection, models.FilterSelector(filter=chosen))
        return count.count

    def _person(self, agent: str, user_id: str) -> str:
        return token(self._project, agent, user_id)

    def _point(self, agent: str, user_id: str, memory_id: str) -> str:
        # Qdrant names points by numbers and UUIDs only.
        return str(uuid5(NAMESPACE_OID, token(self._project, agent, user_id, memory_id)))


def _client(place: str | Path, *, is_server: bool, api_key: str | None, timeout_s: int) -> AsyncQdrantClient:
    try:
        from qdrant_client import AsyncQdrantClient
    except ModuleNotFoundError as exc:
        raise AgentMemoryError(
            "qdrant-client is not installed: pip install 'agentic-pipelines[qdrant]'"
        ) from exc
    if is_server:
        return AsyncQdrantClient(
            url=str(place), api_key=api_key, timeout=timeout_s, check_compatibility=False
        )
    return AsyncQdrantClient(location=IN_MEMORY) if place == IN_MEMORY else AsyncQdrantClient(path=str(place))


async def _create(client: AsyncQdrantClient, name: str, dimension: int, *, is_server: bool) -> None:
    from qdrant_client import models

    if not await client.collection_exists(name):
        distance = models.VectorParams(size=dimension, distance=models.Distance.COSINE)
        try:
            await client.create_collection(name, vectors_config=distance)
        except Exception:
            if not await client.collection_exists(name):  # no other process was faster
                raise
    if is_server:  # elsewhere it has no effect, and a warning says so
        await client.create_payload_index(
            name,
            _PERSON,
            models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True),
        )


def _of_people(*people: str) -> models.Filter:
    from qdrant_client import models

    return models.Filter(must=[models.FieldCondition(key=_PERSON, match=models.MatchAny(any=list(people)))])


def _memory(payload: models.Payload | None) -> Memory:
    return Memory.read(str((payload or {}).get(_MEMORY)), "a memory in Qdrant")


@contextmanager
def _reporting(where: str) -> Iterator[None]:
    """Turn the errors of Qdrant into errors of this index.

    Raises:
        AgentMemoryError: Qdrant cannot be used.
    """
    try:
        yield
    except AgentMemoryError:
        raise
    except Exception as exc:  # its client raises errors of httpx, of the system, and of its own
        raise AgentMemoryError(
            f"the vectors in {where} cannot be used: {line_of(exc)}; check the address, and that Qdrant runs "
            "(a folder serves one process at a time)"
        ) from exc
