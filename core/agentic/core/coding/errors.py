"""Errors of code workers."""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.errors import AgenticError


class CodingError(AgenticError):
    """A code worker cannot do its work. Faults of the code are findings, not errors."""


class UnknownLanguageError(CodingError, LookupError):
    """No plugin describes a language of that name."""

    def __init__(self, language: str, known: Sequence[str]) -> None:
        super().__init__(
            f"the language {language!r} is not known (known: {', '.join(known)}); a plugin describes others "
            "by the hook agentic_languages"
        )
        self.language = language
        self.known = tuple(known)


class NoCodeError(CodingError, ValueError):
    """A model replied without code."""

    def __init__(self, executor_id: str, reply: str) -> None:
        super().__init__(
            f"the reply of the model to {executor_id!r} contains no code, but: {reply[:200]!r}; "
            "ask for one code block in its prompt"
        )
        self.reply = reply


class MixedLanguagesError(CodingError, ValueError):
    """Parts of different languages cannot be one program."""

    def __init__(self, language: str, part: str, other: str) -> None:
        super().__init__(
            f"the part {part!r} is {other}, but the program is {language}; assemble each language by itself"
        )
        self.part = part


class ChildFailedError(CodingError):
    """A child workflow did not succeed."""

    def __init__(self, executor_id: str, reason: str) -> None:
        super().__init__(
            f"the child workflow of {executor_id!r} failed: {reason}; mend it, or set "
            "fail_on_child_failure=False"
        )
        self.reason = reason
