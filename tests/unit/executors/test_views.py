from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agentic.core.graph import RunStatus
from agentic.core.ledger import RunRow
from agentic.core.types import RunId
from agentic.executors.agents.redaction import MASK
from agentic.executors.commands.runs.views import state_of
from agentic.executors.commands.shared.views import agent_row, counted, execution_row, shown_config

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


@pytest.mark.parametrize(
    ("status", "facts", "state"),
    [
        (RunStatus.RUNNING, {}, "running"),
        (RunStatus.RUNNING, {"is_paused": True}, "running, paused"),
        (
            RunStatus.WAITING_INPUT,
            {"cancel_reason": "x", "is_paused": True},
            "waiting_input, to be cancelled",
        ),
        (RunStatus.FAILED, {"cancel_reason": "x"}, "failed"),
    ],
)
def test_a_run_says_what_keeps_it_from_going_on(status: RunStatus, facts: dict[str, Any], state: str) -> None:
    known: dict[str, Any] = {"superstep": 0, "revision": 1, "priority": 0, "created_at": 0, "updated_at": 0}
    known["began_at"] = 0
    run = RunRow(run_id=RunId("one"), workflow="w", status=status, **known, **facts)

    assert state_of(run) == state


def test_counts_of_nothing_are_left_out() -> None:
    assert counted({"inserted": 3, "updated": 0, "unchanged": 1}) == "3 inserted, 1 unchanged"


def test_an_execution_that_has_stored_nothing_counts_zero(lab: Lab) -> None:
    row = execution_row(lab.stored(lab.execution().id), "toy-agent")

    assert (row["state"], row["inserted"], row["rows"]) == ("queued", 0, "")
