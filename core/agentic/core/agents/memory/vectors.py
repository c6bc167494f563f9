"""Indexes of vectors: they find the memories that are nearest to a text."""

from __future__ import annotations

import heapq
import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from operator import mul
from types import ModuleType
from typing import Protocol

from agentic.core.agents.memory.embedding import Embedder
from agentic.core.agents.memory.records import AgentMemoryError, Memory
from agentic.core.records import record

_MANY = 256
"""Vectors from which the import of numpy pays."""


@record(kw_only=True)
class VectorEntry:
    """A memory with its vector.

    Attributes:
        agent: Name of the agent.
        user_id: The person; ``""`` for the agent itself.
        memory: The memory.
        vector: The vector of its content, of any length above 0.
    """

    agent: str
    user_id: str
    memory: Memory
    vector: Sequence[float]


@record(kw_only=True)
class VectorMatch:
    """A memory that was found.

    Attributes:
        memory: The memory.
        user_id: Whose it is.
        score: Cosine of the angle between the vectors: 1 for the same direction, 0 for nothing in common.
    """

    memory: Memory
    user_id: str
    score: float


class VectorIndex(Protocol):
    """Keeps memories by their vectors; every index passes ``agentic.core.testing.VectorIndexContract``.

    An index belongs to one embedder, because vectors of different embedders cannot be compared. All methods
    raise :class:`~agentic.core.agents.AgentMemoryError` if the index cannot be used, or if a vector has
    another dimension, no direction, or a number that is not finite.
    """

    @property
    def embedder(self) -> str:
        """The name of its embedder."""
        ...

    async def upsert(self, entries: Sequence[VectorEntry]) -> None:
        """Keep memories; one of the same agent, person and id is replaced."""
        ...

    async def search(
        self,
        vector: Sequence[float],
        *,
        agent: str,
        user_ids: Sequence[str],
        limit: int,
        min_score: float = -1.0,
    ) -> Sequence[VectorMatch]:
        """Return the memories of these people that are nearest to a vector, the nearest first."""
        ...

    async def load(self, agent: str, user_id: str) -> Sequence[Memory]:
        """Return all memories of a person; in no order."""
        ...

    async def delete(self, agent: str, user_id: str, ids: Sequence[str]) -> None:
        """Remove memories by their ids; unknown ones are ignored."""
        ...

    async def clear(self, agent: str, user_id: str) -> int:
        """Remove the memories of a person; return how many there were."""
        ...


class InMemoryVectorIndex:
    """Keeps vectors in this process, and compares with all of a person: for some thousand vectors of each.

    It uses numpy if it is installed. Numbers are stored in single precision.

    Args:
        embedder: Makes the vectors.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder.name
        self._dimension = embedder.dimension
        self._people: dict[tuple[str, str], _Person] = {}

    @property
    def embedder(self) -> str:
        """The name of its embedder."""
        return self._embedder

    async def upsert(self, entries: Sequence[VectorEntry]) -> None:
        """Keep memories; see :class:`VectorIndex`."""
        checked = [(entry, unit_vector(entry.vector, self._embedder, self._dimension)) for entry in entries]
        for entry, vector in checked:
            key = (entry.agent, entry.user_id)
            self._people.setdefault(key, _Person(self._dimension)).put(entry.memory, vector)

    async def search(
        self,
        vector: Sequence[float],
        *,
        agent: str,
        user_ids: Sequence[str],
        limit: int,
        min_score: float = -1.0,
    ) -> Sequence[VectorMatch]:
        """Return the nearest memories; see :class:`VectorIndex`."""
        wanted = unit_vector(vector, self._embedder, self._dimension)
        people = [(user_id, self._people.get((agent, user_id))) for user_id in dict.fromkeys(user_ids)]
        scored = (
            (-score, memory.id, user_id, memory)
            for user_id, person in people
            if person is not None
            for memory, score in person.scored(wanted)
            if score >= min_score
        )
        return [
            VectorMatch(memory=memory, user_id=user_id, score=-lowness)
            for lowness, _, user_id, memory in heapq.nsmallest(limit, scored)
        ]

    async def load(self, agent: str, user_id: str) -> Sequence[Memory]:
        """Return all memories of a person; see :class:`VectorIndex`."""
        person = self._people.get((agent, user_id))
        return list(person.memories) if person else []

    async def delete(self, agent: str, user_id: str, ids: Sequence[str]) -> None:
        """Remove memories; see :class:`VectorIndex`."""
        if (person := self._people.get((agent, user_id))) is None:
            return
        for one in ids:
            person.remove(one)
        if not person.memories:
            del self._people[agent, user_id]

    async def clear(self, agent: str, user_id: str) -> int:
        """Remove the memories of a person; see :class:`VectorIndex`."""
        person = self._people.pop((agent, user_id), None)
        return len(person.memories) if person else 0


class _Person:
    """The memories of a person; all vectors are one array, a row for each."""

    def __init__(self, dimension: int) -> None:
        self.memories: list[Memory] = []
        self._dimension = dimension
        self._rows: dict[str, int] = {}
        self._numbers = array("f")

    def put(self, memory: Memory, vector: Iterable[float]) -> None:
        row = self._rows.setdefault(memory.id, len(self.memories))
        if row == len(self.memories):
            self.memories.append(memory)
            self._numbers.extend(vector)
        else:
            self.memories[row] = memory
            self._numbers[self._slice(row)] = array("f", vector)

    def remove(self, memory_id: str) -> None:
        row = self._rows.pop(memory_id, None)
        if row is None:
            return
        last = self.memories.pop()
        if row < len(self.memories):  # the last row moves into the gap
            self.memories[row] = last
            self._rows[last.id] = row
            self._numbers[self._slice(row)] = self._numbers[-self._dimension :]
        del self._numbers[-self._dimension :]

    def scored(self, vector: Sequence[float]) -> Iterator[tuple[Memory, float]]:
        scores = (min(max(score, -1.0), 1.0) for score in self._products(vector))
        return zip(self.memories, scores, strict=True)

    def _products(self, vector: Sequence[float]) -> Iterable[float]:
        if len(self.memories) >= _MANY and (numpy := _numpy()) is not None:
            matrix = numpy.frombuffer(self._numbers, dtype=numpy.float32).reshape(-1, self._dimension)
            wanted = numpy.array(vector, dtype=numpy.float32)
            # Not @: for so small a matrix its threads cost five times the work.
            products: list[float] = numpy.einsum("ij,j->i", matrix, wanted).tolist()
            return products
        rows = (self._numbers[self._slice(row)] for row in range(len(self.memories)))
        return [sum(map(mul, row, vector)) for row in rows]

    def _slice(self, row: int) -> slice:
        return slice(row * self._dimension, (row + 1) * self._dimension)


def unit_vector(vector: Sequence[float], embedder: str, dimension: int) -> Sequence[float]:
    """Return a vector of length 1 with the same direction.

    Raises:
        AgentMemoryError: It has another dimension, or no direction.
    """
    if len(vector) != dimension:
        raise AgentMemoryError(
            f"a vector has {len(vector)} numbers, but vectors of the embedder {embedder} have {dimension}; "
            "give the index the embedder that makes the vectors"
        )
    length = math.hypot(*vector)
    if not 0 < length < math.inf:
        raise AgentMemoryError(
            f"a vector of the embedder {embedder} has the length {length}, so it has no direction; leave its "
            "text out"
        )
    return [number / length for number in vector]


@cache
def _numpy() -> ModuleType | None:
    try:
        return import_module("numpy")
    except ImportError:
        return None
