"""The adapter to the Gemini API."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass

import httpx2
from google.genai import Client, errors, types

from agentic.core.llm.adapting import (
    FailedAnswer,
    FailedAnswerError,
    ProviderHome,
    SdkAdapter,
    SdkFaults,
    parse_failure,
    read_failure,
)
from agentic.core.llm.requests import ModelDelta, ModelRequest
from agentic.plugins.google.replies import ReplyReader
from agentic.plugins.google.requests import sent_request

HOME = ProviderHome(
    provider="google",
    url="https://generativelanguage.googleapis.com",
    url_variables=("GOOGLE_GEMINI_BASE_URL",),
    key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
)


@dataclass(frozen=True, slots=True)
class _Client:
    sdk: Client
    http: httpx2.AsyncClient


class GoogleModel(SdkAdapter[_Client, httpx2.AsyncClient]):
    """A model behind the Gemini API. Replies are always streamed.

    See :class:`~agentic.core.llm.adapting.SdkAdapter` for its arguments.
    """

    home = HOME
    faults = SdkFaults(
        timeouts=(httpx2.TimeoutException,),
        lost=(httpx2.ConnectError,),
        # The SDK reports the last bytes of a broken stream as JSON that it cannot read.
        cut=(httpx2.TransportError, errors.UnknownApiResponseError),
        others=(errors.APIError, UnicodeDecodeError),
    )

    def open_client(self) -> _Client:
        """Return a client that neither retries nor follows redirects."""
        # Without a client, the SDK uses aiohttp if it is installed, and repeats lost requests by itself.
        http = self.http_client or httpx2.AsyncClient(
            follow_redirects=False, event_hooks={"response": [_check]}
        )
        options = types.HttpOptions(base_url=self.access.url, httpx_async_client=http)
        return _Client(Client(api_key=self.access.key or "none", vertexai=False, http_options=options), http)

    async def close_client(self, client: _Client) -> None:
        """Close the connections, unless they belong to a client that was given."""
        client.sdk.close()
        if self.http_client is None:
            await client.http.aclose()

    async def pieces(self, request: ModelRequest) -> AsyncGenerator[ModelDelta]:
        """Yield the pieces of the reply."""
        sent = sent_request(request, self.name)
        timeout_s = request.settings.timeout_s
        sent.config.http_options = types.HttpOptions(
            timeout=max(int(timeout_s * 1000), 1), extra_body=dict(request.settings.extra) or None
        )
        reader = ReplyReader(self.name, sent)
        stream = await self.client.sdk.aio.models.generate_content_stream(
            model=self.model, contents=sent.contents, config=sent.config
        )
        try:
            async for chunk in stream:
                for delta in reader.read(chunk):
                    yield delta
        except httpx2.TransportError:
            if not reader.is_done:
                raise
        yield ModelDelta(reply=reader.reply())

    def answer_in(self, exc: Exception) -> FailedAnswer | None:
        """Return the answer that an exception stands for."""
        if isinstance(exc, FailedAnswerError):
            return exc.answer
        if isinstance(exc, errors.APIError):
            return parse_failure(exc.code or 0, getattr(exc.response, "headers", {}), json.dumps(exc.details))
        return None


async def _check(response: httpx2.Response) -> None:
    """Read failures here: the SDK breaks at bodies that are not text, and takes any answer for a stream."""
    kind = response.headers.get("content-type", "")
    if response.status_code == httpx2.codes.OK and "event-stream" in kind:
        return
    text = await read_failure(response.aiter_bytes())
    if response.status_code == httpx2.codes.OK and not text.lstrip().startswith(("{", "[")):
        text = f"the server answered with {kind or 'no type'!r}; check base_url"
    status = response.status_code if response.status_code != httpx2.codes.OK else 0
    raise FailedAnswerError(parse_failure(status, response.headers, text))
