"""Handlers that harm the process they run in; worker processes build their workflows by name."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import time
from collections.abc import Awaitable, Callable, Mapping

import psutil
from tests.faults.executors.flows import enter, write_row

from agentic.core import Workflow, WorkflowBuilder, WorkflowConfig, WorkflowContext, executor
from agentic.core.graph import CrashPolicy

HUGE = 20_000_000
_ROOM = 64 << 20

Poison = Callable[[], Awaitable[object]]


async def kill() -> object:
    """End the process as the kernel does when there is no memory left."""
    os.kill(os.getpid(), signal.SIGKILL)
    return None


async def leave() -> object:
    """End the process, and say that all is well."""
    os._exit(0)


async def exit_politely() -> object:
    """Raise what ends a program."""
    raise SystemExit(0)


async def spin() -> object:
    """Never end, nor let anything else run."""
    while True:
        pass


async def hoard() -> object:
    """Ask for more memory than there is."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = psutil.Process().memory_info().vms
    resource.setrlimit(resource.RLIMIT_AS, (used + _ROOM, before[1]))
    try:
        return len(bytearray(16 * _ROOM))
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


async def fork() -> object:
    """Go on twice."""
    if os.fork() == 0:
        time.sleep(0.2)  # noqa: ASYNC251 - the other one first
    return "forked"


async def flood() -> object:
    """Give more than anybody wants to store."""
    return "x" * HUGE


async def muddle() -> object:
    """Give what nobody can store."""
    return object()


POISONS: Mapping[str, Poison] = {
    "kill": kill,
    "leave": leave,
    "exit": exit_politely,
    "spin": spin,
    "hoard": hoard,
    "fork": fork,
    "flood": flood,
    "muddle": muddle,
}


def poison() -> Workflow:
    """Return a workflow that takes the poison its message names."""

    @executor(id="take")
    async def take(name: str, ctx: WorkflowContext[object, object]) -> None:
        token = enter(ctx)
        given = await POISONS[name]()
        write_row(ctx, token)
        await ctx.yield_output(given)

    config = WorkflowConfig(crash=CrashPolicy(max_crashes=1))
    return WorkflowBuilder("poison", version="1", config=config).set_start(take).build()


def sleepless() -> Workflow:
    """Return a workflow whose function, in a thread of its own, never ends."""

    @executor(id="take")
    def take(_: str) -> str:
        while True:
            time.sleep(0.01)

    config = WorkflowConfig(crash=CrashPolicy(max_crashes=0))
    return WorkflowBuilder("sleepless", version="1", config=config).set_start(take).build()


def dawdling() -> Workflow:
    """Return a workflow whose handler never ends, and says how long it may take."""

    @executor(id="take", timeout_s=0.3)
    async def take(_: str, ctx: WorkflowContext) -> str:
        enter(ctx)
        while True:  # noqa: ASYNC110 - there is nothing to wait for
            await asyncio.sleep(0)

    return WorkflowBuilder("dawdling", version="1").set_start(take).build()
