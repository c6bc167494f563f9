"""How a process of its own measures one row. Nothing but the standard library: the peers use it, too."""

from __future__ import annotations

import gc
import json
import resource
import statistics
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

Figures = dict[str, float]
"""What a case measured: cost per piece of work, by name and unit (``cpu_us``, ``wall_us``, ``rss_kib``)."""

REPEATS = 3
TURNS = 10
"""Of a conversation with an agent."""
CAST = ("ann", "ben", "cid", "dan", "eve")
WORDS = "I would say that it depends on the weather, on the price, and on the people who come. " * 3
"""Who speaks in a group chat, and the words."""
HOME = Path(".bench")
"""What is made for measuring lives here, on the disk of the checkout: environments and databases."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What something took: seconds of this process on a processor, and on the clock."""

    cpu_s: float
    wall_s: float


class Stopwatch:
    """Measures from when it was made."""

    def __init__(self) -> None:
        gc.collect()
        self._wall_s = time.perf_counter()
        self._cpu_s = time.process_time()

    def read(self) -> Cost:
        """Return what it took so far."""
        return Cost(time.process_time() - self._cpu_s, time.perf_counter() - self._wall_s)


async def per_piece(
    run: Callable[[], Awaitable[object]], pieces: int, *, repeats: int = REPEATS, warm_up: bool = True
) -> Figures:
    """Return the median cost of one of the ``pieces`` of work that ``run`` does."""
    if warm_up:
        await run()
    costs = []
    for _ in range(repeats):
        watch = Stopwatch()
        await run()
        costs.append(watch.read())
    return {
        "cpu_us": statistics.median(cost.cpu_s for cost in costs) / pieces * 1e6,
        "wall_us": statistics.median(cost.wall_s for cost in costs) / pieces * 1e6,
    }


async def per_chat(talk: Callable[[], Awaitable[object]]) -> Figures:
    """Return the median cost of a chat."""
    figures = await per_piece(talk, 1, repeats=7)
    return {"cpu_ms": figures["cpu_us"] / 1e3, "wall_ms": figures["wall_us"] / 1e3}


class Work:
    """Calls that keep the processor busy for a millisecond each, and say how long they took altogether.

    What an engine costs beside them is the rest of the run's time. Comparing two runs would not do: from
    one to the next a shared machine changes by more than what is looked for.
    """

    def __init__(self) -> None:
        self.taken_s = 0.0

    def __call__(self) -> None:
        start = time.thread_time()
        while time.thread_time() < start + 0.001:
            for _ in range(1000):
                pass
        self.taken_s += time.thread_time() - start


async def overhead(run: Callable[[Work], Awaitable[object]]) -> Figures:
    """Return what ``run`` adds to the work it does, in percent of it."""
    shares = []
    for _ in range(REPEATS):
        work = Work()
        watch = Stopwatch()
        await run(work)
        shares.append((watch.read().cpu_s / work.taken_s - 1) * 100)
    return {"percent": statistics.median(shares)}


def scratch() -> tempfile.TemporaryDirectory[str]:
    """Return a folder for databases, on a disk: in memory a commit would cost nothing."""
    HOME.mkdir(exist_ok=True)
    return tempfile.TemporaryDirectory(dir=HOME)


def per_commit(cost: Cost, pieces: int) -> Figures:
    """Return what one of ``pieces`` took."""
    return {"cpu_us": cost.cpu_s / pieces * 1e6, "wall_us": cost.wall_s / pieces * 1e6}


def idle(build: Callable[[], object], *, count: int = 200) -> Figures:
    """Return the memory one of ``count`` workflows takes that is built and not run."""
    build()  # what the first one loads is not its own
    gc.collect()
    before = _rss_kib()
    kept = [build() for _ in range(count)]
    gc.collect()
    after = _rss_kib()
    tracemalloc.start()
    traced = [build() for _ in range(count)]
    gc.collect()
    traced_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return {"rss_kib": (after - before) / len(kept), "traced_kib": traced_bytes / len(traced) / 1024}


def _rss_kib() -> float:
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:  # noqa: PTH123  # pathlib allocates
            return int(statm.read().split()[1]) * resource.getpagesize() / 1024
    except OSError:  # no Linux: the peak will do, as nothing was freed
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / 1024 if sys.platform == "darwin" else peak


def waiting(build: Callable[[], object]) -> Figures:
    """Return the memory of this process after ``build``: import, agent, and nothing else."""
    kept = build()
    gc.collect()
    found = _rss_kib() / 1024
    del kept
    return {"rss_mib": found}


def peak_mib() -> float:
    """Return the most memory that this process ever had."""
    try:
        # Linux tells by getrusage what the process had before it became this program, too.
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / 1024 / (1024 if sys.platform == "darwin" else 1)


def importing(load: Callable[[], object]) -> Figures:
    """Return what an import costs on top of pydantic, which all of them need."""
    from pydantic import BaseModel  # noqa: F401

    watch = Stopwatch()
    load()
    cost = watch.read()
    return {"cpu_ms": cost.cpu_s * 1e3, "wall_ms": cost.wall_s * 1e3}


def main(cases: Mapping[str, Callable[[], Figures]], versions: Callable[[], Mapping[str, str]]) -> None:
    """Measure the row that the command line names, or say which versions are measured."""
    wanted = sys.argv[1]
    found: object = dict(versions()) if wanted == "versions" else cases[wanted]()
    sys.stdout.write(json.dumps(found) + "\n")
