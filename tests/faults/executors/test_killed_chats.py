"""Processes are killed at every request of patterns: no model is asked twice, and nothing is lost."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.databases import only_sqlite
from tests.faults.executors.chatting import POINTS, press
from tests.faults.executors.squaring import LOG

from agentic.core.patterns import PatternResult
from agentic.mappers import Database, add_project

pytestmark = [pytest.mark.faults, pytest.mark.integration]

ROOT = Path(__file__).parents[3]


@only_sqlite  # nothing of a database depends on the pattern
@pytest.mark.requirement("PA10", "PA16", "PA20", "PA22", "SC08")
def test_patterns_in_a_sequence_that_are_killed_at_every_request_give_the_same_transcript(
    migrated_database: Database, migrated_url: str, tmp_path: Path
) -> None:
    with migrated_database.writing() as session:
        project_id = add_project(session, "talk").id
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.executors.chatting", migrated_url, project_id],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    assert done.returncode == 0, done.stderr
    asked: list[str] = []
    whole = asyncio.run(press(asked.append).run("Go!")).output(PatternResult)
    assert json.loads(done.stdout.splitlines()[-1]) == [
        [one.author_name, one.text] for one in whole.conversation
    ]
    assert asked == list(POINTS)
    assert (tmp_path / LOG).read_text().splitlines() == asked
