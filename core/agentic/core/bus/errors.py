"""What can go wrong on the bus."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from agentic.core.errors import AgenticError
from agentic.core.settings import safe_url


class BusError(AgenticError):
    """Something about the bus."""


class BusUnavailableError(BusError, ConnectionError):
    """The NATS server did not answer, or did not accept what it was sent.

    After a publish this does not mean that nothing was stored; publishing the same messages again is safe.
    """

    exit_code: ClassVar[int] = 3

    def __init__(self, url: str, reason: str) -> None:
        shown = ", ".join(safe_url(server.strip()) for server in url.split(","))
        super().__init__(
            f"NATS at {shown} cannot be used: {reason}; check AGENTIC_NATS_URL, or start `agentic up`"
        )
        self.url = shown
        self.reason = reason


class NatsNotConfiguredError(BusError):
    """Events of other processes are asked for, but there is no server that would keep them."""

    exit_code: ClassVar[int] = 3

    def __init__(self, home: Path) -> None:
        super().__init__(
            f"there is no stream of events without NATS, and none is configured or running in {str(home)!r}; "
            f"start `agentic up`, or set AGENTIC_NATS_URL"
        )
        self.home = str(home)


class MessageTooLargeError(BusError, ValueError):
    """A message is larger than the server takes; nothing of its batch was stored."""

    def __init__(self, message_id: str, what: str, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(
            f"{what} of message {message_id!r} has {size_bytes} bytes, the bus takes {limit_bytes}; "
            f"send less, or raise the limit of the server"
        )
        self.message_id = message_id
        self.size_bytes = size_bytes
        self.limit_bytes = limit_bytes
