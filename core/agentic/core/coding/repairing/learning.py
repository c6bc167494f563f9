"""Compares a draft with the next one: which errors are gone, and which change mended them. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from itertools import islice

from pydantic import BaseModel, ConfigDict

from agentic.core.coding.errors import UnknownLanguageError
from agentic.core.coding.findings import CodeFinding
from agentic.core.coding.fingerprints import normalized
from agentic.core.coding.languages.registry import find_language
from agentic.core.coding.messages import ValidatorOutput
from agentic.core.coding.repairing.lessons import Lesson
from agentic.core.linear import LinearPattern
from agentic.core.linear.pattern import Match
from agentic.core.masking import MASK, mask_known

MAX_LINES = 2_000
"""Longer drafts teach nothing: to compare them takes too long."""
_MAX_CHARS = 100_000
_MAX_FAULTS = 20
_MAX_ERROR_CHARS, _MAX_CHANGE_CHARS = 500, 2_000
_NEAR = 3
"""Lines between an error and the change that mended it."""

_KEY = LinearPattern(r"[A-Za-z0-9+/_=-]{20,}")


class FailedDraft(BaseModel):
    """A draft that failed.

    Attributes:
        code: Its text; empty if it is too long.
        position: Position of the check that it failed.
        findings: The faults in it, without failed tests: these are about one program only.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    code: str
    position: int
    findings: tuple[CodeFinding, ...]


def draft_of(output: ValidatorOutput, position: int) -> FailedDraft | None:
    """Return the draft of an output, if the next one can teach something."""
    is_long = len(output.code) > _MAX_CHARS or output.code.count("\n") > MAX_LINES
    if output.passed or is_long:
        return None
    files = {"", _file_of(output.language)}
    found = (one for one in output.findings if one.line and not one.test and one.file in files)
    findings = tuple(islice(found, _MAX_FAULTS))
    return FailedDraft(code=output.code, position=position, findings=findings) if findings else None


def lessons_of(before: FailedDraft | None, output: ValidatorOutput, position: int) -> list[Lesson]:
    """Return the lessons of a draft that follows another one.

    An error is mended if the draft came to the same check at least, and does not have it there.

    Args:
        before: The draft before.
        output: Of the last check of this draft.
        position: Position of that check.
    """
    if before is None or position < before.position or len(output.code) > _MAX_CHARS:
        return []
    is_past = output.passed or position > before.position
    still = set() if is_past else {cause_of(one) for one in output.findings}
    mended = {cause_of(one): one for one in before.findings if cause_of(one) not in still}
    old, new = before.code.splitlines(), output.code.splitlines()
    if not mended or len(new) > MAX_LINES:
        return []
    hunks = list(_hunks(old, new))
    return [
        _lesson(output.language, cause, finding, change)
        for cause, finding in mended.items()
        if (change := _change_near(finding.line, hunks))
    ]


def _lesson(language: str, cause: str, finding: CodeFinding, change: str) -> Lesson:
    error = without_secrets(f"{finding.code}: {finding.text}" if finding.code else finding.text)
    return Lesson(
        language=language,
        cause=cause,
        error=" ".join(error.split())[:_MAX_ERROR_CHARS],
        change=without_secrets(change)[:_MAX_CHANGE_CHARS],
    )


def _change_near(line: int, hunks: list[tuple[int, int, str]]) -> str:
    return "\n".join(text for first, last, text in hunks if first - _NEAR <= line <= last + _NEAR)


def cause_of(finding: CodeFinding) -> str:
    """Return the fingerprint of a single finding, without secrets."""
    return normalized(without_secrets(str(finding).split("\n", maxsplit=1)[0]))


def _file_of(language: str) -> str:
    try:
        return find_language(language).file
    except UnknownLanguageError:
        return ""


def without_secrets(text: str) -> str:
    """Return a text without known secrets, and without words that look like keys."""
    return _KEY.sub(_masked, mask_known(text))


def _masked(found: Match) -> str:
    word = found.whole
    is_key = any(sign.isdigit() for sign in word) and any(sign.isalpha() for sign in word)
    return MASK if is_key else word


def _hunks(old: list[str], new: list[str]) -> Iterator[tuple[int, int, str]]:
    """Yield the changes: first and last line in the old text, from 1, and the lines of a diff."""
    matcher = difflib.SequenceMatcher(None, old, new)
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        if tag != "equal":
            removed = [f"-{line}" for line in old[start:end]]
            added = [f"+{line}" for line in new[new_start:new_end]]
            yield start + 1, max(end, start + 1), "\n".join([*removed, *added])
