"""The commands as a user runs them, also several at once."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.commands import start_command
from tests.databases import core_revisions, only_sqlite

pytestmark = pytest.mark.integration

Agentic = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def agentic(tmp_path: Path, backend: str, empty_url: str) -> Agentic:
    """Return a function that starts a command; on SQLite it works with the database in its home."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("AGENTIC_")}
    environment["AGENTIC_HOME"] = str(tmp_path / "home")
    if backend == "postgresql":
        environment["AGENTIC_DATABASE_URL"] = empty_url

    def start(*arguments: str, **extra: str) -> subprocess.Popen[str]:
        return start_command(arguments, environment | extra, Path())

    return start


@only_sqlite
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
    started = [agentic("db", "upgrade", "--json") for _ in range(3)]
    answers = [process.communicate() for process in started]
    assert [process.returncode for process in started] == [0] * 3, answers
    applied = [
        step["revision"] for out, _ in answers for step in json.loads(out) if step["history"] == "core"
    ]
    assert applied == core_revisions()


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("sqlite:///{folder}/text.db", "file is not a database"),
        ("postgresql+psycopg://me:hunter2@/data?host={folder}", "No such file or directory"),
    ],
    ids=["sqlite", "postgresql"],
)
@only_sqlite
def test_a_database_that_cannot_be_reached_ends_with_its_own_code(
    agentic: Agentic, tmp_path: Path, url: str, reason: str
) -> None:
    (tmp_path / "text.db").write_text("no database at all, " * 100)
    process = agentic("db", "check", AGENTIC_DATABASE_URL=url.format(folder=tmp_path))
    _, complaint = process.communicate()
    assert process.returncode == 3
    assert " ".join(complaint.split()).count(reason) == 1
    assert "Traceback" not in complaint
    assert "hunter2" not in complaint
