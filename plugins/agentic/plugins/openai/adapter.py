"""The adapter to the chat completions API."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import cast

import httpx2
import openai

from agentic.core.llm.adapting import (
    CONNECT_S,
    EventDecoder,
    FailedAnswer,
    LongEventError,
    ProviderHome,
    SdkAdapter,
    SdkFaults,
    UnreadableAnswerError,
    clean,
    own_headers,
    parse_failure,
)
from agentic.core.llm.adapting.bounding import bounded_client
from agentic.core.llm.errors import ModelError
from agentic.core.llm.requests import ModelDelta, ModelRequest
from agentic.plugins.openai.replies import ReplyReader
from agentic.plugins.openai.requests import body_of

HOME = ProviderHome(
    provider="openai",
    url="https://api.openai.com/v1",
    url_variables=("OPENAI_BASE_URL",),
    key_variables=("OPENAI_API_KEY",),
)
DRAIN_S = 1.0
"""Seconds that the end of an answer may take after the end of its reply."""


class OpenAIModel(SdkAdapter[openai.AsyncOpenAI, httpx2.AsyncClient]):
    """A model behind the chat completions API, of OpenAI or of a server that has the same.

    Replies are always streamed. The thoughts of a server are sent back to this server only.

    See :class:`~agentic.core.llm.adapting.SdkAdapter` for its arguments.
    """

    home = HOME
    faults = SdkFaults(
        timeouts=(openai.APITimeoutError, httpx2.TimeoutException),
        lost=(openai.APIConnectionError,),
        cut=(httpx2.TransportError,),
        others=(openai.OpenAIError, LongEventError, UnreadableAnswerError),
    )

    def open_client(self) -> openai.AsyncOpenAI:
        """Return a client that neither retries nor follows redirects."""
        access = self.access
        # The SDK sends what the environment says of OpenAI's accounts to any server.
        left_out = () if access.is_home else ("OpenAI-Organization", "OpenAI-Project")
        headers = {
            **own_headers(access, "OPENAI_CUSTOM_HEADERS", openai.Omit()),
            **without_headers(*left_out),
        }
        return openai.AsyncOpenAI(
            api_key=access.key or "none",
            base_url=access.url,
            max_retries=0,
            http_client=bounded_client(
                self.http_client or openai.DefaultAsyncHttpxClient(follow_redirects=False)
            ),
            default_headers=cast(Mapping[str, str], headers),
        )

    async def close_client(self, client: openai.AsyncOpenAI) -> None:
        """Close the connections, unless they belong to a client that was given."""
        if self.http_client is None:
            await client.close()

    async def pieces(self, request: ModelRequest) -> AsyncGenerator[ModelDelta]:
        """Yield the pieces of the reply."""
        sent = body_of(request, self.name, self.access)
        timeout_s = request.settings.timeout_s
        reader = ReplyReader(self.name, self.access.host, sent)
        async with self.client.chat.completions.with_streaming_response.create(
            **sent.body,
            stream=True,
            extra_headers=None if self.access.key else without_headers("Authorization"),
            extra_body=request.settings.extra or None,
            timeout=openai.Timeout(timeout_s, connect=min(CONNECT_S, timeout_s)),
        ) as response:
            kind = response.headers.get("content-type", "")
            if "json" in kind:  # it cannot stream
                reader.read_whole(await response.text())
            elif "event-stream" not in kind:
                url = clean(self.access.url)
                reason = f"the server answered with {kind or 'no type'!r}; check base_url {url!r}"
                raise ModelError(self.name, reason)
            else:
                events = EventDecoder()
                async for chunk in self._bytes(response.iter_bytes(), reader):
                    for data in events.feed(chunk):
                        for delta in reader.read(data):
                            yield delta
        yield ModelDelta(reply=reader.reply())

    def answer_in(self, exc: Exception) -> FailedAnswer | None:
        """Return the answer that an exception of the SDK stands for."""
        if isinstance(exc, openai.APIStatusError):
            return parse_failure(exc.status_code, exc.response.headers, exc.response.text)
        return None

    async def _bytes(self, chunks: AsyncIterator[bytes], reader: ReplyReader) -> AsyncIterator[bytes]:
        """Yield the body; its end may be missing, or late, when the reply is whole."""
        try:
            while True:
                # A connection can be used again only if its answer was read to the end.
                async with asyncio.timeout(DRAIN_S if reader.is_done else None):
                    chunk = await anext(chunks)
                yield chunk
        except StopAsyncIteration:
            return
        except (httpx2.TransportError, TimeoutError):
            if not reader.is_whole:
                raise


def without_headers(*names: str) -> Mapping[str, str]:
    """Return headers for the SDK to leave out."""
    return cast(Mapping[str, str], dict.fromkeys(names, openai.Omit()))
