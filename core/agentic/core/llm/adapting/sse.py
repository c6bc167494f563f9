"""Server-sent events: only their data matters. Pure."""

from __future__ import annotations

from collections.abc import Iterator

MAX_EVENT_BYTES = 32 * 1024 * 1024


class LongEventError(ValueError):
    """An event of a stream is longer than 32 MiB."""


class EventDecoder:
    """Finds events in chunks of bytes.

    Lines end with CR, LF or both. The standard says that an event counts only if an empty line follows: the
    last bytes of a broken connection are not an event. Clients that split lines like ``str.splitlines`` break
    at U+2028, which JSON may contain.
    """

    def __init__(self) -> None:
        self._waiting = bytearray()
        self._data: list[bytes] = []
        self._size_bytes = 0

    def feed(self, chunk: bytes) -> Iterator[str]:
        """Yield the data of each event that ends in this chunk.

        Raises:
            LongEventError: An event is too long.
        """
        for line in self._lines(chunk):
            if line:
                name, _, value = line.partition(b":")
                if name == b"data":
                    self._data.append(value.removeprefix(b" "))
                    self._size_bytes += len(value)
            elif self._data:
                yield b"\n".join(self._data).decode("utf-8", errors="replace")
                self._data, self._size_bytes = [], 0
        if len(self._waiting) + self._size_bytes > MAX_EVENT_BYTES:
            raise LongEventError("an event of the stream is longer than 32 MiB")

    def _lines(self, chunk: bytes) -> list[bytes]:
        # A CR at the end may be half of a CR LF: it waits for the next chunk.
        is_ended = b"\n" in chunk or b"\r" in chunk or self._waiting.endswith(b"\r")
        self._waiting += chunk
        if not is_ended:
            return []
        held = b"\r" if self._waiting.endswith(b"\r") else b""
        whole = bytes(self._waiting).removesuffix(held)
        *lines, rest = whole.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._waiting = bytearray(rest + held)
        return lines
