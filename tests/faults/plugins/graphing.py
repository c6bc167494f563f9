"""A durable run of a graph of LangGraph whose process is killed again and again, in nodes and between them.

python -m tests.faults.plugins.graphing URL PROJECT SEED KILLS
"""

from __future__ import annotations

import asyncio
import json
import operator
import os
import random
import signal
import sys
from pathlib import Path
from typing import Annotated, Any, TypedDict, TypeVar

from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from agentic.core import WorkflowBuilder
from agentic.core.graph import CrashPolicy, RunStatus, Workflow
from agentic.core.types import RunId
from agentic.executors.durable import LocalRuns, Submission, WorkflowCatalog
from agentic.mappers import Database
from agentic.mappers.ledger.ledger import SqlLedger
from agentic.plugins.langgraph import LangGraphExecutor, LangGraphResult, SqlSaver
from agentic.plugins.langgraph.savers.saver import Job

LOG = Path("graph.log")
ROUNDS, WIDTH = 4, 3
LEASE_S = 0.3
RUN = "graph"
REACH = 9
"""The last point of a life: a quarter of a round."""

T = TypeVar("T")


class Bomb:
    """Kills the process at a point; points are the ends of nodes, and those of writes to the store."""

    def __init__(self, points_left: int | None) -> None:
        self._left = points_left

    def point(self) -> None:
        if self._left is not None:
            self._left -= 1
            if self._left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)


class NotingSaver(SqlSaver):
    """Notes the results of nodes that are stored."""

    bomb = Bomb(None)

    async def _do(self, job: Job[T], *, reads: bool = False) -> T:
        if reads:
            return await super()._do(job, reads=reads)
        self.bomb.point()
        found = await super()._do(job, reads=reads)
        self.bomb.point()
        return found

    async def aput_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        await super().aput_writes(config, writes, task_id, task_path)
        log(*(f"stored {label}" for channel, labels in writes if channel == "done" for label in labels))


class Work(TypedDict, total=False):
    round: int
    label: str
    done: Annotated[list[str], operator.add]


def log(*lines: str) -> None:
    with LOG.open("a") as file:
        file.writelines(f"{line}\n" for line in lines)


def rounds(bomb: Bomb) -> Any:
    """A graph with a loop, sends, and a nested graph."""

    def noted(label: str, **more: Any) -> dict[str, Any]:
        log(f"in {label}")
        bomb.point()
        return {"done": [label], **more}

    def plan(state: Work) -> dict[str, Any]:
        number = state.get("round", 0) + 1
        return noted(f"plan {number}", round=number)

    def spread(state: Work) -> list[Send]:
        return [Send("work", {"label": f"work {state.get('round')}.{one}"}) for one in range(WIDTH)]

    async def work(state: Work) -> dict[str, Any]:
        return noted(state.get("label", ""))

    def first(state: Work) -> dict[str, Any]:
        return {**noted(f"first {state.get('round')}"), "label": "x"}

    def second(state: Work) -> dict[str, Any]:
        return noted(f"second {state.get('round')}")

    inner = StateGraph(Work).add_node("first", first).add_node("second", second)
    inner.add_edge(START, "first").add_edge("first", "second")
    nested = inner.compile()

    async def sum_up(state: Work) -> dict[str, Any]:
        found = await nested.ainvoke({"round": state.get("round", 0)})
        return {"done": found["done"]}

    graph = StateGraph(Work).add_node("plan", plan).add_node("work", work).add_node("sum_up", sum_up)
    graph.add_edge(START, "plan").add_conditional_edges("plan", spread, ["work"]).add_edge("work", "sum_up")
    graph.add_conditional_edges(
        "sum_up", lambda state: END if state.get("round") == ROUNDS else "plan", ["plan", END]
    )
    return graph.compile()


def flow(database: Database, project_id: str, bomb: Bomb) -> Workflow:
    saver = NotingSaver(database, project_id=project_id)
    saver.bomb = bomb
    node = LangGraphExecutor(rounds(bomb), saver=saver)
    node.crash = CrashPolicy(max_crashes=1_000)
    return WorkflowBuilder("rounds", version="1").set_start(node).build()


async def live(url: str, project_id: str, bomb: Bomb) -> None:
    """Work on the run to its end, or to the point."""
    database = Database(url)
    catalog = WorkflowCatalog({"rounds": lambda: flow(database, project_id, bomb)})
    store = SqlLedger(database, project_id=project_id)
    options = {"only": RunId(RUN), "is_alone": True, "lease_s": LEASE_S, "worker": f"life-{os.getpid()}"}
    async with LocalRuns(store, catalog, sweep_s=0.05, options=options) as runs:  # type: ignore[arg-type]
        submission = Submission(run_id=RUN, idempotency_key=RUN, is_told=False)
        result = await (await runs.submit("rounds", {"round": 0}, submission)).result(timeout_s=60)
    if result.status is RunStatus.COMPLETED:
        sys.stdout.write(json.dumps(result.output(LangGraphResult).values) + "\n")


def main(url: str, project_id: str, seed: str, kills: str) -> None:
    """Let children live one after the other; the last one to the end."""
    chance = random.Random(seed)
    for number in range(int(kills) + 1):
        pid = os.fork()
        if pid == 0:
            points = None if number == int(kills) else chance.randint(1, REACH)
            asyncio.run(live(url, project_id, Bomb(points)))
            sys.stdout.flush()
            os._exit(0)
        chance.random()  # children do not move the parent's chance
        _, status = os.waitpid(pid, 0)
        sys.stderr.write(f"{status}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
