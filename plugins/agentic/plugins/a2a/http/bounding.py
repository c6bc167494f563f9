"""A transport of httpx that limits the bytes of each answer."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx

MAX_BYTES = 16 * 1024 * 1024


class TooManyBytesError(httpx.RemoteProtocolError):
    """An answer is larger than this side reads."""


class BoundedTransport(httpx.AsyncBaseTransport):
    """Sends by another transport, and reads at most a number of bytes of each answer.

    Args:
        inner: The other transport.
        max_bytes: Of one answer.
    """

    def __init__(self, inner: httpx.AsyncBaseTransport, max_bytes: int = MAX_BYTES) -> None:
        self._inner = inner
        self._max_bytes = max_bytes

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request."""
        # A packed answer could be a thousand times as large once it is unpacked.
        request.headers["accept-encoding"] = "identity"
        response = await self._inner.handle_async_request(request)
        packing = response.headers.get("content-encoding", "identity")
        if packing != "identity" or not isinstance(response.stream, httpx.AsyncByteStream):
            await response.aclose()
            raise httpx.RemoteProtocolError(f"the answer is packed ({packing}), which was not asked for")
        response.stream = _Bounded(response.stream, self._max_bytes)
        return response

    async def aclose(self) -> None:
        """Close the other transport."""
        await self._inner.aclose()


class _Bounded(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream, most: int) -> None:
        self._inner = inner
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._most
        async for piece in self._inner:
            left -= len(piece)
            if left < 0:
                raise TooManyBytesError(f"the answer has more than {self._most} bytes")
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()
