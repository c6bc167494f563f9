"""Errors of patterns."""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.errors import AgenticError


class PatternError(AgenticError):
    """Base class of the errors of patterns."""


class InvalidPatternError(PatternError, ValueError):
    """A pattern cannot be built as it is described."""

    def __init__(self, pattern: str, fault: str) -> None:
        super().__init__(f"pattern {pattern!r}: {fault}")
        self.pattern = pattern


class UnknownParticipantError(PatternError, LookupError):
    """A selector, a manager or a participant named an unknown participant."""

    def __init__(self, by: str, name: str, known: Sequence[str]) -> None:
        super().__init__(f"{by} named {name[:100]!r}, who does not take part (known: {', '.join(known)})")
        self.name = name
        self.known = tuple(known)


class SelectorMisfitError(PatternError):
    """A selector cannot choose among these participants."""


class AggregationError(PatternError):
    """An aggregator refuses the answers."""


class TooManyFailuresError(AggregationError):
    """Too many participants failed."""

    def __init__(self, failed: Sequence[str], participant_count: int) -> None:
        super().__init__(
            f"{len(failed)} of {participant_count} participants failed ({'; '.join(failed)}); mend them and "
            "resume the run, or accept fewer answers with an aggregator of your own"
        )
        self.failed = tuple(failed)
        self.participant_count = participant_count
