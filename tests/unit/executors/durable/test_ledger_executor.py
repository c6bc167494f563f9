"""Work that shares a transaction of the ledger."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from agentic.core.ledger import LedgerTransaction, MemoryLedger
from agentic.core.testing.ledger.cases import new_run
from agentic.core.types import RunId
from agentic.executors.durable.worker.ledger_executor import LedgerExecutor

NAMES = [RunId(name) for name in ("a", "b", "c")]


class Counting(MemoryLedger):
    """Counts its transactions."""

    count = 0

    @contextmanager
    def transaction(self) -> Iterator[LedgerTransaction]:
        self.count += 1
        with super().transaction() as begun:
            yield begun


async def ask_for_all(store: MemoryLedger, faulty: RunId | None) -> list[object]:
    """Return what comes of adding runs, asked for while the ledger is busy; to add ``faulty`` raises."""
    ledger_executor = LedgerExecutor(store)
    is_busy, may_go_on = threading.Event(), threading.Event()

    def hold_up(_: LedgerTransaction) -> None:
        is_busy.set()
        may_go_on.wait(10)

    def add(name: RunId, ledger: LedgerTransaction) -> RunId:
        ledger.add_run(new_run(run_id=name))
        if name == faulty:
            raise ValueError(name)
        return name

    held_up = asyncio.ensure_future(ledger_executor.do(hold_up))
    await asyncio.to_thread(is_busy.wait, 10)
    asked = [asyncio.ensure_future(ledger_executor.do(partial(add, name))) for name in NAMES]
    await asyncio.sleep(0)
    may_go_on.set()
    await held_up
    answers = await asyncio.gather(*asked, return_exceptions=True)
    ledger_executor.close()
    return list(answers)


def known(store: MemoryLedger) -> list[RunId]:
    with store.transaction() as ledger:
        return [name for name in NAMES if ledger.run(name) is not None]


async def test_what_is_asked_for_while_the_ledger_is_busy_shares_a_transaction() -> None:
    store = Counting()
    assert await ask_for_all(store, None) == NAMES
    assert store.count == 2
    assert known(store) == NAMES


async def test_work_that_raises_leaves_nothing_behind_and_the_others_in_place() -> None:
    store = Counting()
    a, b, c = await ask_for_all(store, NAMES[1])
    assert (a, str(b), c) == ("a", "b", "c")
    assert isinstance(b, ValueError)
    assert known(store) == ["a", "c"]
