"""The report that ``make requirements`` prints."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

REPORT = Path(__file__).resolve().parents[1] / "requirements_report.py"
pytestmark = pytest.mark.integration


def run_report(tests: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(REPORT), *options, str(tests)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def write_test(folder: Path, body: str) -> Path:
    (folder / "test_sample.py").write_text(f"import pytest\n\n{body}\n")
    return folder


def test_a_row_lists_its_tests_once_however_they_are_parametrized(tmp_path: Path) -> None:
    body = """
@pytest.mark.requirement("EX01", "BR10")
@pytest.mark.parametrize("n", [1, 2])
def test_it(n): pass
"""
    done = run_report(write_test(tmp_path, body), "--json")
    rows = json.loads(done.stdout)
    tested = {row["id"]: row["tests"] for row in rows if row["tests"]}
    assert done.returncode == 0
    assert len(rows) == 405
    assert list(tested) == ["EX01", "BR10"]
    assert [test.rpartition("/")[2] for test in tested["EX01"]] == ["test_sample.py::test_it"]


@pytest.mark.slow
def test_rows_without_tests_can_be_listed_alone(tmp_path: Path) -> None:
    body = '@pytest.mark.requirement("MC01")\ndef test_it(): pass'
    done = run_report(write_test(tmp_path, body), "--missing")
    assert "MCP: 1 of 1\n" in done.stdout
    assert "MC01" not in done.stdout
    assert "  EX01  -  Executor (node abstraction)\n" in done.stdout


def test_a_mark_that_names_no_row_fails_and_names_the_test(tmp_path: Path) -> None:
    done = run_report(write_test(tmp_path, '@pytest.mark.requirement("ZZ99")\ndef test_it(): pass'))
    assert done.returncode == 1
    assert "test_it names ZZ99, which is no row of docs/requirements.md" in done.stderr


@pytest.mark.slow
def test_tests_that_cannot_be_collected_fail_the_report(tmp_path: Path) -> None:
    done = run_report(write_test(tmp_path, "import no_such_module"))
    assert done.returncode == 1
    assert "no_such_module" in done.stderr
