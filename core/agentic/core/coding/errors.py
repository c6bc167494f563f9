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


class BadPlanError(CodingError, ValueError):
    """A model made no valid plan, or a plan cannot be carried out."""

    def __init__(self, executor_id: str, reason: str) -> None:
        super().__init__(
            f"{executor_id!r} has no plan that it can use: {reason}; change the task, or send a CodePlan"
        )
        self.executor_id = executor_id
        self.reason = reason


class NeedsGraphError(CodingError, AttributeError):
    """An executor needs a part of its context that only a run of a graph has."""

    def __init__(self, executor_id: str, needed: str) -> None:
        super().__init__(
            f"executor {executor_id!r} needs ctx.{needed}, which only a graph has; run it as a node of "
            "a workflow"
        )
        self.executor_id = executor_id
        self.needed = needed


class WrongResultError(CodingError, TypeError):
    """An executor returned something that its place does not allow."""

    def __init__(self, executor_id: str, returned: object, wanted: str) -> None:
        super().__init__(
            f"executor {executor_id!r} returned a {type(returned).__name__}, but {wanted} is needed here; "
            "let its handler return that"
        )
        self.executor_id = executor_id


class NoCandidateError(CodingError):
    """Every candidate of an arbiter failed."""

    def __init__(self, executor_id: str, failures: Sequence[str]) -> None:
        super().__init__(
            f"{executor_id!r} has nothing to choose from: all candidates failed: {'; '.join(failures)}"
        )
        self.failures = tuple(failures)


class NoRollbackPointError(CodingError, LookupError):
    """A run cannot go back to a superstep."""

    def __init__(self, run_id: str, superstep: int, possible: Sequence[int]) -> None:
        known = ", ".join(map(str, possible)) or "none: its earlier checkpoints were not kept"
        super().__init__(
            f"run {run_id!r} cannot go back to the beginning of superstep {superstep} (possible: {known})"
        )
        self.run_id = run_id
        self.superstep = superstep
        self.possible = tuple(possible)
