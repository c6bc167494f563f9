"""Disturbs runs for as long as one likes: ``MINUTES=30 SEED=1 python -m tests.faults.executors.soak``.

Round after round processes and workers are killed or paused, messages doubled, the broker is killed, emptied
or cut off, and NATS is killed, or hangs for seconds, as the seed says. After each round the histories are
checked, that all events are on NATS once, and what processes hold. In every fifth NATS hangs for 30 s.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
from tests.faults.executors.broker import Broker
from tests.faults.executors.disturbing import drops_connections, foreseen, forgets, known, restarts, tell
from tests.faults.executors.history import Figures
from tests.faults.executors.killing import kill_group, kill_one_at_work, pause_one_at_work
from tests.faults.executors.nats import Nats
from tests.faults.executors.scene import Scene, migrate

RUNS = 20
TROUBLES = 16
MINUTE_S = 60.0
LONG_EVERY, LONG_S = 5, 30.0
"""In so many rounds once, NATS cannot be reached for so long."""

MAX_MIB = 300
MAX_FILES = 100
"""What one process may hold; what is not given back grows past it in half an hour."""

Disturb = Callable[[random.Random], object]


def main() -> None:
    """Soak."""
    seconds = MINUTE_S * float(os.environ.get("MINUTES", "30"))
    seed = int(os.environ.get("SEED", str(time.time_ns() % 10_000)))
    say(f"seed {seed}, {seconds:g} s")
    with place() as (scene, broker, nats):
        soak(scene, broker, nats, seed, seconds)


@contextmanager
def place() -> Iterator[tuple[Scene, Broker, Nats]]:
    """Make a place of its own, with a broker and a NATS server of its own."""
    with (
        TemporaryDirectory(ignore_cleanup_errors=True) as name,
        Broker(Path(name)) as broker,
        Nats(Path(name)) as nats,
    ):
        empty = Path(name) / "empty.db"
        migrate(f"sqlite:///{empty}")
        scene = Scene(Path(name) / "place", empty, broker.url(0))
        scene.place.env["AGENTIC_NATS_URL"] = nats.url
        try:
            yield scene, broker, nats
        finally:
            scene.close()


def soak(scene: Scene, broker: Broker, nats: Nats, seed: int, seconds: float) -> None:
    """Disturb runs, round after round; say every minute, and at the end, what came of it."""
    began = told = time.monotonic()
    total, number, event_count = Figures(), 0, 0
    while time.monotonic() < began + seconds:
        number += 1
        if number % LONG_EVERY == 0:
            nats.hang(LONG_S)
        total = added(total, disturbed(scene, broker, nats, random.Random(f"{seed}/{number}")))
        event_count += nats.check(scene)
        held = held_by(scene)
        assert all(mib <= MAX_MIB and files <= MAX_FILES for mib, files in held), held
        if time.monotonic() >= told + MINUTE_S:
            told = time.monotonic()
            shares = ", ".join(f"{mib} MiB and {files} files" for mib, files in held)
            say(
                f"{(told - began) / MINUTE_S:.1f} min, round {number}: {summary(total)}; "
                f"{event_count} events on NATS; held: {shares}"
            )
    say(f"seed {seed}, {number} rounds: {summary(total)}; {event_count} events on NATS")


def disturbed(scene: Scene, broker: Broker, nats: Nats, dice: random.Random) -> Figures:
    """Submit runs, disturb them, and check what came of them."""
    troubles: Mapping[str, Disturb] = {
        "kill a process": lambda dice: kill_one_at_work(scene, dice),
        "kill a second": lambda dice: kill_one_at_work(scene, dice),
        "kill a third": lambda dice: kill_one_at_work(scene, dice),
        "kill a worker": lambda _: kill_group(scene, scene.worker()),
        "pause a process": lambda dice: pause_one_at_work(scene, dice),
        "double messages": lambda dice: tell(scene, dice, known(scene) + foreseen(scene), most=4),
        "kill the broker": lambda _: restarts(broker),
        "empty the broker": lambda _: forgets(broker),
        "cut off the broker": lambda _: drops_connections(broker),
        "kill NATS": lambda dice: nats.restart(dice.uniform(0.0, 1.0)),
        "hang NATS": lambda dice: nats.hang(dice.uniform(0.5, 5.0)),
    }
    scene.worker()
    scene.clear()
    scene.march(RUNS)
    for _ in range(TROUBLES):
        time.sleep(dice.uniform(0.05, 0.5))
        scene.worker()
        troubles[dice.choice(sorted(troubles))](dice)
    return scene.check()


def added(total: Figures, more: Figures) -> Figures:
    """Return the sum of figures; of what is overdue the longest."""
    sums = {name.name: getattr(total, name.name) + getattr(more, name.name) for name in fields(Figures)}
    return Figures(**{**sums, "overdue_s": max(total.overdue_s, more.overdue_s)})


def summary(total: Figures) -> str:
    """Return figures in one line."""
    return (
        f"{total.kills} kills, {total.runs} runs, {total.activations} activations, "
        f"{total.repeated} repeated, {total.crashes} claims lost, {total.lost} rows lost, "
        f"{total.doubled} rows doubled, {total.overdue_s:.1f} s overdue at most"
    )


def held_by(scene: Scene) -> list[tuple[int, int]]:
    """Return MiB and open files of each process: of this one, the worker, its pool and its reconciler."""
    worker = psutil.Process(scene.worker().pid)
    found = []
    for process in (psutil.Process(), worker, *worker.children(recursive=True)):
        try:
            found.append((process.memory_info().rss >> 20, process.num_fds()))
        except psutil.NoSuchProcess:  # it was killed just now
            continue
    return found


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
