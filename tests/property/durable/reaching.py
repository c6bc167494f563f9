"""The ledger, the broker, the bus and the world as a process reaches them, until trouble comes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from tests.property.durable.auditing import AuditedLedger, Called, Recorded
from tests.property.durable.hosts import InlineLane, InlineLeases
from tests.property.durable.processes import DiedError, Process
from tests.property.durable.troubles import Fate
from tests.property.graph.shapes import Dice
from tests.property.graph.world import Entry, World

from agentic.core.bus import BusMessage, BusUnavailableError, MemoryBus
from agentic.core.ledger import (
    ActivationId,
    Dispatchable,
    LedgerConflictError,
    LedgerTransaction,
    LedgerUnavailableError,
)
from agentic.executors.durable.worker.host import MAX_COUNTDOWN_S
from agentic.executors.durable.worker.ledger_executor import Work

R = TypeVar("R")

Readers = Callable[[], Sequence["asyncio.Queue[ActivationId]"]]
"""Returns who could get a message now."""


_COPIES = (0, 0, 1, 1, 1, 3)


class ReachedLedger:
    """The ledger as a process reaches it."""

    def __init__(self, ledger: AuditedLedger, process: Process, fate: Fate) -> None:
        self._ledger = ledger
        self._process = process
        self._fate = fate

    @contextmanager
    def transaction(self) -> Iterator[LedgerTransaction]:
        """Begin a transaction, which may come to nothing, or whose end the process may not live to see."""
        blow = self._fate.strike("transaction").blow
        if blow == "refuse" or self._fate.is_away("ledger away"):
            raise LedgerUnavailableError("the ledger cannot be reached")
        before = len(self._ledger.changes)
        with self._ledger.transaction() as transaction:
            yield transaction
            if blow == "conflict":
                raise LedgerConflictError("another transaction came first")
            if blow == "kill before a commit":
                self._die()
        if any(isinstance(change, Recorded) for change in self._ledger.changes[before:]):
            blow = self._fate.strike("record").blow or blow
        if blow in {"kill after a commit", "kill after a record"}:
            self._die()
        if blow == "lose the answer":
            raise LedgerUnavailableError("the connection was lost")

    def close(self) -> None:
        """Do nothing: others use it."""

    def _die(self) -> None:
        self._process.die()
        raise DiedError


class OwnLane(InlineLane):
    """The lane of a process."""

    def __init__(self, store: ReachedLedger, process: Process) -> None:
        super().__init__(store)
        self._process = process

    def ask(self, work: Work[R]) -> asyncio.Future[R]:
        if self._process.is_dead:
            raise asyncio.CancelledError
        answer = super().ask(work)
        self._process.waits_for(answer)
        return answer

    def take_turn(self) -> None:
        self._process.when_awake(super().take_turn)


class OwnLeases(InlineLeases):
    """The leases of a process."""

    def __init__(self, store: ReachedLedger, lease_s: float, process: Process) -> None:
        super().__init__(store, lease_s)
        self._process = process

    def take_turn(self) -> None:
        self._process.when_awake(super().take_turn)


class Broker:
    """Carries messages to processes.

    Args:
        dice: Decides about each message.
        is_wild: Whether some get lost, come again and again, or late; else each arrives once, at once.
        readers: Who could get a message.
    """

    def __init__(self, dice: Dice, is_wild: bool, readers: Readers) -> None:
        self._dice = dice
        self._is_wild = is_wild
        self._readers = readers

    def send(self, activation: Dispatchable) -> None:
        """Take a message."""
        wait_s = max(activation.not_before - time.time(), 0.0)
        if wait_s > MAX_COUNTDOWN_S:
            return
        for _ in range(_COPIES[self._dice.number(0, 5)] if self._is_wild else 1):
            is_late = self._is_wild and self._dice.number(0, 3) == 0
            late_s = self._dice.number(0, 40) if is_late else 0
            asyncio.get_running_loop().call_later(wait_s + late_s, self._deliver, activation.id)

    def _deliver(self, wanted: ActivationId) -> None:
        if readers := self._readers():
            readers[self._dice.number(0, len(readers) - 1)].put_nowait(wanted)


class ReachedBroker:
    """The broker as a process reaches it."""

    def __init__(self, broker: Broker, process: Process, fate: Fate) -> None:
        self._broker = broker
        self._process = process
        self._fate = fate

    async def dispatch(self, activations: Sequence[Dispatchable]) -> None:
        """Tell of activations, of some of them, or of none."""
        await asyncio.sleep(0)
        blow = self._fate.strike("dispatch").blow
        if self._process.is_dead or self._fate.is_away("broker away"):
            raise ConnectionError("the broker cannot be reached")
        if blow == "kill before a dispatch":
            self._process.die()
        for activation in activations[: len(activations) // 2] if "half-way" in blow else activations:
            self._send(activation)
        if blow == "kill half-way in a dispatch":
            self._process.die()
        if blow == "broker away half-way":
            raise ConnectionError("the connection was lost")
        await asyncio.sleep(0)

    def _send(self, activation: Dispatchable) -> None:
        if not self._process.is_dead:
            self._broker.send(activation)


class Bus(MemoryBus):
    """The bus as every process reaches it.

    Args:
        fate: Strikes when something is published.
    """

    def __init__(self, fate: Fate) -> None:
        super().__init__()
        self._fate = fate

    async def publish(self, messages: Sequence[BusMessage]) -> None:
        """Store messages, or not, or say nothing of it."""
        await asyncio.sleep(0)
        blow = self._fate.strike("publication").blow
        if blow != "bus away":
            await super().publish(messages)
        if blow:
            raise BusUnavailableError("memory", "it does not answer")


class OwnWorld(World):
    """The world as the handlers of a process reach it.

    Args:
        around: The world.
        ledger: Told of calls through ``ctx.once``.
        process: Of the handlers.
        fate: Strikes them.
    """

    def __init__(self, around: World, ledger: AuditedLedger, process: Process, fate: Fate) -> None:
        super().__init__(around._seed)
        self.entries, self.left = around.entries, around.left
        self.is_over = lambda: process.is_dead
        self._ledger = ledger
        self._process = process
        self._fate = fate

    async def enter(self, entry: Entry) -> None:
        """Note an entry; take some time, which the process may not live to see."""
        trouble = self._fate.strike("entry")
        if trouble.blow:
            self._process.suffer(trouble.blow, trouble.seconds)
        await super().enter(entry)

    def do_once(self, entry: Entry) -> str:
        """Note what is to be done once; the process may die before anybody knows of it."""
        self._ledger.changes.append(Called(time.time(), entry.key))
        if self._fate.strike("call").blow:
            self._process.die()
        return super().do_once(entry)
