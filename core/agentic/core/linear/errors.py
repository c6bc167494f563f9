"""Errors of regular expressions."""

from __future__ import annotations

from agentic.core.errors import AgenticError


class LinearRegexError(AgenticError, ValueError):
    """A pattern that cannot be matched in linear time, or that is not a regular expression."""

    def __init__(self, pattern: str, reason: str) -> None:
        shown = pattern if len(pattern) <= 200 else f"{pattern[:200]}..."
        super().__init__(f"the regular expression {shown!r} cannot be used: {reason}")
        self.pattern = pattern
        self.reason = reason


class RegexTooCostlyError(AgenticError, ValueError):
    """A pattern is too large for a text of that length."""

    def __init__(self, pattern: str, characters: int) -> None:
        shown = pattern if len(pattern) <= 200 else f"{pattern[:200]}..."
        super().__init__(
            f"the regular expression {shown!r} is too large for a text of {characters:,} characters; "
            f"lower the counts in its braces, or select a smaller element"
        )
        self.pattern = pattern
        self.characters = characters
