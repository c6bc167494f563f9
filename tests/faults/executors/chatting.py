"""A chat, a mesh and a team in a sequence, durable, whose process is killed at each request to a model.

python -m tests.faults.executors.chatting URL PROJECT
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.faults.executors.squaring import LEASE_S, LOG

from agentic.core import WorkflowConfig
from agentic.core.agents import ChatAgent
from agentic.core.graph import CrashPolicy, RunStatus, Workflow
from agentic.core.llm import FunctionModel, ModelRequest, ScriptLine, ToolCall
from agentic.core.patterns import (
    GroupChatBuilder,
    MagenticBuilder,
    PatternResult,
    SequentialBuilder,
    handoff,
    llm_selector,
)
from agentic.core.types import RunId
from agentic.executors.durable import LocalRuns, Submission, WorkflowCatalog
from agentic.mappers import Database
from agentic.mappers.ledger.ledger import SqlLedger

NAMES = ("ann", "ben", "cid")
TURNS = 3
RUN = "chat"

POINTS = tuple(
    [f"{kind} {turn}" for turn in range(TURNS) for kind in ("choose", NAMES[turn * 2 % len(NAMES)])]
    + ["clerk 0", "expert 0", "plan 0", "worker 0", "ledger 0", "answer 0", "editor 0"]
)
"""Every request to a model, in order; in the chat, a choice comes before each answer."""

Enter = Callable[[str], None]


def press(enter: Enter) -> Workflow:
    """Return the patterns. Their models answer by the conversation alone, so that each process continues."""

    def choose(request: ModelRequest) -> str:
        turn = sum(request.messages[-1].text.count(f"{name}: ") for name in NAMES)
        enter(f"choose {turn}")
        return NAMES[turn * 2 % len(NAMES)]

    def speaks(name: str) -> ChatAgent[Any]:
        def reply(request: ModelRequest) -> str:
            enter(f"{name} {len(request.messages) - 1}")
            return f"words {len(request.messages)}"

        return ChatAgent(FunctionModel(reply), name=name)

    def one(name: str, line: ScriptLine) -> ChatAgent[Any]:
        def reply(request: ModelRequest) -> ScriptLine:
            enter(f"{name} 0")
            return line or f"edited: {request.messages[-1].text}"

        return ChatAgent(FunctionModel(reply), name=name)

    def manage(request: ModelRequest) -> str:
        match request.output.name if request.output is not None else "":
            case "TaskPlan":
                enter("plan 0")
                return json.dumps({"steps": [{"agent_id": "worker", "instruction": "work"}]})
            case "ProgressLedger":
                enter("ledger 0")
                return json.dumps({"is_request_satisfied": True})
            case _:
                enter("answer 0")
                return "solved"

    chat = (
        GroupChatBuilder("chat")
        .participants([speaks(name) for name in NAMES])
        .with_orchestrator_func(llm_selector(FunctionModel(choose)))
        .with_max_iterations(TURNS)
        .build()
    )
    passed = ToolCall(id="c", name="handoff_to_expert", arguments={"reason": "over to you"})
    mesh = handoff("mesh", [one("clerk", passed), one("expert", "mended")])
    team = (
        MagenticBuilder("team")
        .participants([one("worker", "worked")])
        .with_manager(FunctionModel(manage))
        .build()
    )
    config = WorkflowConfig(crash=CrashPolicy(max_crashes=1_000))
    parts: list[Any] = [chat, mesh, team, one("editor", "")]
    return SequentialBuilder("press", version="1", config=config).participants(parts).build()


async def live(url: str, project_id: str, kill_at: str) -> None:
    """Work on the run to its end, or to the point."""

    def enter(point: str) -> None:
        if point == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        with Path(LOG).open("a") as log:
            log.write(f"{point}\n")

    catalog = WorkflowCatalog({"press": lambda: press(enter)})
    store = SqlLedger(Database(url), project_id=project_id)
    options = {"only": RunId(RUN), "is_alone": True, "lease_s": LEASE_S, "worker": f"life-{os.getpid()}"}
    async with LocalRuns(store, catalog, sweep_s=0.05, options=options) as runs:  # type: ignore[arg-type]
        handle = await runs.submit("press", "Go!", Submission(run_id=RUN, idempotency_key=RUN, is_told=False))
        result = await handle.result(timeout_s=60)
    if result.status is RunStatus.COMPLETED:
        said = result.output(PatternResult).conversation
        sys.stdout.write(json.dumps([[one.author_name, one.text] for one in said]) + "\n")


def main(url: str, project_id: str) -> None:
    """Let a child live until each point, and the last one to the end.

    Raises:
        SystemExit: A child was not killed where it should be.
    """
    for kill_at in (*POINTS, ""):
        pid = os.fork()
        if pid == 0:
            asyncio.run(live(url, project_id, kill_at))
            sys.stdout.flush()
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        if kill_at and os.WTERMSIG(status) != signal.SIGKILL:
            raise SystemExit(f"the process was not killed at {kill_at}: {status}")


if __name__ == "__main__":
    main(*sys.argv[1:])
