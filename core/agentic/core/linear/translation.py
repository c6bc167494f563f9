"""Translates patterns of Python to the syntax of RE2, with the same meaning.

RE2 has ``\\d``, ``\\w`` and ``\\s`` only for ASCII; Python means all of Unicode. So Python's parser reads a
pattern, and it is written again: classes by their members, literals by their code points.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from agentic.core.linear.errors import LinearRegexError

Range = tuple[int, int]
Tokens = Sequence[tuple[Any, Any]]

MAX_LENGTH = 10_000
"""Characters of a pattern."""

# The parser of `re`: it has no public name, and no types.
_PARSER: Any = import_module("re._parser")
_CONSTANTS: Any = import_module("re._constants")

_REFUSED = {
    "ASSERT": "a look-ahead or look-behind `(?=...)`, `(?<=...)`; match the surrounding text, and put the "
    "wanted part in a group `(...)`",
    "ASSERT_NOT": "a negative look-ahead or look-behind `(?!...)`, `(?<!...)`; list the allowed "
    "characters, as in `[^x]`",
    "GROUPREF": "a back-reference as `\\1`; write out the repeated part",
    "GROUPREF_IGNORE": "a back-reference as `\\1`; write out the repeated part",
    "GROUPREF_EXISTS": "a condition `(?(1)...)`; write both cases with `|`",
    "ATOMIC_GROUP": "an atomic group `(?>...)`; write `(?:...)`, which never backtracks here",
    "POSSESSIVE_REPEAT": "a possessive repeat as `a++`; write `a+`, which never backtracks here",
}


@dataclass(frozen=True, slots=True)
class Translated:
    """A pattern for RE2.

    Attributes:
        text: In RE2's syntax.
        has_end: It has a ``$`` that also matches before a line end at the very end of the text.
    """

    text: str
    has_end: bool


def translate(pattern: str, flags: int = 0, line_end: int | None = None) -> Translated:
    """Return the pattern for RE2 with the meaning of a pattern of Python.

    RE2 has no ``$`` that matches before the last line end and no other. For texts that end with one, all
    other line ends are replaced by another character, ``line_end``: then a ``$`` before line ends is correct.

    Args:
        pattern: In the syntax of :mod:`re`.
        flags: Flags of :mod:`re`.
        line_end: Code point that replaces line ends before the last character; None when the text does not
            end with one, so that a ``$`` matches only at the very end.

    Raises:
        LinearRegexError: It is not a regular expression, or it needs a backtracking engine.
    """
    if len(pattern) > MAX_LENGTH:
        raise LinearRegexError(pattern, f"it has more than {MAX_LENGTH:,} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about nested sets, as in `re`
            tree = _PARSER.parse(pattern, flags)
    except (re.error, OverflowError) as exc:
        raise LinearRegexError(pattern, str(exc)) from None
    except RecursionError:
        raise LinearRegexError(pattern, "its groups are nested too deeply") from None
    writer = _Writer(pattern, line_end)
    try:
        text = writer.sequence(tree, tree.state.flags)
    except RecursionError:
        raise LinearRegexError(pattern, "its groups are nested too deeply") from None
    if writer.has_end and writer.has_line_places:
        raise LinearRegexError(
            pattern, "it has a `$` outside of `(?m:...)`, where it means another place; write `\\Z` for it"
        )
    prefix = _switched(tree.state.flags, 0)
    return Translated(f"{prefix}{text}", writer.has_end)


class _Writer:
    def __init__(self, pattern: str, line_end: int | None) -> None:
        self._pattern = pattern
        self._line_end = line_end
        self.has_end = False
        self.has_line_places = False

    def sequence(self, tokens: Tokens, flags: int) -> str:
        return "".join(self._one(str(kind), value, flags) for kind, value in tokens)

    def _one(self, kind: str, value: Any, flags: int) -> str:  # noqa: ANN401 - what a token holds
        if kind in _REFUSED:
            raise LinearRegexError(self._pattern, f"it has {_REFUSED[kind]}")
        write = _WRITERS.get(kind)
        if write is None:
            raise LinearRegexError(self._pattern, f"it has {kind.lower()}, which is not supported")
        return write(self, value, flags)

    def literal(self, value: int, _flags: int) -> str:
        return _code(value) if value not in (_NEW_LINE, self._line_end) else self._class([(value, value)])

    def not_literal(self, value: int, _flags: int) -> str:
        return self._class([(value, value)], is_negated=True)

    def any(self, _value: object, flags: int) -> str:
        return _ANY if flags & re.DOTALL else self._class([(_NEW_LINE, _NEW_LINE)], is_negated=True)

    def branch(self, value: tuple[None, Sequence[Tokens]], flags: int) -> str:
        return f"(?:{'|'.join(self.sequence(one, flags) for one in value[1])})"

    def group(self, value: tuple[int | None, int, int, Tokens], flags: int) -> str:
        number, added, removed, tokens = value
        inner = self.sequence(tokens, (flags | added) & ~removed)
        switches = _switched(added, removed, inner)
        return f"({switches})" if number is not None else f"(?:{switches})"

    def greedy(self, value: tuple[int, int, Tokens], flags: int) -> str:
        low, high, tokens = value
        return f"(?:{self.sequence(tokens, flags)}){_count(low, high)}"

    def lazy(self, value: tuple[int, int, Tokens], flags: int) -> str:
        return f"{self.greedy(value, flags)}?"

    def at(self, value: object, flags: int) -> str:
        place = str(value)
        if place == "AT_END" and not flags & re.MULTILINE:
            self.has_end = True
            return r"\z" if self._line_end is None else "(?m:$)"
        if place == "AT_BEGINNING" and not flags & re.MULTILINE:
            return r"\A"
        self.has_line_places |= place in {"AT_BEGINNING", "AT_END"}
        return _PLACES[place]

    def within(self, items: Tokens, flags: int) -> str:
        is_negated = bool(items) and str(items[0][0]) == "NEGATE"
        ranges = [one for kind, value in items[is_negated:] for one in _ranges(str(kind), value, flags)]
        return self._class(ranges, is_negated=is_negated)

    def _class(self, ranges: Sequence[Range | str], *, is_negated: bool = False) -> str:
        if self._line_end is not None:
            ranges = _with_line_end(ranges, self._line_end)
        if not ranges:
            return _ANY if is_negated else _NOTHING
        if is_negated:
            return f"[^{_written(ranges)}]"
        # So it includes characters that are newer than RE2, too.
        others = [one for one in ranges if one != _NOT_WORD]
        parts = [f"[^{_WORD}]"] * (len(others) < len(ranges)) + [f"[{_written(others)}]"] * bool(others)
        return parts[0] if len(parts) == 1 else f"(?:{'|'.join(parts)})"


_WRITERS: Mapping[str, Callable[[_Writer, Any, int], str]] = {
    "LITERAL": _Writer.literal,
    "NOT_LITERAL": _Writer.not_literal,
    "ANY": _Writer.any,
    "BRANCH": _Writer.branch,
    "SUBPATTERN": _Writer.group,
    "MAX_REPEAT": _Writer.greedy,
    "MIN_REPEAT": _Writer.lazy,
    "AT": _Writer.at,
    "IN": _Writer.within,
}
_NEW_LINE = 10
_ANY = "(?s:.)"
_NOTHING = r"[^\x{0}-\x{10FFFF}]"
_PLACES = {
    "AT_BEGINNING": "(?m:^)",
    "AT_BEGINNING_STRING": r"\A",
    "AT_END": "(?m:$)",
    "AT_END_STRING": r"\z",
    "AT_BOUNDARY": r"\b",
    "AT_NON_BOUNDARY": r"\B",
}


def _ranges(kind: str, value: Any, flags: int) -> Iterator[Range | str]:  # noqa: ANN401 - what a token holds
    match kind:
        case "LITERAL":
            yield value, value
        case "RANGE":
            yield value
        case _:
            yield from _category(str(value), is_ascii=bool(flags & re.ASCII))


def _category(name: str, *, is_ascii: bool) -> Iterator[Range | str]:
    plain = name.removeprefix("CATEGORY_")
    wanted = plain.removeprefix("NOT_")
    if is_ascii:
        letter = {"DIGIT": "d", "WORD": "w", "SPACE": "s"}[wanted]
        inside = _ASCII[letter]
        yield from inside if wanted == plain else _complement(inside)
    elif wanted == "DIGIT":
        yield r"\p{Nd}" if wanted == plain else r"\P{Nd}"
    elif wanted == "WORD":
        yield _WORD if wanted == plain else _NOT_WORD
    else:
        yield from _SPACES if wanted == plain else _complement(_SPACES)


_ASCII: Mapping[str, tuple[Range, ...]] = {
    "d": ((48, 57),),
    "w": ((48, 57), (65, 90), (95, 95), (97, 122)),
    "s": ((9, 13), (32, 32)),
}
_WORD = r"\p{L}\p{N}_"
# All other characters; the connectors (Pc) without the underscore are listed one by one.
_NOT_WORD = (
    r"\p{M}\p{S}\p{Z}\p{C}\p{Pd}\p{Ps}\p{Pe}\p{Pi}\p{Pf}\p{Po}"
    r"\x{203F}\x{2040}\x{2054}\x{FE33}\x{FE34}\x{FE4D}-\x{FE4F}\x{FF3F}"
)
# The characters of str.isspace().
_SPACES: tuple[Range, ...] = (
    (9, 13), (28, 32), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029),
    (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000),
)  # fmt: skip


def _complement(ranges: Sequence[Range]) -> Iterator[Range]:
    begin = 0
    for low, high in ranges:
        if low > begin:
            yield begin, low - 1
        begin = high + 1
    yield begin, sys.maxunicode


def _with_line_end(ranges: Sequence[Range | str], line_end: int) -> list[Range | str]:
    """Return a class with ``line_end`` exactly if it has a line end."""
    found: list[Range | str] = []
    for one in ranges:
        if isinstance(one, str):  # Unicode properties: both are in it, as control characters, or none
            found.append(one)
            continue
        low, high = one
        found += [
            part
            for part in ((low, min(high, line_end - 1)), (max(low, line_end + 1), high))
            if part[0] <= part[1]
        ]
        if low <= _NEW_LINE <= high:
            found.append((line_end, line_end))
    return found


def _written(ranges: Sequence[Range | str]) -> str:
    return "".join(
        one if isinstance(one, str) else _code(one[0]) + (f"-{_code(one[1])}" if one[1] > one[0] else "")
        for one in ranges
    )


def _code(code: int) -> str:
    character = chr(code)
    return character if character.isascii() and character.isalnum() else f"\\x{{{code:X}}}"


def _count(low: int, high: int) -> str:
    top = "" if high == _CONSTANTS.MAXREPEAT else str(high)
    known = {(0, ""): "*", (1, ""): "+", (0, "1"): "?", (low, str(low)): f"{{{low}}}"}
    return known.get((low, top), f"{{{low},{top}}}")


def _switched(added: int, removed: int, inner: str | None = None) -> str:
    """Return a switch of flags: for the rest, or around ``inner``."""
    # The translations of `.`, `^`, `$` and the classes contain the other flags.
    switch = "i" if added & re.IGNORECASE else "-i" if removed & re.IGNORECASE else ""
    if inner is None:
        return f"(?{switch})" if switch else ""
    return f"(?{switch}:{inner})" if switch else inner
