"""The base of adapters over a provider's own SDK."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar
from weakref import WeakKeyDictionary

from agentic.core.llm.adapter import LLMAdapter, ModelCapabilities
from agentic.core.llm.adapting.access import ProviderHome, find_access
from agentic.core.llm.adapting.contents import check_request, sendable
from agentic.core.llm.adapting.failures import FailedAnswer, UnreadableAnswerError, clean, failure_of
from agentic.core.llm.errors import CutReplyError, ModelConnectionError, ModelError, ModelTimeoutError
from agentic.core.llm.requests import ModelDelta, ModelRequest

ClientT = TypeVar("ClientT")
HttpT = TypeVar("HttpT")
AnswerT = TypeVar("AnswerT")
CONNECT_S = 10.0
"""Seconds until a connection must be open."""
_Classes = tuple[type[Exception], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SdkFaults:
    """The exceptions of an SDK and its HTTP client, by their meaning.

    Attributes:
        timeouts: It took too long.
        lost: The server cannot be reached, or the connection broke before an answer.
        cut: The connection broke in the middle of an answer.
        others: Any other one.
    """

    timeouts: _Classes
    lost: _Classes
    cut: _Classes
    others: _Classes


class StreamAdapter(LLMAdapter):
    """An adapter that always streams. The time limit holds for the whole reply.

    Errors of libraries never leave: they hold the request, and with it the key.
    """

    @abstractmethod
    def pieces(self, request: ModelRequest) -> AsyncGenerator[ModelDelta]:
        """Yield the pieces of the reply; raise errors of the SDK or of this project."""

    @abstractmethod
    def error_for(self, exc: Exception) -> ModelError | None:
        """Return the error for an exception of a library; None if it is a fault of our own."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        """Yield the reply in pieces; the last one holds the whole reply.

        Raises:
            ModelError: The model did not reply, or not to the end.
        """
        check_request(self.name, request)
        timeout_s = request.settings.timeout_s
        deadline = asyncio.get_running_loop().time() + timeout_s
        pieces = self.pieces(sendable(request))
        try:
            while True:
                delta = await self._next(pieces, deadline, timeout_s)
                yield delta
                if delta.reply is not None:
                    return
        finally:
            await pieces.aclose()

    async def _next(
        self, pieces: AsyncGenerator[ModelDelta], deadline: float, timeout_s: float
    ) -> ModelDelta:
        try:
            # Each piece on its own: a limit around a yield would also stop the code that reads the pieces.
            async with asyncio.timeout_at(deadline):
                return await anext(pieces)
        except ModelError:
            raise
        except StopAsyncIteration:
            error: ModelError = CutReplyError(self.name, "its stream ended without a whole reply")
        except TimeoutError:
            error = ModelTimeoutError(self.name, f"no whole reply within {timeout_s:g} s")
        except Exception as exc:
            found = self.error_for(exc)
            if found is None:
                raise
            error = found
        # Raised here, it has no context: the SDK's error would show the request.
        raise error


class SdkAdapter(StreamAdapter, Generic[ClientT, HttpT]):
    """An adapter over the asynchronous client of an SDK.

    There is one client for each event loop, since connections belong to a loop.

    SDKs read answers to their end. Give an SDK over httpx2 a ``bounded_client`` of
    ``agentic.core.llm.adapting.bounding``, or read failures in the adapter, by
    :func:`~agentic.core.llm.adapting.read_failure`.

    Attributes:
        home: The provider.
        faults: The exceptions of the SDK.
        access: Where requests go, and the key for it.
        http_client: As given.

    Args:
        model: Its name at the provider.
        api_key: The key; by default, the one of the environment.
        base_url: Another server with the same API.
        http_client: The client to send with; its user closes it.
        capabilities: Abilities of the model.

    Raises:
        MissingKeyError: The server needs a key that was not found.
    """

    home: ClassVar[ProviderHome]
    faults: ClassVar[SdkFaults]

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        http_client: HttpT | None = None,
        capabilities: ModelCapabilities | None = None,
    ) -> None:
        self.name = f"{self.home.provider}:{model}"
        self.access = find_access(self.home, api_key=api_key, base_url=base_url)
        self.capabilities = capabilities or ModelCapabilities()
        self.http_client = http_client
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, ClientT] = WeakKeyDictionary()

    @property
    def model(self) -> str:
        """The name of the model at its provider."""
        return self.name.partition(":")[2]

    @property
    def client(self) -> ClientT:
        """The client for the running event loop."""
        loop = asyncio.get_running_loop()
        if (client := self._clients.get(loop)) is None:
            client = self._clients[loop] = self.open_client()
        return client

    @abstractmethod
    def open_client(self) -> ClientT:
        """Return a new client, which does not retry."""

    @abstractmethod
    async def close_client(self, client: ClientT) -> None:
        """Close a client of :meth:`open_client`."""

    @abstractmethod
    def answer_in(self, exc: Exception) -> FailedAnswer | None:
        """Return the answer that an exception of the SDK stands for; None if it stands for none."""

    def error_for(self, exc: Exception) -> ModelError | None:
        """Return the error for an exception of the SDK; None if it is a fault of our own."""
        if (answer := self.answer_in(exc)) is not None:
            return failure_of(self.name, answer, secrets=self._secrets)
        faults, host = self.faults, self.access.host
        said = clean(str(exc.__cause__ or exc) or type(exc).__name__, self._secrets)
        if isinstance(exc.__cause__ or exc, UnreadableAnswerError):
            return ModelError(self.name, f"{host}: {said}")
        if isinstance(exc, faults.timeouts):
            return ModelTimeoutError(self.name, f"no answer from {host}")
        if isinstance(exc, faults.lost):
            return ModelConnectionError(self.name, f"{host}: {said}")
        if isinstance(exc, faults.cut):
            return CutReplyError(self.name, said)
        return ModelError(self.name, said) if isinstance(exc, faults.others) else None

    @property
    def _secrets(self) -> tuple[str, ...]:
        return (self.access.key,) if self.access.key else ()

    async def answer(self, asked: Awaitable[AnswerT], timeout_s: float) -> AnswerT:
        """Return the answer to a request that is not streamed, such as one for embeddings.

        Raises:
            ModelError: The model did not answer.
        """
        try:
            async with asyncio.timeout(timeout_s):
                return await asked
        except TimeoutError:
            error: ModelError = ModelTimeoutError(self.name, f"no answer within {timeout_s:g} s")
        except Exception as exc:
            found = self.error_for(exc)
            if found is None:
                raise
            error = found
        # Raised here, it has no context: the SDK's error would show the request.
        raise error

    async def aclose(self) -> None:
        """Close the connections of this event loop; the adapter can be used again afterwards."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await self.close_client(client)
