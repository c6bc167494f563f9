"""Processes are killed in graphs of LangGraph, in nodes and between them."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.faults.plugins.graphing import LOG, ROUNDS, WIDTH, Bomb, rounds

from agentic.core.hooks import get_registry
from agentic.mappers import Database, add_project
from agentic.migrations import upgrade

pytestmark = [pytest.mark.faults, pytest.mark.integration, pytest.mark.slow]

ROOT = Path(__file__).parents[3]
KILLS = 12


@pytest.mark.requirement("BR01")
def test_a_graph_that_is_killed_again_and_again_ends_as_if_it_had_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No node whose result is stored is entered again; the others, once for each life."""
    url = f"sqlite:///{tmp_path / 'data.db'}"
    upgrade(url, get_registry())
    database = Database(url)
    with database.writing() as session:
        project_id = add_project(session, "graphs").id
    database.dispose()
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.plugins.graphing", url, project_id, "3", str(KILLS)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.split().count("9") == KILLS  # all but the last life were killed
    lines = (tmp_path / LOG).read_text().splitlines()
    stored: set[str] = set()
    for line in lines:
        kind, _, label = line.partition(" ")
        assert kind == "stored" or label not in stored, f"{label} was repeated after its result was stored"
        if kind == "stored":
            stored.add(label)
    monkeypatch.chdir(tmp_path)
    whole = asyncio.run(rounds(Bomb(None)).ainvoke({"round": 0}))
    assert json.loads(done.stdout.splitlines()[-1]) == whole
    assert len(whole["done"]) == ROUNDS * (WIDTH + 3)
