"""Reports that vitest 5.1.1 and jest 30.5.2 wrote in a sandbox, but for the name of its folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentic.core.coding import read_jest
from agentic.core.sandbox import Ending, SandboxResult
from agentic.core.sandbox.process.arguments import WORK

RECORDED = (Path(__file__).parent / "data" / "test_reports.json").read_text(encoding="utf-8")
REPORTS = json.loads(RECORDED.replace("{work}", WORK))


def written(content: bytes) -> SandboxResult:
    return SandboxResult(exit_code=1, ended=Ending.EXITED, files={"report.json": content})


@pytest.mark.parametrize(
    ("name", "counts", "finding"),
    [
        ("vitest-passed", (1, 1, 0), None),
        ("jest-passed", (1, 1, 0), None),
        ("vitest-failed", (3, 1, 1), ("AssertionError", 5, "expected 2 to be 3 // Object.is equality")),
        (
            "jest-failed",
            (3, 1, 1),
            ("Error", 5, "expect(received).toBe(expected) // Object.is equality\n\nExpected: 3"),
        ),
        ("vitest-broken", (1, 0, 1), ("suite", 0, "at once")),
        ("jest-broken", (1, 0, 1), ("suite", 0, "RangeError: at once")),
        (
            "vitest-unloadable",
            (1, 0, 1),
            ("suite", 0, "Transform failed with 1 error:\n\n[PARSE_ERROR] Expected `}`"),
        ),
        ("jest-unloadable", (1, 0, 1), ("suite", 0, "Jest encountered an unexpected token")),
        ("vitest-empty", (1, 0, 1), ("suite", 0, "No test suite found")),
        ("jest-empty", (1, 0, 1), ("suite", 0, "Your test suite must contain at least one test.")),
        ("vitest-process_exit", (1, 0, 1), ("suite", 0, "process.exit unexpectedly called")),
    ],
)
def test_counts_and_failures_come_from_the_report(
    name: str, counts: tuple[int, int, int], finding: tuple[str, int, str] | None
) -> None:
    report = read_jest(written(json.dumps(REPORTS[name]).encode()))
    assert report.is_whole
    assert (report.test_count, report.tests_passed, report.tests_failed) == counts
    assert len(report.findings) == (finding is not None)
    if finding is not None:
        (found,) = report.findings
        assert (found.file, found.code, found.line) == ("main.test.ts", *finding[:2])
        assert found.text.startswith(finding[2])
        assert "    at " not in found.text
        assert found.test == ("double three" if finding[1] else "")


@pytest.mark.parametrize("runner", ["vitest", "jest"])
def test_tests_that_a_filter_left_out_are_not_counted(runner: str) -> None:
    content = json.dumps(REPORTS[f"{runner}-failed"]).encode()
    assert read_jest(written(content), is_filtered=True).test_count == 2


def test_a_report_without_a_test_that_ran_is_not_whole() -> None:
    skipped = {"numTotalTests": 2, "numPassedTests": 0, "numFailedTests": 0, "testResults": []}
    assert not read_jest(written(json.dumps(skipped).encode())).is_whole


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"null",
        b"[]",
        b"{}",
        b"[" * 100_000,
        b'{"numTotalTests": -1}',
        b'{"numTotalTests": 1e999}',
    ],
)
def test_any_other_file_is_not_a_report(content: bytes) -> None:
    assert not read_jest(written(content)).is_whole
    assert not read_jest(SandboxResult(exit_code=1, ended=Ending.EXITED)).is_whole


def test_a_report_of_many_failures_stays_small() -> None:
    tests = [{"fullName": "t", "status": "failed", "failureMessages": ["x" * 3_000]}] * 1_000
    suite = {"name": "/a/main.test.ts", "status": "failed", "assertionResults": tests}
    said = {"numTotalTests": 1_000, "numPassedTests": 0, "numFailedTests": 1_000, "testResults": [suite]}
    report = read_jest(written(json.dumps(said).encode()))
    assert (len(report.findings), report.tests_failed) == (200, 1_000)
    assert max(len(one.text) for one in report.findings) < 2_100
