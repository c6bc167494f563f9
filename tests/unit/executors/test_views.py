from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from agentic.executors.commands.views import agent_row, counted, execution_row, shown_config, state_of
from agentic.executors.redaction import MASK
from agentic.mappers import ExecutionModel, ExecutionStatus, utc_now

if TYPE_CHECKING:
    from tests.unit.executors.conftest import Lab


@pytest.mark.requirement("PL41")
def test_secrets_of_a_config_are_masked_and_the_rest_is_shown(lab: Lab) -> None:
    agent = lab.agent(config={"limit": 5, "token": "s3cret"})

    assert shown_config(agent) == {"limit": 5, "token": MASK}
    assert "s3cret" not in str(agent_row(agent))


@pytest.mark.requirement("PL41")
@pytest.mark.parametrize("platform", ["toy", "uninstalled"])
def test_a_config_nobody_understands_is_masked_whole(lab: Lab, platform: str) -> None:
    agent = lab.agent(platform=platform, config={"limit": "many", "token": "s3cret"})

    assert shown_config(agent) == {"limit": MASK, "token": MASK}


def test_a_silent_worker_is_told_of_after_half_a_minute() -> None:
    now = utc_now()
    running = ExecutionModel(status=ExecutionStatus.RUNNING, heartbeat_at=now)

    assert state_of(running, now + timedelta(seconds=29)) == "running"
    assert state_of(running, now + timedelta(seconds=45)) == "running, no heartbeat for 45 s"


def test_an_execution_that_has_ended_is_never_silent() -> None:
    now = utc_now()
    ended = ExecutionModel(status=ExecutionStatus.FAILED, heartbeat_at=now)

    assert state_of(ended, now + timedelta(days=1)) == "failed"


def test_counts_of_nothing_are_left_out() -> None:
    assert counted({"inserted": 3, "updated": 0, "unchanged": 1}) == "3 inserted, 1 unchanged"


def test_an_execution_that_has_stored_nothing_counts_zero(lab: Lab) -> None:
    row = execution_row(lab.stored(lab.execution().id), "toy-agent", utc_now())

    assert (row["state"], row["inserted"], row["rows"]) == ("queued", 0, "")
