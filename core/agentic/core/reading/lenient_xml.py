"""XML as sites send it: decoded and repaired for a strict parser, which is used for all other XML.

Valid XML needs only :func:`xml_in_utf_8`. When a parser has refused a document, call :func:`repair_xml`,
which costs about as much as parsing, and report the repairs.
"""

from __future__ import annotations

import codecs
import html.entities
import re
from dataclasses import dataclass

from agentic.core.http.charsets import REPLACEMENT, UTF_8, decode_xml, find_charset, header_charset

HEAD_BYTES = 64 * 1024
"""Where the beginning of a document is looked for."""
EBCDIC = "<?xm".encode("cp037")
BLANKS = "\ufeff \t\r\n\0"
PLAIN_STARTS = frozenset({b"<", b"\n", b"\r", b" ", b"\t"})

_DECLARED = re.compile(
    rb"<\?xml\b[^>]{0,400}?\bencoding\s{0,20}=\s{0,20}[\"']\s{0,20}([\w.:-]{1,40})", re.IGNORECASE
)
_ROOT = re.compile(
    r"<(?:\?xml\b|(?:[\w-]{1,20}:)?(?:rss|feed|rdf|urlset|sitemapindex|opml|channel)\b)", re.IGNORECASE
)
_PROLOG = re.compile(r"[\ufeff \t\r\n\0]*(<!--|<\?|<!DOCTYPE\b)", re.IGNORECASE)
_ENTITY = re.compile(r"<!ENTITY\s{1,9}(%\s)?\s{0,9}([^\s>\"']{1,40})")
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
        losses: The changes that lost something.
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
    if declared is None or find_charset(declared[1].decode("ascii", "replace")) == UTF_8:
        is_plain = body[:1] in PLAIN_STARTS and b"\0" not in body[:4] and _is_utf_8(body)
        if is_plain and header_charset(content_type) in (None, UTF_8):
            return body
    return _without_prolog(xml_text(body, content_type)[0]).encode(UTF_8, "replace")


def xml_text(body: bytes, content_type: str | None = None) -> tuple[str, tuple[str, ...]]:
    """Return a document as text, and a part of a sentence for each loss.

    :func:`agentic.core.http.charsets.decode_xml` says how the charset is found. A declaration counts here
    even after text that does not belong to the document, and the part of a character at a cut is dropped.

    Args:
        body: As it came.
        content_type: The header of that name.
    """
    if (codec := _unusual(body, content_type)) is not None:
        return body.decode(codec, "replace"), ()
    if header_charset(content_type) is None:
        declared = _DECLARED.search(body, 0, HEAD_BYTES)
        if declared is None or declared.start() > 0:  # XML is in UTF-8 unless it says otherwise
            charset = declared[1].decode("ascii", "replace") if declared else UTF_8
            content_type = f"application/xml; charset={charset}"
    found = decode_xml(body, content_type)
    text, lost_count = found.text, found.lost_count
    if lost_count and text.endswith(REPLACEMENT):
        text, lost_count = text[:-1], lost_count - 1
    if not lost_count:
        return text, ()
    return text, (f"bytes that are not {found.charset} were replaced ({lost_count} times)",)


def repair_xml(body: bytes, content_type: str | None = None) -> RepairedXml:
    """Return a document without the faults that parsers refuse and readers know how to mend.

    Mended are: the charset, anything before the first element, control characters, ``&`` and ``<`` that stand
    for themselves, HTML's entities, missing declarations of well-known namespaces, and text after the end.
    Elements that are not closed are left as they are.

    Args:
        body: As it came.
        content_type: The header of that name.
    """
    text, told = xml_text(body, content_type)
    repairs = list(told)
    for step in (_without_junk, _without_controls, _with_sound_references, _with_namespaces, _without_rest):
        text, sentences = step(text)
        repairs += sentences
    return RepairedXml(text.encode(UTF_8, "replace"), tuple(repairs), told)


def _unusual(body: bytes, content_type: str | None) -> str | None:
    """Return the codec of a document in UTF-32, or in a charset that browsers do not know."""
    begin = body[:1024]
    if body.startswith(EBCDIC):
        begin = begin.decode("cp037").encode("ascii", "replace")
    elif body[:4] in (b"<\0\0\0", b"\0\0\0<"):
        return "utf-32-le" if body[0] else "utf-32-be"
    declared = _DECLARED.match(begin)
    label = declared[1].decode("ascii", "replace") if declared else ""
    if not label or find_charset(label) or header_charset(content_type) or body.startswith(codecs.BOM_UTF8):
        return "cp037" if body.startswith(EBCDIC) else None
    try:
        codec = codecs.lookup(label).name
        return codec if isinstance(b"".decode(codec), str) else None
    except LookupError:  # it is not known, or no charset, such as rot13
        return None


def _is_utf_8(body: bytes) -> bool:
    if body.isascii():
        return True
    try:
        codecs.utf_8_decode(body, "strict", False)  # False: a part of a character may end it
    except UnicodeDecodeError:
        return False
    return True


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
        if not _is_harmless(text[subset:end]):
            return None
        end = text.find(">", end)
    return text.find(">", end) + 1 if end > -1 else None


def _is_harmless(subset: str) -> bool:
    """Whether a document type declares entities of HTML only: they need no declaration here."""
    declared = _ENTITY.findall(subset)
    return len(declared) == subset.count("<!ENTITY") and all(
        parameter or f"{name};" in html.entities.html5 for parameter, name in declared
    )


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
