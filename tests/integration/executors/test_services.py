"""Worker and beat under the supervisor; Flower is in ``durable/test_flower.py``."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING

import pytest

from agentic.core.services import ServiceSupervisor
from agentic.executors.workers.services import beat_service, worker_service
from agentic.mappers import ExecutionStatus, add_schedule

if TYPE_CHECKING:
    from tests.integration.executors.conftest import Place

pytestmark = pytest.mark.integration


@pytest.fixture
def home_place(place: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Let what this process starts run in the place."""
    monkeypatch.chdir(place.path)
    for name, value in place.env.items():
        monkeypatch.setenv(name, value)
    return place


@pytest.mark.slow
@pytest.mark.requirement("BR07")
async def test_beat_and_worker_are_ready_work_and_stop(home_place: Place) -> None:
    home = home_place.path / "home"
    agent = home_place.agent(name="ticker")
    with home_place.database.writing() as session:
        add_schedule(session, agent, "tick", every_s=1)

    async with ServiceSupervisor(home, [worker_service(home, concurrency=1), beat_service(home)]):
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
