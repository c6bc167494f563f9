"""Processes that serve an agent, or use a remote one, and are killed at given points.

python -m tests.faults.plugins.a2a_lives servers NATS_URL SEED KILLS
python -m tests.faults.plugins.a2a_lives callers NATS_URL DATABASE_URL PROJECT AGENT_URL...
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tests.faults.executors.squaring import Point, live_again_and_again, live_until_killed, squaring_agent

from agentic.core import WorkflowBuilder, WorkflowConfig
from agentic.core.agents import AgentExecutorResponse
from agentic.core.graph import CrashPolicy, RunStatus
from agentic.core.types import RunId
from agentic.executors.durable import LocalRuns, Submission, WorkflowCatalog
from agentic.mappers import Database
from agentic.mappers.ledger.ledger import SqlLedger
from agentic.plugins.a2a import ProxyAgent, serve_agent
from agentic.plugins.a2a.remote import proxy
from agentic.plugins.a2a.remote.connecting import Connection, Connector

CALLS = 12

DEATHS, STOP = Path("deaths.log"), Path("stop")
CALLER_POINTS: list[Point] = [("send", 0), ("sent", 0), ("event", 1), ("event", 1)]
"""Before a message is sent, after it was accepted, and while its answer is waited for, twice."""


async def serve(url: str, kill_at: Point | None) -> None:
    """Serve the agent until the point; without one, until the test is over."""
    async with serve_agent(squaring_agent(CALLS, kill_at), url, lease_s=1, sweep_s=0.1):
        while not STOP.exists():  # noqa: ASYNC110, ASYNC240  # of another process; it is short
            await asyncio.sleep(0.05)


class Mortal(Connector):
    """Opens connections that kill the process at a point."""

    kill_at: Point | None = None
    events = 0

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Connection, None]:
        async with super().open() as connection:
            send, events = connection.send, connection.events

            async def mortal_send(message: dict[str, Any]) -> dict[str, Any]:
                die_at("send", 0)
                sent = await send(message)
                die_at("sent", 0)
                return sent

            async def mortal_events(task: str, after: int | None) -> AsyncGenerator[dict[str, Any], None]:
                async for event in events(task, after):
                    yield event
                    Mortal.events += 1
                    die_at("event", Mortal.events)

            connection.send = mortal_send  # type: ignore[method-assign]  # the point of it
            connection.events = mortal_events  # type: ignore[method-assign]  # the same
            yield connection


def die_at(kind: str, number: int) -> None:
    if (kind, number) == Mortal.kill_at:
        with DEATHS.open("a") as file:
            file.write(f"{kind} {number}\n")
        os.kill(os.getpid(), signal.SIGKILL)


async def use(nats: str, url: str, project_id: str, agent: str, kill_at: Point | None) -> None:
    """Work on a run whose only node is a remote agent, to its end or to the point."""
    setattr(proxy, "Connector", Mortal)  # noqa: B010  # of this process only
    Mortal.kill_at = kill_at

    def flow() -> Any:
        config = WorkflowConfig(crash=CrashPolicy(max_crashes=1_000))
        remote = ProxyAgent("remote", agent, nats if agent.startswith("nats:") else None)
        return WorkflowBuilder("ask", version="1", config=config).set_start(remote).build()

    store = SqlLedger(Database(url), project_id=project_id)
    run = "caller-" + agent.partition(":")[0]
    options = {"only": RunId(run), "is_alone": True, "lease_s": 0.3, "worker": f"life-{os.getpid()}"}
    catalog = WorkflowCatalog({"ask": flow})
    async with LocalRuns(store, catalog, sweep_s=0.05, options=options) as runs:  # type: ignore[arg-type]
        how = Submission(run_id=run, idempotency_key=run, is_told=False)
        result = await (await runs.submit("ask", "a wall", how)).result(timeout_s=60)
    if result.status is not RunStatus.COMPLETED:
        raise SystemExit(f"the run of {agent} is {result.status}: {result.error}")
    sys.stdout.write(result.output(AgentExecutorResponse).text + "\n")


def main(side: str, nats: str, *words: str) -> None:
    """Let processes live one after the other."""
    if side == "servers":
        live_again_and_again(lambda kill_at: serve(nats, kill_at), CALLS, words[0], int(words[1]))
    else:
        url, project_id, *agents = words
        for agent in agents:
            live_until_killed([*CALLER_POINTS, None], partial(use, nats, url, project_id, agent))


if __name__ == "__main__":
    main(*sys.argv[1:])
