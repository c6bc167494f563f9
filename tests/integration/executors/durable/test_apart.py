"""Durable runs of projects that have accounts of their own on NATS."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.integration.executors.durable.steered import Floor

from agentic.core.bus import learnt_patterns, live_state, open_bus, open_questions, read_events
from agentic.core.bus.envelope import from_message
from agentic.core.graph import EventKind, RunStatus
from agentic.core.services import ServiceSupervisor, nats_service
from agentic.core.settings import load_settings
from agentic.mappers import add_project
from agentic.mappers.ledger.ledger import SqlLedger

if TYPE_CHECKING:
    from tests.integration.executors.durable.conftest import Office, Start

pytestmark = [pytest.mark.integration, pytest.mark.requirement("NA01", "NA23", "EX15", "EX16")]


@pytest.fixture
async def server(office: Office, tmp_path: Path) -> AsyncIterator[ServiceSupervisor]:
    """A server with an account for ``default`` and one for ``other``, which is a project, too."""
    with office.database.writing() as session:
        add_project(session, "other")
    office("nats", "accounts")
    async with ServiceSupervisor(tmp_path, [nats_service(tmp_path)]) as supervisor:
        yield supervisor


async def kinds_of(project: str) -> list[str]:
    """Return what happened in a project, as its own stream tells it."""
    async with open_bus(load_settings(), project) as bus:
        last = (await bus.state()).last
        async with aclosing(read_events(bus, until=last)) as events:
            return [f"{published.event.run_id} {published.event.kind}" async for published in events]


async def test_events_states_patterns_and_questions_of_each_stay_in_its_account(
    office: Office, server: ServiceSupervisor, start: Start
) -> None:
    start()
    await asyncio.to_thread(office.floor.submit, "adding", 1, "one")
    await asyncio.to_thread(office.floor.submit, "asking", "hello", "two")
    await asyncio.to_thread(office.floor.work)

    async with asyncio.timeout(40), open_bus(load_settings(), "default") as bus:
        await anext(live_state(bus, "default").watch("workflow.*.state"))
        assert await learnt_patterns(bus, "default").keys("patterns.second.*")
        async with open_questions(bus, project="default") as questions:
            await (await anext(aiter(questions))).answer("ada", by="robot")
    await asyncio.to_thread(office.floor.work)

    assert office.row("two").status is RunStatus.COMPLETED
    assert "one run.completed" in await kinds_of("default")
    assert await kinds_of("other") == []
    async with open_bus(load_settings(), "other") as bus:
        assert await live_state(bus, "other").keys() == {}


async def test_a_project_without_an_account_holds_up_no_other(
    office: Office, server: ServiceSupervisor, start: Start
) -> None:
    with office.database.writing() as session:
        new = add_project(session, "new").id
    store = SqlLedger(office.database, project_id=new)
    await asyncio.to_thread(Floor(store).submit, "adding", 1, "lost")
    await asyncio.to_thread(office.floor.submit, "adding", 1, "one")
    process: subprocess.Popen[bytes] = start()
    await asyncio.to_thread(office.floor.work)

    async with asyncio.timeout(40), open_bus(load_settings(), "default") as bus:
        async for message in bus.read():
            published = from_message(message)
            if (published.event.run_id, published.event.kind) == ("one", EventKind.RUN_COMPLETED):
                break
    assert process.poll() is None
    store.close()
