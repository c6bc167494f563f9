"""Reads bodies: unpacked step by step, and never larger than allowed, packed or unpacked."""

from __future__ import annotations

import zlib
from typing import Literal, cast

from agentic.core.http.errors import FailureClass, FetchError
from agentic.core.http.transports.unpacking import TooManyMembersError, Unpacker

ACCEPT_ENCODING = "gzip, deflate"
ENCODINGS = frozenset({"gzip", "deflate"})
# Incompressible data grows by a thousandth, and each gzip member has a header.
PACKED_EXTRA_SHARE = 64
PACKED_EXTRA_BYTES = 4 * 1024


class BodyReader:
    """Takes the body of one answer piece by piece.

    Args:
        url: Its source, for messages.
        status: Status of the answer.
        encoding: The ``Content-Encoding``; ``gzip``, ``deflate`` or none.
        max_bytes: Largest body, unpacked; the declared length may be wrong.
    """

    def __init__(self, url: str, status: int, encoding: str, max_bytes: int) -> None:
        self._url = url
        self._status = status
        self._encoding = encoding.strip().lower().removeprefix("x-")
        self._room = max_bytes
        self._packed_room = max_bytes + max_bytes // PACKED_EXTRA_SHARE + PACKED_EXTRA_BYTES
        self._max_bytes = max_bytes
        self._pieces: list[bytes] = []
        self._unpacker: Unpacker | None = None
        self._is_packed = self._encoding not in ("", "identity")

    def feed(self, data: bytes) -> None:
        """Take the next piece.

        Raises:
            FetchError: The body is larger than allowed (``too_large``) or cannot be unpacked (``decode``).
        """
        if not self._is_packed or not data:
            self._keep(data)
            return
        self._packed_room -= len(data)
        if self._packed_room < 0:
            raise self._too_large()
        try:
            for piece in self._opened().feed(data):
                self._keep(piece)
        except (zlib.error, TooManyMembersError) as exc:
            raise self._error(FailureClass.DECODE, f"its body cannot be unpacked ({exc})") from exc

    def whole(self) -> bytes:
        """Return the body.

        Raises:
            FetchError: The packed data is incomplete (``decode``).
        """
        if self._unpacker is not None and not self._unpacker.is_whole:
            raise self._error(FailureClass.DECODE, f"its {self._encoding} data is incomplete")
        return self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)

    def _opened(self) -> Unpacker:
        if self._unpacker is None:
            if self._encoding not in ENCODINGS:
                reason = (
                    f"its encoding is {self._encoding[:40]!r}, but the request accepts only {ACCEPT_ENCODING}"
                )
                raise self._error(FailureClass.DECODE, reason)
            self._unpacker = Unpacker(cast(Literal["gzip", "deflate"], self._encoding))
        return self._unpacker

    def _keep(self, piece: bytes) -> None:
        self._room -= len(piece)
        if self._room < 0:
            raise self._too_large()
        if piece:
            self._pieces.append(piece)

    def _too_large(self) -> FetchError:
        reason = f"its body is larger than {self._max_bytes} bytes; raise max_bytes if you need it"
        return self._error(FailureClass.TOO_LARGE, reason)

    def _error(self, failure_class: FailureClass, reason: str) -> FetchError:
        return FetchError(self._url, failure_class, reason, status=self._status)
