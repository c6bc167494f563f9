"""Runs that an older version began go on: waiting, killed in a step or a child run, in a crawl or a loop.

``python -m tests.compat.write`` wrote the data, in a checkout of that version.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import sqlite3
from base64 import b64decode
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs
from tests.commands import invoke
from tests.compat.conftest import DATA, TakeOver
from tests.compat.flows import shop
from tests.compat.site import PAGES, URL, site

from agentic.core.bus.envelope import from_message
from agentic.core.bus.port import StoredMessage
from agentic.core.cli.main import build_app
from agentic.core.graph import EventKind, RunStatus
from agentic.core.settings import load_settings
from agentic.core.types import RunId
from agentic.executors import RunClient
from agentic.mappers.checkpoints.store import SqlCheckpointStore

if TYPE_CHECKING:
    from agentic.core.graph import RunResult

pytestmark = pytest.mark.integration

BILLED = "order 7 paid: 5.48, LARGE, Point(x=1, y=2.5), intake,total, ['nobody knows what this is']"


@pytest.mark.parametrize("run_id", ["asked", "total", "check"])
async def test_a_run_goes_on_where_it_stood_and_ends_as_if_nothing_had_been(
    run_id: str, take_over: TakeOver
) -> None:
    take_over(run_id)
    result = await asyncio.to_thread(answered, run_id)
    assert (result.status, result.outputs) == (RunStatus.COMPLETED, (BILLED,))


def answered(run_id: str) -> RunResult:
    """Work on a run until it asks, answer, and return its end."""
    with RunClient(load_settings()) as client:
        handle = client.handle(run_id)
        (request,) = handle.result(60).pending_requests
        handle.answer({request.id: {"approved": True}}, answered_by="ada")
        return handle.result(60)


async def test_a_checkpoint_is_gone_on_with(take_over: TakeOver) -> None:
    path = take_over("asked")
    store = SqlCheckpointStore.open(f"sqlite:///{path}", project="default")
    try:
        (newest, *_) = await store.list_metadata(run_id=RunId("stored"))
        assert newest.status == RunStatus.WAITING_INPUT
        waiting = await shop().resume("stored", checkpoints=store)
        (request,) = waiting.pending_requests
        result = await shop().resume("stored", checkpoints=store, responses={request.id: {"approved": True}})
    finally:
        store.close()
    assert result.outputs == (BILLED,)


@pytest.mark.parametrize(("name", "numbers"), [("crawl", range(PAGES)), ("loop", range(8))])
def test_a_pipeline_goes_on_with_what_is_left(name: str, numbers: range, take_over: TakeOver) -> None:
    path = take_over(name)
    with site() as server, capture_logs():
        ran = invoke(build_app(), ["run", name, "--resume", "--json"])
    assert ran.exit_code == 4, ran.output  # in part: a third of the pages has no price
    with sqlite3.connect(path) as database:
        rows = [json.loads(data) for (data,) in database.execute("SELECT data FROM items")]
    assert {row["url"]: row["price"] for row in rows} == {
        f"{URL}/item/{number}": number + 0.5 for number in numbers if number % 3 != 2
    }
    assert 0 < len(server.asked) < len(numbers) / 2  # the others were read before


def test_events_are_read_as_they_were_told(version: str) -> None:
    stored = json.loads(gzip.decompress((DATA / version / "nats.json.gz").read_bytes()))
    told = [
        from_message(
            StoredMessage(sequence=number, subject=message["subject"], payload=b64decode(message["data"]))
        )
        for number, message in enumerate(stored["AGENTIC_EVENTS"], start=1)
    ]
    assert EventKind.REQUEST_RAISED in {published.event.kind for published in told}
    sequences = [published.event.sequence for published in told if published.event.run_id == "asked"]
    assert sequences == list(range(1, len(sequences) + 1))
