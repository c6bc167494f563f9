"""The errors of evaluations."""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.errors import AgenticError
from agentic.core.llm.usage import TokenUsage
from agentic.core.pipeline.errors import Fault


class EvalError(AgenticError):
    """An evaluation cannot be run, or compared."""


class EvalSpecError(EvalError, ValueError):
    """An evaluation cannot be used; ``faults`` holds every reason.

    Args:
        source: The file, or the name of the evaluation.
        faults: At least one.
    """

    def __init__(self, source: str, faults: Sequence[Fault]) -> None:
        many = f" {len(faults)} faults:" + "".join(f"\n  - {fault}" for fault in faults)
        super().__init__(f"evaluation {source} is invalid:{many if len(faults) > 1 else f' {faults[0]}'}")
        self.source = source
        self.faults = tuple(faults)


class CasesError(EvalError, ValueError):
    """Cases cannot be read, or do not fit their evaluators."""


class UnansweredError(EvalError):
    """A task gave no answer to a case.

    Args:
        failure_class: Why, in a word: ``needs_input``, ``stopped``, ...
        reason: Why, for people.
        usage: Of models, until then.
    """

    def __init__(self, failure_class: str, reason: str, usage: TokenUsage | None = None) -> None:
        super().__init__(reason)
        self.failure_class = failure_class
        self.usage = usage


class NotRecordedError(EvalError, LookupError):
    """Replies are replayed, and this try of a case has none."""

    failure_class = "not_recorded"
    is_retriable = False

    def __init__(self, model: str, folder: str) -> None:
        super().__init__(
            f"no reply of {model} is recorded for this try; run the evaluation once with --record "
            f"(looked in {folder})"
        )
        self.model = model
        self.folder = folder
