"""The errors of a pipeline as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentic.core.actors import ActorError, Failure, PipelineError


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One error in a spec.

    Attributes:
        message: The error, with the value, and a correct alternative.
        place: Keys and indexes that lead there: ``("steps", 2, "config")``; empty for the spec as a whole.
        line: Line in its text, from 1; None if unknown.
        column: Column in that line, from 1; None if unknown.
    """

    message: str
    place: tuple[str | int, ...] = ()
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        column = f" column {self.column}" if self.column is not None else ""
        line = f"line {self.line}{column}" if self.line is not None else ""
        where = ", ".join(filter(None, (shown_place(self.place), line)))
        return f"{where}: {self.message}" if where else self.message


def shown_place(place: Sequence[str | int]) -> str:
    """Return a place as people write it: ``steps[2].config``."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return "".join(parts).removeprefix(".")


class SpecError(PipelineError, ValueError):
    """A pipeline spec cannot be used; ``faults`` holds every reason.

    Args:
        source: The file, or the name of the pipeline.
        faults: At least one.
    """

    def __init__(self, source: str, faults: Sequence[Fault]) -> None:
        many = f" {len(faults)} faults:" + "".join(f"\n  - {fault}" for fault in faults)
        super().__init__(f"pipeline {source} is invalid:{many if len(faults) > 1 else f' {faults[0]}'}")
        self.source = source
        self.faults = tuple(faults)


class PipelineInputError(PipelineError, ValueError):
    """The inputs of a pipeline are not the declared ones."""

    def __init__(self, pipeline: str, faults: Sequence[str]) -> None:
        super().__init__(f"inputs of pipeline {pipeline!r}: {'; '.join(faults)}")
        self.pipeline = pipeline
        self.faults = tuple(faults)


class StepFailedError(ActorError):
    """A step failed for good: no rule of ``error_handling`` helps any further."""

    def __init__(self, step: str, failure: Failure, attempt_count: int) -> None:
        tries = "1 attempt" if attempt_count == 1 else f"{attempt_count} attempts"
        super().__init__(
            f"step {step!r} failed after {tries} ({failure.failure_class}): {failure.message}; a rule for "
            f"{failure.failure_class!r} in error_handling can retry or skip it",
            failure_class=failure.failure_class,
            status=failure.status,
            retry_after_s=failure.retry_after_s,
        )
        self.step = step
        self.attempt_count = attempt_count
