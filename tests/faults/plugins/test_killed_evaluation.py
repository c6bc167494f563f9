"""Processes are killed in the middle of evaluations: no answered case is asked again; each has one row."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from sqlalchemy import select
from tests.faults.plugins.evaluating import CASES, KINDS, LOG, REPEATS

from agentic.core.types import JSONValue
from agentic.mappers import Database, add_agent, add_project
from agentic.plugins.evals.models import EvalCaseModel

pytestmark = [pytest.mark.faults, pytest.mark.integration, pytest.mark.slow]

ROOT = Path(__file__).parents[3]
TRIES = CASES * REPEATS


@pytest.mark.parametrize(("parallel", "kills", "least"), [(1, 7, 7), (4, 2, 1)])
def test_an_evaluation_that_is_killed_again_and_again_asks_once_and_stores_once(
    agentic_database: Database, tmp_path: Path, parallel: int, kills: int, least: int
) -> None:
    database = agentic_database
    with database.writing() as session:
        owner = add_project(session, "talk")
        config: dict[str, JSONValue] = {}
        agent_id = add_agent(session, owner, "evaluation", "evals", config, None).id
        project_id = owner.id
    words = [database.url, project_id, agent_id, str(parallel), str(kills)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.plugins.evaluating", *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    assert done.returncode == 0, done.stderr
    averages, killed = done.stdout.splitlines()[-2:]
    assert averages == "{'passed': 1.0, 'exact': 1.0, 'judge': 1.0}"
    assert int(killed) >= least
    with database.reading() as session:
        rows = list(session.scalars(select(EvalCaseModel)))
    assert Counter((row.case_id, row.repeat) for row in rows) == {
        (f"c{case}", repeat): 1 for case in range(CASES) for repeat in range(1, REPEATS + 1)
    }
    assert {(row.status, row.requests, row.answer == row.expected) for row in rows} == {("passed", 1, True)}
    assert {row.input_tokens > 0 < row.judge_tokens for row in rows} == {True}
    asked = Counter(line.partition(" ")[0] for line in (tmp_path / LOG).read_text().splitlines())
    # Other requests may be on their way when a process is killed; without any, each is made exactly once.
    most = TRIES + (parallel - 1) * kills
    assert all(TRIES <= asked[kind] <= most for kind in KINDS[:2]), asked
