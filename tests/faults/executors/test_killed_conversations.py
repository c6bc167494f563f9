"""Processes are killed in the middle of conversations: no answered request, and no call, is repeated."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from sqlalchemy import text
from tests.databases import only_sqlite
from tests.faults.executors.conversing import CALLS
from tests.faults.executors.squaring import LOG, points

from agentic.mappers import Database, add_project

pytestmark = [pytest.mark.faults, pytest.mark.integration]

ROOT = Path(__file__).parents[3]


@only_sqlite  # of what a database does, nothing depends on the agent
@pytest.mark.requirement("SC08")
@pytest.mark.parametrize(
    ("kills", "nested"),
    [pytest.param(50, [], marks=pytest.mark.slow), (8, ["nested"])],
    ids=["an agent", "in a workflow"],
)
def test_a_conversation_that_is_killed_again_and_again_asks_and_calls_everything_once(
    migrated_database: Database, migrated_url: str, tmp_path: Path, kills: int, nested: list[str]
) -> None:
    with migrated_database.writing() as session:
        project_id = add_project(session, "talk").id
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.faults.executors.conversing",
            migrated_url,
            project_id,
            "7",
            str(kills),
            *nested,
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    assert done.returncode == 0, done.stderr
    total = sum(number * number for number in range(CALLS))
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "text": f"The sum is {total}.",
        "requests": CALLS + 1 + 2 * len(nested),
        "calls": CALLS + len(nested),
    }
    entered = Counter((tmp_path / LOG).read_text().splitlines())
    assert entered == Counter(f"{kind} {number}" for kind, number in points(CALLS))
    with migrated_database.reading() as session:
        crashes = session.scalar(text("SELECT max(crashes) FROM activations"))
    assert crashes == kills
