"""The adapter to the Messages API."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from typing import cast

import anthropic
import httpx2

from agentic.core.llm.adapting import (
    CONNECT_S,
    FailedAnswer,
    ProviderHome,
    SdkAdapter,
    SdkFaults,
    own_headers,
    parse_failure,
)
from agentic.core.llm.requests import ModelDelta, ModelRequest
from agentic.plugins.anthropic.replies import ReplyReader
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
        others=(anthropic.AnthropicError, json.JSONDecodeError),
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
            http_client=self.http_client or anthropic.DefaultAsyncHttpxClient(follow_redirects=False),
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
        stream = await self.client.messages.create(
            **sent.body,
            stream=True,
            extra_headers=None if self.access.key else no_key,
            extra_body=request.settings.extra or None,
            timeout=anthropic.Timeout(timeout_s, connect=min(CONNECT_S, timeout_s)),
        )
        async with stream:
            try:
                async for event in stream:
                    for delta in reader.read(event):
                        yield delta
            except httpx2.TransportError:
                if not reader.is_done:
                    raise
        yield ModelDelta(reply=reader.reply())

    def answer_in(self, exc: Exception) -> FailedAnswer | None:
        """Return the answer that an exception of the SDK stands for."""
        if not isinstance(exc, anthropic.APIStatusError):
            return None
        if exc.status_code < 300:  # an error in the middle of a stream
            return parse_failure(0, exc.response.headers, json.dumps(exc.body))
        return parse_failure(exc.status_code, exc.response.headers, exc.response.text)
