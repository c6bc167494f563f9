"""Beats whose clocks jump, and that are killed: each due time is fired once."""

from __future__ import annotations

import subprocess
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select
from tests.faults.executors.disturbing import HOUR_S, set_clocks

from agentic.mappers import CatchUp, ExecutionModel, Overlap, add_schedule

if TYPE_CHECKING:
    from tests.faults.executors.conftest import MakeStage
    from tests.faults.executors.scene import Scene

pytestmark = [pytest.mark.faults, pytest.mark.integration]

SCHEDULER = "agentic.executors.beat:LedgerScheduler"


@pytest.fixture
def stage(configured_stage: MakeStage) -> Scene:
    """A place whose processes can be wrong about the time."""
    return configured_stage(5, "import tests.faults.executors.skewed_clock\n")


def test_beats_that_are_killed_and_whose_clocks_jump_fire_each_due_time_once(stage: Scene) -> None:
    agent = stage.place.agent(name="often")
    with stage.place.database.writing() as session:
        add_schedule(session, agent, "often", every_s=1, catch_up=CatchUp.ALL, overlap=Overlap.ALLOW)
    beats = [start_beat(stage), start_beat(stage)]
    for skew_s in (HOUR_S, -HOUR_S):
        set_clocks(stage, skew_s)
        until_fired_again(stage)
        stage.place.kill(beats.pop(0))
        beats.append(start_beat(stage))
    until_fired_again(stage)
    times = fired(stage)
    assert times == [times[0] + timedelta(seconds=number) for number in range(len(times))]


def start_beat(stage: Scene) -> subprocess.Popen[bytes]:
    options = ("-S", SCHEDULER, "--pidfile", "")
    return stage.place.start_command("-A", "agentic.executors", "beat", *options, module="celery")


def until_fired_again(stage: Scene) -> None:
    known = len(fired(stage))
    stage.place.eventually(lambda: len(fired(stage)) > known)


def fired(stage: Scene) -> list[datetime]:
    """Return the due times of all executions, in order."""
    with stage.place.database.reading() as session:
        keys = session.scalars(select(ExecutionModel.idempotency_key))
        return sorted(datetime.fromisoformat(str(key).partition(":")[2]) for key in keys)
