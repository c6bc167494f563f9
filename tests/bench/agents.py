"""This project's rows of agents: ``python -m tests.bench.agents turn``."""

from __future__ import annotations

import asyncio
import statistics
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache, partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench.environments import run_figures
from tests.bench.measuring import (
    TURNS,
    Cost,
    Figures,
    Stopwatch,
    importing,
    main,
    per_piece,
    scratch,
    waiting,
)

if TYPE_CHECKING:
    from agentic.core import Workflow, WorkflowContext
    from agentic.core.agents import ChatAgent, ThreadStore
    from agentic.core.llm import ModelReply, ModelRequest
    from agentic.core.types import JSONValue

CALLS = 20
"""Calls of a tool in the turn of a durable run."""

EFFECTS = 2 * CALLS + 1
"""Its replies and results."""


def agent_of(calls: int = 0, store: ThreadStore | None = None) -> ChatAgent:
    """Return an agent with one tool, whose model calls it ``calls`` times in each turn and then replies."""
    from agentic.core.agents import ChatAgent, tool
    from agentic.core.llm import ChatMessage, FunctionModel, ModelReply, TokenUsage, ToolCall

    @tool
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    usage = TokenUsage(input_tokens=10, output_tokens=10, requests=1)
    answer = ModelReply(message=ChatMessage.assistant("Fine."), usage=usage)

    def asking(number: int, done: int) -> ModelReply:
        call = ToolCall(id=f"c{number}", name="add", arguments={"a": done, "b": 1})
        return ModelReply(message=ChatMessage.assistant("", call), usage=usage)

    asked = cache(asking) if calls > 1 else asking  # with one call, as the peers: they make each reply

    def reply(request: ModelRequest) -> ModelReply:
        # It counts with its tool: a look at the conversation would cost more than a step of the turn.
        results = request.messages[-1].tool_results
        done = int(str(results[0].content)) if results else 0
        return answer if done == calls else asked(len(request.messages), done)

    return ChatAgent(FunctionModel(reply), "You help.", name="help", tools=[add], store=store)


async def talk(agent: ChatAgent) -> None:
    """Hold a conversation."""
    thread = agent.new_thread()
    for number in range(TURNS):
        assert (await agent.run(f"question {number}", thread)).text == "Fine."
    assert len(thread.messages) >= 2 * TURNS


def turn(calls: int) -> Figures:
    """Return the cost of a turn, kept in memory."""
    agent = agent_of(calls)
    return asyncio.run(per_piece(partial(talk, agent), TURNS, repeats=15))


def stored_turn(opened: Callable[[], AbstractAsyncContextManager[ThreadStore]]) -> Figures:
    """Return the cost of a turn whose thread is in a store."""

    async def run() -> Figures:
        async with opened() as store:
            return await per_piece(partial(talk, agent_of(0, store)), TURNS, repeats=7)

    return asyncio.run(run())


@asynccontextmanager
async def in_sql() -> AsyncIterator[ThreadStore]:
    """Open a store of threads in SQLite."""
    from agentic.core.hooks import PluginRegistry
    from agentic.mappers import Database, SqlThreadStore, add_project
    from agentic.migrations import upgrade

    with scratch() as folder:
        url = f"sqlite:///{Path.cwd() / folder / 'data.db'}"
        upgrade(url, PluginRegistry([]))
        database = Database(url)
        with database.writing() as session:
            project_id = add_project(session, "bench").id
        yield SqlThreadStore(database, project_id=project_id)
        database.dispose()


@asynccontextmanager
async def on_nats() -> AsyncIterator[ThreadStore]:
    """Open a store of threads on a server of its own, as ``agentic up`` starts it."""
    from tests.bench.bus import server

    from agentic.core.agents import KeyValueThreadStore

    async with server() as url, KeyValueThreadStore.open(url) as store:
        yield store


def agent_flow() -> Workflow:
    """Return a graph that is an agent: one turn with many calls."""
    from agentic.core import WorkflowBuilder

    return WorkflowBuilder("flow", version="1").set_start(agent_of(CALLS)).build()


def effects_flow(*, keeps: bool = True, talks: bool = False) -> Workflow:
    """Return a graph with as many effects as that turn, of results like its.

    Args:
        keeps: Whether it has these effects.
        talks: Whether an agent takes a turn in memory before each.
    """
    from agentic.core import WorkflowBuilder, executor
    from agentic.core.llm import ChatMessage, ModelReply, TokenUsage

    usage = TokenUsage(input_tokens=10, output_tokens=10, requests=1)
    reply = ModelReply(message=ChatMessage.assistant("Fine."), usage=usage).to_json()
    agent = agent_of(1)

    async def work(words: str, ctx: WorkflowContext) -> str:
        async def effect() -> JSONValue:
            return reply

        for number in range(EFFECTS):
            if talks:
                await agent.run(words)
            if keeps:
                await ctx.once(f"effect.{number}", effect)
        return words

    return WorkflowBuilder("flow", version="1").set_start(executor(id="work")(work)).build()


def durable(build: Callable[[], Workflow], pieces: int = EFFECTS) -> Figures:
    """Return the cost of one of the ``pieces`` of a durable run on the ledger in SQLite: of its effects."""
    from tests.bench.ledger import opened

    from agentic.core.garbage import tune_gc
    from agentic.executors.durable import Submission, WorkflowCatalog
    from agentic.executors.durable.runs.local import LocalDispatcher
    from agentic.executors.durable.runs.service import RunService
    from agentic.executors.durable.worker.host import RunHost
    from agentic.executors.durable.worker.worker import DurableWorker

    flow = build()
    tune_gc()  # as workers do
    with opened("normal") as ledger:
        host = RunHost(
            store=ledger,
            catalog=WorkflowCatalog({"flow": lambda: flow}),
            dispatcher=LocalDispatcher(),
            is_alone=True,
        )
        service = RunService(host)

        async def run() -> Cost:
            handle = await service.submit("flow", "How much is it?", Submission(is_told=False))
            watch = Stopwatch()
            while (await DurableWorker(service.host).work()).done:  # a worker stops after some activations
                pass
            cost = watch.read()
            assert (await handle.result(timeout_s=60)).outputs
            return cost

        async def repeat() -> list[Cost]:
            return [await run() for _ in range(8)][1:]

        costs = asyncio.run(repeat())
        service.close()
    return {"cpu_us": statistics.median(cost.cpu_s for cost in costs) / pieces * 1e6}


def effect_between() -> Figures:
    """Return the cost of an effect between turns in memory, without these: caches are cold, as in a turn."""
    both = durable(partial(effects_flow, talks=True))["cpu_us"]
    return {"cpu_us": both - durable(partial(effects_flow, talks=True, keeps=False))["cpu_us"]}


def idle_agent() -> Figures:
    """Return the memory of a process of its own with an agent in a graph that waits, connected to NATS."""
    from tests.bench.bus import server

    async def run() -> Figures:
        async with server() as url:
            return await asyncio.to_thread(
                run_figures, Path(sys.executable), "tests.bench.agents", ["agents-process", url]
            )

    return asyncio.run(run())


def idle_process() -> Figures:
    """Return the memory of this process, which does nothing else."""
    from agentic.core.agents import KeyValueThreadStore

    async def run() -> Figures:
        async with KeyValueThreadStore.open(sys.argv[2]) as store:
            assert not await store.list()  # connects
            return waiting(agent_flow)

    return asyncio.run(run())


CASES: dict[str, Callable[[], Figures]] = {
    "turn": partial(turn, 0),
    "turn-tool": partial(turn, 1),
    "turn-sql": partial(stored_turn, in_sql),
    "turn-nats": partial(stored_turn, on_nats),
    "turn-durable": partial(durable, agent_flow),
    "turn-effect": partial(durable, effects_flow),
    "turn-effect-between": effect_between,
    "agents-import": lambda: importing(lambda: import_module("agentic.core.agents").ChatAgent),
    "agents-idle": idle_agent,
    "agents-process": idle_process,
}

if __name__ == "__main__":
    main(CASES, lambda: {name: version(name) for name in ("agentic-pipelines", "pydantic")})
