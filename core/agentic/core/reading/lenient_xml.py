"""XML as sites send it: decoded and repaired for a strict parser, which is used for all other XML.

Valid XML needs only :func:`xml_in_utf_8`. When a parser has refused a document, call :func:`repair_xml`,
which costs about as much as parsing, and report the repairs.
"""

from __future__ import annotations

import codecs
import html.entities
import re
from dataclasses import dataclass

from w3lib.encoding import http_content_type_encoding, resolve_encoding

HEAD_BYTES = 64 * 1024
"""Where the beginning of a document is looked for."""
UTF_8 = "utf-8"
EBCDIC = "<?xm".encode("cp037")
BLANKS = "\ufeff \t\r\n\0"
MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, UTF_8),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
PLAIN_STARTS = frozenset({b"<", b"\n", b"\r", b" ", b"\t"})
MULTI_BYTE = frozenset(
    {"gb18030", "gbk", "gb2312", "big5", "big5hkscs", "cp932", "shift_jis", "euc_jp", "euc-jp", "cp949"}
    | {"euc_kr", "euc-kr", "iso2022_jp", "iso-2022-jp", "hz"}
)
STATEFUL = frozenset({"iso2022_jp", "iso-2022-jp", "hz"})
MANY_BYTES = 8
"""So many bytes outside ASCII are UTF-8 by accident only in a text of one byte per character."""

_DECLARED = re.compile(
    rb"<\?xml\b[^>]{0,400}?\bencoding\s{0,20}=\s{0,20}[\"']\s{0,20}([\w.:-]{1,40})", re.IGNORECASE
)
_ROOT = re.compile(
    r"<(?:\?xml\b|(?:[\w-]{1,20}:)?(?:rss|feed|rdf|urlset|sitemapindex|opml|channel)\b)", re.IGNORECASE
)
_PROLOG = re.compile(r"[\ufeff \t\r\n\0]*(<!--|<\?|<!DOCTYPE\b)", re.IGNORECASE)
_FORBIDDEN = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_SPECIAL = re.compile(
    r"<!\[CDATA\[|<!--|<\?|<(?![A-Za-z_:/!?\u00c0-\U000effff])|&(?!(?:amp|lt|gt|quot|apos);)"
)
_ENDS = {"<![CDATA[": "]]>", "<!--": "-->", "<?": "?>"}
_NUMBER = re.compile(r"&#(?:([0-9]{1,9}(?![0-9]))|[xX]([0-9a-fA-F]{1,8})(?![0-9a-fA-F]))(;?)")
_NAME = re.compile(r"&([A-Za-z][A-Za-z0-9]{1,31});")
_NAMESPACES = {
    "atom": "http://www.w3.org/2005/Atom",
    "content": "http://purl.org/rss/1.0/modules/content/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "image": "http://www.google.com/schemas/sitemap-image/1.1",
    "itunes": "http://www.itunes.com/dtds/podcast-1.0.dtd",
    "media": "http://search.yahoo.com/mrss/",
    "news": "http://www.google.com/schemas/sitemap-news/0.9",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "slash": "http://purl.org/rss/1.0/modules/slash/",
    "sy": "http://purl.org/rss/1.0/modules/syndication/",
    "thr": "http://purl.org/syndication/thread/1.0",
    "video": "http://www.google.com/schemas/sitemap-video/1.1",
    "wfw": "http://wellformedweb.org/CommentAPI/",
    "xhtml": "http://www.w3.org/1999/xhtml",
}
_FIRST_TAG = re.compile(r"<[A-Za-z_][\w.:-]*")


@dataclass(frozen=True, slots=True)
class RepairedXml:
    """A document for a strict parser.

    Attributes:
        body: In UTF-8, without XML declaration and document type.
        repairs: The changes, as parts of a sentence: "a raw & was replaced".
    """

    body: bytes
    repairs: tuple[str, ...]
    losses: tuple[str, ...] = ()


def xml_in_utf_8(body: bytes, content_type: str | None = None) -> bytes:
    """Return a document in UTF-8; unchanged, if it is in UTF-8 and does not say otherwise.

    Args:
        body: As it came.
        content_type: The header of that name: its charset precedes the document's own (RFC 7303, 3.2).
    """
    declared = _DECLARED.search(body, 0, 1024)
    says_utf_8 = declared is None or resolve_encoding(declared[1].decode("ascii", "replace")) == UTF_8
    if says_utf_8 and body[:1] in PLAIN_STARTS and b"\0" not in body[:4] and _is_utf_8(body):
        header = http_content_type_encoding(content_type)
        if header is None or header == UTF_8 or header not in MULTI_BYTE:
            return body
    return _without_prolog(decode_xml(body, content_type)[0]).encode(UTF_8, "replace")


def decode_xml(body: bytes, content_type: str | None = None) -> tuple[str, tuple[str, ...]]:
    """Return a document as text, and the faults of its bytes.

    A byte order mark, the header, or the declaration names the charset, in this order, unless the bytes
    are UTF-8: hardly a text is that by accident, and many servers declare a wrong charset. The bytes of
    a character that was cut off at the end are dropped.

    Args:
        body: As it came.
        content_type: The header of that name.
    """
    for mark, codec in MARKS:
        if body.startswith(mark):
            return _decoded(body[len(mark) :], codec)
    if unmarked := _unmarked(body[:HEAD_BYTES]):
        return _decoded(body, unmarked)
    if body.startswith(EBCDIC):
        return _decoded(body, _ebcdic(body))
    codecs_named = _named(body, content_type)
    if _is_utf_8(body) and not _is_rather(codecs_named, body):
        return _decoded(body, UTF_8)
    # Bytes are valid in a charset of one byte per character whatever they mean: it proves least.
    for codec in sorted(codecs_named, key=lambda one: one not in MULTI_BYTE):
        if codec != UTF_8 and (text := _strictly(body, codec)) is not None:
            return text, ()
    return _guessed(body)


def repair_xml(body: bytes, content_type: str | None = None) -> RepairedXml:
    """Return a document without the faults that parsers refuse and readers know how to mend.

    Mended are: the charset, anything before the first element, control characters, ``&`` and ``<`` that stand
    for themselves, HTML's entities, missing declarations of well-known namespaces, and text after the end.
    Elements that are not closed are left as they are.

    Args:
        body: As it came.
        content_type: The header of that name.
    """
    text, told = decode_xml(body, content_type)
    repairs = list(told)
    for step in (_without_junk, _without_controls, _with_sound_references, _with_namespaces, _without_rest):
        text, sentences = step(text)
        repairs += sentences
    return RepairedXml(text.encode(UTF_8, "replace"), tuple(repairs), told)


def _unmarked(head: bytes) -> str | None:
    """Return the UTF-16 or UTF-32 that a document without a byte order mark begins in."""
    first = head.find(b"<")
    if first < 0 or head[:first].strip(b" \t\r\n\0"):
        return None
    after = head[first + 1 : first + 4]
    if after == b"\0\0\0":
        return "utf-32-be" if first % 4 == 3 else "utf-32-le"
    if len(after) == 3 and after[0] == after[2] == 0:
        return "utf-16-be" if first % 2 else "utf-16-le"
    return None


def _ebcdic(body: bytes) -> str:
    """Return the codec that a document in one of the charsets of mainframes declares."""
    declared = _DECLARED.search(body[:1024].decode("cp037").encode("ascii", "replace"))
    try:
        return codecs.lookup(declared[1].decode("ascii", "replace")).name if declared else "cp037"
    except LookupError:
        return "cp037"


def _is_utf_8(body: bytes) -> bool:
    if body.isascii():
        return True
    try:
        codecs.utf_8_decode(body, "strict", False)  # False: a part of a character may end it
    except UnicodeDecodeError:
        return False
    return True


def _named(body: bytes, content_type: str | None) -> list[str]:
    """Return the codecs that the header and the declaration name, in this order."""
    declared = _DECLARED.search(body, 0, HEAD_BYTES)
    names = (
        http_content_type_encoding(content_type),
        resolve_encoding(declared[1].decode("ascii", "replace")) if declared else None,
    )
    # UTF-16 would begin otherwise: the declaration survived the conversion to another charset.
    return [name for name in dict.fromkeys(names) if name and not name.startswith(("utf-16", "utf-32"))]


def _is_rather(codecs_named: list[str], body: bytes) -> bool:
    """Return whether bytes that are valid UTF-8 are in another charset, as their server says."""
    if not codecs_named or UTF_8 in codecs_named or codecs_named[0] not in MULTI_BYTE:
        return False
    if codecs_named[0] in STATEFUL:
        return body.isascii()
    beyond = len(body) - len(body.decode("ascii", "ignore"))
    return 0 < beyond < MANY_BYTES and _strictly(body, codecs_named[0]) is not None


def _strictly(body: bytes, codec: str) -> str | None:
    try:
        return codecs.getincrementaldecoder(codec)("strict").decode(body)
    except UnicodeDecodeError:
        pass
    except (LookupError, ValueError):
        return None
    if codec in MULTI_BYTE:
        return None
    text = body.decode(codec, "replace")  # browsers know a meaning for each byte of these
    return text if text.count("\ufffd") <= len(body) // 1_000 + 1 else None


def _decoded(body: bytes, codec: str) -> tuple[str, tuple[str, ...]]:
    decoder = codecs.getincrementaldecoder(codec)
    try:
        return decoder("strict").decode(body), ()
    except UnicodeDecodeError:
        return decoder("replace").decode(body), (f"bytes that are not {codec} were replaced",)


def _guessed(body: bytes) -> tuple[str, tuple[str, ...]]:
    """Return the text of a document that is in none of the charsets it names."""
    text = codecs.getincrementaldecoder(UTF_8)("replace").decode(body)
    invalid = text.count("\ufffd")
    if len(text) - len(text.encode("ascii", "ignore")) > 2 * invalid:
        return text, ("bytes that are not utf-8 were replaced",)
    return body.decode("cp1252", "replace"), ("it is not in the charset it names, windows-1252 was assumed",)


def _without_junk(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a document from its first element on, without declaration and document type."""
    head = text[:HEAD_BYTES]
    found = _ROOT.search(head)
    begin = found.start() if found else max(head.find("<"), 0)
    junk = text[:begin].strip(BLANKS)
    if not junk.startswith(
        ("<!", "<?")
    ):  # comments and instructions may stand before it, and a document type
        return _without_prolog(text[begin:]), ("text before the first element was dropped",) if junk else ()
    declaration = head.find("<?xml ")
    return _without_prolog(text[max(declaration, 0) :]), ()


def _without_prolog(text: str) -> str:
    """Return a document from its first element on; a document type with entities stays, to be refused."""
    place = 0
    while (found := _PROLOG.match(text, place)) is not None:
        if (end := _end_of_prolog(text, found)) is None:
            break
        place = end
    return text[place:].lstrip(BLANKS)


def _end_of_prolog(text: str, found: re.Match[str]) -> int | None:
    kind = found[1].upper()
    end = text.find({"<!--": "-->", "<?": "?>"}.get(kind, ">"), found.end())
    if kind == "<!DOCTYPE" and (subset := text.find("[", found.end(), max(end, 0))) > -1:
        end = text.find("]", subset)
        if "<!ENTITY" in text[subset:end]:
            return None
        end = text.find(">", end)
    return text.find(">", end) + 1 if end > -1 else None


def _without_controls(text: str) -> tuple[str, tuple[str, ...]]:
    if not _FORBIDDEN.search(text):
        return text, ()
    return _FORBIDDEN.sub("", text), ("control characters were dropped",)


def _with_sound_references(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the text with each ``&`` and ``<`` that is not markup escaped."""
    pieces: list[str] = []
    copied = place = 0
    kinds: dict[str, None] = {}
    while found := _SPECIAL.search(text, place):
        start, special = found.start(), found[0]
        if special in _ENDS:
            end = text.find(_ENDS[special], found.end())
            if end < 0:
                break
            place = end
            continue
        written, place, kind = ("&lt;", found.end(), "a raw <") if special == "<" else _reference(text, start)
        if kind:
            kinds[kind] = None
        pieces += (text[copied:start], written)
        copied = place
    if not pieces:
        return text, ()
    return "".join([*pieces, text[copied:]]), tuple(f"{kind} was replaced" for kind in kinds)


def _reference(text: str, start: int) -> tuple[str, int, str | None]:
    """Return the text for the ``&`` at ``start``, the place after it, and the fault."""
    if found := _NUMBER.match(text, start):
        code = _code(found)
        end = found.end()
        if 0xD800 <= code < 0xDC00 and (low := _NUMBER.match(text, end)) and 0xDC00 <= _code(low) < 0xE000:
            code, end = 0x10000 + ((code - 0xD800) << 10) + (_code(low) - 0xDC00), low.end()
        is_sound = code in (9, 10, 13) or 32 <= code < 0xD800 or 0xE000 <= code < 0x110000
        if not is_sound or code in (0xFFFE, 0xFFFF):
            return ("?" if 0xD800 <= code < 0xE000 else ""), end, "a reference to a forbidden character"
        return f"&#{code};", end, None if found[3] else "a reference without its end"
    if (found := _NAME.match(text, start)) and (known := html.entities.html5.get(f"{found[1]};")):
        return "".join(f"&#{ord(one)};" for one in known), found.end(), "an entity of HTML"
    return "&amp;", start + 1, "a raw &"


def _code(found: re.Match[str]) -> int:
    return int(found[1]) if found[1] else int(found[2], 16)


def _with_namespaces(text: str) -> tuple[str, tuple[str, ...]]:
    missing = [prefix for prefix in _NAMESPACES if f"<{prefix}:" in text and f"xmlns:{prefix}" not in text]
    root = _FIRST_TAG.search(text) if missing else None
    if root is None:
        return text, ()
    declared = "".join(f' xmlns:{prefix}="{_NAMESPACES[prefix]}"' for prefix in missing)
    return text[: root.end()] + declared + text[root.end() :], tuple(
        f"the prefix {prefix}: was declared" for prefix in missing
    )


def _without_rest(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a document without the text that follows its last end tag of the root."""
    root = _FIRST_TAG.search(text)
    if root is None:
        return text, ()
    closing = f"</{root[0][1:]}"
    at = text.rfind(closing)
    end = text.find(">", at) if at > -1 else -1
    if end < 0 or not text[end + 1 :].strip():
        return text, ()
    return text[: end + 1], ("text after the end was dropped",)
