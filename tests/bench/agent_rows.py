"""The rows of the table of agents."""

from __future__ import annotations

from tests.bench.contenders import Contender
from tests.bench.rows import Row

FRAMEWORKS: tuple[Contender, ...] = ("maf", "langchain", "openai_agents", "pydantic_ai")

AGENTS = (
    Row(
        name="turn",
        what="turn of a conversation of 10, a model that answers at once, no tool, in memory",
        target=500,
        peers=FRAMEWORKS,
    ),
    Row(
        name="turn-tool",
        what="the same with a call of a tool in each turn",
        target=1000,
        peers=FRAMEWORKS,
    ),
    Row(
        name="turn-sql",
        what="turn without a tool, its thread stored in SQLite as it goes, NORMAL",
        target=3000,
    ),
    Row(name="turn-nats", what="the same, stored on NATS", target=3000),
    Row(
        name="turn-durable",
        what="request to the model, or call of a tool, of an agent in a durable run, SQLite, NORMAL",
    ),
    Row(name="turn-effect", what="an effect (`ctx.once`) of an executor in such a run, one after the other"),
    Row(name="turn-effect-between", what="an effect between turns in memory, without these"),
    Row(
        name="chat",
        what="group chat of 5 agents with models that answer at once, 20 turns, in memory",
        figure="cpu_ms",
        unit="ms",
        target=300,
        peers=("maf",),
    ),
    Row(
        name="chat-long",
        what="the same, 100 turns",
        figure="cpu_ms",
        unit="ms",
    ),
    Row(
        name="chat-durable",
        what="the same, 20 turns, stored as it goes: SQLite, NORMAL, here; checkpoints in files there",
        figure="cpu_ms",
        unit="ms",
        target=2000,
        peers=("maf",),
    ),
    Row(
        name="chat-long-durable",
        what="the same, 100 turns",
        figure="cpu_ms",
        unit="ms",
    ),
    Row(
        name="import-agents",
        what="import of an agent's class, on top of pydantic",
        figure="cpu_ms",
        unit="ms",
        target=150,
        peers=FRAMEWORKS,
        case="agents-import",
    ),
    Row(
        name="idle-agent",
        what="process with an agent that waits, resident memory; here in a graph, and connected to NATS",
        figure="rss_mib",
        unit="MiB",
        target=50,
        peers=FRAMEWORKS,
        case="agents-idle",
    ),
    Row(
        name="sandbox-start",
        what="command in a process sandbox, on top of a plain process; the least of 40",
        figure="wall_ms",
        unit="ms",
        target=20,
    ),
)

CODING = (
    Row(
        name="coding-graph",
        what="added by a graph to a program that a model writes in three drafts, next to a plain loop; of "
        "the time of compiler and tests",
        figure="percent",
        unit="%",
        target=5,
    ),
    Row(
        name="coding-graph-cpu",
        what="the same program, without compiler and tests",
        figure="graph_ms",
        unit="ms",
        case="coding-graph",
    ),
    Row(
        name="coding-linear-cpu",
        what="the same in a plain loop (`Supervisor`)",
        figure="linear_ms",
        unit="ms",
        case="coding-graph",
    ),
    Row(
        name="coding-validate",
        what="TypeScript program compiled and tested, the least of 10, on the clock",
        figure="wall_ms",
        unit="ms",
        target=1000,
    ),
)
