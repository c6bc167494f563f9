"""A background run whose workers are killed at given points, one after the other, until it is over.

python -m tests.faults.executors.backgrounding URL PROJECT RUN SEED KILLS
"""

from __future__ import annotations

import os
import sys

from tests.faults.executors.squaring import LEASE_S, Point, live_again_and_again, squaring_agent

from agentic.core import WorkflowConfig
from agentic.core.agents import background_workflow
from agentic.core.graph import CrashPolicy, Workflow
from agentic.core.types import RunId
from agentic.executors.durable import LocalRuns, WorkflowCatalog
from agentic.mappers import Database, SqlThreadStore
from agentic.mappers.ledger.ledger import SqlLedger

CALLS = 12
FLOW = "counter"


def flow(store: SqlThreadStore, kill_at: Point | None = None) -> Workflow:
    """Return the workflow of an agent, which may crash often."""
    config = WorkflowConfig(crash=CrashPolicy(max_crashes=1_000))
    return background_workflow(squaring_agent(CALLS, kill_at, store), config=config)


async def live(url: str, project_id: str, run: str, kill_at: Point | None) -> None:
    """Work on the run to its end, or to the point."""
    database = Database(url)
    store = SqlThreadStore(database, project_id=project_id)
    catalog = WorkflowCatalog({FLOW: lambda: flow(store, kill_at)})
    ledger = SqlLedger(database, project_id=project_id)
    options = {"only": RunId(run), "is_alone": True, "lease_s": LEASE_S, "worker": f"life-{os.getpid()}"}
    async with LocalRuns(ledger, catalog, sweep_s=0.05, options=options) as runs:  # type: ignore[arg-type]
        await runs.handle(run).result(timeout_s=60)


def main(url: str, project_id: str, run: str, seed: str, kills: str) -> None:
    """Let workers live one after the other."""
    live_again_and_again(lambda kill_at: live(url, project_id, run, kill_at), CALLS, seed, int(kills))


if __name__ == "__main__":
    main(*sys.argv[1:])
