"""Reports of tests as JUnit XML, which pytest, node and Rust's runner write."""

from __future__ import annotations

from pathlib import PurePosixPath
from xml.etree import ElementTree as ET

from agentic.core.coding.findings import MAX_FINDINGS, MAX_TEXT_CHARS, CodeFinding, cut
from agentic.core.coding.languages.language import CheckReport
from agentic.core.linear import LinearPattern
from agentic.core.sandbox import SandboxResult

REPORT = "report.xml"
MAX_REPORT_BYTES = 4 * 1024 * 1024
_RAISED, _TRACEBACK = "E   ", "Traceback (most recent call last):"
_FRAME = LinearPattern(r"/([\w.-]{1,100}):(\d{1,9}):(\d{1,9})\b")


def read_junit(
    result: SandboxResult, name: str = REPORT, *, whole_files: tuple[str, ...] = ()
) -> CheckReport:
    """Return the counts and failures of a report.

    A report without a test that ran is not whole: code that runs no test has not passed.

    Args:
        result: The result of a runner.
        name: Name of the report.
        whole_files: Names of files: the runner reports one without tests as a test that passed, and has the
            places of failures only in their stacks.
    """
    content = result.files.get(name, b"")
    text = result.text_of(name)
    # Declarations could make a small text large; no runner writes any.
    if not content or len(content) > MAX_REPORT_BYTES or "<!DOCTYPE" in text or "<!ENTITY" in text:
        return CheckReport(is_whole=False)
    try:
        root = ET.fromstring(text)  # noqa: S314 - without declarations, and of bounded length
    except (ET.ParseError, ValueError, LookupError):
        return CheckReport(is_whole=False)
    found = [(case, _failure_of(case)) for case in root.iter("testcase")]
    failed = [(case, failure) for case, failure in found if failure is not None]
    cases = [case for case, failure in found if case.get("name") not in whole_files or failure is not None]
    skipped = sum(case.find("skipped") is not None for case in cases)
    return CheckReport(
        findings=tuple(_finding(*one, whole_files) for one in failed[:MAX_FINDINGS]),
        test_count=len(cases),
        tests_passed=len(cases) - len(failed) - skipped,
        tests_failed=len(failed),
        is_whole=len(cases) > skipped,
    )


def _failure_of(case: ET.Element) -> ET.Element | None:
    for kind in ("failure", "error"):
        if (found := case.find(kind)) is not None:
            return found
    return None


def _finding(case: ET.Element, failure: ET.Element, files: tuple[str, ...]) -> CodeFinding:
    place = {"file": PurePosixPath(case.get("file", "")).name, "line": _number(case.get("line", ""))}
    frames = _FRAME.finditer(failure.text or "") if files else iter(())
    if (frame := next((one for one in frames if one[1] in files), None)) is not None:
        place = {"file": frame[1], "line": int(frame[2]), "column": int(frame[3])}
    return CodeFinding.model_validate(
        {
            **place,
            "code": failure.get("type", ""),
            "text": cut(_words_of(failure) or _output_of(case)) or "it failed without a message",
            "test": case.get("name", ""),
        }
    )


def _words_of(failure: ET.Element) -> str:
    message, text = failure.get("message") or "", (failure.text or "").strip()
    if failure.tag == "error":
        # pytest has the exception of a file that cannot be imported only here, after its traceback.
        raised = [line.removeprefix(_RAISED) for line in text.split("\n") if line.startswith(_RAISED)]
        if not raised and _TRACEBACK in text:
            raised = [text.rpartition("\n")[2]]
        raised.sort(key=lambda line: line.startswith(" "))  # the place of a syntax error is before its text
        if raised and raised[0] not in message:
            return "\n".join(raised)
    return message or text


def _output_of(case: ET.Element) -> str:
    """Return the end of the output of a test: its failure comes last."""
    found = case.find("system-out")
    return "" if found is None else (found.text or "").strip()[-MAX_TEXT_CHARS:]


def _number(text: str) -> int:
    return int(text) + 1 if text.isascii() and text.isdecimal() and len(text) < 9 else 0
