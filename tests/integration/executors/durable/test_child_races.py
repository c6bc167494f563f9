"""A child run begins at the moment at which the run around it is paused, or broken off."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from tests.databases import only_postgresql

from agentic.core import RunStatus, WorkflowBuilder, executor
from agentic.core.graph.planning.planner import EarlyEnd, break_off
from agentic.core.ledger import ActivationStatus, Claimed, LedgerTransaction, NewRun, RunRow, Settled
from agentic.core.types import RunId
from agentic.executors.durable import WorkflowCatalog
from agentic.executors.durable.reconcile.advance import advance
from agentic.executors.durable.runs.beginning import begin
from agentic.executors.durable.runs.catalog import RegisteredWorkflow
from agentic.executors.durable.runs.children import pause_with_children
from agentic.executors.durable.worker.cached_run import CachedRun
from agentic.executors.durable.worker.ledger_executor import Work, in_transaction
from agentic.mappers import Database, add_project
from agentic.mappers.ledger.ledger import SqlLedger

pytestmark = [pytest.mark.integration, only_postgresql]

AROUND, CHILD = RunId("around"), RunId("around/child")
WAIT_S = 10.0
A_WHILE_S = 0.3
"""For a transaction to come to the lock that it has to wait for; one that comes later passes, too."""


def flow() -> RegisteredWorkflow:
    @executor(id="child")
    async def child(number: int) -> int:
        return number

    built = WorkflowBuilder("flow", version="1").set_start(child).build()
    return WorkflowCatalog({"flow": lambda: built}).get("flow")


@dataclass
class Race:
    """A run whose only activation is claimed, and may have a child run.

    Attributes:
        store: Where it is.
        cached_run: The run.
        claimed: Its activation.
    """

    store: SqlLedger
    cached_run: CachedRun
    claimed: Claimed

    def row(self, run_id: RunId) -> RunRow:
        with self.store.transaction() as ledger:
            found = ledger.run(run_id)
        assert found is not None
        return found

    def against_a_beginning(self, work: Work[bool]) -> None:
        """Do something while another transaction has locked the run, to begin a child of it."""
        has_begun, may_end = threading.Event(), threading.Event()

        def begin_child() -> None:
            with self.store.transaction() as ledger:
                around = ledger.run(AROUND, lock=True)
                assert around is not None
                _, plan = begin(flow(), CHILD, 1, time.time())
                ledger.add_run(NewRun(step=plan.step, workflow="flow", parent=self.claimed.lease.id))
                assert ledger.settle(
                    self.claimed.lease, Settled(status=ActivationStatus.WAITING, waits_for=CHILD)
                )
                if around.is_paused:
                    ledger.pause(CHILD, is_paused=True)
                has_begun.set()
                may_end.wait(WAIT_S)

        first = threading.Thread(target=begin_child)
        second = threading.Thread(target=in_transaction, args=(self.store, work))
        first.start()
        assert has_begun.wait(WAIT_S)
        second.start()
        time.sleep(A_WHILE_S)
        may_end.set()
        first.join()
        second.join()


@pytest.fixture
def race(migrated_database: Database) -> Iterator[Race]:
    with migrated_database.writing() as session:
        project_id = add_project(session, "shop").id
    cached_run, plan = begin(flow(), AROUND, 1, time.time())
    store = SqlLedger(migrated_database, project_id=project_id)
    with store.transaction() as ledger:
        ledger.add_run(NewRun(step=plan.step, workflow="flow"))
        claimed = ledger.claim(plan.step.activations[0].id, "worker", WAIT_S)
    assert claimed is not None
    cached_run.take(plan)
    yield Race(store, cached_run, claimed)
    store.close()


@pytest.mark.parametrize("is_paused", [True, False])
def test_what_begins_when_the_run_around_it_is_paused_is_as_that_is(race: Race, *, is_paused: bool) -> None:
    with race.store.transaction() as ledger:
        ledger.pause(AROUND, is_paused=not is_paused)
    race.against_a_beginning(lambda ledger: pause_with_children(ledger, AROUND, is_paused=is_paused))
    assert (race.row(AROUND).is_paused, race.row(CHILD).is_paused) == (is_paused, is_paused)


def test_what_begins_when_the_run_around_it_is_broken_off_is_cancelled(race: Race) -> None:
    before, state = race.row(AROUND), race.cached_run.state
    ending = break_off(
        race.cached_run.graph, race.cached_run.config, state, [], time.time(), EarlyEnd(None, {})
    )
    plan = race.cached_run.plan([ending], time.time())

    def end(ledger: LedgerTransaction) -> bool:
        return advance(ledger, before, plan)

    race.against_a_beginning(end)
    assert race.row(AROUND).status is RunStatus.CANCELLED
    assert race.row(CHILD).cancel_reason is not None
