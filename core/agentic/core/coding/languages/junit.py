"""Reports of tests as JUnit XML, which pytest, node and Rust's runner write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from xml.etree import ElementTree as ET

from agentic.core.coding.findings import MAX_FINDINGS, CodeFinding, cut
from agentic.core.coding.languages.language import CheckReport
from agentic.core.sandbox import SandboxResult

REPORT = "report.xml"
MAX_REPORT_BYTES = 4 * 1024 * 1024


def read_junit(
    result: SandboxResult, name: str = REPORT, *, whole_files: tuple[str, ...] = ()
) -> CheckReport:
    """Return the counts and failures of a report.

    A report without tests is not whole: code that runs no test has not passed.

    Args:
        result: The result of a runner.
        name: Name of the report.
        whole_files: Names of files: the runner reports one without tests as a test that passed.
    """
    content = result.files.get(name, b"")
    # Declarations could make a small text large; no runner writes any.
    if not content or len(content) > MAX_REPORT_BYTES or b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        return CheckReport(is_whole=False)
    try:
        root = ET.fromstring(content)  # noqa: S314 - without declarations, and of bounded length
    except (ET.ParseError, ValueError, LookupError):
        return CheckReport(is_whole=False)
    found = list(root.iter("testcase"))
    cases = [case for case in found if case.get("name") not in whole_files or _failure_of(case) is not None]
    failed = [case for case in cases if _failure_of(case) is not None]
    skipped = sum(case.find("skipped") is not None for case in cases)
    return CheckReport(
        findings=tuple(_findings(failed))[:MAX_FINDINGS],
        test_count=len(cases),
        tests_passed=len(cases) - len(failed) - skipped,
        tests_failed=len(failed),
        is_whole=bool(cases),
    )


def _failure_of(case: ET.Element) -> ET.Element | None:
    for kind in ("failure", "error"):
        if (found := case.find(kind)) is not None:
            return found
    return None


def _findings(cases: list[ET.Element]) -> Iterator[CodeFinding]:
    for case in cases:
        failure = _failure_of(case)
        if failure is None:
            continue
        said = failure.get("message") or failure.text or _output_of(case)
        yield CodeFinding(
            file=PurePosixPath(case.get("file", "")).name,
            line=_number(case.get("line", "")),
            code=failure.get("type", ""),
            text=cut(said) or "it failed without a message",
            test=case.get("name", ""),
        )


def _output_of(case: ET.Element) -> str:
    found = case.find("system-out")
    return "" if found is None else found.text or ""


def _number(text: str) -> int:
    return int(text) + 1 if text.isascii() and text.isdecimal() and len(text) < 9 else 0
