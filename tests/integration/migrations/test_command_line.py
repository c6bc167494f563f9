"""The commands as a user runs them, also several at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

Agentic = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def agentic(tmp_path: Path) -> Agentic:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("AGENTIC_")}
    environment["AGENTIC_HOME"] = str(tmp_path / "home")

    def start(*arguments: str, **extra: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", "from agentic.core.cli.main import main; main()", *arguments],
            env=environment | extra,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


@pytest.mark.requirement("BR10")
def test_a_fresh_machine_gets_its_database_by_one_command(agentic: Agentic) -> None:
    check = agentic("db", "check")
    _, complaint = check.communicate()
    assert check.returncode == 1
    assert "run `agentic db upgrade`" in complaint
    assert "Traceback" not in complaint

    upgrade = agentic("db", "upgrade", "--json")
    applied, noise = upgrade.communicate()
    assert (upgrade.returncode, noise) == (0, "")
    assert json.loads(applied)[0]["revision"] == "0001"

    check = agentic("db", "check")
    check.communicate()
    assert check.returncode == 0


def test_upgrades_at_once_apply_each_migration_once(agentic: Agentic) -> None:
    started = [agentic("db", "upgrade", "--json") for _ in range(4)]
    answers = [process.communicate() for process in started]
    assert [process.returncode for process in started] == [0] * 4, answers
    applied = [
        step["revision"] for out, _ in answers for step in json.loads(out) if step["history"] == "core"
    ]
    assert applied == ["0001", "0002"]


def test_a_database_that_cannot_be_reached_ends_with_its_own_code(agentic: Agentic, tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database at all, " * 100)
    process = agentic("db", "check", AGENTIC_DATABASE_URL=f"sqlite:///{tmp_path / 'text.db'}")
    _, complaint = process.communicate()
    assert process.returncode == 3
    assert "file is not a database" in complaint
    assert "Traceback" not in complaint
