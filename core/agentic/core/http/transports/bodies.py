"""Reads bodies: unpacked step by step, and never larger than allowed, packed or unpacked.

Servers declare encodings that they did not apply, or forget to declare them: the first bytes decide, as in
browsers.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Final, Literal, cast

from agentic.core.http.errors import FailureClass, FetchError
from agentic.core.http.messages import BodySink
from agentic.core.http.transports.unpacking import GZIP_MAGIC, TooManyMembersError, Unpacker
from agentic.core.logging import get_logger
from agentic.core.settings import safe_url

log = get_logger(__name__)

ACCEPT_ENCODING = "gzip, deflate"
# All others are mistakes: `none`, `utf-8`, `binary`. Browsers ignore them.
CODINGS: Final = frozenset({"gzip", "deflate", "br", "zstd", "compress", "dcb", "dcz", "aes128gcm", "exi"})
MAX_LAYERS = 3
HEAD_BYTES = 64
"""Bytes that decide whether a body is packed."""
# Incompressible data grows by a thousandth, and each gzip member has a header.
PACKED_EXTRA_SHARE = 64
PACKED_EXTRA_BYTES = 4 * 1024
_TEXT = re.compile(rb"(?:\xef\xbb\xbf)?[\t\n\r\x20-\x7e\x80-\xff]*")
_MARKUP = re.compile(rb"(?:\xef\xbb\xbf)?\s*[<{\[]")
_TEXT_TYPES = re.compile(
    r"\s*(?:text/|application/(?:[\w.-]+\+)?(?:json|xml|xhtml|javascript)\b)", re.IGNORECASE
)
_END_OF_PAGE = re.compile(rb"</html\s*>\s*(?:<!--[^<>]{0,200}-->\s*)?", re.IGNORECASE)
END_BYTES = 300


class _Layer:
    """Unpacks one encoding, if the data is packed at all.

    Args:
        coding: As declared; "" for none.
    """

    def __init__(self, coding: str) -> None:
        self._coding = coding
        self._head: bytes | None = b""
        self._unpacker: Unpacker | None = None

    @property
    def is_whole(self) -> bool:
        return self._unpacker is None or self._unpacker.is_whole

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._head is not None:
            data = self._head + data
            if len(data) < HEAD_BYTES:
                self._head = data
                return
            self._choose(data)
        yield from self._unpacked(data)

    def finish(self) -> Iterator[bytes]:
        """Yield the rest of a body that is shorter than its head may be."""
        if self._head:
            data = self._head
            self._choose(data)
            yield from self._unpacked(data)

    def _unpacked(self, data: bytes) -> Iterator[bytes]:
        if self._unpacker is None:
            yield data
        else:
            yield from self._unpacker.feed(data)

    def _choose(self, data: bytes) -> None:
        """Choose the unpacker for a body that begins with ``data``.

        Raises:
            UnknownCodingError: It is packed in a way that was not asked for.
        """
        self._head = None
        if data.startswith(GZIP_MAGIC):
            self._unpacker = Unpacker("gzip")
        elif self._coding and not _is_text(data[:HEAD_BYTES], is_sure=self._coding == "gzip"):
            if self._coding not in ("gzip", "deflate"):
                raise UnknownCodingError(self._coding)
            is_zlib = data[0] == 0x78 and int.from_bytes(data[:2]) % 31 == 0
            coding = "deflate" if is_zlib else self._coding
            self._unpacker = Unpacker(cast(Literal["gzip", "deflate"], coding))


class UnknownCodingError(ValueError):
    """A body is packed in a way that the request did not accept."""

    def __init__(self, coding: str) -> None:
        super().__init__(f"its encoding is {coding[:40]!r}, but the request accepts only {ACCEPT_ENCODING}")


def _is_text(head: bytes, *, is_sure: bool) -> bool:
    """Whether a body begins as text does; packed data seldom does for long."""
    return _TEXT.fullmatch(head) is not None and (
        is_sure or _MARKUP.match(head) is not None or (head.isascii() and len(head) >= HEAD_BYTES // 2)
    )


class BodyReader:
    """Takes the body of one answer piece by piece.

    Args:
        url: Its source, for messages.
        status: Status of the answer.
        encoding: The ``Content-Encoding``; names of no encoding are ignored.
        max_bytes: Largest body, unpacked; the declared length may be wrong.
        content_type: The ``Content-Type``: a text that begins as gzip does is unpacked in any case.
        sink: Takes the unpacked body; :meth:`whole` is empty then.
    """

    def __init__(
        self,
        url: str,
        status: int,
        encoding: str,
        max_bytes: int,
        content_type: str = "",
        sink: BodySink | None = None,
    ) -> None:
        self._sink = sink if 200 <= status < 300 else None
        if self._sink is not None:
            self._sink.begin(content_type)
        self._url = url
        self._status = status
        self._room = max_bytes
        self._packed_room = max_bytes + max_bytes // PACKED_EXTRA_SHARE + PACKED_EXTRA_BYTES
        self._max_bytes = max_bytes
        self._pieces: list[bytes] = []
        self._layers = [_Layer(coding) for coding in _codings(encoding)] if encoding else []
        self._content_type = content_type
        self._is_begun = False
        self._extra: _Layer | None = None
        # The status of a redirect or a failure says enough: its body is kept as far as it can be read.
        self._is_vital = status < 300
        self._is_damaged = False

    def feed(self, data: bytes) -> None:
        """Take the next piece.

        Raises:
            FetchError: The body is larger than allowed (``too_large``) or cannot be unpacked (``decode``).
        """
        if data.startswith(GZIP_MAGIC) and not (self._is_begun or self._layers) and self._is_text():
            self._layers = [_Layer("")]
        if not self._layers:
            self._is_begun = True
            self._keep(data)
            return
        self._packed_room -= len(data)
        if self._packed_room < 0:
            raise self._too_large()
        if not self._is_damaged:
            self._unpack([data])

    def whole(self) -> bytes:
        """Return the body.

        Raises:
            FetchError: The packed data is incomplete (``decode``).
        """
        if self._layers or self._extra is not None:
            self._finish()
            is_whole = not self._is_vital or all(layer.is_whole for layer in self._layers)
            if not is_whole and not self._has_end("packed data"):
                raise self._error(FailureClass.DECODE, "its packed data is incomplete")
        return self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)

    def _has_end(self, lack: str) -> bool:
        """Whether the end of a web page has come; ``lack`` is the incomplete part, for the warning."""
        end = b"".join(self._pieces[-3:])[-END_BYTES:]
        at = end.lower().rfind(b"</html")
        if at < 0 or not _END_OF_PAGE.fullmatch(end, at):
            return False
        log.warning(
            "answer.short", url=safe_url(self._url), lack=lack, kept_bytes=sum(map(len, self._pieces))
        )
        return True

    def cut_off(self, lack: str) -> bytes | None:
        """Return the body of an answer that ended early; None if the rest is needed.

        It is not needed for a web page with its end, nor for a redirect or a failure.
        """
        self._finish()
        return b"".join(self._pieces) if not self._is_vital or self._has_end(lack) else None

    def _is_text(self) -> bool:
        return _TEXT_TYPES.match(self._content_type) is not None

    def _unpack(self, pieces: list[bytes]) -> None:
        with self._translating():
            found: Iterator[bytes] = iter(pieces)
            for layer in self._layers:
                found = chain.from_iterable(map(layer.feed, found))
            for piece in found:
                self._take(piece)

    @contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except (zlib.error, TooManyMembersError, UnknownCodingError) as exc:
            self._is_damaged = True
            if self._is_vital:
                is_unknown = isinstance(exc, UnknownCodingError)
                reason = str(exc) if is_unknown else f"its body cannot be unpacked ({exc})"
                raise self._error(FailureClass.DECODE, reason) from exc

    def _take(self, piece: bytes) -> None:
        """Keep an unpacked piece; a text that was packed once more than declared is unpacked again."""
        if not self._is_begun and piece.startswith(GZIP_MAGIC) and self._is_text():
            self._extra = _Layer("")
        self._is_begun = True
        if self._extra is None:
            self._keep(piece)
        else:
            for part in self._extra.feed(piece):
                self._keep(part)

    def _finish(self) -> None:
        """Take the rest of layers that still wait for more bytes."""
        if self._is_damaged:
            return
        with self._translating():
            for index, layer in enumerate(self._layers):
                rest = list(layer.finish())
                for later in self._layers[index + 1 :]:
                    rest = [part for piece in rest for part in later.feed(piece)]
                for piece in rest:
                    self._take(piece)
            for piece in self._extra.finish() if self._extra else ():
                self._keep(piece)

    def _keep(self, piece: bytes) -> None:
        self._room -= len(piece)
        if self._room < 0:
            raise self._too_large()
        if piece and self._sink is not None:
            self._sink.write(piece)
        elif piece:
            self._pieces.append(piece)

    def _too_large(self) -> FetchError:
        reason = f"its body is larger than {self._max_bytes} bytes; raise max_bytes if you need it"
        return self._error(FailureClass.TOO_LARGE, reason)

    def _error(self, failure_class: FailureClass, reason: str) -> FetchError:
        return FetchError(self._url, failure_class, reason, status=self._status)


def _codings(encoding: str) -> list[str]:
    """Return the encodings in the order of unpacking; other names are left out."""
    names = (name.partition(";")[0].strip().lower().removeprefix("x-") for name in encoding.split(","))
    return [name for name in names if name in CODINGS][-MAX_LAYERS:][::-1]
