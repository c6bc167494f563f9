"""``agentic events replay`` of durable runs: what the stream does not tell, the ledger does."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.commands import start_command
from tests.integration.executors.conftest import Place
from tests.integration.executors.durable.halting import GATE
from tests.pace import slowed
from typer.testing import CliRunner

from agentic.core import RunStatus
from agentic.core.bus import EventPublisher, open_bus
from agentic.core.cli.events import events_app
from agentic.core.errors import AgenticError
from agentic.core.graph import WorkflowEvent
from agentic.core.ledger.batches import read_batch
from agentic.core.services import ServiceSupervisor, nats_service
from agentic.core.settings import load_settings
from agentic.core.types import RunId

if TYPE_CHECKING:
    from tests.integration.executors.durable.conftest import Office

pytestmark = pytest.mark.integration

CHECKOUT = Path(__file__).parents[4]


def replay(*arguments: str) -> str:
    """Return what the command prints, beside an office."""
    result = CliRunner().invoke(events_app, ["replay", *arguments])
    assert result.exception is None, result.exception
    return result.stdout


def steps(*arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in replay(*arguments, "--json").splitlines()]


def events_of(office: Office, run_id: str) -> Sequence[WorkflowEvent]:
    with office.floor.store.transaction() as ledger:
        return [event for batch in ledger.events(RunId(run_id)) for event in read_batch(batch)]


def test_a_run_is_told_from_the_ledger_where_there_is_no_stream(office: Office) -> None:
    office.floor.submit("adding", 1, "one")
    office.floor.work()
    first, second = steps("one")
    assert [one["path"] for one in first["activations"]] == ["first"]
    assert [due["message"] for due in first["after"]["due"]] == [2]
    assert second["ending"] == "completed"
    assert "project default; 12 events from the ledger" in replay("on")


def test_a_server_that_is_down_is_told_and_the_ledger_read(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.floor.submit("adding", 1, "one")
    monkeypatch.setenv("AGENTIC_NATS_URL", "nats://robot:hunter2@127.0.0.1:9")
    result = CliRunner().invoke(events_app, ["replay", "one"])
    assert result.exit_code == 0
    assert "running: first  <- 1" in result.stdout
    assert "could not read the stream: NATS at nats://127.0.0.1:9" in result.stderr
    assert "hunter2" not in result.output


def test_what_a_child_run_did_is_told_by_itself(office: Office) -> None:
    office.floor.submit("guarded", 1, "one")
    office.floor.work()
    (step,) = steps("one")
    (activation,) = step["activations"]
    assert activation["runs"] == ["one/send.0.0"]
    (within,) = steps("one/send.0.0")
    assert [one["path"] for one in within["activations"]] == ["send/post"]


def test_a_failed_run_that_was_gone_on_with_shows_both_legs(office: Office) -> None:
    office.floor.submit("failing", 1, "one")
    office.floor.work()
    office("runs", "retry", "one")
    office.floor.work()
    assert [(step["leg"], step["ending"]) for step in steps("one")] == [(1, "failed"), (2, "failed")]
    assert "run one failed" in replay("one", "--backwards")


def test_a_run_that_is_not_there_is_named_with_where_to_look(office: Office) -> None:
    result = CliRunner().invoke(events_app, ["replay", "nobody"])
    assert isinstance(result.exception, AgenticError)
    assert "the ledger has no run 'nobody'; see `agentic runs list`" in str(result.exception)
    assert "set AGENTIC_NATS_URL" in str(result.exception)


def test_of_a_killed_process_it_is_told_what_was_in_hand_and_then_how_another_one_ended_it(
    office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = tmp_path / "gate"
    monkeypatch.setenv(GATE, str(gate))
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT), "AGENTIC_LEASE_S": f"{slowed(1):g}"}
    process = start_command(["one"], env, CHECKOUT, module="tests.integration.executors.durable.halting")
    Place.eventually(Path(f"{gate}.reached").exists)
    process.send_signal(signal.SIGKILL)
    process.wait(60)

    killed = steps("one")

    assert [(step["number"], step["is_done"]) for step in killed] == [(0, True), (1, False)]
    assert [(one["path"], one["outcome"]) for one in killed[1]["activations"]] == [("halt", "in hand")]
    assert killed[1]["after"]["state"] == {"seen": [1]}
    assert ", 1 still running" in replay("one")

    gate.touch()
    Place.eventually(lambda: office("reconcile") and office.floor.work())

    assert office.row("one").status is RunStatus.COMPLETED
    told = steps("one")
    assert told[0] == killed[0]
    assert told[-1]["after"]["outputs"] == [21]
    assert all(not step["missing"] for step in told)


async def test_what_did_not_get_to_the_stream_is_told_from_the_ledger(
    office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await asyncio.to_thread(office.floor.submit, "adding", 1, "one")
    await asyncio.to_thread(office.floor.work)
    alone = await asyncio.to_thread(steps, "one")
    async with ServiceSupervisor(tmp_path, [nats_service(tmp_path)]) as supervisor:
        monkeypatch.setenv("AGENTIC_NATS_URL", supervisor.urls["nats"])
        async with open_bus(load_settings()) as bus, EventPublisher(bus, "default") as publisher:
            for event in events_of(office, "one")[:7]:
                await publisher.publish(event)
        assert await asyncio.to_thread(steps, "one") == alone
        assert "12 events from the stream and the ledger" in await asyncio.to_thread(replay, "one")
