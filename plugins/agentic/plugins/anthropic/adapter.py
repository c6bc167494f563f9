"""The adapter to the Messages API."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import cast

import anthropic
import httpx2

from agentic.core.llm.adapting import (
    CONNECT_S,
    EventDecoder,
    FailedAnswer,
    FailedAnswerError,
    LongEventError,
    ProviderHome,
    SdkAdapter,
    SdkFaults,
    UnreadableAnswerError,
    own_headers,
    parse_failure,
)
from agentic.core.llm.adapting.bounding import bounded_client
from agentic.core.llm.requests import ModelDelta, ModelRequest
from agentic.plugins.anthropic.replies import ReplyReader, UnreadableEventError, event_of
from agentic.plugins.anthropic.requests import body_of

HOME = ProviderHome(
    provider="anthropic",
    url="https://api.anthropic.com",
    url_variables=("ANTHROPIC_BASE_URL",),
    key_variables=("ANTHROPIC_API_KEY",),
)


class AnthropicModel(SdkAdapter[anthropic.AsyncAnthropic, httpx2.AsyncClient]):
    """A model of Anthropic. Replies are always streamed.

    Temperature, ``top_p`` and seed are left out: version 2026-10-21 of the API refuses them. Tools,
    instructions and the last two turns of the user are marked for the prompt cache.

    See :class:`~agentic.core.llm.adapting.SdkAdapter` for its arguments.
    """

    home = HOME
    faults = SdkFaults(
        timeouts=(anthropic.APITimeoutError, httpx2.TimeoutException),
        lost=(anthropic.APIConnectionError,),
        cut=(httpx2.TransportError,),
        others=(anthropic.AnthropicError, LongEventError, UnreadableAnswerError, UnreadableEventError),
    )

    def open_client(self) -> anthropic.AsyncAnthropic:
        """Return a client that neither retries nor follows redirects."""
        # The SDK sends these headers of the environment to any server.
        headers = own_headers(self.access, "ANTHROPIC_CUSTOM_HEADERS", anthropic.Omit())
        return anthropic.AsyncAnthropic(
            # Without a key, the SDK would look for other credentials on this machine.
            api_key=self.access.key or "none",
            base_url=self.access.url,
            max_retries=0,
            default_headers=cast(Mapping[str, str], headers),
            open_telemetry=False,
            http_client=bounded_client(
                self.http_client or anthropic.DefaultAsyncHttpxClient(follow_redirects=False)
            ),
        )

    async def close_client(self, client: anthropic.AsyncAnthropic) -> None:
        """Close the connections, unless they belong to a client that was given."""
        if self.http_client is None:
            await client.close()

    async def pieces(self, request: ModelRequest) -> AsyncGenerator[ModelDelta]:
        """Yield the pieces of the reply."""
        sent = body_of(request, self.name)
        timeout_s = request.settings.timeout_s
        reader = ReplyReader(self.name, sent)
        no_key = cast(Mapping[str, str], {"Authorization": anthropic.Omit()})
        # Without the SDK's stream: it takes events of any length, in time that grows with their square.
        async with self.client.messages.with_streaming_response.create(
            **sent.body,
            stream=True,
            extra_headers=None if self.access.key else no_key,
            extra_body=request.settings.extra or None,
            timeout=anthropic.Timeout(timeout_s, connect=min(CONNECT_S, timeout_s)),
        ) as response:
            try:
                async for data in events_in(response.iter_bytes()):
                    if (event := event_of(data, response.headers)) is not None:
                        for delta in reader.read(event):
                            yield delta
            except httpx2.TransportError:
                if not reader.is_done:
                    raise
        yield ModelDelta(reply=reader.reply())

    def answer_in(self, exc: Exception) -> FailedAnswer | None:
        """Return the answer that an exception of the SDK stands for."""
        if isinstance(exc, FailedAnswerError):
            return exc.answer
        if isinstance(exc, anthropic.APIStatusError):
            return parse_failure(exc.status_code, exc.response.headers, exc.response.text)
        return None


async def events_in(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """Yield the data of each event."""
    events = EventDecoder()
    async for chunk in chunks:
        for data in events.feed(chunk):
            yield data
