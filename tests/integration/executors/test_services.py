"""Worker, beat and Flower under the supervisor."""

from __future__ import annotations

import asyncio
import json
import os
import time
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from agentic.core.services import Supervisor
from agentic.executors.services import beat_service, flower_service, worker_service
from agentic.mappers import ExecutionModel, ExecutionStatus, add_schedule

if TYPE_CHECKING:
    from tests.integration.executors.conftest import Place

pytestmark = pytest.mark.integration


@pytest.fixture
def home_place(place: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Let what this process starts run in the place."""
    monkeypatch.chdir(place.path)
    for name, value in place.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("FLOWER_UNAUTHENTICATED_API", "true")
    return place


def read(url: str) -> str:
    """Return a page, nothing while it cannot be had."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return str(answer.read().decode())
    except OSError:
        return ""


def tasks_in_flower(url: str) -> list[dict[str, Any]]:
    return list(json.loads(read(f"{url}/api/tasks") or "{}").values())


@pytest.mark.requirement("BR09")
async def test_flower_shows_a_run_by_name_with_its_ids_and_a_failure_with_its_reason(
    home_place: Place,
) -> None:
    home = home_place.path / "home"

    async with Supervisor(home, [worker_service(home, concurrency=1), flower_service(home)]) as supervisor:
        url = supervisor.urls["flower"]
        # It listens to events once it has heard of the worker.
        await asyncio.to_thread(home_place.eventually, lambda: "worker_online{" in read(f"{url}/metrics"))
        execution, task = await asyncio.to_thread(failed_run_in_flower, home_place, url)

    assert task["name"] == "agentic.toy.shown"
    assert task["args"] == f"execution={execution.id} agent={execution.agent_id}"
    assert task["exception"] == "ExecutionFailedError('RuntimeError: quota used up')"


def failed_run_in_flower(place: Place, url: str) -> tuple[ExecutionModel, dict[str, Any]]:
    """Run a failing agent until Flower shows it: what is sent in its first seconds it may miss."""
    agent = place.agent(name="shown", fail="quota used up")
    for _ in range(3):
        execution = place.ended(place.submit(agent).id)
        deadline = time.monotonic() + 8
        while time.monotonic() < deadline:
            for task in tasks_in_flower(url):
                if execution.id in (task["args"] or "") and task["state"] == "FAILURE":
                    return execution, task
            time.sleep(0.1)
    raise AssertionError("Flower shows no failed run")


@pytest.mark.requirement("BR07")
async def test_beat_and_worker_are_ready_work_and_stop(home_place: Place) -> None:
    home = home_place.path / "home"
    agent = home_place.agent(name="ticker")
    with home_place.database.writing() as session:
        add_schedule(session, agent, "tick", every_s=1)

    async with Supervisor(home, [worker_service(home, concurrency=1), beat_service(home)]):
        pids = json.loads((home / "runtime.json").read_text())["pids"]
        await asyncio.to_thread(home_place.eventually, home_place.executions)
        first = home_place.executions()[0]
        await asyncio.to_thread(home_place.ended, first.id)

    assert home_place.execution(first.id).status is ExecutionStatus.SUCCEEDED
    assert pids.keys() == {"worker", "beat"}
    assert not any(is_alive(pid) for pid in pids.values())


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
