"""Connections of the HTTP server: one that has no request in work for too long is closed.

uvicorn alone waits for ever for the first request, for the rest of its headers, and for the rest of a body
that was refused. A thousand such connections would keep all others out, and none of them needs the token.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

IDLE_S = 30
"""However slowly bytes come meanwhile."""


class PromptProtocol(H11Protocol):
    """The protocol of a connection."""

    _closing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as of uvicorn
        """Wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take bytes; a whole head of a request ends the wait."""
        super().data_received(data)
        if self._is_working:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        if not self._is_working:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_waiting()
        super().connection_lost(exc)

    @property
    def _is_working(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def _wait(self) -> None:
        self._stop_waiting()
        self._closing = self.loop.call_later(IDLE_S, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._closing is not None:
            self._closing.cancel()
