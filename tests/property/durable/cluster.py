"""Processes that work on one ledger, and are replaced when they die."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from tests.property.durable.auditing import AuditedLedger
from tests.property.durable.hosts import host_on
from tests.property.durable.processes import Process
from tests.property.durable.reaching import (
    Broker,
    Bus,
    OwnLane,
    OwnLeases,
    OwnWorld,
    ReachedBroker,
    ReachedLedger,
)
from tests.property.durable.troubles import WISHES, Fate, Trouble
from tests.property.graph.shapes import Dice
from tests.property.graph.world import World, living_in

from agentic.core.bus import BusUnavailableError
from agentic.core.ledger import ActivationId, LedgerUnavailableError
from agentic.executors.durable.publish.outbox import Outbox
from agentic.executors.durable.reconcile.reconciler import Reconciler
from agentic.executors.durable.runs.catalog import WorkflowCatalog
from agentic.executors.durable.worker.host import RunHost
from agentic.executors.durable.worker.pool import WorkerPool
from agentic.executors.durable.worker.worker import Bounds

R = TypeVar("R")

LEASE_S = 10.0
SWEEP_S = 5.0
PUBLISH_S = 20.0
_IN_PLACE = (1, 3, 50)


class DiedMeanwhileError(Exception):
    """The process that was asked died before it could answer."""


@dataclass
class Member:
    """A process of the cluster, or a client.

    Attributes:
        process: It.
        host: What its parts share.
        leases: Its own.
        wanted: Messages it has taken.
    """

    process: Process
    host: RunHost
    leases: OwnLeases
    wanted: asyncio.Queue[ActivationId] = field(default_factory=asyncio.Queue)


class Cluster:
    """Works on the runs of a ledger.

    Args:
        ledger: It.
        catalog: Knows the workflows.
        world: Around the handlers.
        dice: Decide how it is made, who gets a message, whom a blow hits, and how soon he is replaced.
        fate: What happens.

    Attributes:
        wish: Told what people want.
        failure: Set to what a process must not have run into.
        processes: All there were.
        bus: Where events are published.
    """

    def __init__(
        self, ledger: AuditedLedger, catalog: WorkflowCatalog, world: World, dice: Dice, fate: Fate
    ) -> None:
        self.wish: Callable[[Trouble], object] = lambda _: None
        self.failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.processes: list[Process] = []
        self.bus = Bus(fate)
        self._ledger = ledger
        self._catalog = catalog
        self._world = world
        self._dice = dice
        self._fate = fate
        self._bounds = Bounds(activations=_IN_PLACE[dice.number(0, 2)])
        self._broker = Broker(dice, dice.number(0, 2) == 0, self._readers)
        self._members: list[Member] = []
        self._clients: list[Process] = []
        self._is_closed = False
        for _ in range(dice.number(1, 3)):
            self._add()

    async def ask(self, request: Callable[[RunHost], Awaitable[R]]) -> R:
        """Return what a client that works on nothing is answered.

        Raises:
            DiedMeanwhileError: It died.
            Exception: What it was answered.
        """
        client = self._member("client", lambda: None)

        async def work() -> R:
            return await request(client.host)

        self._clients.append(client.process)
        try:
            return await client.process.start(work())
        except asyncio.CancelledError:
            if client.process.is_dead:
                raise DiedMeanwhileError from None
            raise
        finally:
            self._clients.remove(client.process)
            client.process.die()

    def close(self) -> None:
        """End all processes; nobody takes their place."""
        self._is_closed = True
        for process in self.processes:
            process.die()

    def take_turn(self, _: int) -> None:
        """Let happen what happens at a turn of the loop."""
        trouble = self._fate.strike("turn")
        if trouble.blow in WISHES:
            self.wish(trouble)
        elif trouble.blow:
            self._hit(trouble.blow)

    def _hit(self, blow: str) -> None:
        processes = [member.process for member in self._members if not member.process.is_leaving]
        if blow == "kill":
            processes += self._clients
        if processes:
            processes[self._dice.number(0, len(processes) - 1)].suffer(blow)

    def _add(self) -> None:
        member = self._member("worker", lambda: self._replace(member))
        process = member.process
        self._members.append(member)
        loops = self._sweep(member), self._serve(member), self._serve(member), self._publish(member)
        for work in (member.leases.beat(), *loops):
            process.start(work).add_done_callback(lambda task: self._ended(process, task))

    def _member(self, kind: str, on_death: Callable[[], object]) -> Member:
        process = Process(f"{kind}{len(self.processes)}", on_death)
        self.processes.append(process)
        ledger = ReachedLedger(self._ledger, process, self._fate)
        leases = OwnLeases(ledger, LEASE_S, process)
        broker = ReachedBroker(self._broker, process, self._fate)
        host = host_on(ledger, OwnLane(ledger, process), leases, self._catalog, broker, process.name)
        return Member(process, host, leases)

    async def _serve(self, member: Member) -> None:
        with living_in(OwnWorld(self._world, self._ledger, member.process, self._fate)):
            while True:
                wanted = await member.wanted.get()
                with suppress(LedgerUnavailableError):
                    await WorkerPool(member.host, self._bounds).work(wanted)

    async def _sweep(self, member: Member) -> None:
        await asyncio.sleep(self._dice.number(0, int(SWEEP_S)))
        reconciler = Reconciler(member.host)
        while True:
            with suppress(LedgerUnavailableError):
                await reconciler.sweep()
            await asyncio.sleep(SWEEP_S)

    async def _publish(self, member: Member) -> None:
        outbox = Outbox(member.host.ledger_executor, "p", self.bus)
        while True:
            await asyncio.sleep(PUBLISH_S)
            with suppress(BusUnavailableError, LedgerUnavailableError):
                await outbox.publish_all()

    def _ended(self, process: Process, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None and not process.is_dead and not self.failure.done():
            self.failure.set_exception(error)

    def _replace(self, member: Member) -> None:
        self._members.remove(member)
        if not self._is_closed:
            asyncio.get_running_loop().call_later(self._dice.number(1, 20), self._add)

    def _readers(self) -> Sequence[asyncio.Queue[ActivationId]]:
        return [member.wanted for member in self._members if not member.process.is_leaving]
