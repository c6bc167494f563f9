"""Errors of the bus."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from agentic.core.errors import AgenticError
from agentic.core.settings import safe_url


class BusError(AgenticError):
    """Base class of bus errors."""


class BusUnavailableError(BusError, ConnectionError):
    """The NATS server did not answer, or did not accept a message.

    After a failed publish, messages may be stored anyway; publishing the same messages again is safe.
    """

    exit_code: ClassVar[int] = 3
    hint: ClassVar[str] = "check AGENTIC_NATS_URL, or start `agentic up`"

    def __init__(self, url: str, reason: str) -> None:
        shown = ", ".join(safe_url(server.strip()) for server in url.split(","))
        super().__init__(f"NATS at {shown} cannot be used: {reason}; {self.hint}")
        self.url = shown
        self.reason = reason


class BusDeniedError(BusUnavailableError):
    """The NATS server denies this user the permission."""

    hint: ClassVar[str] = "use a key with permission (AGENTIC_NATS_SEED_FILE), or ask the server's operator"


class BusAccessError(BusError, PermissionError):
    """The credentials of a process for the NATS server are missing or invalid."""

    exit_code: ClassVar[int] = 3


class NatsNotConfiguredError(BusError):
    """Events of other processes are requested, but no server keeps them."""

    exit_code: ClassVar[int] = 3

    def __init__(self, home: Path) -> None:
        super().__init__(
            f"event streams need NATS, but none is configured or running in {str(home)!r}; start `agentic "
            "up`, or set AGENTIC_NATS_URL"
        )
        self.home = str(home)


class MessageTooLargeError(BusError, ValueError):
    """A message is larger than the server accepts; nothing of its batch was stored."""

    def __init__(self, message_id: str, what: str, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(
            f"{what} of message {message_id!r} has {size_bytes} bytes, the limit of the bus is "
            f"{limit_bytes}; send less, or raise the limit of the server"
        )
        self.message_id = message_id
        self.size_bytes = size_bytes
        self.limit_bytes = limit_bytes


class StreamFullError(BusError, RuntimeError):
    """A stream that keeps all messages is full; nothing of the batch was stored."""

    def __init__(self, stream: str, reason: str) -> None:
        super().__init__(
            f"the stream {stream} is full ({reason}); raise its max_bytes, or the storage of the server"
        )
        self.stream = stream
        self.reason = reason


class IllegalKeyError(BusError, ValueError):
    """A text is not a key of a bucket, or not a pattern for keys."""

    def __init__(self, key: str) -> None:
        super().__init__(
            f"{key!r} is not a valid key: use words of A-Z a-z 0-9 - _ = / separated by dots; token() "
            "makes a word of any text"
        )
        self.key = key


class KeyConflictError(BusError, RuntimeError):
    """A key changed after its writer read it; nothing was written.

    Attributes:
        key: The key.
        expected: The expected revision; 0 for none.
        actual: The revision it has.
    """

    def __init__(self, key: str, expected: int, actual: int) -> None:
        was = f"revision {expected}" if expected else "no value"
        found = f"revision {actual}" if actual else "no value"
        super().__init__(f"revision conflict on {key!r}: expected {was}, found {found}; read it again")
        self.key = key
        self.expected = expected
        self.actual = actual


class NobodyListensError(BusError, LookupError):
    """A request was sent, but it has no listener."""

    def __init__(self, subject: str) -> None:
        super().__init__(f"no subscriber on {subject!r}; start the service that answers, and ask again")
        self.subject = subject


class NoAnswerError(BusError, TimeoutError):
    """A request was received, but not answered in time."""

    def __init__(self, subject: str, timeout_s: float, last_error: str = "") -> None:
        told = f" (last error of the server: {last_error})" if last_error else ""
        super().__init__(f"no answer on {subject!r} within {timeout_s:g} s{told}; ask again, or wait longer")
        self.subject = subject
        self.timeout_s = timeout_s


class CorruptValueError(BusError, ValueError):
    """A stored value cannot be assembled from its pieces."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(f"the value of the key {key!r} cannot be read: {reason}; write it again")
        self.key = key
        self.reason = reason


class AnswerRefusedError(BusError, ValueError):
    """An answer to a question of a run is not accepted."""

    def __init__(self, request: str, reason: str) -> None:
        super().__init__(f"the answer to {request!r} is not accepted: {reason}")
        self.request = request
        self.reason = reason
