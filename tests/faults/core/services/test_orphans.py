"""Processes end with their parent also where the kernel does not see to it."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import psutil
import pytest

from agentic.core.services import launcher

if TYPE_CHECKING:
    from tests.conftest import Eventually

    IsAlive = Callable[[int], bool]

pytestmark = pytest.mark.faults

# The launcher, as on a system that is not Linux.
LAUNCH = """
import runpy, sys
sys.platform = "elsewhere"
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
START = """
import os, subprocess, sys
command = [sys.executable, "-S", "-c", sys.argv[1], sys.argv[2], str(os.getpid())]
command += [sys.executable, "-S", "-c", "import sys; sys.stdin.read()"]
child = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
print(child.pid, flush=True)
sys.stdin.read(1)
child.stdin.close()
child.wait()
sys.stdin.read()
"""
POOL = """
import os, sys, time
from agentic.core.services.orphans import follow
parent = os.getpid()
child = os.fork()
if child == 0:
    follow(parent)
print(child, flush=True)
time.sleep(600)
"""


@asynccontextmanager
async def parent(code: str, *arguments: str) -> AsyncIterator[tuple[Process, int]]:
    """Run a process; give it and the pid of the child it says it has."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", code, *arguments), stdin=PIPE, stdout=PIPE
    )
    assert process.stdout is not None
    try:
        yield process, int(await process.stdout.readline())
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


def guards_of(pid: int) -> list[int]:
    return [child.pid for child in psutil.Process(pid).children()]


async def test_a_command_and_its_guard_end_when_the_parent_is_killed(
    eventually: Eventually, is_alive: IsAlive
) -> None:
    async with parent(START, LAUNCH, str(launcher.__file__)) as (process, command):
        await eventually(lambda: bool(guards_of(command)))
        started = [command, *guards_of(command)]
        process.kill()
        await eventually(lambda: not any(map(is_alive, started)))


async def test_the_guard_of_a_command_ends_with_it(eventually: Eventually, is_alive: IsAlive) -> None:
    async with parent(START, LAUNCH, str(launcher.__file__)) as (process, command):
        await eventually(lambda: bool(guards_of(command)))
        [guard] = guards_of(command)
        assert process.stdin is not None
        process.stdin.write(b"end")
        await eventually(lambda: not is_alive(command))
        await eventually(lambda: not is_alive(guard))


async def test_a_process_of_a_pool_ends_when_its_parent_is_killed(
    eventually: Eventually, is_alive: IsAlive
) -> None:
    async with parent(POOL) as (process, child):
        assert is_alive(child)
        process.kill()
        await eventually(lambda: not is_alive(child))
