"""JSON as templates of sites write it: with a comma too many, comments, or a quote that is not escaped."""

from __future__ import annotations

import html
import json
import math
import re
from typing import NamedTuple, cast

from agentic.core.types import JSONValue

MAX_CHARS = 2_000_000
"""Longer texts are read if they are JSON, but not repaired."""

MAX_DEPTH = 200
MAX_DIGITS = 300

# Each is tried at one place, and what repeats in it is possessive: an odd text takes no longer than another.
_BLANK = re.compile(
    r"(?:[\s\ufeff\u2028\u2029]|//[^\n]*|/\*(?:[^*]|\*(?!/))*+\*/|<!--|-->|<!\[CDATA\[|\]\]>)*+"
)
# Around all of it, perhaps in one line.
_OPENED = re.compile(r"\A(?:(?://|/\*)?\s*<!(?:--|\[CDATA\[)\s*(?:\*/)?\s*)++")
_CLOSED = re.compile(r"(?:(?://|/\*)?\s{0,99}(?:--|\]\])>\s{0,99}(?:\*/)?\s{0,99})\Z")
_ASSIGNED = re.compile(r"(?:(?:var|let|const)\s+)?[\w$.\[\]'\"]{1,100}+\s*=\s*")
_PLAIN = {'"': re.compile(r'[^"\\]*+'), "'": re.compile(r"[^'\\]*+")}
_NUMBER = re.compile(r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?(?![\w.])")
_ARTICLE = re.compile(r"-?0\d")
_WORD = re.compile(r"[A-Za-z_$@][\w$@:-]*+")
_WORDS: dict[str, JSONValue] = {
    "true": True, "false": False, "null": None, "none": None, "undefined": None, "nan": None,
    "infinity": None, "-infinity": None,
}  # fmt: skip
_COMMENT = r"/[/*]|<!--|-->|<!\[CDATA|\]\]>"
_MEMBER = r"""\s*+(?:"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+'|[A-Za-z_$@][\w$@-]*+)\s*+:"""
_ELEMENT = r"""\s*+(?:["'{\[\d+.-]|true\b|false\b|null\b)"""
# What stands behind a quote that ends a text; any other quote is part of the text: `"12" TV"`.
_END = {
    "key": re.compile(rf"\s*+(?::|{_COMMENT})"),
    "member": re.compile(
        rf"\s*+(?:,(?:\s*+,)*+(?:{_MEMBER}|\s*+[}}\]]|\s*+(?:{_COMMENT}))|[}}\]]|{_COMMENT}|\Z|{_MEMBER})"
    ),
    "element": re.compile(
        rf"\s*+(?:,(?:\s*+,)*+(?:{_ELEMENT}|\s*+[\]}}]|\s*+(?:{_COMMENT}))|[\]}}]|{_COMMENT}|\Z)"
    ),
}
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\n": "", "0": "\0"}
_HEX = {"u": re.compile(r"[0-9a-fA-F]{4}"), "x": re.compile(r"[0-9a-fA-F]{2}")}


class LooseJson(NamedTuple):
    """The values in a text, and why the rest of it cannot be read; "" without such a rest."""

    values: list[JSONValue]
    fault: str


def read_loose_json(text: str) -> LooseJson:
    """Return the values in a text that should be JSON; several may follow each other.

    Read as well: commas too many and too few, comments of JavaScript and HTML, CDATA, bare and single-quoted
    texts, ``\\'``, line ends and quotes within texts, ``NaN`` and ``undefined`` (as null), an assignment, and
    quotes as ``&quot;``. Nothing is guessed: ``19,90`` is not a number.
    """
    cleaned = text.strip().removeprefix("\ufeff").strip()
    if cleaned[:1] in "</":
        cleaned = _CLOSED.sub("", _OPENED.sub("", cleaned))
    if not cleaned:
        return LooseJson([], "")
    if '"' not in cleaned and "&" in cleaned:
        cleaned = html.unescape(cleaned)
    try:
        return LooseJson([_strict(cleaned)], "")
    except RecursionError:
        return LooseJson([], "it is nested too deep")
    except ValueError:
        return (
            _Reader(cleaned).all()
            if len(cleaned) <= MAX_CHARS
            else LooseJson([], "it is too long to be repaired")
        )


def _strict(text: str) -> JSONValue:
    return cast(JSONValue, json.loads(text, strict=False, parse_constant=lambda _: None))


class _FaultError(Exception):
    """The text cannot be read from here on."""


class _Reader:
    """Reads a text from its beginning to its end, each character once or twice.

    Args:
        text: To be read.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def all(self) -> LooseJson:
        """Return all values, up to a place that cannot be read."""
        values: list[JSONValue] = []
        try:
            self._skip()
            if assigned := _ASSIGNED.match(self._text, self._at):
                self._at = assigned.end()
            while self._next() is not None:
                if self._peek() in ",;}])":  # too many of them at the end
                    self._at += 1
                    continue
                if self._peek() not in "{[":
                    raise self._fault("an object or a list")
                values.append(self._value("element"))
        except _FaultError as fault:
            return LooseJson(values, str(fault))
        return LooseJson(values, "" if values else "it has no object")

    def _skip(self) -> None:
        found = _BLANK.match(self._text, self._at)
        if found is not None:
            self._at = found.end()

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _next(self) -> str | None:
        """Return the next character that counts, None at the end."""
        self._skip()
        return self._peek() or None

    def _fault(self, wanted: str) -> _FaultError:
        line = self._text.count("\n", 0, self._at) + 1
        near = " ".join(self._text[self._at : self._at + 30].split())
        where = f"before {near!r}" if near else "at its end"
        return _FaultError(f"line {line}: expected {wanted} {where}")

    def _value(self, place: str) -> JSONValue:
        char = self._next()
        if char is None:
            raise self._fault("a value")
        if char in "\"'":
            return self._quoted(place)
        if char in "{[":
            self._depth += 1
            if self._depth > MAX_DEPTH:
                raise self._fault("less nesting")
            value = self._object() if char == "{" else self._list()
            self._depth -= 1
            return value
        return self._bare()

    def _object(self) -> JSONValue:
        found: dict[str, JSONValue] = {}
        self._at += 1
        while (char := self._next()) != "}":
            if char is None:
                raise self._fault("}")
            if char == ",":
                self._at += 1
                continue
            key = self._key()
            if self._next() != ":":
                raise self._fault("a colon")
            self._at += 1
            # `"a": , "b": 1` has no value.
            found[key] = None if (self._next() or "") in ",}" else self._value("member")
        self._at += 1
        return found

    def _key(self) -> str:
        if self._peek() in "\"'":
            return self._quoted("key")
        word = _WORD.match(self._text, self._at)
        if word is None:
            raise self._fault("a key")
        name = word[0].partition(":")[0]
        self._at += len(name)
        return name

    def _list(self) -> JSONValue:
        found: list[JSONValue] = []
        self._at += 1
        while (char := self._next()) != "]":
            if char is None:
                raise self._fault("]")
            if char == ",":
                self._at += 1
                continue
            found.append(self._value("element"))
        self._at += 1
        return found

    def _quoted(self, place: str) -> str:
        quote, begin = self._peek(), self._at
        self._at += 1
        parts: list[str] = []
        is_unicode = False
        while True:
            plain = _PLAIN[quote].match(self._text, self._at)
            if plain is not None:
                parts.append(plain[0])
                self._at = plain.end()
            char = self._peek()
            self._at += 1
            if char == "\\":
                is_unicode = is_unicode or self._peek() == "u"
                parts.append(self._escaped())
            elif not char:
                self._at = begin
                raise self._fault("a text with an end")
            elif _END[place].match(self._text, self._at):
                found = "".join(parts)
                if is_unicode:  # two escapes may be one character
                    return found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
                return found
            else:
                parts.append(char)

    def _escaped(self) -> str:
        """Return the character that an escape stands for; a lone backslash stays."""
        char = self._peek()
        self._at += 1
        if char in _HEX and (code := _HEX[char].match(self._text, self._at)):
            self._at = code.end()
            return chr(int(code[0], 16))
        if char in _ESCAPES:
            return _ESCAPES[char]
        return f"\\{char}" if char.isalnum() else char

    def _bare(self) -> JSONValue:
        number = _NUMBER.match(self._text, self._at)
        if number is not None:
            self._at = number.end()
            digits = number[0].lstrip("+")
            if _ARTICLE.match(digits):
                return digits  # `01234` is the number of an article
            if digits.lstrip("-").isdigit() and len(digits) <= MAX_DIGITS:
                return int(digits)
            value = float(digits)
            return value if math.isfinite(value) else None
        word = _WORD.match(self._text, self._at + (self._peek() == "-"))
        if word is None or word[0].lower() not in _WORDS:
            raise self._fault("a value")
        self._at = word.end()
        return _WORDS[word[0].lower()]
