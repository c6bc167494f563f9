"""Embeddings of OpenAI, and of servers with the same API."""

from __future__ import annotations

from collections.abc import Sequence

import openai

from agentic.core.llm.adapting import CONNECT_S
from agentic.core.llm.errors import ModelError
from agentic.plugins.openai.adapter import OpenAIModel, without_headers

TIMEOUT_S = 60.0
"""Seconds for a request."""


class OpenAIEmbedder:
    """Implements :class:`agentic.core.agents.Embedder`.

    Args:
        server: The server, with the name of the model.
        dimension: How many numbers its vectors have.
        shortens: Whether to ask for vectors of that length.
    """

    def __init__(self, server: OpenAIModel, *, dimension: int, shortens: bool = False) -> None:
        if dimension < 1:
            raise ValueError(f"a vector cannot have {dimension} numbers; give the dimension of the model")
        self._server = server
        self._dimension = dimension
        self._shortens = shortens

    @property
    def name(self) -> str:
        """The name of the model and the length of its vectors."""
        return f"{self._server.name}/{self._dimension}"

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self._dimension

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return a vector for each text, in order.

        Raises:
            ModelError: The server did not answer, or gave vectors of another length.
        """
        access = self._server.access
        asked = self._server.client.embeddings.create(
            model=self._server.model,
            input=list(texts),
            encoding_format="float",
            dimensions=self._dimension if self._shortens else openai.omit,
            extra_headers=None if access.key else without_headers("Authorization"),
            timeout=openai.Timeout(TIMEOUT_S, connect=CONNECT_S),
        )
        answer = await self._server.answer(asked, TIMEOUT_S)
        found = [one.embedding for one in sorted(answer.data, key=lambda one: one.index)]
        if others := {len(vector) for vector in found} - {self._dimension}:
            length = max(others)
            reason = f"its vectors have {length} numbers, not {self._dimension}; give dimension={length}"
            raise ModelError(self._server.name, reason)
        return found

    async def aclose(self) -> None:
        """Close the connections of this event loop."""
        await self._server.aclose()
