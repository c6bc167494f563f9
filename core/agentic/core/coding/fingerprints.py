"""Fingerprints of findings: equal for one fault, at any line and under any names."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

from agentic.core.coding.findings import CodeFinding
from agentic.core.linear import LinearPattern
from agentic.core.llm import ErrorFingerprint

MANY = 5
"""More faults than this at a time are complex."""
HARD = frozenset(
    {"E0382", "E0499", "E0502", "E0505", "E0506", "E0515", "E0597", "E0716"}  # ownership in Rust
)
_MAX_CHARS = 50_000
_MAX_KEY_CHARS = 300

_PLACE = LinearPattern(r"^(- )?([\w./-]{1,200}(:\d{1,9}){1,2} )?")
_QUOTED = LinearPattern(r"'[^'\n]{0,300}'|\"[^\"\n]{0,300}\"|`[^`\n]{0,300}`|‘[^’\n]{0,300}’")
_NUMBER = LinearPattern(r"\b(0x[0-9a-fA-F]{1,16}|\d{1,30}(\.\d{1,30})?)\b")
_TEST = LinearPattern(r"\btest \S{1,300}")


class CodeFingerprinter:
    """Implements :class:`~agentic.core.llm.ErrorFingerprinter` for findings and for feedback made of them.

    Places, quoted names, numbers and names of tests are left out; codes and the words of the tool stay.
    Failed tests, faults of ownership in Rust and more than five faults at a time are complex; a fast model
    can mend most other findings of compilers.
    """

    def fingerprint(self, error: str) -> ErrorFingerprint:
        """Return the fingerprint of the text of an error: of a finding, or of a validator's feedback."""
        return _made(self.causes(error))

    def of(self, findings: Sequence[CodeFinding]) -> ErrorFingerprint:
        """Return the fingerprint of findings, in any order."""
        return _made(_sorted(str(finding).split("\n", maxsplit=1)[0] for finding in findings))

    def causes(self, error: str) -> tuple[str, ...]:
        """Return the single faults in the text of an error, normalized and sorted, each once."""
        lines = [line for line in error[:_MAX_CHARS].split("\n") if line.strip() and not _is_source(line)]
        listed = [line for line in lines if line.startswith("- ")]
        return _sorted(listed or lines)


def _sorted(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({normalized(line) for line in lines}))


def _made(causes: Sequence[str]) -> ErrorFingerprint:
    key = " | ".join(causes)
    if len(key) > _MAX_KEY_CHARS:
        key = f"{key[:_MAX_KEY_CHARS]} {hashlib.sha256(key.encode()).hexdigest()[:16]}"
    is_hard = any("test _" in cause or HARD.intersection(_words(cause)) for cause in causes)
    return ErrorFingerprint(key=key, is_complex=is_hard or len(causes) > MANY)


def normalized(line: str) -> str:
    """Return the line of a finding without places, names and numbers."""
    found = _PLACE.search(line)
    rest = line if found is None else line[found.end :]
    for pattern, mark in ((_TEST, "test _"), (_QUOTED, "_"), (_NUMBER, "#")):
        rest = pattern.sub(mark, rest)
    return " ".join(rest.split())


def _words(cause: str) -> Iterator[str]:
    for word in cause.split():
        yield word.rstrip(":")


def _is_source(line: str) -> bool:
    """Whether a line of feedback quotes the code: ``    3 | x = 1``."""
    number, bar, _ = line.strip().partition(" | ")
    return bool(bar) and number.isdecimal()
