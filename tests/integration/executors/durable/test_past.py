"""What durable runs know of other runs, with a bus and without."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from agentic.core.bus import learnt_patterns
from agentic.core.graph import EventKind
from agentic.core.ledger.batches import read_batch
from agentic.core.settings import load_settings
from agentic.core.types import RunId
from agentic.executors.celery import make_app
from agentic.executors.durable.worker.process import RunProcess
from agentic.executors.workers.config import QUEUES
from agentic.mappers import find_project

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.integration.executors.durable.conftest import Office, Start

    from agentic.core.bus.nats.bus import NatsBus

pytestmark = [
    pytest.mark.integration,
    pytest.mark.requirement("CX12", "EX17", "LE01", "LE02", "LE03", "NA19"),
]


@asynccontextmanager
async def worker(office: Office) -> AsyncIterator[RunProcess]:
    """Give what a worker process does runs with, its settings from the environment."""
    settings = load_settings(broker_url="")
    process = RunProcess(settings, office.database, make_app(settings), QUEUES)
    yield process
    await process.aclose()
    process.close()


async def work(office: Office, run_id: str) -> None:
    """Begin a run, and do it in this process."""
    await asyncio.to_thread(office.floor.submit, "learning", 1, run_id)
    (ready,) = [row for row in office.activations() if row.id.run_id == run_id]
    async with worker(office) as process:
        with office.database.reading() as session:
            project_id = find_project(session, "default").id
        await process.activate(project_id, ready.id)


def known(office: Office, run_id: str) -> object:
    """Return what a run knew of those before it."""
    with office.floor.store.transaction() as ledger:
        events = [event for batch in ledger.events(RunId(run_id)) for event in read_batch(batch)]
    (output,) = [event.data["value"] for event in events if event.kind is EventKind.OUTPUT]
    return output


async def test_a_run_knows_what_became_of_its_executors_in_other_runs(
    office: Office, bus: NatsBus, start: Start
) -> None:
    start()
    await work(office, "one")
    async with asyncio.timeout(30):
        await anext(learnt_patterns(bus, "default").watch("patterns.learn.success"))

    await work(office, "two")

    assert known(office, "one") == {"tries": [], "errors": [], "patterns": []}
    assert known(office, "two") == {
        "tries": ["OSError", ""],
        "errors": ["OSError x1: a later attempt succeeded in 1 of 1 cases: retry"],
        "patterns": ["succeeded on attempt 2"],
    }


async def test_a_run_goes_on_without_the_past_while_the_bus_is_away(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTIC_NATS_URL", "nats://127.0.0.1:1")
    with capture_logs() as logs:
        await work(office, "one")

    assert known(office, "one") == {"tries": [], "errors": [], "patterns": []}
    assert "history.unavailable" in [entry["event"] for entry in logs]
