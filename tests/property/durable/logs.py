"""The durable events of runs on a ledger, and logs of events that can be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.property.graph.state import without_time

from agentic.core import WorkflowEvent
from agentic.core.ledger import LedgerStore
from agentic.core.ledger.batches import read_batch
from agentic.core.types import RunId

Logs = Mapping[str, Sequence[str]]


def durable_events(store: LedgerStore, run_id: RunId) -> list[WorkflowEvent]:
    """Return the events of a run and of its child runs, those of a run in order."""
    with store.transaction() as ledger:
        runs = [run.run_id for run in ledger.list_runs(limit=10_000)]
        batches = [
            batch
            for found in runs
            if found.partition("/")[0] == run_id
            for batch in ledger.events(found, limit=100_000)
        ]
    return [event for batch in batches for event in read_batch(batch)]


def logs_of(events: Sequence[WorkflowEvent]) -> Logs:
    """Return the events of each run as text, without their times."""
    found: dict[str, list[str]] = {}
    for event in events:
        found.setdefault(event.run_id, []).append(without_time({**event.to_dict(), "time": None}))
    return found
