"""Workflows whose runs are disturbed; worker processes build them by name."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import text
from sqlalchemy.orm import Session

from agentic.core import RetryPolicy, Workflow, WorkflowBuilder, WorkflowConfig, WorkflowContext, executor
from agentic.core.graph import CrashPolicy

VERSION = "FAULTS_VERSION"
"""Environment variable: the version of :func:`versioned`."""

BUILD_S = 3.0

ENTRIES = Path("entries.log")
"""A line for each time that a handler was entered, in the folder of the place."""

# Who has the claim, and with which fence, is what the ledger says in the transaction that keeps the result.
_ADD_ROW = text(
    "INSERT INTO fault_rows (run_id, superstep, executor_id, token, pid, fence, worker) "
    "SELECT run_id, superstep, executor_id, :token, :pid, fence, worker FROM activations "
    "WHERE run_id = :run_id AND superstep = :superstep AND executor_id = :executor_id AND shard = 0"
)


def enter(ctx: WorkflowContext) -> str:
    """Note that a handler was entered; return what names this entry."""
    token = uuid.uuid4().hex
    with ENTRIES.open("a") as log:  # one short write: it is whole, whoever else writes
        log.write(f"{ctx.idempotency_key} {token} {os.getpid()}\n")
    return token


def write_row(ctx: WorkflowContext, token: str) -> None:
    """Write a row in the transaction that keeps this activation's result."""
    row = {
        "token": token,
        "pid": os.getpid(),
        "run_id": ctx.run_id,
        "superstep": ctx.superstep,
        "executor_id": ctx.executor_id,
    }

    def add(session: Session) -> None:
        session.execute(_ADD_ROW, row)

    ctx.on_commit(add)


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A loop of a fan-out and a join.

    Attributes:
        rounds: How often it goes round, three supersteps each.
        width: Arms of the fan-out.
        pause_s: What an activation takes at most.
    """

    rounds: int = 2
    width: int = 3
    pause_s: float = 0.1


SHAPES = {
    "march": Shape(),
    "short": Shape(rounds=1, pause_s=0.02),
    "wide": Shape(rounds=1, width=1000, pause_s=0),
}


def march() -> Workflow:
    """Return six supersteps, ten activations."""
    return march_of("march")


def short() -> Workflow:
    """Return three supersteps, five activations."""
    return march_of("short")


def wide() -> Workflow:
    """Return three supersteps, the second of a thousand activations."""
    return march_of("wide")


def march_of(name: str, *, is_durable: bool = True) -> Workflow:
    """Return a loop whose every activation takes a moment and writes a row.

    Args:
        name: Of its shape.
        is_durable: False for a run without a ledger, which has no transactions to write rows in.
    """
    rounds, width = SHAPES[name].rounds, SHAPES[name].width

    async def step(ctx: WorkflowContext) -> None:
        if is_durable:
            token = enter(ctx)
            await asyncio.sleep(random.Random(ctx.idempotency_key).uniform(0, SHAPES[name].pause_s))
            write_row(ctx, token)

    @executor(id="split")
    async def split(numbers: list[int], ctx: WorkflowContext) -> list[int]:
        await step(ctx)
        return numbers

    def arm(index: int) -> object:
        @executor(id=f"arm{index}")
        async def add(numbers: list[int], ctx: WorkflowContext) -> list[int]:
            await step(ctx)
            return [*numbers, sum(numbers) + index]

        return add

    arms = [arm(index) for index in range(width)]

    @executor(id="join")
    async def join(found: list[list[int]], ctx: WorkflowContext[list[int], list[int]]) -> list[int] | None:
        await step(ctx)
        numbers = [sum(each) % 1_000_003 for each in found]
        if ctx.superstep < 3 * rounds - 1:
            return numbers
        await ctx.yield_output(numbers)
        return None

    # Whoever is killed on purpose is no poison, however often it hits one activation.
    config = WorkflowConfig(max_supersteps=3 * rounds + 2, crash=CrashPolicy(max_crashes=100))
    return (
        WorkflowBuilder(name, version="1", config=config)
        .set_start(split)
        .add_fan_out_edge(split, arms)  # type: ignore[arg-type]  # they are executors
        .add_fan_in_edge(arms, join)  # type: ignore[arg-type]
        .add_edge(join, split, condition=lambda _: True)
        .build()
    )


def gated() -> Workflow:
    """Return a workflow of two supersteps; the first waits for the gate that its message names."""

    @executor(id="wait")
    async def wait(name: str, ctx: WorkflowContext) -> str:
        token = enter(ctx)
        at_work(name).write_text(str(os.getpid()))
        while not gate(name).exists():  # noqa: ASYNC110 - other processes set no event of ours
            await asyncio.sleep(0.01)
        write_row(ctx, token)
        return name

    @executor(id="after")
    async def after(name: str, ctx: WorkflowContext) -> str:
        write_row(ctx, enter(ctx))
        return name

    return WorkflowBuilder("gated", version="1").set_start(wait).add_edge(wait, after).build()


def echo() -> Workflow:
    """Return a workflow of one activation that takes no time."""

    @executor(id="echo")
    async def say(number: int, ctx: WorkflowContext[int, int]) -> None:
        enter(ctx)
        await ctx.yield_output(number)

    return WorkflowBuilder("echo", version="1").set_start(say).build()


def blocking() -> Workflow:
    """Return a workflow that waits for its gate in a function that blocks."""

    @executor(id="wait")
    def wait(name: str) -> str:
        at_work(name).write_text(str(os.getpid()))
        while not gate(name).exists():
            time.sleep(0.01)
        return name

    @executor(id="after")
    async def after(name: str) -> str:
        touch(f"{name}.after")
        return name

    return WorkflowBuilder("blocking", version="1").set_start(wait).add_edge(wait, after).build()


def once() -> Workflow:
    """Return a workflow that calls the world once, and whose process then dies, once."""

    @executor(id="pay")
    async def pay(name: str, ctx: WorkflowContext) -> str:
        enter(ctx)

        def charge() -> str:
            with Path(f"{name}.charges").open("a") as log:
                log.write("x")
            return "receipt"

        receipt = await ctx.once("charge", charge)
        if touch(f"{name}.died"):
            os.kill(os.getpid(), signal.SIGKILL)
        return f"{name} {receipt}"

    return WorkflowBuilder("once", version="1").set_start(pay).build()


def touch(name: str) -> bool:
    """Make a file; False when it was there before."""
    try:
        Path(name).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def versioned() -> Workflow:
    """Return a workflow whose version the environment says."""

    @executor(id="step")
    async def step(name: str, ctx: WorkflowContext) -> str:
        write_row(ctx, enter(ctx))
        return name

    return WorkflowBuilder("versioned", version=os.environ.get(VERSION, "1")).set_start(step).build()


def heavy() -> Workflow:
    """Return a workflow that a worker process needs longer to build than a lease lasts here."""
    if "worker" in sys.argv:
        time.sleep(BUILD_S)
    return echo()


def timed() -> Workflow:
    """Return a workflow that fails once, tries again after a while, and has an hour's half for all of it."""

    @executor(id="step", retry=RetryPolicy(max_attempts=2, first_delay_s=0.3, jitter=0))
    async def step(name: str, ctx: WorkflowContext) -> str:
        await asyncio.sleep(0.05)  # time for a timer to strike
        if ctx.attempt == 1:
            raise ConnectionError("not yet")
        write_row(ctx, enter(ctx))
        return name

    config = WorkflowConfig(run_timeout_s=1800)
    return WorkflowBuilder("timed", version="1", config=config).set_start(step).build()


def at_work(name: str) -> Path:
    """Return the file that says which process waits for a gate."""
    return Path(f"{name}.at-work")


def gate(name: str) -> Path:
    """Return the file that a run waits for."""
    return Path(f"{name}.gate")
