"""The workers of a background run are killed: its reader gets each message once, and the answer once."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.databases import only_sqlite
from tests.faults.executors.backgrounding import CALLS, FLOW, flow
from tests.faults.executors.squaring import LOG, points, squaring_agent

from agentic.core.agents import AgentChunk, ChunkKind, ContinuationToken, InvokeOptions
from agentic.executors import DurableBackgroundRuns
from agentic.executors.durable import LocalRuns, WorkflowCatalog
from agentic.mappers import Database, SqlThreadStore, add_project
from agentic.mappers.ledger.ledger import SqlLedger

pytestmark = [pytest.mark.faults, pytest.mark.integration]

ROOT = Path(__file__).parents[3]
KILLS = 12
CUT_AFTER = 3


@only_sqlite  # of what a database does, nothing depends on the agent
@pytest.mark.requirement("BG05", "BG06", "BG07", "BG08", "SC08")
async def test_a_run_whose_workers_are_killed_gives_each_message_and_the_answer_once(
    migrated_database: Database, migrated_url: str, tmp_path: Path
) -> None:
    with migrated_database.writing() as session:
        project_id = add_project(session, "talk").id
    store = SqlThreadStore(migrated_database, project_id=project_id)
    catalog = WorkflowCatalog({FLOW: lambda: flow(store)})
    ledger = SqlLedger(migrated_database, project_id=project_id)
    submitter = LocalRuns(ledger, catalog)  # never entered: it accepts runs, and does not work on them
    agent = squaring_agent(CALLS, store=store)
    agent.background = DurableBackgroundRuns(FLOW, runs=submitter)
    begun = await agent.invoke_with_background(
        "Add up the squares.", options=InvokeOptions(allow_background=True)
    )
    assert begun.token is not None
    worker = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.faults.executors.backgrounding"),
        *(migrated_url, project_id, begun.token.task_id, "7", str(KILLS)),
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    pieces: list[AgentChunk] = []
    text = begun.token.encode()
    async with asyncio.timeout(110):
        while not (pieces and pieces[-1].done):  # a reader that is cut again and again, too
            options = InvokeOptions(continuation_token=ContinuationToken.decode(text))
            stream = agent.invoke_stream_with_background(options=options)
            async for piece in stream:
                pieces.append(piece)
                assert piece.token is not None
                text = piece.token.encode()
                if len(pieces) % CUT_AFTER == 0:
                    break
            await stream.aclose()  # type: ignore[attr-defined]  # an async generator
        assert await worker.wait() == 0
    total = sum(number * number for number in range(CALLS))
    kinds = [ChunkKind.MESSAGE, ChunkKind.TOOL_FINISHED] * CALLS + [ChunkKind.MESSAGE, ChunkKind.FINISHED]
    assert [piece.kind for piece in pieces] == kinds
    assert [piece.sequence for piece in pieces] == list(range(1, len(kinds) + 1))
    answer = await agent.invoke_with_background("", options=InvokeOptions(continuation_token=begun.token))
    assert (answer.text, answer.usage.tool_calls) == (f"The sum is {total}.", CALLS)
    assert len(answer.messages) == 2 * CALLS + 1
    entered = Counter((tmp_path / LOG).read_text().splitlines())
    assert entered == Counter(f"{kind} {number}" for kind, number in points(CALLS))
    submitter.close()
