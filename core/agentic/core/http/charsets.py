"""Decodes pages, sitemaps and robots.txt: as browsers do, and better where a declaration is wrong.

Labels and decoders come from the Encoding Standard (https://encoding.spec.whatwg.org). The HTML standard says
how to find a declaration; here the search does not stop after 1,024 bytes.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from agentic.core.http.charset_labels import CHARSETS

MARKS: Final = frozenset({b"\xef", b"\xfe", b"\xff", b"\0"})
"""First bytes of byte order marks."""

SAMPLE_BYTES = 16 * 1024  # a guess takes 0.2 ms for each KiB
MAX_TAGS = 2_000  # before a declaration; a page has a few dozen in its head
WIDE_SAMPLE_BYTES = 512
WIDE_ZEROS = 2
FEW = 20  # a page in its charset has less than one damaged character in this number
REPLACEMENT: Final = "\ufffd"

_Kind = Literal["html", "xml", "text"]
UTF_8: Final = "utf-8"
_WIDE: Final = frozenset({"utf-16le", "utf-16be"})
# Browsers show nothing for the first two, because of scripts that are not run here, and do not know the
# others. Python reads them.
_OF_PYTHON: Final = re.compile(
    r"iso-?2022-?kr|csiso2022kr|hz(?:-gb-2312)?|johab|utf-?32(?:-?[lb]e)?|kz-?1048|ptcp154|iso-2022-jp-[123]|"
    r"(?:cp|ibm)-?(?:437|720|737|775|85[0-8]|86[0-5]|869)|mac-?(?:greek|iceland|latin2|turkish)"
)
_HEADER = re.compile(r"charset\s*=\s*(?:\"([^\"]*)|'([^']*)|([^\s;,]+))", re.IGNORECASE)
_XML = re.compile(rb"\s*<\?xml\s[^>]{0,200}?\bencoding\s*=\s*(?:\"([^\"<>]*)\"|'([^'<>]*)')", re.IGNORECASE)
# A quoted value may hold `>`. The loop gives nothing back: text without a `>` costs one pass.
_TAG = re.compile(
    rb"</?([a-z][^\s/>]*+)((?:[^>=]|=\s*\"[^\"]*\"|=\s*'[^']*'|=)*+)>",
    re.IGNORECASE,
)
_LETTER = re.compile(rb"[a-z]", re.IGNORECASE)
_META = re.compile(rb"<(?=meta\b)", re.IGNORECASE)
_ATTRIBUTE = re.compile(rb"([^\s/>=]+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"']+)))?")
_IN_CONTENT = re.compile(rb"charset\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s;\"']+))", re.IGNORECASE)
# Elements whose content is text, up to their end tag.
_RAW_ENDS = {
    name: re.compile(rb"</" + name + rb"(?=[\s/>])", re.IGNORECASE)
    for name in (b"script", b"style", b"title", b"textarea", b"xmp", b"iframe", b"noframes", b"noembed")
}
_CONTROLS = re.compile("[\0-\x08\x0e-\x1a\x1c-\x1f]")
_SURROGATES = re.compile(rb"\xed[\xa0-\xaf][\x80-\xbf]\xed[\xb0-\xbf][\x80-\xbf]")
_BOMS: Final = (
    (codecs.BOM_UTF8, UTF_8),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_BE, "utf-16be"),
    (codecs.BOM_UTF16_LE, "utf-16le"),
)
# So many characters that are valid as UTF-8 are no accident: "รถ" in TIS-620 is "ö" in UTF-8, and a pair of
# capitals in ISO 8859-2 may be a character, too. In the first two charsets such pairs are nonsense.
_CONVINCING: Final = {"windows-1252": 1, "iso-8859-15": 1, "windows-874": 4}
_CONVINCING_OF_OTHERS = 2
_CONVINCING_OF_PAIRS = 4
_PAIRED: Final = frozenset({"gbk", "gb18030", "big5", "shift_jis", "euc-jp", "euc-kr"})


@dataclass(frozen=True, slots=True)
class Decoded:
    """A decoded body.

    Attributes:
        text: Without byte order mark; U+FFFD for what could not be decoded.
        charset: The charset that was used.
        overruled: The declared charset, if it was wrong; otherwise "".
        lost_count: Number of places that could not be decoded.
    """

    text: str
    charset: str
    overruled: str = ""
    lost_count: int = 0


def find_charset(label: str) -> str | None:
    """Return the charset that a server or page names with ``label``; None for an unknown label.

    The result is a name of the Encoding Standard, or of Python for the few that the standard does not have.
    """
    return _found(label.strip(" \t\n\f\r\"';,").lower())


def header_charset(content_type: str | None) -> str | None:
    """Return the charset of a ``Content-Type``; None without a known one."""
    return _of_header(content_type) if content_type else None


def decode(body: bytes, content_type: str | None = None, *, tld: str = "") -> Decoded:
    """Return a body as text.

    A byte order mark counts first, then the charset of the Content-Type, then one in the document itself.
    A declaration is overruled if the bytes contradict it, or if another declaration agrees with the bytes and
    this one does not. A body without a declaration is UTF-8 if valid; otherwise its charset is guessed.

    Args:
        body: Unpacked.
        content_type: The ``Content-Type`` field.
        tld: Top-level domain of the site, which helps to guess.
    """
    if marked := _marked(body):
        return marked
    declared, kind = header_charset(content_type), _kind(content_type)
    if wide := _wide(body):
        return _whole(body, wide, "" if declared in _WIDE else declared or "")
    text = _as_utf_8(body) if declared in {UTF_8, None} else None
    if text is not None and (declared or _is_certain(text, body)):
        return _decoded(text, body)
    inner = _inner_charset(body, kind)
    charset = declared or inner
    if charset is None:
        return _undeclared(body, tld)
    return _checked(body, charset, inner if inner != charset else None, tld)


def decode_xml(body: bytes, content_type: str | None = None, *, tld: str = "") -> Decoded:
    """Return an XML document as text, whatever media type its server names."""
    charset = header_charset(content_type)
    return decode(body, f"application/xml; charset={charset}" if charset else "application/xml", tld=tld)


def decode_robots(body: bytes) -> str:
    """Return a robots.txt as text: UTF-8 (RFC 9309), or UTF-16 as some editors save it.

    Bytes that are not UTF-8 become ``%E9``, as in the URLs of such a site.
    """
    found = _marked(body)
    if found is None and (wide := _wide(body)):
        found = _whole(body, wide)
    if found is not None and found.charset != UTF_8:
        return found.text
    text = body.decode(errors="surrogateescape")
    return text if text.isascii() else re.sub("[\udc80-\udcff]", _escaped, text)


def _escaped(match: re.Match[str]) -> str:
    return f"%{ord(match[0]) - 0xDC00:02X}"


@lru_cache(maxsize=512)
def _found(label: str) -> str | None:
    if (known := CHARSETS.get(label)) is not None:
        return known
    if not _OF_PYTHON.fullmatch(label):
        return None
    name = "iso2022_kr" if "2022kr" in label.replace("-", "") else re.sub(r"^(?:ibm|cp)-?", "cp", label)
    try:
        return codecs.lookup(name).name
    except LookupError:
        return None


@lru_cache(maxsize=256)
def _of_header(content_type: str) -> str | None:
    for match in _HEADER.finditer(content_type):
        if found := find_charset(match[1] or match[2] or match[3] or ""):
            return found
    return None


@lru_cache(maxsize=256)
def media_type(content_type: str) -> str:
    """Return a ``Content-Type`` in lower case without parameters; "" if it names no type.

    Of a field that was sent several times, the last type counts, as in browsers.
    """
    kinds = [part.partition(";")[0].strip().lower() for part in content_type.split(",")]
    for kind in reversed(kinds):
        if "/" in kind and kind != "*/*":
            return kind
    return kinds[0] if kinds[0].endswith(("json", "javascript", "xml")) else ""


@lru_cache(maxsize=256)
def _kind(content_type: str | None) -> _Kind:
    media = media_type(content_type or "")
    if media in ("", "text/html", "application/octet-stream"):
        return "html"
    return "xml" if media.endswith(("xml", "rss", "atom")) else "text"


def _marked(body: bytes) -> Decoded | None:
    """Return a body with a byte order mark as text; otherwise None."""
    if body[:1] not in MARKS:
        return None
    if body.startswith(codecs.BOM_UTF32_LE) and len(body) % 4 == 0:
        return _without_mark(_whole(body, "utf-32-le"))
    for mark, charset in _BOMS:
        if body.startswith(mark):
            return _without_mark(_whole(body, charset))
    return None


def _without_mark(decoded: Decoded) -> Decoded:
    text = decoded.text.lstrip("\ufeff")
    return Decoded(text, decoded.charset, lost_count=decoded.lost_count)


def _wide(body: bytes) -> str | None:
    """Return the UTF-16 that a body without mark is in: half of its ASCII characters' bytes are zero."""
    if (body[:1] == b"\0") == (body[1:2] == b"\0"):  # documents begin with an ASCII character
        return None
    sample = body[:WIDE_SAMPLE_BYTES]
    zeros = sample.count(0)
    if zeros < WIDE_ZEROS or zeros * 8 < len(sample):
        return None
    first = sample[::2].count(0)
    second = zeros - first
    if first * 8 <= second:
        return "utf-16le"
    return "utf-16be" if second * 8 <= first else None


def _as_utf_8(body: bytes) -> str | None:
    """Return a body as text if it is UTF-8, perhaps cut in the middle of its last character."""
    try:
        return body.decode()
    except UnicodeDecodeError as exc:
        whole = body[: exc.start]
        if exc.reason != "unexpected end of data" or whole.isascii():
            return None
        return text + REPLACEMENT if (text := _as_utf_8(whole)) is not None else None


def _decoded(text: str, body: bytes, overruled: str = "") -> Decoded:
    is_cut = text.endswith(REPLACEMENT) and not body.endswith(REPLACEMENT.encode())
    return Decoded(text, UTF_8, overruled, int(is_cut))


def _whole(body: bytes, charset: str, overruled: str = "") -> Decoded:
    """Decode a body with that charset, whatever it contains."""
    is_unicode = charset.startswith("utf")
    if not is_unicode:
        import turbohtml.detect  # noqa: F401 - it registers the decoders of the standard
    name = f"whatwg-{charset}" if charset in CHARSETS and not is_unicode else charset
    text = body.decode(name, "replace")
    lost = text.count(REPLACEMENT)
    if lost and is_unicode:  # some pages show the character itself
        lost = max(lost - body.count(REPLACEMENT.encode(charset)), 0)
    return Decoded(text, charset, overruled, lost)


def _undeclared(body: bytes, tld: str) -> Decoded:
    if b"\x1b" not in body and (text := _as_utf_8(body)) is not None:
        return _decoded(text, body)
    return _whole(body, _guess(body, tld) or "windows-1252")


def _checked(body: bytes, charset: str, other: str | None, tld: str) -> Decoded:
    """Decode a body as declared, unless its bytes contradict that.

    Args:
        body: The body.
        charset: The declaration that counts.
        other: Another one, if there is one.
        tld: See :func:`decode`.
    """
    text = _as_utf_8(body)
    if charset == UTF_8:
        return _damaged(body, other, tld) if text is None else _decoded(text, body)
    if text is not None and _is_convincing(text, body, charset):
        return _decoded(text, body, charset)
    found = _whole(body, charset)
    if other is not None and other != UTF_8 and not body.isascii() and _guess(body, tld) == other:
        return _whole(body, other, charset)
    if found.lost_count * FEW > _strange_count(found.text) and (guess := _guess(body, tld)):
        guessed = _whole(body, guess, charset if guess != charset else "")
        return guessed if guessed.lost_count < found.lost_count else found
    return found


def _is_certain(text: str, body: bytes) -> bool:
    """Whether a body that is valid UTF-8 is that text, whatever it declares."""
    if body.isascii():
        return b"\x1b" not in body and b"~{" not in body
    return _strange_count(text) >= _CONVINCING_OF_PAIRS


def _is_convincing(text: str, body: bytes, charset: str) -> bool:
    """Whether a body that was declared to be in ``charset``, and is valid UTF-8, is UTF-8."""
    if charset in _WIDE:
        return not _CONTROLS.search(text.strip("\0"))  # some programs write NULs around a document
    if body.isascii():
        return False
    least = _CONVINCING_OF_PAIRS if charset in _PAIRED else _CONVINCING.get(charset, _CONVINCING_OF_OTHERS)
    return _strange_count(text) >= least


def _damaged(body: bytes, other: str | None, tld: str) -> Decoded:
    """Decode a body that was declared to be UTF-8, but is not, or not all of it."""
    if (paired := _of_surrogates(body)) is not None:
        return _decoded(paired, body)
    found = _whole(body, UTF_8)
    if found.lost_count * 2 <= _strange_count(found.text):
        return found
    charset = _guess(body, tld)
    if other is not None and _whole(body, other).lost_count == 0:
        charset = other
    return _whole(body, charset, UTF_8) if charset else found


def _of_surrogates(body: bytes) -> str | None:
    """Return a body whose pairs of surrogates are encoded each (CESU-8), as Java and MySQL write emoji."""
    if not _SURROGATES.search(body):
        return None
    try:
        return body.decode("utf-8", "surrogatepass").encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeError:
        return None


def _strange_count(text: str) -> int:
    """Return how many characters are not ASCII."""
    return len(text) - len(text.encode("ascii", "ignore"))


def _guess(body: bytes, tld: str) -> str | None:
    """Return the most probable charset of a body that is not UTF-8; None without a sign of any."""
    from turbohtml.detect import Detection, detect  # for the few pages that need it

    start = next((max(match.start() - 1_000, 0) for match in re.finditer(rb"[\x80-\xff\x1b]", body)), 0)
    # Without the declaration: what the bytes themselves say is asked here.
    sample = _META.sub(b" ", body[start : start + SAMPLE_BYTES])
    hint = tld if re.fullmatch(r"[a-z][a-z0-9-]*", tld) else None
    match = detect(sample, Detection(tld=hint))
    return match.encoding.lower() if match.encoding and match.confidence > 0 else None


def _inner_charset(body: bytes, kind: _Kind) -> str | None:
    """Return the charset that a document declares for itself; None without a known one."""
    match kind:
        case "text":
            return None
        case "xml":
            return _xml_charset(body) or _meta_charset(body)
        case "html":
            return _meta_charset(body) or _xml_charset(body)


def _xml_charset(body: bytes) -> str | None:
    found = _XML.match(body[:1_024])
    charset = find_charset((found[1] or found[2] or b"").decode("latin-1")) if found else None
    return UTF_8 if charset in _WIDE else charset  # what was read as ASCII is not UTF-16


def _meta_charset(body: bytes) -> str | None:
    """Return the charset of the first ``meta`` that declares a known one, as browsers find it."""
    found = (_of_meta(attributes) for name, attributes in _tags(body) if name == b"meta")
    return next(filter(None, found), None)


def _tags(body: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield name and attributes of the start tags, but not of those in comments and scripts."""
    at = 0
    for _ in range(MAX_TAGS):
        at = body.find(b"<", at)
        if at < 0:
            return
        if tag := _TAG.match(body, at):
            name, at = tag[1].lower(), tag.end()
            if not tag[0].startswith(b"</"):
                yield name, tag[2]
                at = _end_of_text(body, name, at)
        elif body.startswith(b"<!--", at):
            at = body.find(b"-->", at + 2) + 1  # `<!-->` is a whole comment
        else:
            at = -1 if _LETTER.match(body, at + 1) else at + 1  # a tag without an end
        if at <= 0:
            return


def _end_of_text(body: bytes, name: bytes, at: int) -> int:
    """Return where the text of a script or the like ends; -1 if it has no end, ``at`` for other elements."""
    if name not in _RAW_ENDS:
        return at
    end = _RAW_ENDS[name].search(body, at)
    return end.start() if end else -1


def _of_meta(attributes: bytes) -> str | None:
    found: dict[bytes, bytes] = {}
    for match in _ATTRIBUTE.finditer(attributes):
        found.setdefault(match[1].lower(), match[2] or match[3] or match[4] or b"")
    label = found.get(b"charset", b"")
    if not label and found.get(b"http-equiv", b"").strip().lower() == b"content-type":
        content = _IN_CONTENT.search(found.get(b"content", b""))
        label = (content[1] or content[2] or content[3] or b"") if content else b""
    charset = find_charset(label.decode("latin-1"))
    if charset in _WIDE:
        return UTF_8
    return "windows-1252" if charset == "x-user-defined" else charset
