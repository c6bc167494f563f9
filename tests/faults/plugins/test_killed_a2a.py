"""Servers and callers of A2A are killed: another server continues, and no message is sent twice."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.databases import only_sqlite
from tests.faults.executors.squaring import LOG, points
from tests.faults.plugins.a2a_lives import CALLER_POINTS, CALLS, DEATHS, STOP
from tests.integration.plugins.a2a.scene import Foreign, foreign_server

from agentic.core.agents import AgentResponse, AgentThread, ChatAgent
from agentic.core.bus.nats.bus import NatsBus
from agentic.core.llm import FunctionModel, ModelRequest
from agentic.core.services import ServiceSupervisor, nats_service
from agentic.mappers import Database, add_project
from agentic.plugins.a2a import ProxyAgent, RemoteAgentUnavailableError, serve_agent

pytestmark = [pytest.mark.faults, pytest.mark.integration, pytest.mark.requirement("AG22")]

ROOT = Path(__file__).parents[3]
KILLS = 4


@pytest.fixture
async def nats_url(tmp_path: Path) -> AsyncIterator[str]:
    async with ServiceSupervisor(tmp_path, [nats_service(tmp_path)]) as supervisor:
        yield supervisor.urls["nats"]


@asynccontextmanager
async def lives(folder: Path, *words: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Start processes that live one after the other."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.faults.plugins.a2a_lives", *words),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        (folder / STOP).touch()
        async with asyncio.timeout(60):
            await process.wait()


@pytest.mark.slow
async def test_a_task_whose_servers_are_killed_again_and_again_does_everything_once(
    nats_url: str, tmp_path: Path
) -> None:
    """The caller is this process: it waits for one answer while four servers, one after the other, die."""
    bus = NatsBus(nats_url)
    proxy = ProxyAgent("remote", "nats:counter", bus)
    async with lives(tmp_path, "servers", nats_url, "7", str(KILLS)):
        thread = proxy.new_thread()
        response = await answered(proxy, thread)
    await bus.aclose()
    assert response.text == f"The sum is {sum(number * number for number in range(CALLS))}."
    assert response.usage.tool_calls == CALLS
    entered = Counter((tmp_path / LOG).read_text().splitlines())
    assert entered == Counter(f"{kind} {number}" for kind, number in points(CALLS))


async def answered(proxy: ProxyAgent, thread: AgentThread) -> AgentResponse[Any]:
    """Return the answer; until the first server listens, ask again."""
    for _ in range(100):
        try:
            return await proxy.run(() if thread.entries else "Add up the squares.", thread)
        except RemoteAgentUnavailableError:
            await asyncio.sleep(0.1)
    raise AssertionError


@only_sqlite
@pytest.mark.slow
async def test_a_caller_that_is_killed_at_any_point_waits_for_the_same_task(
    nats_url: str,
    migrated_database: Database,
    migrated_url: str,
    tmp_path: Path,
) -> None:
    """Its message goes to a server of ours, then to one of the SDK, which knows no message by its id."""
    with migrated_database.writing() as session:
        project_id = add_project(session, "talk").id
    ours, foreign = Painter(), Foreign()
    foreign.go_on.clear()
    async with serve_agent(ours, nats_url, sweep_s=0.1), foreign_server(foreign) as url:
        words = ("callers", nats_url, migrated_url, project_id, "nats:painter", url)
        async with lives(tmp_path, *words) as process:
            for agent, count in ((ours, 1), (foreign, 2)):
                deaths = count * len(CALLER_POINTS)
                await died(tmp_path, deaths)
                agent.go_on.set()
            assert process.stdout is not None
            said = (await process.stdout.read()).decode().splitlines()
            assert await process.wait() == 0, said
    assert [line for line in said if line.startswith("Painted")] == ["Painted it for 'a wall'."] * 2
    assert (ours.executions, foreign.executions) == (["a wall"], ["a wall"])


async def died(folder: Path, count: int) -> None:
    """Wait until a number of processes have died; the first one imports everything."""
    file = folder / DEATHS
    async with asyncio.timeout(90):
        while not file.exists() or len(file.read_text().splitlines()) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


class Painter(ChatAgent[str]):
    """As the agent of the SDK: it answers when it may."""

    def __init__(self) -> None:
        self.executions: list[str] = []
        self.go_on = asyncio.Event()

        async def reply(request: ModelRequest) -> str:
            self.executions.append(request.messages[-1].text)
            await self.go_on.wait()
            return "Painted it for 'a wall'."

        super().__init__(FunctionModel(reply), name="painter")
