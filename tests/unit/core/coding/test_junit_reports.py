"""Reports that hostile programs write in place of the runner's."""

from __future__ import annotations

import pytest

from agentic.core.coding import CheckReport, read_junit
from agentic.core.sandbox import Ending, SandboxResult

PASSED = '<testsuites><testcase name="it"/></testsuites>'


def read(content: bytes) -> CheckReport:
    return read_junit(SandboxResult(exit_code=0, ended=Ending.EXITED, files={"report.xml": content}))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_report_with_a_declaration_is_not_read_in_any_encoding(encoding: str) -> None:
    head = f'<?xml version="1.0" encoding="{encoding}"?>'
    assert read(f"{head}{PASSED}".encode()).is_whole
    assert not read(f'{head}<!DOCTYPE a [<!ENTITY b "c">]>{PASSED}'.encode(encoding)).is_whole


@pytest.mark.parametrize(
    "content", [b"", b"<a", b"\xff", b"<a/>", b"<a><testcase><skipped/></testcase></a>", b"<a>" * 200_000]
)
def test_a_report_without_a_test_that_ran_is_not_whole(content: bytes) -> None:
    assert not read(content).is_whole


def test_names_of_tests_are_cut() -> None:
    name = "a" * 100_000
    cases = f'<testcase name="{name}" file="{name}"><failure type="{name}"/></testcase>' * 3
    for finding in read(f"<a>{cases}</a>".encode()).findings:
        assert len(str(finding)) < 2_000
