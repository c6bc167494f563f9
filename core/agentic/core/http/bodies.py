"""Bodies as they come in: unpacked step by step, and never larger than allowed."""

from __future__ import annotations

import zlib

from agentic.core.http.errors import FailureClass, FetchError

ACCEPT_ENCODING = "gzip, deflate"
STEP_BYTES = 64 * 1024  # unpacked at a time: a bomb is noticed before it fills more than this
GZIP_MAGIC = b"\x1f\x8b"


class BodyReader:
    """Takes the body of one answer piece by piece.

    Args:
        url: Where it comes from, for messages.
        status: Of the answer.
        encoding: The ``Content-Encoding``; ``gzip``, ``deflate`` or none.
        max_bytes: Largest body, unpacked; the length a server declares proves nothing.
    """

    def __init__(self, url: str, status: int, encoding: str, max_bytes: int) -> None:
        self._url = url
        self._status = status
        self._encoding = encoding.strip().lower().removeprefix("x-")
        self._room = max_bytes
        self._max_bytes = max_bytes
        self._pieces: list[bytes] = []
        self._head = b""
        self._unpack: zlib._Decompress | None = None
        self._is_packed = self._encoding not in ("", "identity")

    def feed(self, data: bytes) -> None:
        """Take the next piece.

        Raises:
            FetchError: The body is larger than allowed (``too_large``) or cannot be unpacked (``decode``).
        """
        if not self._is_packed:
            self._keep(data)
            return
        try:
            self._feed_packed(data)
        except zlib.error as exc:
            raise self._error(FailureClass.DECODE, f"its body cannot be unpacked ({exc})") from exc

    def whole(self) -> bytes:
        """Return the body.

        Raises:
            FetchError: It ended in the middle of what was packed (``decode``).
        """
        if self._head or (self._unpack is not None and not self._unpack.eof):
            raise self._error(FailureClass.DECODE, f"its {self._encoding} data ends in the middle")
        return self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)

    def _feed_packed(self, data: bytes) -> None:
        data = self._head + data
        self._head = b""
        while data:
            if self._unpack is None or self._unpack.eof:
                if len(data) < 2:
                    self._head = data
                    return
                if self._unpack is not None and not data.startswith(GZIP_MAGIC):
                    return  # what follows the last member is ignored, as browsers do
                self._unpack = self._opened(data)
            data = self._unpacked(self._unpack, data)

    def _unpacked(self, unpack: zlib._Decompress, data: bytes) -> bytes:
        """Unpack ``data`` step by step; return what lies behind its end."""
        while True:
            piece = unpack.decompress(data, STEP_BYTES)
            self._keep(piece)
            data = unpack.unconsumed_tail
            if unpack.eof or (not data and len(piece) < STEP_BYTES):
                return unpack.unused_data

    def _opened(self, data: bytes) -> zlib._Decompress:
        if self._encoding == "gzip":
            return zlib.decompressobj(16 + zlib.MAX_WBITS)
        if self._encoding == "deflate":
            # Some servers leave out the two bytes of RFC 1950 that this encoding should begin with.
            is_zlib = data[0] & 0x0F == 8 and int.from_bytes(data[:2]) % 31 == 0
            return zlib.decompressobj(zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS)
        reason = f"its encoding is {self._encoding[:40]!r}, and only {ACCEPT_ENCODING} was asked for"
        raise self._error(FailureClass.DECODE, reason)

    def _keep(self, piece: bytes) -> None:
        self._room -= len(piece)
        if self._room < 0:
            reason = f"its body is larger than {self._max_bytes} bytes; raise max_bytes if that is meant"
            raise self._error(FailureClass.TOO_LARGE, reason)
        if piece:
            self._pieces.append(piece)

    def _error(self, failure_class: FailureClass, reason: str) -> FetchError:
        return FetchError(self._url, failure_class, reason, status=self._status)
