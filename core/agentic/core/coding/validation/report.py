"""The report of several validators on one program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from agentic.core.coding.messages import CodingMessage, TestOutput, ValidatorOutput


class ValidationMode(StrEnum):
    """Whether the validators after a failed one still run."""

    FAIL_FAST = "fail_fast"
    ALL = "all"


class ValidatorVerdict(CodingMessage):
    """The verdict of one validator in a report.

    Attributes:
        validator: Its id.
        passed: Whether it accepted the code.
        error_count: Its findings if it did not accept the code, else 0.
        test_count: Tests that ran; 0 for other validators.
        tests_passed: Tests that passed.
        execution_time_ms: Time of its run.
    """

    __wire_name__ = "agentic.coding.ValidatorVerdict"

    validator: str
    passed: bool
    error_count: int = 0
    test_count: int = 0
    tests_passed: int = 0
    execution_time_ms: int = 0


class ValidationReport(ValidatorOutput):
    """The result of several validators: all that one of them reports, for all of them together.

    ``errors``, ``findings`` and ``feedback`` are of all validators, in their order, and
    ``execution_time_ms`` is the sum.

    Attributes:
        verdicts: One for each validator that ran, in their order.
        skipped: The validators that did not run, because an earlier one had failed.
    """

    __wire_name__ = "agentic.coding.ValidationReport"

    verdicts: tuple[ValidatorVerdict, ...] = ()
    skipped: tuple[str, ...] = ()


def report_of(outputs: Mapping[str, ValidatorOutput], validators: Sequence[str]) -> ValidationReport:
    """Return the report of validators.

    Args:
        outputs: Id of a validator -> its output; at least one.
        validators: The ids of all of them, in order.
    """
    found = [(name, outputs[name]) for name in validators if name in outputs]
    first = found[0][1]
    skipped = tuple(name for name in validators if name not in outputs)
    return ValidationReport(
        code=first.code,
        language=first.language,
        tests=next((one.tests for _, one in found if one.tests), ""),
        passed=not skipped and all(one.passed for _, one in found),
        errors=tuple(error for _, one in found for error in one.errors),
        feedback="\n\n".join(one.feedback for _, one in found if one.feedback and not one.passed) or None,
        findings=tuple(finding for _, one in found for finding in one.findings),
        execution_time_ms=sum(one.execution_time_ms for _, one in found),
        verdicts=tuple(_verdict(name, one) for name, one in found),
        skipped=skipped,
    )


def _verdict(name: str, output: ValidatorOutput) -> ValidatorVerdict:
    counts = output if isinstance(output, TestOutput) else None
    return ValidatorVerdict(
        validator=name,
        passed=output.passed,
        error_count=len(output.errors),
        test_count=0 if counts is None else counts.test_count,
        tests_passed=0 if counts is None else counts.tests_passed,
        execution_time_ms=output.execution_time_ms,
    )
