"""Addresses as browsers request them: the URL standard (https://url.spec.whatwg.org/) for http and https.

An address is written for the request and otherwise left alone: its query keeps its order, its escapes and its
missing ``=``. Two spellings of one page are recognized by their key (:func:`agentic.core.http.url_key`).
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

from agentic.core.http.errors import InvalidUrlError
from agentic.core.http.urls import DEFAULT_PORTS, HOST, check_length, plain_origin

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.ASCII | re.IGNORECASE)
_EDGES = "".join(map(chr, range(0x21)))
_BREAKS = str.maketrans("", "", "\t\n\r")
_SLASHES = "/\\"
# The sets of the standard, "%" not among them: what is already encoded, or is no escape at all, stays.
_IN_PATH = re.compile(r"[^!$-;=@-\[\]_a-z|~\\]")
_IN_QUERY = re.compile(r"[^!$-&(-;=?-~]")
_IN_USER = re.compile(r"[^!$-.0-9A-Z_a-z~%]")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_DOT = frozenset({".", "%2e"})
_TWO_DOTS = frozenset({"..", ".%2e", "%2e.", "%2e%2e"})
_PORT = re.compile(r"[0-9]*", re.ASCII)
_MAX_PORT = 65_535
# Charsets that Python does not know, or knows in a smaller version.
_WRITERS = {
    "euc-kr": "cp949",
    "gbk": "gb18030",
    "iso-8859-8-i": "iso-8859-8",
    "shift_jis": "cp932",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac-cyrillic",
}
_REPLACED = "%26%23{}%3B"  # &#1084; as browsers write a character that the encoding lacks

# The usual link, which is already written as the standard demands: resolving it the long way takes 10 us.
_FROM_ROOT = re.compile(r"(?:/[a-z0-9_-][\w.~%=&+,-]*)+/?(?:\?[\w.~%=&+,/?-]+)?", re.ASCII | re.IGNORECASE)
_ORIGIN = re.compile(r"https?://[a-z0-9.:-]+(?=[/?#]|\Z)", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Parts:
    """A URL without fragment; ``query`` is None without a question mark."""

    scheme: str
    authority: str
    path: str
    query: str | None

    def __str__(self) -> str:
        query = "" if self.query is None else f"?{self.query}"
        return f"{self.scheme}://{self.authority}{self.path}{query}"


def resolve(base: str, address: str, encoding: str = "utf-8") -> str:
    """Return the URL that a browser requests for ``address`` on a page from ``base``, without its fragment.

    Args:
        base: Absolute, http or https.
        address: As the page has it: ``../a b?q=ü``, ``//host``, ``\\a``.
        encoding: Of the page: its queries are written in it, everything else in UTF-8.

    Raises:
        InvalidUrlError: It is not an address of http or https, or it is malformed.
    """
    if _FROM_ROOT.fullmatch(address) and (origin := _plain_start(base)) is not None:
        found = origin + address
    else:
        found = str(_resolved(base, address, encoding))
    check_length(found)  # escapes make it longer
    return found


@lru_cache(maxsize=16_384)  # as in canonical_url: the pages of a site repeat the same links
def request_url(url: str) -> str:
    """Return an absolute URL as it is requested; for one that :func:`resolve` returned, the same.

    Raises:
        InvalidUrlError: It is not an absolute http or https URL, or it is malformed.
    """
    check_length(url)
    if plain_origin(url):  # its key needs that, too
        return url
    origin = _plain_start(url)
    if origin is not None and _FROM_ROOT.fullmatch(url, len(origin)):
        return url
    return str(_absolute(_clean(url), "utf-8"))


@lru_cache(maxsize=64)  # a page has hundreds of links
def _plain_start(url: str) -> str | None:
    """Return scheme, host and port if they need no change."""
    origin = _ORIGIN.match(url)
    return origin[0] if origin is not None and plain_origin(f"{origin[0]}/") else None


def _resolved(base: str, address: str, encoding: str) -> _Parts:
    check_length(address)
    text = _clean(address)
    scheme = _SCHEME.match(text)
    start = _base(base)
    if scheme is not None:
        if scheme[1].lower() != start.scheme:
            return _absolute(text, encoding)
        text = text[scheme.end() :]  # `https:a` is relative, on a page of that scheme
    if len(text) > 1 and text[0] in _SLASHES and text[1] in _SLASHES:
        return _absolute(f"{start.scheme}:{text}", encoding)
    path, mark, query = text.partition("?")
    written = _written_query(query, encoding) if mark else None
    if not path:
        return _Parts(start.scheme, start.authority, start.path, written if mark else start.query)
    if path[0] not in _SLASHES:
        path = start.path[: start.path.rindex("/") + 1] + path
    return _Parts(start.scheme, start.authority, _written_path(path), written)


@lru_cache(maxsize=64)  # a page has hundreds of links
def _base(url: str) -> _Parts:
    return _absolute(_clean(url), "utf-8")


def _absolute(url: str, encoding: str) -> _Parts:
    found = _SCHEME.match(url)
    scheme = found[1].lower() if found else ""
    if found is None or scheme not in DEFAULT_PORTS:
        raise InvalidUrlError(url, f"its scheme is {scheme!r}" if scheme else "it has no scheme")
    rest = url[found.end() :].lstrip(_SLASHES)
    before, mark, query = rest.partition("?")
    end = next((at for at, one in enumerate(before) if one in _SLASHES), len(before))
    return _Parts(
        scheme,
        _written_authority(url, before[:end], scheme),
        _written_path(before[end:]),
        _written_query(query, encoding) if mark else None,
    )


def _clean(address: str) -> str:
    return address.strip(_EDGES).translate(_BREAKS).partition("#")[0]


def _written_authority(url: str, authority: str, scheme: str) -> str:
    user_info, _, place = authority.rpartition("@")
    host, colon, port = place.rpartition(":")
    if not colon or "]" in port:
        host, port = place, ""
    if not _PORT.fullmatch(port) or int(port or 0) > _MAX_PORT:
        raise InvalidUrlError(url, "its host or port is malformed")
    is_default = not port or int(port) == DEFAULT_PORTS[scheme]
    return f"{_written_user(user_info)}{_written_host(url, host)}{'' if is_default else f':{int(port)}'}"


def _written_user(user_info: str) -> str:
    name, _, password = user_info.partition(":")
    if not (name or password):
        return ""
    return _encoded(_IN_USER, name) + (f":{_encoded(_IN_USER, password)}" if password else "") + "@"


def _written_host(url: str, host: str) -> str:
    if not host:
        raise InvalidUrlError(url, "it has no host")
    found = host.lower() if host.isascii() and "%" not in host else _ascii_host(unquote(host))
    if host[0] == "[" and host[-1] == "]" and HOST.fullmatch(found[1:-1]) and ":" in found:
        return found
    if "[" in found or "]" in found:
        raise InvalidUrlError(url, "its host or port is malformed")
    if ":" in found or not HOST.fullmatch(found):
        raise InvalidUrlError(url, f"{found[:80]!r} is not a valid host name")
    return found


def _ascii_host(host: str) -> str:
    import idna  # few hosts need it

    if host.isascii():
        return host.lower()
    try:
        return idna.encode(host, uts46=True).decode()
    except (idna.IDNAError, UnicodeError):
        pass
    try:
        return host.encode("idna").decode().lower()  # symbols: browsers accept them
    except UnicodeError:
        return host


def _written_path(path: str) -> str:
    if "\\" in path:
        path = path.replace("\\", "/")
    if "/." in path or "%2e" in path.lower():
        path = _without_dots(path)
    return _encoded(_IN_PATH, path) or "/"


def _without_dots(path: str) -> str:
    kept: list[str] = []
    segments = path.split("/")[1:]
    for segment in segments:
        name = segment.lower()
        if name in _TWO_DOTS:
            del kept[-1:]
        elif name not in _DOT:
            kept.append(segment)
    if segments and segments[-1].lower() in _DOT | _TWO_DOTS:
        kept.append("")
    return "/" + "/".join(kept)


def _written_query(query: str, encoding: str) -> str:
    if not query.isascii():
        codec = _codec(encoding)
        query = _NOT_ASCII.sub(lambda found: _in_encoding(found[0], codec), query)
    return _encoded(_IN_QUERY, query)


@lru_cache(maxsize=64)
def _codec(encoding: str) -> str:
    """Return the codec for queries; UTF-8 for encodings that cannot write ASCII, and for unknown ones."""
    try:
        name = codecs.lookup(_WRITERS.get(encoding, encoding)).name
        return name if "?".encode(name) == b"?" else "utf-8"
    except (LookupError, UnicodeError):
        return "utf-8"


def _in_encoding(text: str, codec: str) -> str:
    try:
        return _percent_encoded(_IN_QUERY, text.encode(codec))
    except UnicodeError:
        if len(text) > 1:
            return "".join(_in_encoding(one, codec) for one in text)
        return "%EF%BF%BD" if codec == "utf-8" else _REPLACED.format(ord(text))


def _encoded(unsafe: re.Pattern[str], text: str) -> str:
    return unsafe.sub(lambda found: _escapes(found[0].encode("utf-8", "replace")), text)


def _percent_encoded(unsafe: re.Pattern[str], data: bytes) -> str:
    text = data.decode("latin-1")  # of a byte above 0x7f, or one that the set has, becomes an escape
    return unsafe.sub(lambda found: _escapes(found[0].encode("latin-1")), text)


def _escapes(data: bytes) -> str:
    return "".join(f"%{byte:02X}" for byte in data)
