"""Findings in code: reports of a compiler, a linter or a test, by file and line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

MAX_TEXT_CHARS = 2_000
MAX_NAME_CHARS = 300
MAX_FINDINGS = 200
_SHOWN = 20


class FindingLevel(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    WARNING = "warning"


def _short(name: str) -> str:
    return name[:MAX_NAME_CHARS]


FindingName = Annotated[str, AfterValidator(_short)]
"""A name that a program can make as long as it likes, cut."""


class CodeFinding(BaseModel):
    """A finding of a tool. Its names are cut after 300 characters.

    Attributes:
        file: Name of the file; empty if it concerns no file.
        line: From 1; 0 if it is not known.
        column: From 1; 0 if it is not known.
        code: The tool's code, such as ``TS2322`` or ``E0308``; the class of a test's failure.
        text: The tool's words, cut.
        test: Name of the test that failed.
        level: How bad it is.
    """

    __wire_name__ = "agentic.coding.CodeFinding"

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: FindingName = ""
    line: int = Field(default=0, ge=0)
    column: int = Field(default=0, ge=0)
    code: FindingName = ""
    text: str
    test: FindingName = ""
    level: FindingLevel = FindingLevel.ERROR

    @property
    def place(self) -> str:
        """The place, as ``main.py:3:5``."""
        numbers = f":{self.line}:{self.column}" if self.column else f":{self.line}" if self.line else ""
        return f"{self.file}{numbers}" if self.file else ""

    def __str__(self) -> str:
        parts = [part for part in (self.place, self.code, self.test and f"test {self.test}") if part]
        return f"{' '.join(parts)}: {self.text}" if parts else self.text


def cut(text: str) -> str:
    """Return a text of a tool, not too long."""
    text = text.strip()
    return text if len(text) <= MAX_TEXT_CHARS else f"{text[:MAX_TEXT_CHARS]}..."


def feedback_of(summary: str, findings: Sequence[CodeFinding], files: Mapping[str, str]) -> str:
    """Return findings as text for a model, each with its line of code.

    Args:
        summary: The first sentence.
        findings: The findings; the first twenty are shown.
        files: Name -> text of the code.
    """
    lines = [summary]
    for finding in findings[:_SHOWN]:
        lines.append(f"- {finding}")
        source = files.get(finding.file, "").split("\n")
        if 0 < finding.line <= len(source) and source[finding.line - 1].strip():
            lines.append(f"    {finding.line} | {source[finding.line - 1][:200]}")
    if len(findings) > _SHOWN:
        lines.append(f"({len(findings) - _SHOWN} more)")
    return "\n".join(lines)
