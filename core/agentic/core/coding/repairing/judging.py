"""Judges drafts: which is the best so far, and whether another one makes sense. Pure."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from agentic.core.coding.messages import CodingMessage, TestOutput, ValidatorOutput
from agentic.core.llm import ErrorFingerprint

PATIENCE = 2
"""Drafts in a row that may change nothing: errors with one fingerprint differ in names and numbers."""
_UNCHANGED = "The same errors came back. Mend them in another way."


class RepairEnd(StrEnum):
    """Why a repair ended."""

    PASSED = "passed"
    STUCK = "stuck"
    ROUNDS = "rounds"


class RepairResult(ValidatorOutput):
    """The best draft of a repair: one that passed all checks, or the one that came furthest.

    Attributes:
        ended: Why the repair ended: ``passed``; ``stuck``, because the errors no longer changed; ``rounds``,
            because no round was left.
        rounds: Drafts that were written.
        best_round: The round of this draft, from 1.
        check: Name of the last check of this draft: the one that it failed, if it did not pass.
        fingerprints: Of the errors of each round; empty for a draft that passed.
        test_count: Tests of this draft.
        tests_passed: Tests that passed.
    """

    __wire_name__ = "agentic.coding.RepairResult"

    ended: RepairEnd = RepairEnd.ROUNDS
    rounds: int = 0
    best_round: int = 0
    check: str = ""
    fingerprints: tuple[str, ...] = ()
    test_count: int = 0
    tests_passed: int = 0


class RepairVerdict(CodingMessage):
    """The verdict on a draft. The edges of a :class:`RepairEngine` decide by ``ended``.

    Attributes:
        ended: Why the repair ends with this draft; None if it continues.
        code: The draft.
        errors: The errors of the draft.
        feedback: Text for the model.
        fingerprint: Of the errors of the draft.
        is_complex: Whether a fast model is not expected to mend them.
        best: The best draft so far.
    """

    __wire_name__ = "agentic.coding.RepairVerdict"

    ended: RepairEnd | None
    code: str
    errors: tuple[str, ...] = ()
    feedback: str = ""
    fingerprint: str = ""
    is_complex: bool = False
    best: RepairResult


class RepairState(BaseModel):
    """The memory of a repair: small, and stored with each round.

    Attributes:
        fingerprints: Of the errors of each round.
        failed_tests: Names of the tests that the last draft failed.
        unchanged: Rounds in a row that changed nothing.
        best: The best draft.
        score: Its score; greater is better.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    fingerprints: tuple[str, ...] = ()
    failed_tests: tuple[str, ...] = ()
    unchanged: int = Field(default=0, ge=0)
    best: RepairResult | None = None
    score: tuple[int, int, int] = (-1, 0, 0)


def judge(
    state: RepairState, output: ValidatorOutput, check: str, position: int, found: ErrorFingerprint
) -> tuple[RepairState, RepairVerdict]:
    """Return the state and the verdict after the checks of a draft.

    Args:
        state: After the draft before; a new one for the first draft.
        output: Of the last check of the draft: the first that it failed, or the last one of all.
        check: Name of the check.
        position: Position of the check, from 0.
        found: Fingerprint of the errors.
    """
    fingerprint = "" if output.passed else found.key
    score = score_of(output, position)
    is_better = score > state.score
    # Failures of different tests often have the same words, so the same fingerprint.
    failed_tests = tuple(sorted({one.test for one in output.findings if one.test}))
    is_same = state.fingerprints[-1:] == (fingerprint,) and state.failed_tests == failed_tests
    is_unchanged = is_same and not is_better
    unchanged = state.unchanged + 1 if is_unchanged else 0
    fingerprints = (*state.fingerprints, fingerprint)
    best = state.best
    if best is None or is_better:
        best = _result(output, check, len(fingerprints))
    best = best.model_copy(update={"rounds": len(fingerprints), "fingerprints": fingerprints})
    told = [output.feedback] if output.feedback else output.errors
    verdict = RepairVerdict(
        ended=_end(output, unchanged),
        code=output.code,
        errors=output.errors,
        feedback="\n".join(filter(None, [*told, _UNCHANGED if is_unchanged else ""])),
        fingerprint=fingerprint,
        is_complex=not output.passed and found.is_complex,
        best=best,
    )
    state = RepairState(
        fingerprints=fingerprints,
        failed_tests=failed_tests,
        unchanged=unchanged,
        best=best,
        score=max(score, state.score),
    )
    return state, verdict


def score_of(output: ValidatorOutput, position: int) -> tuple[int, int, int]:
    """Return how far a draft came: checks, then tests that passed, then few errors. Greater is better."""
    passed = output.tests_passed if isinstance(output, TestOutput) else 0
    return position + output.passed, passed, -len(output.errors)


def _result(output: ValidatorOutput, check: str, number: int) -> RepairResult:
    counts = (
        {"test_count": output.test_count, "tests_passed": output.tests_passed}
        if isinstance(output, TestOutput)
        else {}
    )
    facts = {name: getattr(output, name) for name in ValidatorOutput.model_fields}
    return RepairResult.model_validate({**facts, **counts, "check": check, "best_round": number})


def _end(output: ValidatorOutput, unchanged: int) -> RepairEnd | None:
    if output.passed:
        return RepairEnd.PASSED
    return RepairEnd.STUCK if unchanged >= PATIENCE else None
