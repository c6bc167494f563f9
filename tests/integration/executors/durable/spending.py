"""A worker of a run of agents with nested agents, which share one budget in a bucket.

python -m tests.integration.executors.durable.spending URL PROJECT NATS

Each charge of the model is a line in ``charges.log``: the process, the agent, the dollars.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from pathlib import Path
from typing import Any

from agentic.core import WorkflowBuilder, executor
from agentic.core.agents import AgentExecutor, AgentResponse, ChatAgent, UsageLimits
from agentic.core.bus.nats.bus import NatsBus
from agentic.core.graph import Workflow
from agentic.core.llm import (
    Budget,
    BudgetModel,
    ChatMessage,
    LLMAdapter,
    ModelReply,
    ModelRequest,
    ModelSettings,
    TokenUsage,
    ToolCall,
)
from agentic.core.stores.key_value_models import KeyValueBudgetStore
from agentic.core.types import RunId
from agentic.executors.durable import LocalRuns, Submission, WorkflowCatalog
from agentic.mappers import Database
from agentic.mappers.ledger.ledger import SqlLedger

LOG = Path("charges.log")
RUN = "tree"
CAP_USD = 600.0
WORKERS = 3
BRANCHES = 2 * WORKERS
RESERVED_USD = 10
"""By each call: the model takes up to twice as much."""

NO_LIMITS = UsageLimits(max_model_calls=None, max_tool_calls=None, max_repeats=None)


def write_down(name: str, tokens: int) -> None:
    """Add a charge to the log."""
    with LOG.open("a") as log:
        log.write(f"{os.getpid()} {name} {tokens}\n")


def charged_count() -> int:
    """Return how many workers have been charged."""
    return len({line.split()[0] for line in LOG.read_text().splitlines()})


async def all_at_work() -> None:
    """Wait until each worker has been charged."""
    for _ in range(6_000):
        if charged_count() == WORKERS:
            return
        await asyncio.sleep(0.01)


class Charging(LLMAdapter):
    """Takes a dollar for a token of its reply, writes it down, and calls a tool, if there is one."""

    def __init__(self, name: str) -> None:
        self.name = f"charging:{name}"

    def cost_of(self, usage: TokenUsage) -> float:
        """Return the dollars."""
        return float(usage.output_tokens)

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Reply, once all workers work."""
        tokens = random.randint(1, 2 * RESERVED_USD)
        write_down(self.name, tokens)
        await all_at_work()
        usage = TokenUsage(output_tokens=tokens, requests=1, cost_usd=float(tokens))
        if request.tools and len(request.messages) < 2 * RESERVED_USD:
            call = ToolCall(
                id=f"c{len(request.messages)}", name=request.tools[0].name, arguments={"task": "x"}
            )
            return ModelReply(message=ChatMessage.assistant("", call), usage=usage)
        return ModelReply(message=ChatMessage.assistant("x"), usage=usage)


class Stopping(AgentExecutor):
    """Sends the response on also if the budget has stopped the agent."""

    def accept(self, response: AgentResponse[Any]) -> AgentResponse[Any]:
        return response


def tree(store: KeyValueBudgetStore | None) -> Workflow:
    """Return a graph with agents side by side, each with an agent in an agent."""

    @executor(id="split")
    async def split(words: str) -> str:
        return words

    def agent(name: str, *tools: ChatAgent[Any]) -> ChatAgent[Any]:
        model: LLMAdapter = Charging(name)
        if store is not None:
            model = BudgetModel(model, Budget(max_usd=CAP_USD, name=f"run {RUN}", store=store))
        settings = ModelSettings(max_tokens=RESERVED_USD)
        return ChatAgent(model, name=name, tools=tools, limits=NO_LIMITS, settings=settings)

    building = WorkflowBuilder("tree", version="1").set_start(split)
    for number in range(BRANCHES):
        boss = agent(f"boss{number}", agent(f"helper{number}", agent(f"clerk{number}")))
        building.add_edge(split, Stopping(boss, id=f"branch{number}"))
    return building.build()


async def work(url: str, project_id: str, nats: str) -> None:
    """Work on the run until it has ended."""
    bus = NatsBus(nats)
    store = KeyValueBudgetStore(bus.bucket("MODELS", project="shop"))
    catalog = WorkflowCatalog({"tree": lambda: tree(store)})
    ledger = SqlLedger(Database(url), project_id=project_id)
    async with LocalRuns(
        ledger,
        catalog,
        concurrency=1,
        sweep_s=0.05,
        options={"only": RunId(RUN), "worker": f"w{os.getpid()}"},
    ) as runs:
        handle = await runs.submit("tree", "Go!", Submission(run_id=RUN, idempotency_key=RUN))
        await handle.result(timeout_s=60)
    await bus.aclose()


if __name__ == "__main__":
    asyncio.run(work(*sys.argv[1:]))
