"""Embedders: they turn texts into vectors, near ones for texts that are alike."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Protocol

from agentic.core.agents.memory.records import AgentMemoryError
from agentic.core.llm.errors import ModelError

MAX_BATCH = 100
"""Texts in one call of an embedder."""

_NGRAM = 3
_LONG = 8
_PART = 0.7


class Embedder(Protocol):
    """Turns texts into vectors. Texts are alike if the angle between their vectors is small.

    Attributes:
        name: Names the model and its settings: vectors of embedders with different names cannot be compared.
        dimension: How many numbers a vector has.
    """

    @property
    def name(self) -> str:
        """The name."""
        ...

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        ...

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return a vector for each text, in order.

        Raises:
            ModelError: A model did not reply.
        """
        ...


class HashingEmbedder:
    """Finds shared words, not shared meaning: for tests, demos, and search by words without a network.

    It hashes the words of a text and their groups of three letters into the places of a vector. So ``"dogs"``
    is near ``"dog"``, and far from ``"puppy"``; a model of a vendor finds both. It is deterministic: equal
    texts have equal vectors on every machine. Long words count more than short ones, case does not count.

    Feature hashing after Weinberger et al., Feature Hashing for Large Scale Multitask Learning, 2009.

    Args:
        dimension: The length of a vector; in a short one, more words share a place.
    """

    def __init__(self, dimension: int = 384) -> None:
        if dimension < 1:
            raise ValueError(f"a vector cannot have {dimension} numbers; give a dimension above 0")
        self._dimension = dimension

    @property
    def name(self) -> str:
        """The name of this version."""
        return f"hashing-1-{self._dimension}"

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self._dimension

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return a vector of length 1 for each text."""
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> Sequence[float]:
        sums = [0.0] * self._dimension
        for feature, weight in _features(text):
            place, sign = _place(feature)
            sums[place % self._dimension] += sign * weight
        length = math.hypot(*sums)
        if length < 1e-9:  # a text without words, or words that cancel each other out
            sums[_place(text)[0] % self._dimension] = length = 1.0
        return [number / length for number in sums]


async def embedded(embedder: Embedder, texts: Sequence[str]) -> Sequence[Sequence[float]]:
    """Return a vector for each text, by calls for 100 texts each.

    Raises:
        AgentMemoryError: The embedder failed.
    """
    vectors: list[Sequence[float]] = []
    for start in range(0, len(texts), MAX_BATCH):
        part = texts[start : start + MAX_BATCH]
        try:
            found = await embedder.embed(part)
        except ModelError as exc:
            raise AgentMemoryError(f"the embedder {embedder.name} failed: {exc}") from exc
        if len(found) != len(part):
            raise AgentMemoryError(
                f"the embedder {embedder.name} gave {len(found)} vectors for {len(part)} texts"
            )
        vectors += found
    return vectors


def _features(text: str) -> Iterator[tuple[str, float]]:
    for word in "".join(one if one.isalnum() else " " for one in text.casefold()).split():
        weight = min(len(word), _LONG) / _LONG
        yield word, weight
        framed = f"<{word}>"
        count = len(framed) - _NGRAM + 1
        for start in range(count):
            yield framed[start : start + _NGRAM], _PART * weight / math.sqrt(count)


@lru_cache(maxsize=16_384)
def _place(feature: str) -> tuple[int, float]:
    digest = hashlib.blake2b(feature.encode(errors="surrogatepass"), digest_size=8).digest()
    number = int.from_bytes(digest, "big")
    return number >> 1, 1.0 if number & 1 else -1.0
