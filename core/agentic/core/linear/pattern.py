"""A compiled pattern, matched by RE2 (https://github.com/google/re2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Protocol, cast

from agentic.core.linear.errors import LinearRegexError, RegexTooCostlyError
from agentic.core.linear.translation import translate

MAX_MEMORY_BYTES = 4 * 1024 * 1024
r"""Limit for one compiled pattern: `\w{1,100}` needs a third of it."""

MAX_WORK = 20_000_000_000
"""Instructions of a pattern times bytes of a text: at most a second of CPU, and far less for most."""


class _Match(Protocol):
    """A match of RE2."""

    def span(self, group: int = 0) -> tuple[int, int]: ...


class _Engine(Protocol):
    """A pattern that RE2 has compiled."""

    groups: int
    programsize: int

    def search(self, text: bytes) -> _Match | None: ...
    def fullmatch(self, text: bytes) -> _Match | None: ...
    def finditer(self, text: bytes) -> Iterator[_Match]: ...


_CONTROLS = (*range(9), *range(14, 28))
"""Characters of a byte other than spaces, rare in texts."""


@dataclass(frozen=True, slots=True)
class Match:
    """A match.

    Attributes:
        whole: The whole match.
        groups: The text of each group; None for an unused group.
    """

    whole: str
    groups: tuple[str | None, ...]
    _raw: bytes = field(repr=False)
    _start: int = field(repr=False)

    def __getitem__(self, number: int) -> str:
        """Return a group, "" if it is unused; 0 is the whole match."""
        return self.whole if number == 0 else self.groups[number - 1] or ""

    @property
    def start(self) -> int:
        """Its start, in characters; they are counted each time."""
        return len(_text(self._raw[: self._start]))

    @property
    def end(self) -> int:
        """Its end, in characters."""
        return self.start + len(self.whole)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A text to match.

    Attributes:
        engine: The pattern for such texts.
        raw: The text.
        given: The text for the engine, of the same length.
    """

    engine: _Engine
    raw: bytes
    given: bytes

    def each(self) -> Iterator[_Match]:
        """Yield each match in order."""
        last = (-1, -1)
        for found in self.engine.finditer(self.given):
            if found.span() != last:  # the engine returns some empty matches twice
                yield found
            last = found.span()

    def decoded(self, found: _Match) -> Match:
        """Return the match in the original text."""
        start, end = found.span()
        spans = map(found.span, range(1, self.engine.groups + 1))
        groups = tuple(None if begin < 0 else _text(self.raw[begin:close]) for begin, close in spans)
        return Match(_text(self.raw[start:end]), groups, self.raw, start)


class LinearPattern:
    """A regular expression in Python's syntax. Its time grows only with the length of a text.

    Look-around and back-references are refused. ``\\b`` knows only letters and digits of ASCII; all other
    classes mean the same as in :mod:`re`. It is compiled at its first use.

    Args:
        pattern: In the syntax of :mod:`re`.
        ignore_case: Letters match in either case.
        ascii_only: ``\\d``, ``\\w`` and ``\\s`` match only ASCII.
    """

    __slots__ = ("__dict__", "_flags", "_others", "pattern")

    def __init__(self, pattern: str, *, ignore_case: bool = False, ascii_only: bool = False) -> None:
        self.pattern = pattern
        self._others: dict[int, _Engine] = {}
        self._flags = (re.IGNORECASE if ignore_case else 0) | (re.ASCII if ascii_only else 0)

    def __repr__(self) -> str:
        return f"LinearPattern({self.pattern!r})"

    def compiled(self) -> LinearPattern:
        """Return this pattern, compiled.

        Raises:
            LinearRegexError: It cannot be used.
        """
        _ = self._engine
        return self

    @property
    def group_count(self) -> int:
        """The number of groups."""
        return self._engine.groups

    def search(self, text: str) -> Match | None:
        """Return the first match.

        Raises:
            RegexTooCostlyError: The pattern is too large for a text of this length.
        """
        asked = self._asked(text)
        found = asked.engine.search(asked.given)
        return None if found is None else asked.decoded(found)

    def fullmatch(self, text: str) -> Match | None:
        """Return the groups if the whole text matches."""
        asked = self._asked(text)
        found = asked.engine.fullmatch(asked.given)
        return None if found is None else asked.decoded(found)

    def matches(self, text: str) -> bool:
        """Whether the whole text matches."""
        asked = self._asked(text)
        return asked.engine.fullmatch(asked.given) is not None

    def occurs_in(self, text: str) -> bool:
        """Whether a part of the text matches."""
        asked = self._asked(text)
        return asked.engine.search(asked.given) is not None

    def finditer(self, text: str) -> Iterator[Match]:
        """Yield each match in order; of matches that start at the same character only the first."""
        asked = self._asked(text)
        return map(asked.decoded, asked.each())

    def sub(self, replacement: str | Callable[[Match], str], text: str) -> str:
        """Return the text with each match replaced; a replacement has no references to groups."""
        asked = self._asked(text)
        pieces: list[str] = []
        end = 0
        for found in asked.each():
            start, next_end = found.span()
            pieces.append(_text(asked.raw[end:start]))
            pieces.append(replacement if isinstance(replacement, str) else replacement(asked.decoded(found)))
            end = next_end
        return text if not pieces else "".join([*pieces, _text(asked.raw[end:])])

    @cached_property
    def _engine(self) -> _Engine:
        return self._compiled(self._translated[0])

    def _before_line_end(self, line_end: int) -> _Engine:
        """Return the pattern for texts that end with a line end; other line ends are ``line_end``."""
        engine = self._others.get(line_end)
        if engine is None:
            translated = translate(self.pattern, self._flags, line_end)
            engine = self._others[line_end] = self._compiled(translated.text)
        return engine

    def _compiled(self, translated: str) -> _Engine:
        import re2  # type: ignore[import-untyped]  # it has no types; 2 MB; loaded by the first pattern that is used

        options = re2.Options()
        options.max_mem = MAX_MEMORY_BYTES
        options.log_errors = False
        try:
            return cast(_Engine, re2.compile(translated.encode(errors="surrogatepass"), options))
        except re2.error as exc:
            reason = exc.args[0] if exc.args else exc
            said = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
            raise LinearRegexError(self.pattern, f"{said}; lower the counts in its braces") from None

    @cached_property
    def _translated(self) -> tuple[str, bool]:
        translated = translate(self.pattern, self._flags)
        return translated.text, translated.has_end

    @property
    def _has_end(self) -> bool:
        return self._translated[1]

    def _asked(self, text: str) -> _Asked:
        raw = text.encode(errors="surrogatepass")
        engine, given = self._engine, raw
        if raw.endswith(b"\n") and self._has_end:
            line_end = next((code for code in _CONTROLS if code not in raw), None)
            if line_end is not None:  # otherwise it is not text, and has no last line
                engine = self._before_line_end(line_end)
                given = raw[:-1].replace(b"\n", bytes([line_end])) + b"\n"
        if len(raw) * engine.programsize > MAX_WORK:
            raise RegexTooCostlyError(self.pattern, len(text))
        return _Asked(engine, raw, given)


@lru_cache(maxsize=1024)
def compile_linear(pattern: str) -> LinearPattern:
    """Return a pattern in the syntax of :mod:`re`, compiled.

    Raises:
        LinearRegexError: It is not a regular expression, is too large, or has look-around or back-references.
    """
    return LinearPattern(pattern).compiled()


def _text(raw: bytes) -> str:
    return raw.decode(errors="surrogatepass")
