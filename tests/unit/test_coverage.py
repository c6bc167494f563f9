"""`make coverage` measures every package, and fails when tests reach too little of one."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from tests.coverage_report import main

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.requirement("SC05")


def test_every_package_is_measured_with_its_branches_and_in_every_process() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["coverage"]["run"]
    rooms = sorted(f"agentic.{path.parent.name}" for path in ROOT.glob("*/agentic/*/py.typed"))
    assert config["source_pkgs"] == rooms
    assert config["branch"] is config["parallel"] is True
    assert {"subprocess", "fork"} <= set(config["patch"])
    assert "tests/coverage_report.py" in (ROOT / "Makefile").read_text(encoding="utf-8")


def counted(
    lines: int, covered_lines: int, branches: int = 0, covered_branches: int = 0
) -> dict[str, object]:
    return {
        "summary": {
            "num_statements": lines,
            "covered_lines": covered_lines,
            "num_branches": branches,
            "covered_branches": covered_branches,
        }
    }


@pytest.mark.parametrize(
    ("files", "code", "low"),
    [
        ({"core/agentic/core/graph/names.py": counted(100, 90, 10, 5)}, 0, ""),
        (
            {"core/agentic/core/graph/names.py": counted(100, 90, 100, 69)},
            1,
            "agentic.core, agentic.core.graph",
        ),
        (
            {
                "core/agentic/core/graph/names.py": counted(900, 900),
                "core/agentic/core/bus/bus.py": counted(10, 7),
                "core/agentic/core/ids.py": counted(1, 0),
            },
            1,
            "agentic.core.bus",
        ),
        (
            {"mappers/agentic/mappers/sql.py": counted(10, 8), "x/agentic/fakes/__init__.py": counted(0, 0)},
            0,
            "",
        ),
        ({}, 1, ""),
    ],
)
def test_a_package_of_which_tests_reach_less_than_80_percent_fails(
    files: dict[str, object], code: int, low: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "coverage.json"
    report.write_text(json.dumps({"files": files}), encoding="utf-8")
    assert main([str(report)]) == code
    assert capsys.readouterr().err.partition(";")[0] == (f"below 80 %: {low}" if low else "")
