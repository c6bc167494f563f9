"""Random durable runs to which everything happens that can; each is told by its seed alone.

    python -m tests.property.durable.simulator 60           # a minute of new ones
    python -m tests.property.durable.simulator 0 1234       # one of them again

Several processes work on one ledger, in one thread and in virtual time. They are killed, suspended, shut down
and cut off from ledger and broker, between any two steps of the protocol; messages get lost, doubled, late;
people cancel, pause and answer whenever they like. What comes of it must be what comes of ``workflow.run``.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections import Counter
from dataclasses import replace
from unittest.mock import patch

from structlog.testing import capture_logs
from tests.property.durable.auditing import AuditedLedger, Row, Session
from tests.property.durable.cluster import Cluster
from tests.property.durable.comparing import Quiet, Struck, compare
from tests.property.durable.driving import Driver
from tests.property.durable.hosts import InlineLane, InlineLeases, catalog_of, host_on
from tests.property.durable.troubles import Fate, troubles
from tests.property.graph.playing import Story, play
from tests.property.graph.scripted import Scripted, build
from tests.property.graph.shapes import Dice, Drawing, SeededDice, Shape, Taste
from tests.property.graph.virtual import VirtualLoop, in_virtual_time
from tests.property.graph.world import World, living_in

from agentic.core import WorkflowContext
from agentic.core.bus.envelope import from_message
from agentic.core.graph.definition.subgraph import WorkflowExecutor
from agentic.core.graph.definition.workflow import WorkflowDefinition
from agentic.core.graph.model.policies import CrashPolicy
from agentic.core.graph.model.state import RunState
from agentic.executors.durable.publish.outbox import Outbox
from agentic.executors.durable.runs.catalog import RunHooks
from agentic.executors.durable.runs.local import LocalDispatcher

_MAX_SIZE = 80
_CALM_S = 60
_MAX_RUNNING = (None, None, 1, 2)
_RETRY = CrashPolicy(max_crashes=1000)
_CRASH = (*[_RETRY] * 4, CrashPolicy(on_crash="review"), CrashPolicy(on_crash="fail"))

_follow = Scripted.follow


def simulate(seed: int) -> Counter[str]:
    """Play out what a seed stands for; return the troubles there were.

    Raises:
        AssertionError: A promise was broken.
    """
    dice = SeededDice(seed)
    shape = Drawing(dice, Taste(expires=False)).shape()  # what expires depends on when a run goes on
    if dice.number(0, 2) == 0:
        shape = laden(shape)
    quiet = play_quietly(shape, World(seed))
    if not quiet.story.is_whole or quiet.size > _MAX_SIZE:
        return Counter()
    fate = Fate(troubles(dice, quiet.extent))
    with capture_logs(), patch.object(Scripted, "follow", follow_and_write):
        compare(quiet, play_struck(shape, World(seed + 1), dice, fate))
    return fate.hits


def laden(shape: Shape) -> Shape:
    """Return a shape in which everybody has something to lose: a failed try, and a call of ``ctx.once``."""
    nodes = [
        replace(node, script=replace(node.script, remembers=True, failures=1, attempts=3))
        for node in shape.nodes
    ]
    return replace(shape, nodes=tuple(nodes))


def play_quietly(shape: Shape, world: World) -> Quiet:
    """Run a workflow in one process."""

    async def main() -> Story:
        with living_in(world):
            return await play(build(shape))

    return Quiet(in_virtual_time(main), world)


def play_struck(shape: Shape, world: World, dice: Dice, fate: Fate) -> Struck:
    """Run it on a ledger, whatever happens."""
    workflow = build(shape)
    follow_policy(workflow, _CRASH[dice.number(0, 5)])
    max_running = _MAX_RUNNING[dice.number(0, 3)]

    async def main() -> Struck:
        ledger = AuditedLedger(time.time, max_running=max_running)
        catalog = catalog_of(workflow, RunHooks(on_rest=write_status))
        observer = host_on(
            ledger, InlineLane(ledger), InlineLeases(ledger), catalog, LocalDispatcher(), "observer"
        )
        cluster = Cluster(ledger, catalog, world, dice, fate)
        try:
            story = await watching(cluster, Driver(cluster, ledger, observer))
            fate.relent()
            await calm(cluster, ledger)
            await Outbox(observer.ledger_executor, "p", cluster.bus).publish_all()
        finally:
            cluster.close()
        return Struck(
            shape=shape,
            workflow=workflow,
            story=story,
            world=world,
            ledger=ledger,
            max_running=max_running,
            fate=fate,
            published=[from_message(message).event async for message in cluster.bus.read(until=1_000_000)],
        )

    return in_virtual_time(main)


async def watching(cluster: Cluster, driver: Driver) -> Story:
    """See a run through, unless a process runs into what it must not."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    loop.before_turn = cluster.take_turn
    task = asyncio.create_task(driver.see_through())
    cluster.failure.add_done_callback(lambda _: task.cancel())
    with patch.multiple(time, monotonic=loop.time, sleep=lambda _: None):
        await asyncio.wait({task})
    if cluster.failure.done():
        cluster.failure.result()
    return task.result()


async def calm(cluster: Cluster, ledger: AuditedLedger) -> None:
    """Wait for who comes back late: nothing he does may count, and who was told to end must be gone."""
    change_count = len(ledger.changes)
    await asyncio.sleep(_CALM_S)
    assert len(ledger.changes) == change_count, "something happens after the end"
    assert all(process.is_dead for process in cluster.processes if process.is_leaving)


def follow_policy(workflow: WorkflowDefinition, policy: CrashPolicy) -> None:
    """Let a workflow, and those in it, have a crash policy."""
    workflow.config = replace(workflow.config, crash=policy)
    for node in workflow.graph.executors.values():
        if isinstance(node, WorkflowExecutor):
            follow_policy(node.workflow, policy)


def write_status(session: Session, state: RunState) -> None:
    """Write that a run begins, rests or goes on."""
    session.add(Row("run", str(state.status)))


async def follow_and_write(self: Scripted, message: object, ctx: WorkflowContext) -> object:
    """Follow the script, and write that it came to an end."""
    row = Row("result", ctx.idempotency_key)
    ctx.on_commit(lambda session: session.add(row))
    return await _follow(self, message, ctx)


def main() -> None:
    """Simulate for so many seconds, from a seed on; at least once."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    first = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1_000_000_000)
    began, count, hits = time.perf_counter(), 0, Counter[str]()
    while not count or time.perf_counter() - began < seconds:
        seed = first + count
        try:
            hits += simulate(seed)
        except BaseException:
            again = f"python -m tests.property.durable.simulator 0 {seed}"
            sys.stderr.write(f"seed {seed} breaks a promise; to play it again: {again}\n")
            raise
        count += 1
    met = ", ".join(f"{hits[blow]} x {blow}" for blow in sorted(hits))
    sys.stdout.write(f"{count} runs in {time.perf_counter() - began:.0f} s from seed {first}: {met}\n")


if __name__ == "__main__":
    main()
