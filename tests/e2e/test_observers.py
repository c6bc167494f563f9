"""Observers among the plugins of a worker: told of everything, and harming nothing."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.commands import run_command

from agentic.executors.testing import Home

if TYPE_CHECKING:
    from agentic.fakes.server import FakeServer

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(180)]

GOOD = """
import os, pathlib
from agentic.core.hooks import hookimpl

def note(*words):
    with pathlib.Path(__file__).with_suffix(".log").open("a") as log:
        log.write(" ".join(map(str, words)) + "\\n")

@hookimpl
def agentic_execution_started(execution):
    note("started", execution.agent)

@hookimpl
def agentic_execution_finished(execution):
    note("finished", execution.agent, execution.status, execution.counts.inserted)

@hookimpl
def agentic_event(event):
    note(event.kind)
"""
BAD = """
from agentic.core.hooks import hookimpl

@hookimpl
def agentic_execution_started(execution):
    raise SystemExit(1)

@hookimpl
def agentic_event(event):
    raise ValueError("this observer is broken")
"""


def install(folder: Path, name: str, source: str) -> Path:
    """Install a plugin, as far as Python can tell; return its module."""
    info = folder / f"agentic_plugin_{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: agentic-plugin-{name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[agentic]\n{name} = observer_{name}\n")
    module = folder / f"observer_{name}.py"
    module.write_text(source)
    return module


def agentic(home: Home, *arguments: str) -> str:
    """Run a command in a home, sooner than it does itself."""
    done = run_command(arguments, home.env, home.path)
    assert done.returncode == 0, done.stderr
    return done.stdout


def wait_for(log: Path, line: str, for_s: float = 30) -> list[str]:
    deadline = time.monotonic() + for_s
    while line not in (found := log.read_text().splitlines() if log.exists() else []):
        assert time.monotonic() < deadline, found
        time.sleep(0.1)
    return found


@pytest.fixture
def watcher(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a good observer and a bad one; return the module of the good one."""
    plugins = tmp_path_factory.mktemp("plugins")
    monkeypatch.setenv("PYTHONPATH", str(plugins))
    install(plugins, "bad", BAD)
    return install(plugins, "good", GOOD)


def test_observers_in_a_worker_of_a_home_see_a_run_and_a_broken_one_does_not_matter(
    watcher: Path, agentic_home: Home, agentic_fakes: FakeServer
) -> None:
    config = {"base_url": agentic_fakes.hackernews_url, "limit": "5", "allow_private_hosts": '["127.0.0.1"]'}
    pairs = [word for pair in config.items() for word in ("--config", "=".join(pair))]
    agentic_home.agentic("agents", "add", "news", "--platform", "hackernews", *pairs)
    agentic(agentic_home, "run", "news", "--dispatcher", "celery")
    told = wait_for(watcher.with_suffix(".log"), "finished news succeeded 5")
    (execution,) = json.loads(agentic(agentic_home, "executions", "list", "--json"))
    assert told[0] == "run.started"
    assert "started news" in told
    assert told[-2] == "run.completed"
    assert execution["status"] == "succeeded"
    logs = [path.read_text() for path in (agentic_home.path / "home" / "logs").iterdir() if path.is_file()]
    assert any("this observer is broken" in log for log in logs)
