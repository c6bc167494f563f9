"""The adapter to Ollama."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator

import httpx
import ollama

from agentic.core.llm.adapter import ModelCapabilities
from agentic.core.llm.adapting import (
    CONNECT_S,
    FailedAnswer,
    FailedAnswerError,
    ProviderHome,
    SdkAdapter,
    SdkFaults,
    parse_failure,
    read_failure,
)
from agentic.core.llm.requests import ModelDelta, ModelRequest
from agentic.plugins.ollama.replies import LineDecoder, LongLineError, ReplyReader
from agentic.plugins.ollama.requests import body_of

# The key of the environment is one of ollama.com; other servers have none.
HOME = ProviderHome(
    provider="ollama", url="https://ollama.com", key_variables=("OLLAMA_API_KEY",), needs_key=False
)
PORT = 11434


class OllamaModel(SdkAdapter[ollama.AsyncClient, httpx.AsyncBaseTransport]):
    """A model that Ollama serves. Replies are always streamed.

    Calls of tools cannot be demanded, and have no ids: the adapter gives them some.

    Args:
        model: Its name.
        api_key: For servers that want one.
        base_url: The server; by default ``OLLAMA_HOST``, or port 11434 of this machine.
        transport: The transport of httpx to send with.
        capabilities: Abilities of the model.
    """

    home = HOME
    faults = SdkFaults(
        timeouts=(httpx.TimeoutException,),
        lost=(httpx.ConnectError, ConnectionError),
        cut=(httpx.TransportError,),
        others=(httpx.HTTPError, LongLineError),
    )

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        capabilities: ModelCapabilities | None = None,
    ) -> None:
        url = base_url or address(os.environ.get("OLLAMA_HOST", ""))
        super().__init__(
            model, api_key=api_key, base_url=url, http_client=transport, capabilities=capabilities
        )

    def open_client(self) -> ollama.AsyncClient:
        """Return a client that does not follow redirects."""
        return ollama.AsyncClient(
            self.access.url,
            follow_redirects=False,
            timeout=httpx.Timeout(None, connect=CONNECT_S),
            transport=self.http_client,
            auth=self._signed,
        )

    async def close_client(self, client: ollama.AsyncClient) -> None:
        """Close the connections."""
        await client._client.aclose()

    async def pieces(self, request: ModelRequest) -> AsyncGenerator[ModelDelta]:
        """Yield the pieces of the reply."""
        body = body_of(request, self.name)
        reader, lines = ReplyReader(self.name), LineDecoder()
        timeout_s = request.settings.timeout_s
        # Without the SDK's chat(): it drops nested schemas, anyOf and $ref from the parameters of
        # tools, splits lines at U+0085, and loses the headers of errors (0.6.3).
        timeout = httpx.Timeout(timeout_s, connect=min(CONNECT_S, timeout_s))
        async with self.client._client.stream("POST", "/api/chat", json=body, timeout=timeout) as response:
            if response.status_code != httpx.codes.OK:
                text = await read_failure(response.aiter_bytes())
                raise FailedAnswerError(parse_failure(response.status_code, response.headers, text))
            try:
                async for chunk in response.aiter_bytes():
                    for line in lines.feed(chunk):
                        for delta in reader.read(line):
                            yield delta
            except httpx.TransportError:
                if not reader.is_done:
                    raise
            for delta in reader.read_last(lines.rest()):
                yield delta
        yield ModelDelta(reply=reader.reply())

    def answer_in(self, exc: Exception) -> FailedAnswer | None:
        """Return the answer that an exception stands for."""
        return exc.answer if isinstance(exc, FailedAnswerError) else None

    def _signed(self, request: httpx.Request) -> httpx.Request:
        """Set the key here only: the SDK sends the key of the environment to any server."""
        request.headers.pop("authorization", None)
        if self.access.key:
            request.headers["authorization"] = f"Bearer {self.access.key}"
        return request


def address(host: str) -> str:
    """Return ``OLLAMA_HOST`` as a URL: it may be a host, a port, or the address that a server listens on."""
    if "://" in host:
        return host
    if host.count(":") > 1 and not host.startswith("["):  # an address of IPv6
        host = f"[{host}]"
    name, _, port = host.rpartition(":") if ":" in host and not host.endswith("]") else (host, "", "")
    if name in ("", "0.0.0.0", "[::]"):  # noqa: S104  # not listened on
        name = "127.0.0.1"
    return f"http://{name}:{port or PORT}"
