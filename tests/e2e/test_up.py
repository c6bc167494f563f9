"""``agentic up``: everything under one supervisor, and nothing left behind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.commands import Command, start_command
from tests.e2e.conftest import Agentic
from tests.pages import read_page

from agentic.core.private import is_wide
from agentic.fakes.server import FakeServer

pytestmark = [pytest.mark.e2e, pytest.mark.faults, pytest.mark.timeout(180)]


@pytest.fixture
def up(tmp_path: Path, environment: dict[str, str]) -> Iterator[Command]:
    """Start ``agentic up`` and return it when it says that it is ready."""
    reading, writing = os.pipe()
    umask = os.umask(0)
    with os.fdopen(writing, "wb") as out:
        process = start_command(["up"], environment, tmp_path, out)
        os.umask(umask)
    with os.fdopen(reading, encoding="utf-8") as told:
        for line in told:
            if line.startswith("ready"):
                break
        else:
            pytest.fail(f"agentic up ended with {process.wait()}")
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
            process.wait()


def family(process: Command) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def gone(processes: list[psutil.Process], within_s: float) -> bool:
    _, alive = psutil.wait_procs(processes, timeout=within_s)
    return not [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]


def runtime(home: Path) -> dict[str, dict[str, str]]:
    facts: dict[str, dict[str, str]] = json.loads((home / "runtime.json").read_text(encoding="utf-8"))
    return facts


@pytest.mark.requirement("BR09")
def test_up_runs_agents_for_other_commands_and_stops_cleanly_on_sigterm(
    up: Command, agentic: Agentic, home: Path
) -> None:
    started = family(up)
    assert set(runtime(home)["pids"]) == {"nats", "valkey", "worker", "beat", "flower"}

    with FakeServer() as fakes:
        config = {"base_url": fakes.hackernews_url, "limit": "5", "allow_private_hosts": '["127.0.0.1"]'}
        pairs = [word for pair in config.items() for word in ("--config", "=".join(pair))]
        added = agentic("agents", "add", "news", "--platform", "hackernews", *pairs)
        assert added.returncode == 0, added.stderr
        queued = agentic("run", "news", "--dispatcher", "celery", "--json")
        assert queued.returncode == 0, queued.stderr
        execution = wait_for_end(agentic, json.loads(queued.stdout)["execution_id"])
    assert execution["status"] == "succeeded"

    assert wait_for_events(agentic, "run.completed")[0] == "run.started"
    wait_for_flower(runtime(home)["urls"]["flower"], "agentic.hackernews.news")
    scheduled = agentic("schedules", "add", "yearly", "--agent", "news", "--cron", "0 0 1 1 *")
    assert scheduled.returncode == 0, scheduled.stderr
    examined = json.loads(agentic("doctor", "--json").stdout)
    assert examined["faults"] == []
    assert [text for text in examined["warnings"] if "MiB are free" not in text] == []

    reachable = [str(path.relative_to(home.parent)) for path in (home, *home.rglob("*")) if is_wide(path)]
    assert reachable == []  # though `up` was started with umask 000

    up.send_signal(signal.SIGTERM)
    assert up.wait(timeout=60) == 0
    assert gone(started, 1)
    assert not (home / "runtime.json").exists()


@pytest.mark.slow
def test_up_leaves_no_orphan_when_it_is_killed(up: Command, home: Path) -> None:
    started = family(up)
    assert len(started) >= 5
    up.kill()
    assert gone(started, 15)


def wait_for_end(agentic: Agentic, execution_id: str) -> dict[str, object]:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        shown: dict[str, object] = json.loads(agentic("executions", "show", execution_id, "--json").stdout)
        if shown["finished_at"]:
            return shown
    raise AssertionError(f"execution {execution_id} did not end")


def wait_for_events(agentic: Agentic, last: str) -> list[str]:
    """Return the kinds of the stream's durable events, once ``last`` is the last: they trail behind the run.

    A live event, which nothing waits for, may come even later.
    """
    kinds: list[str] = []
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        told = agentic("events", "tail", "--no-follow", "--json", "--last", "500")
        events = [json.loads(line) for line in told.stdout.splitlines()]
        kinds = [event["kind"] for event in events if event["sequence"] is not None]
        if kinds and kinds[-1] == last:
            return kinds
    raise AssertionError(f"no {last} came last: {kinds}")


def wait_for_flower(url: str, task: str) -> None:
    """Wait until Flower's metrics name a task; they trail behind its events."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if task in read_page(f"{url}/metrics"):
            return
        time.sleep(0.2)
    raise AssertionError(f"Flower knows no task {task!r}")
