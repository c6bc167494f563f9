"""LangGraph, called synchronously, its faster way: ``python -m tests.bench.peers.langgraph step``."""

from __future__ import annotations

import asyncio
import operator
import os
import sqlite3
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, TypedDict

from tests.bench.measuring import (
    Figures,
    Stopwatch,
    idle,
    importing,
    main,
    overhead,
    per_commit,
    per_piece,
    scratch,
)

os.environ |= {"LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "false"}

STEPS = 1000
WIDTH = 100
DURABLE_STEPS = 300
CONFIG = {"recursion_limit": 10_000_000, "configurable": {"thread_id": "run"}}


class Counted(TypedDict):
    """State of a loop or a chain."""

    count: int


class Gathered(TypedDict):
    """State of a fan-out."""

    found: Annotated[list[int], operator.add]


def _hop(state: Mapping[str, int]) -> dict[str, int]:
    return {"count": state["count"] + 1}


def _loop(steps: int, work: Callable[[], object] = int) -> Any:
    def hop(state: Mapping[str, int]) -> dict[str, int]:
        work()
        return _hop(state)

    graph: Any = import_module("langgraph.graph")
    builder = graph.StateGraph(Counted)
    builder.add_node("hop", hop)
    builder.add_edge(graph.START, "hop")
    builder.add_conditional_edges(
        "hop", lambda state: "hop" if state["count"] < steps else graph.END, ["hop", graph.END]
    )
    return builder


def _chain(length: int) -> Any:
    graph: Any = import_module("langgraph.graph")
    builder = graph.StateGraph(Counted)
    before = graph.START
    for index in range(length):
        builder.add_node(f"n{index}", _hop)
        builder.add_edge(before, f"n{index}")
        before = f"n{index}"
    builder.add_edge(before, graph.END)
    return builder


def _fan(width: int) -> Any:
    graph: Any = import_module("langgraph.graph")
    send: Any = import_module("langgraph.types").Send
    builder = graph.StateGraph(Gathered)
    builder.add_node("split", lambda _: {})
    builder.add_node("arm", lambda sent: {"found": [sent["index"]]})
    builder.add_node("join", lambda _: {})
    builder.add_edge(graph.START, "split")
    builder.add_conditional_edges(
        "split", lambda _: [send("arm", {"index": index}) for index in range(width)], ["arm"]
    )
    builder.add_edge("arm", "join")
    builder.add_edge("join", graph.END)
    return builder


def _timed(builder: Any, start: Mapping[str, object], pieces: int, *, stored: bool = False) -> Figures:
    saver: Any = import_module("langgraph.checkpoint.memory").InMemorySaver

    async def run() -> None:
        # A saver for each run, as its checkpoints stay with it; compiling for it is a hundredth of the run.
        compiled = builder.compile(checkpointer=saver()) if stored else graph
        how = {"durability": "sync"} if stored else {}
        found = compiled.invoke(start, CONFIG, **how)
        assert pieces in {found.get("count"), len(found.get("found", ()))}

    graph = builder.compile()
    return asyncio.run(per_piece(run, pieces))


def _overhead() -> Figures:
    async def run(work: Callable[[], object]) -> None:
        _loop(STEPS, work).compile().invoke({"count": 0}, CONFIG)

    return asyncio.run(overhead(run))


def _durable(synchronous: str) -> Figures:
    saver: Any = import_module("langgraph.checkpoint.sqlite").SqliteSaver
    with scratch() as folder:
        connection = sqlite3.connect(Path(folder) / "checkpoints.db", check_same_thread=False)
        connection.execute(f"PRAGMA synchronous={synchronous}")  # it turns WAL on by itself
        graph = _loop(DURABLE_STEPS).compile(checkpointer=saver(connection))
        watch = Stopwatch()
        found = graph.invoke({"count": 0}, CONFIG, durability="sync")
        cost = watch.read()
        connection.close()
    assert found["count"] == DURABLE_STEPS
    return per_commit(cost, DURABLE_STEPS)


def _versions() -> dict[str, str]:
    return {name: version(name) for name in ("langgraph", "langgraph-checkpoint-sqlite")}


CASES: dict[str, Callable[[], Figures]] = {
    "step": lambda: _timed(_loop(STEPS), {"count": 0}, STEPS),
    "branch": lambda: _timed(_fan(WIDTH), {"found": []}, WIDTH),
    "checkpoint": lambda: _timed(_loop(STEPS), {"count": 0}, STEPS, stored=True),
    "checkpoint-chain": lambda: _timed(_chain(WIDTH), {"count": 0}, WIDTH, stored=True),
    "overhead": _overhead,
    "chain": lambda: _timed(_chain(WIDTH), {"count": 0}, WIDTH),
    "durable-full": partial(_durable, "FULL"),
    "durable-normal": partial(_durable, "NORMAL"),
    "idle": lambda: idle(lambda: _chain(10).compile()),
    "import": lambda: importing(partial(import_module, "langgraph.graph")),
}

if __name__ == "__main__":
    main(CASES, _versions)
