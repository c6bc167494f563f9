"""The rows of the tables: what each measures, and which of its figures counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tests.bench.contenders import Contender

Better = Literal["less", "more", ""]
"""Which figure is the better one; none: the figures are facts beside each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of the table.

    Attributes:
        name: On the command line.
        what: Is measured, in words.
        figure: Which figure of a measurement counts.
        unit: As it is shown.
        better: Whether less of it is better or more.
        target: What this project wants to reach, in ``unit``.
        peers: Who else is measured.
        case: Which case measures it; several rows may show figures of one.
    """

    name: str
    what: str
    figure: str = "cpu_us"
    unit: str = "us"
    better: Better = "less"
    target: float | None = None
    peers: tuple[Contender, ...] = ()
    case: str = ""

    @property
    def contenders(self) -> tuple[Contender, ...]:
        """Who is measured."""
        return ("ours", *self.peers)

    @property
    def measured_by(self) -> str:
        """Name of the case."""
        return self.case or self.name


ENGINES: tuple[Contender, ...] = ("maf", "langgraph")

STEPS = (
    Row(
        name="step",
        what="superstep of a trivial node that sends to itself 1,000 times, durable events on",
        target=40,
        peers=(*ENGINES, "plain"),
    ),
    Row(
        name="chain",
        what="superstep in a chain of 100 nodes",
        peers=ENGINES,
    ),
    Row(name="chain-long", what="superstep in a chain of 10,000 nodes"),
    Row(
        name="branch",
        what="branch of a fan-out of 100, with its join",
        target=27,
        peers=(*ENGINES, "plain"),
    ),
    Row(name="branch-wide", what="branch of a fan-out of 10,000, with its join"),
    Row(name="map", what="item of a list of 100,000 that is mapped"),
    Row(
        name="checkpoint",
        what="superstep of the loop with checkpoints in memory",
        target=70,
        peers=ENGINES,
    ),
    Row(
        name="checkpoint-chain",
        what="superstep of a chain of 100 nodes with checkpoints in memory",
        target=70,
        peers=ENGINES,
    ),
    Row(
        name="checkpoint-late",
        what="the same loop, steps 9,000 to 10,000",
        target=70,
    ),
    Row(
        name="checkpoint-early",
        what="the same loop of 10,000 steps, its first 1,000",
        figure="first_cpu_us",
        case="checkpoint-late",
    ),
    Row(
        name="durable-full",
        what="superstep stored in SQLite, WAL, `synchronous=FULL`, on the clock (no engine: a bare commit)",
        figure="wall_us",
        target=900,
        peers=("langgraph", "plain"),
    ),
    Row(
        name="durable-normal",
        what="the same with `synchronous=NORMAL`",
        figure="wall_us",
        target=300,
        peers=("langgraph", "plain"),
    ),
    Row(
        name="place-full",
        what="step of a durable run that its process goes on with, on the ledger, FULL, on the clock",
        figure="wall_us",
        target=1000,
    ),
    Row(
        name="place-normal",
        what="the same with `synchronous=NORMAL`",
        figure="wall_us",
        target=500,
    ),
    Row(
        name="place-two-normal",
        what="the same by two processes in one database, a run each, both together",
        figure="wall_us",
        target=625,
    ),
    Row(
        name="group-full",
        what="step of 100 durable runs of 20 steps together in one process, FULL, on the clock",
        figure="wall_us",
        target=200,
    ),
    Row(
        name="group-memory",
        what="memory of such a run",
        figure="rss_kib",
        unit="KiB",
        case="group-full",
    ),
    Row(
        name="celery",
        what="activation with a message of its own, one worker process, NORMAL (no engine: a Celery task "
        "that does nothing)",
        figure="wall_us",
        peers=("plain",),
    ),
    Row(
        name="waiting-10",
        what="durable run of one step, claimed among 10 that wait",
        figure="cpu_us",
    ),
    Row(name="waiting-10000", what="the same among 10,000", figure="cpu_us"),
    Row(
        name="overhead",
        what="added to a loop whose every step works for 1 ms (no engine: a task for each)",
        figure="percent",
        unit="%",
        target=5,
        peers=(*ENGINES, "plain"),
    ),
    Row(name="event", what="event that nobody listens to, told by a handler"),
    Row(name="model", what="call of a model after 20 messages, without its reply: retries and a budget"),
    Row(
        name="idle",
        what="workflow of 10 nodes that is built and not run, resident memory",
        figure="rss_kib",
        unit="KiB",
        target=10,
        peers=ENGINES,
    ),
    Row(
        name="idle-traced",
        what="the same, as Python counts it",
        figure="traced_kib",
        unit="KiB",
        target=10,
        peers=ENGINES,
        case="idle",
    ),
    Row(
        name="import",
        what="import of the engine, on top of pydantic",
        figure="cpu_ms",
        unit="ms",
        target=150,
        peers=ENGINES,
    ),
)
