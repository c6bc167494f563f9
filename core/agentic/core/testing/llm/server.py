"""A loopback server that speaks one provider's API by a script, and refuses wrong requests."""

from __future__ import annotations

import asyncio
import contextlib
import json
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from agentic.core.llm import LLMAdapter, ModelReply
from agentic.core.types import JSONValue

Framing = Literal["chunked", "close"]
SLICE_BYTES = 997
KEY = "sk-test-4f1c7be902a6d835"
"""The key that adapters are tested with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WireRequest:
    """A request as it came.

    Attributes:
        method: Such as ``POST``.
        path: Path and query.
        headers: With names in lower case.
        body: Its JSON.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class WireAnswer:
    """An answer to send.

    Attributes:
        status: Of HTTP.
        body: Its bytes.
        kind: Its ``Content-Type``.
        headers: More headers.
        framing: How the end of the body is marked: by chunks, or only by the end of the connection.
        cut: The bytes of the whole answer that are sent; the connection then ends.
        stalls: Stay silent at the end, instead of ending.
    """

    status: int = 200
    body: bytes = b""
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    framing: Framing = "chunked"
    cut: int | None = None
    stalls: bool = False

    def raw(self, size: int | None = None) -> bytes:
        """Return head and body as they are sent; with ``size``, up to this byte of the body."""
        lines = [f"HTTP/1.1 {self.status} X", f"Content-Type: {self.kind}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        if self.framing == "chunked":
            lines.append("Transfer-Encoding: chunked")
        head = "\r\n".join(lines).encode() + b"\r\n\r\n"
        if self.framing == "close":
            return head + self.body[:size]
        body = b""
        for start in range(0, len(self.body), SLICE_BYTES):
            if size is not None and start >= size:
                return head + body.removesuffix(b"\r\n")
            part = self.body[start : start + SLICE_BYTES]
            sent = part[: None if size is None else size - start]
            body += b"%x\r\n%b" % (len(part), sent) + (b"\r\n" if sent == part else b"")
        return head + (body + b"0\r\n\r\n" if size is None else body.removesuffix(b"\r\n"))


class ModelWire(ABC):
    """How the server of one provider speaks; a contract test has one of its own for each adapter.

    Attributes:
        gives_ids: Whether calls of tools have ids on the wire.
        has_tool_choice: Whether a call can be demanded.
        stops: The stop reasons that the API can express.
    """

    gives_ids = True
    has_tool_choice = True
    stops: Sequence[str] = ("end", "tool_calls", "length", "refused")

    @abstractmethod
    def adapter(self, url: str, **options: object) -> LLMAdapter:
        """Return the adapter for a server at this URL; its key is :data:`KEY`, if ``options`` has none."""

    @abstractmethod
    def problems(self, request: WireRequest) -> Iterable[str]:
        """Return why the real API would refuse a request."""

    @abstractmethod
    def streamed(self, reply: ModelReply, sizes: Sequence[int]) -> WireAnswer:
        """Return a reply as a stream; texts and arguments are cut into pieces of these sizes, in turn."""

    @abstractmethod
    def error(self, status: int, message: str, code: str = "") -> bytes:
        """Return the body of an error."""

    @abstractmethod
    def failures(self) -> Mapping[str, WireAnswer]:
        """Return failures by the name of their error class, perhaps with a word: ``ModelAuthError: key``."""

    @abstractmethod
    def thinking(self, text: str) -> Mapping[str, JSONValue]:
        """Return ``opaque`` of thoughts with this text, in the form of the adapter."""

    @abstractmethod
    def thoughts_in(self, request: WireRequest) -> Sequence[Mapping[str, JSONValue] | None]:
        """Return ``opaque`` of the thoughts that came back in a request."""

    def enforced(self, offer: dict[str, JSONValue]) -> dict[str, JSONValue]:
        """Return an offer of the contract as the API writes it where it enforces the schema."""
        return offer

    def said_of(self, reply: ModelReply) -> ModelReply:
        """Return a reply without the facts that the API does not give."""
        return reply

    def last_stop(self, answer: WireAnswer) -> int:
        """Return how many bytes of an answer's body hold the whole reply: what follows may be missing."""
        return len(answer.body)


class ModelServer:
    """Serves answers in order, one for each connection.

    Attributes:
        url: Its base URL.
        requests: The requests so far.
        problems: Why the real API would have refused them.
    """

    def __init__(self, wire: ModelWire) -> None:
        self.wire = wire
        self.url = ""
        self.requests: list[WireRequest] = []
        self.problems: list[str] = []
        self._answers: deque[WireAnswer] = deque()
        self._connections: set[asyncio.Task[None]] = set()

    def script(self, *answers: WireAnswer) -> None:
        """Add answers."""
        self._answers.extend(answers)

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        task = asyncio.create_task(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def finish(self) -> None:
        """Wait until every connection has ended."""
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                await self._send(self._answer(await _read(reader)), reader, writer)
        finally:
            writer.transport.abort() if writer.transport.is_closing() else writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    def _answer(self, request: WireRequest) -> WireAnswer:
        self.requests.append(request)
        try:
            found = list(self.wire.problems(request))
        except (LookupError, TypeError, AttributeError) as exc:  # a request in another form
            found = [f"{type(exc).__name__}: {exc}"]
        self.problems += found
        if found:
            return WireAnswer(status=400, body=self.wire.error(400, "; ".join(found)))
        if not self._answers:
            return WireAnswer(status=501, body=self.wire.error(501, "the script has no answer left"))
        return self._answers.popleft()

    async def _send(
        self, answer: WireAnswer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        for piece in _slices(answer.raw()[: answer.cut]):
            writer.write(piece)
            await writer.drain()
        if answer.stalls:
            await reader.read()


@asynccontextmanager
async def serving(wire: ModelWire) -> AsyncIterator[ModelServer]:
    """Serve on a free port of 127.0.0.1."""
    server = ModelServer(wire)
    listener = await asyncio.start_server(server.accept, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    async with listener:
        try:
            yield server
        finally:
            await server.finish()


def pieces_of_text(text: str, sizes: Sequence[int]) -> Iterator[str]:
    """Yield a text in pieces of these sizes, again and again."""
    position, number = 0, 0
    while position < len(text):
        size = sizes[number % len(sizes)]
        yield text[position : position + size]
        position, number = position + size, number + 1


def sse(*events: object, names: bool = False, end: str = "") -> bytes:
    """Return server-sent events with JSON data; with ``names``, each has its ``type`` as a name."""
    lines = []
    for event in events:
        name = f"event: {event['type']}\n" if names and isinstance(event, dict) else ""
        lines.append(f"{name}data: {json.dumps(event, ensure_ascii=False)}\n\n")
    return ("".join(lines) + (f"data: {end}\n\n" if end else "")).encode()


def _slices(data: bytes) -> Iterator[bytes]:
    for start in range(0, len(data), SLICE_BYTES):
        yield data[start : start + SLICE_BYTES]


async def _read(reader: asyncio.StreamReader) -> WireRequest:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    raw = await reader.readexactly(int(headers.get("content-length", "0")))
    return WireRequest(method=method, path=path, headers=headers, body=json.loads(raw) if raw else None)
