"""A durable conversation whose process is killed at given points, and begun again, until it is over.

python -m tests.faults.executors.conversing URL PROJECT SEED KILLS [nested]
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Awaitable

from tests.faults.executors.squaring import LEASE_S, Point, live_again_and_again, squaring_agent

from agentic.core import WorkflowBuilder, WorkflowConfig
from agentic.core.agents import AgentExecutorResponse, ChatAgent
from agentic.core.graph import CrashPolicy, RunStatus, Workflow
from agentic.core.llm import FunctionModel, ModelRequest, ScriptLine, ToolCall
from agentic.core.types import RunId
from agentic.executors.durable import LocalRuns, Submission, WorkflowCatalog
from agentic.mappers import Database
from agentic.mappers.ledger.ledger import SqlLedger

CALLS = 30
RUN = "conversation"


def conversation(kill_at: Point | None, *, is_nested: bool) -> Workflow:
    """Return an agent in a graph, which may crash often; nested, in a workflow that another agent calls."""
    config = WorkflowConfig(crash=CrashPolicy(max_crashes=1_000))
    agent: ChatAgent = squaring_agent(CALLS, kill_at)
    if is_nested:
        inner = WorkflowBuilder("work", version="1").set_start(agent).build()
        agent = ChatAgent(FunctionModel(delegated), name="boss", tools=[inner.as_agent("work")])
    return WorkflowBuilder("talk", version="1", config=config).set_start(agent).build()


def delegated(request: ModelRequest) -> ScriptLine:
    """Give the work to the workflow, and repeat its answer."""
    results = request.messages[-1].tool_results
    return str(results[0].content) if results else ToolCall(id="", name="work", arguments={"task": "Add up."})


async def live(url: str, project_id: str, kill_at: Point | None, *, is_nested: bool) -> None:
    """Work on the run to its end, or to the point."""
    catalog = WorkflowCatalog({"talk": lambda: conversation(kill_at, is_nested=is_nested)})
    store = SqlLedger(Database(url), project_id=project_id)
    options = {"only": RunId(RUN), "is_alone": True, "lease_s": LEASE_S, "worker": f"life-{os.getpid()}"}
    async with LocalRuns(store, catalog, sweep_s=0.05, options=options) as runs:  # type: ignore[arg-type]
        handle = await runs.submit(
            "talk", "Add up the squares.", Submission(run_id=RUN, idempotency_key=RUN, is_told=False)
        )
        result = await handle.result(timeout_s=60)
    if result.status is RunStatus.COMPLETED:
        answer = result.output(AgentExecutorResponse)
        usage = answer.agent_response.usage
        found = {"text": answer.text, "requests": usage.requests, "calls": usage.tool_calls}
        sys.stdout.write(json.dumps(found) + "\n")


def main(url: str, project_id: str, seed: str, kills: str, nested: str = "") -> None:
    """Let children live one after the other."""

    def lives(kill_at: Point | None) -> Awaitable[None]:
        return live(url, project_id, kill_at, is_nested=bool(nested))

    live_again_and_again(lives, CALLS, seed, int(kills))


if __name__ == "__main__":
    main(*sys.argv[1:])
