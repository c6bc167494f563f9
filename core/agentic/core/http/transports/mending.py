"""Mends answers that browsers accept and strict parsers refuse, before the parser sees them.

Only a fault with one meaning is mended. An answer that two readers may cut at different places, such as one
with two lengths, stays as it is, and is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from agentic.core.logging import get_logger
from agentic.core.settings import safe_url

log = get_logger(__name__)

MAX_SHOWN = 160
MAX_HEAD_BYTES = 256 * 1024  # as in browsers
MAX_INTERIM = 20
"""Interim answers that are mended; a parser reads the others as they are."""
LAST_CHUNK = b"\n0\r\n"
LENGTH, CODING = b"\ncontent-length:", b"\ntransfer-encoding:"
STARTS = (b"http/", b"icy ")
BODILESS = frozenset({b"204", b"304"})

_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_FRAMING = rb"(?i:content-length|transfer-encoding):"
_OTHERS = rb"(?:(?!" + _FRAMING + rb")" + _TOKEN + rb":[^\0\r\n]*\r\n)*+"
# A head that any parser reads in the same way, with one length at most: one pass takes 2 us.
_SOUND = re.compile(
    rb"HTTP/1\.[01] [2-9]\d\d(?: [^\0\r\n]*)?\r\n"
    + _OTHERS
    + rb"(?:(?i:content-length:[ \t]*+(\d{1,15})|transfer-encoding:[ \t]*+(chunked))[ \t]*\r\n"
    + _OTHERS
    + rb")?\r\n"
)
_END = re.compile(rb"\r?\n\r?\n")
_STATUS = re.compile(rb"(?:HTTP/(\d(?:\.\d)?)|ICY)[ \t]+([1-9]\d\d)(?!\d)([^\r\n]*)", re.IGNORECASE)
_NAME = re.compile(_TOKEN)
_CONTROLS = re.compile(rb"[\0\r\n]+")


class AnswerMender:
    """Takes the bytes of one answer, and returns them for the parser.

    Args:
        url: Its source, for the warning.
        has_body: Whether it may have a body; the answer to HEAD has none.
    """

    def __init__(self, url: str = "", *, has_body: bool = True) -> None:
        self._url = url
        self._has_body = has_body
        self._head: bytes | None = b""
        self._left: int | None = None
        self._is_chunked = False
        self._tail = b""
        self._interim_count = 0
        self.has_excess = False

    def feed(self, data: bytes) -> bytes:
        """Return the bytes for the parser: none while the head is incomplete, none after the body."""
        if self._head is not None:
            return self._feed_head(self._head + data)
        if self._left is not None:
            return self._limited(data)
        self._tail = (self._tail + data[-len(LAST_CHUNK) :])[-len(LAST_CHUNK) :]
        return data

    def flush(self) -> bytes:
        """Return the bytes for the parser that are left when the connection ends."""
        head, self._head = self._head, None
        if head is None and self._is_chunked and self._tail == LAST_CHUNK:
            return b"\r\n"  # some servers forget the empty line after the last chunk
        return head or b""

    def _feed_head(self, data: bytes) -> bytes:
        end = data.find(b"\r\n\r\n") + 4
        if end > 3 and data[9:10] != b"1" and (sound := _SOUND.fullmatch(data, 0, end)):  # most answers
            length, coding = sound.groups()
            self._head = None
            self._is_chunked = coding is not None
            self._left = None if length is None else int(length)
            if not self._has_body or data[9:12] in BODILESS:
                self._left, self._is_chunked = 0, False
            if self._left is not None and len(data) - end <= self._left:
                self._left -= len(data) - end
                return data
            return data[:end] + self.feed(data[end:])
        start = data.lstrip(b"\r\n")
        if not start[:5].lower().startswith(tuple(word[: len(start)] for word in STARTS)):
            self._head = None
            return data
        if (end := _end_of_head(data, len(data) - len(start))) < 0:
            self._head = data if len(data) <= MAX_HEAD_BYTES else None
            return b"" if self._head is not None else data
        head = mended_head(data[:end])
        is_interim = head[9:10] == b"1" and head[9:12] != b"101"
        self._interim_count += is_interim
        self._head = b"" if is_interim and self._interim_count <= MAX_INTERIM else None
        if not is_interim:
            is_whole = not self._has_body or head[9:12] in BODILESS
            self._left, self._is_chunked = (0, False) if is_whole else _framing(head.lower())
        return head + self.feed(data[end:])

    def _limited(self, data: bytes) -> bytes:
        """Return the data up to the declared length: browsers ignore the rest."""
        left = self._left or 0
        if len(data) > left and not self.has_excess:
            self.has_excess = True
            log.warning("answer.too_long", url=safe_url(self._url), ignored_bytes=len(data) - left)
        self._left = max(left - len(data), 0)
        return data[:left]


def mended_head(head: bytes) -> bytes:
    """Return the head of an answer so that a strict parser reads it; unchanged if that is not possible.

    Lines without a colon, and fields whose name is invalid, are dropped; folded lines are joined.
    """
    if _SOUND.fullmatch(head):
        return head
    first, _, rest = head.lstrip(b"\r\n").partition(b"\n")
    status = _STATUS.match(first)
    if status is None:
        return head
    version = b"1.0" if status[1] == b"1.0" else b"1.1"
    reason = _CONTROLS.sub(b" ", status[3]).strip()
    lines = [b"HTTP/%s %s %s" % (version, status[2], reason)]
    lines += [b"%s: %s" % field for field in _fields(rest)]
    return _with_one_length(b"\r\n".join([*lines, b"", b""]))


def _end_of_head(data: bytes, start: int) -> int:
    """Return where the body begins; -1 if it has not begun."""
    end = data.find(b"\r\n\r\n", start) + 4
    # The other line ends are rare, and cost more to look for.
    if (
        b"\n\n" in (head := data[start : end if end > 3 else None])
        or b"\n\r\n" in head[: -4 if end > 3 else None]
    ):
        found = _END.search(data, start)
        return found.end() if found else -1
    return end if end > 3 else -1


def _framing(head: bytes) -> tuple[int | None, bool]:
    """Return the length of the body that a head in lower case declares, and whether it comes in chunks."""
    if CODING in head:
        return None, True
    length = _value(head, LENGTH) if head.count(LENGTH) == 1 else b""
    return (int(length) if length.isdigit() and len(length) < 16 else None), False


def _value(head: bytes, field: bytes) -> bytes:
    start = head.find(field) + len(field)
    return head[start : head.find(b"\r", start)].strip()


def _fields(rest: bytes) -> list[tuple[bytes, bytes]]:
    found: list[tuple[bytes, bytes]] = []
    for line in rest.split(b"\n"):
        if line[:1] in (b" ", b"\t"):
            if found and (more := _CONTROLS.sub(b" ", line).strip()):
                name, value = found[-1]
                found[-1] = name, value + b" " + more
            continue
        name, colon, value = line.partition(b":")
        name = name.rstrip()
        if colon and _NAME.fullmatch(name):
            found.append((name, _CONTROLS.sub(b" ", value).strip()))
    return found


def _with_one_length(head: bytes) -> bytes:
    """Return a head with at most one way to find the end of the body; unchanged if there are several."""
    first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    fields = [line.partition(b":") for line in lines]
    codings = _values(fields, b"transfer-encoding") - {b"identity", b""}
    lengths = {length for length in _values(fields, b"content-length") if length.isdigit()}
    if len(lengths) > 1:
        return head
    dropped = (b"content-length", b"transfer-encoding") if codings <= {b"chunked"} else (b"content-length",)
    kept = [b"".join(field) for field in fields if field[0].lower() not in dropped]
    if codings == {b"chunked"}:
        kept.append(b"Transfer-Encoding: chunked")
    elif lengths and not codings:
        kept.append(b"Content-Length: " + lengths.pop())
    return b"\r\n".join([first, *kept, b"", b""])


def _values(fields: list[tuple[bytes, bytes, bytes]], name: bytes) -> set[bytes]:
    return {
        value.strip().lower()
        for field, _, joined in fields
        if field.lower() == name
        for value in joined.split(b",")
    }


def lack_of(headers: Mapping[str, str]) -> str:
    """Return the missing part of a body that ended early."""
    length = headers.get("Content-Length")
    return f"the rest of {length} bytes (Content-Length)" if length else "the last chunk"


def one_line(message: object) -> str:
    """Return the fault that a parser found, short."""
    text = " ".join(str(message).split())
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."
