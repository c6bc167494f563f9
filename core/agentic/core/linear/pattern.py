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
"""Of one compiled pattern: `\\w{1,100}` needs a third of it."""

MAX_WORK = 20_000_000_000
"""Instructions of a pattern times bytes of a text: at most a second of a processor, and far less for most."""


class _Match(Protocol):
    """What RE2 found."""

    def span(self) -> tuple[int, int]: ...
    def groups(self) -> tuple[bytes | None, ...]: ...


class _Engine(Protocol):
    """A pattern that RE2 has compiled."""

    groups: int
    programsize: int

    def search(self, text: bytes) -> _Match | None: ...
    def fullmatch(self, text: bytes) -> _Match | None: ...
    def finditer(self, text: bytes) -> Iterator[_Match]: ...


@dataclass(frozen=True, slots=True)
class Found:
    """A place that fits.

    Attributes:
        whole: All that matches.
        groups: What each group took; None for one that took no part.
    """

    whole: str
    groups: tuple[str | None, ...]
    _raw: bytes = field(repr=False)
    _start: int = field(repr=False)

    def __getitem__(self, number: int) -> str:
        """Return a group, "" if it took no part; 0 is all that matches."""
        return self.whole if number == 0 else self.groups[number - 1] or ""

    @property
    def start(self) -> int:
        """Where it begins, in characters; they are counted each time."""
        return len(_text(self._raw[: self._start]))

    @property
    def end(self) -> int:
        """Where it ends, in characters."""
        return self.start + len(self.whole)


class LinearPattern:
    """A regular expression in Python's syntax. Its time grows with the length of a text and nothing else.

    Look-around and back-references are refused. ``\\b`` knows letters and digits of ASCII only; all other
    classes mean what they mean in :mod:`re`. It is compiled with its first use.

    Args:
        pattern: In the syntax of :mod:`re`.
        ignore_case: Letters fit in either case.
        ascii_only: ``\\d``, ``\\w`` and ``\\s`` fit ASCII only.
    """

    __slots__ = ("__dict__", "_flags", "pattern")

    def __init__(self, pattern: str, *, ignore_case: bool = False, ascii_only: bool = False) -> None:
        self.pattern = pattern
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
        """How many groups it has."""
        return self._engine.groups

    def search(self, text: str) -> Found | None:
        """Return the first place that fits.

        Raises:
            RegexTooCostlyError: The pattern is too large for a text of this length.
        """
        raw = self._bytes_of(text)
        found = self._engine.search(raw)
        if self._has_end and raw.endswith(b"\n"):
            found = _earlier(found, self._engine.search(raw[:-1]))
        return None if found is None else _decoded(found, raw)

    def fullmatch(self, text: str) -> Found | None:
        """Return the groups if the whole text fits."""
        raw = self._bytes_of(text)
        found = self._engine.fullmatch(raw)
        return None if found is None else _decoded(found, raw)

    def matches(self, text: str) -> bool:
        """Whether the whole text fits."""
        return self._engine.fullmatch(self._bytes_of(text)) is not None

    def occurs_in(self, text: str) -> bool:
        """Whether something in the text fits."""
        return self.search(text) is not None

    def finditer(self, text: str) -> Iterator[Found]:
        """Yield each place that fits, one after the other."""
        raw = self._bytes_of(text)
        for found in self._engine.finditer(raw):
            yield _decoded(found, raw)

    def sub(self, replacement: str | Callable[[Found], str], text: str) -> str:
        """Return the text with each place that fits replaced; a replacement has no references to groups."""
        raw = self._bytes_of(text)
        pieces: list[str] = []
        end = 0
        for found in self._engine.finditer(raw):
            start, next_end = found.span()
            pieces.append(_text(raw[end:start]))
            pieces.append(replacement if isinstance(replacement, str) else replacement(_decoded(found, raw)))
            end = next_end
        return text if not pieces else "".join([*pieces, _text(raw[end:])])

    @cached_property
    def _engine(self) -> _Engine:
        import re2  # type: ignore[import-untyped]  # it has no types; 2 MB; loaded by the first pattern that is used

        options = re2.Options()
        options.max_mem = MAX_MEMORY_BYTES
        options.log_errors = False
        try:
            return cast(_Engine, re2.compile(self._translated[0].encode(errors="surrogatepass"), options))
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

    def _bytes_of(self, text: str) -> bytes:
        raw = text.encode(errors="surrogatepass")
        if len(raw) * self._engine.programsize > MAX_WORK:
            raise RegexTooCostlyError(self.pattern, len(text))
        return raw


@lru_cache(maxsize=1024)
def compile_linear(pattern: str) -> LinearPattern:
    """Return a pattern in the syntax of :mod:`re`, compiled.

    Raises:
        LinearRegexError: It is not a regular expression, is too large, or has look-around or back-references.
    """
    return LinearPattern(pattern).compiled()


def _earlier(one: _Match | None, other: _Match | None) -> _Match | None:
    if one is None or other is None:
        return one or other
    return other if other.span()[0] < one.span()[0] else one


def _decoded(found: _Match, raw: bytes) -> Found:
    start, end = found.span()
    groups = tuple(None if one is None else _text(one) for one in found.groups())
    return Found(_text(raw[start:end]), groups, raw, start)


def _text(raw: bytes) -> str:
    return raw.decode(errors="surrogatepass")
