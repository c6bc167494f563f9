"""Reports of tests as JSON of jest, which vitest writes, too."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from pathlib import PurePosixPath

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agentic.core.coding.findings import MAX_FINDINGS, CodeFinding, cut
from agentic.core.coding.languages.junit import MAX_REPORT_BYTES
from agentic.core.coding.languages.language import CheckReport
from agentic.core.linear import LinearPattern
from agentic.core.sandbox import SandboxResult

JEST_REPORT = "report.json"
_SUITE = "suite"
_FRAME = LinearPattern(r"^\s+at ")
_COLOR = LinearPattern(r"\x1b\[[0-9;]{0,20}m")
_SUITE_FAILED = "● Test suite failed to run"


class _Place(BaseModel):
    line: int = Field(default=0, ge=0)
    column: int = Field(default=0, ge=0)


class _Test(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    name: str = Field(alias="fullName")
    status: str
    messages: tuple[str, ...] = Field(default=(), alias="failureMessages")
    location: _Place | None = None


class _Suite(BaseModel):
    name: str
    status: str
    message: str = ""
    tests: tuple[_Test, ...] = Field(default=(), alias="assertionResults")


class _Report(BaseModel):
    total: int = Field(alias="numTotalTests", ge=0)
    passed: int = Field(alias="numPassedTests", ge=0)
    failed: int = Field(alias="numFailedTests", ge=0)
    suites: tuple[_Suite, ...] = Field(alias="testResults")


def read_jest(result: SandboxResult, name: str = JEST_REPORT, *, is_filtered: bool = False) -> CheckReport:
    """Return the counts and failures of a report.

    A file that could not be loaded counts as a test that failed. A report without a test that ran is not
    whole: code that runs no test has not passed.

    Args:
        result: The result of a runner.
        name: Name of the report.
        is_filtered: Whether only some tests were to run: then those that did not run are not counted.
    """
    content = result.files.get(name, b"")
    if not content or len(content) > MAX_REPORT_BYTES:
        return CheckReport(is_whole=False)
    try:
        report = _Report.model_validate_json(content)
    except ValidationError:
        return CheckReport(is_whole=False)
    broken = [suite for suite in report.suites if _is_broken(suite)]
    findings = [finding for suite in report.suites for finding in _findings(suite)]
    failed = report.failed + len(broken)
    ran = report.passed + failed
    return CheckReport(
        findings=tuple(findings[:MAX_FINDINGS]),
        test_count=ran if is_filtered else max(ran, report.total + len(broken)),
        tests_passed=report.passed,
        tests_failed=failed,
        is_whole=ran > 0,
    )


def _is_broken(suite: _Suite) -> bool:
    """Whether a file failed without a test that did."""
    return suite.status == "failed" and not any(test.status == "failed" for test in suite.tests)


def _findings(suite: _Suite) -> Iterator[CodeFinding]:
    file = PurePosixPath(suite.name).name
    if _is_broken(suite):
        yield CodeFinding(file=file, code=_SUITE, text=_text(suite.message))
    for test in suite.tests:
        if test.status == "failed":
            place = test.location or _Place()
            kind, text = _kind("\n".join(test.messages))
            yield CodeFinding(
                file=file, line=place.line, column=place.column, code=kind, text=_text(text), test=test.name
            )


def _kind(message: str) -> tuple[str, str]:
    """Return the class of an error, if the message begins with it, and the rest."""
    kind, colon, rest = message.partition(":")
    return (kind, rest) if colon and kind.isidentifier() else ("", message)


def _text(message: str) -> str:
    """Return a message without its stack, which is about the runner."""
    lines = _COLOR.sub("", message).strip().removeprefix(_SUITE_FAILED).split("\n")
    kept = takewhile(lambda line: not _FRAME.occurs_in(line), lines)
    return cut("\n".join(kept)) or "it failed without a message"
