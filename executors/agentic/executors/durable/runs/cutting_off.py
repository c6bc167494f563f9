"""Ends a cancelled run whose code is missing or changed, with the ledger alone."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from functools import partial

from agentic.core.graph.checkpoints.store import Checkpoint, StoredCheckpoint, stored_bytes
from agentic.core.graph.codec.codec import from_text, to_text
from agentic.core.graph.errors import CorruptContentError
from agentic.core.graph.model.events import EventKind, WorkflowEvent
from agentic.core.graph.model.result import RunStatus
from agentic.core.ledger import ActivationStatus, LedgerStep, LedgerTransaction, RunRow
from agentic.core.ledger.records import NO_LIMIT
from agentic.core.logging import get_logger
from agentic.core.types import JSONValue, RunId
from agentic.executors.durable.reconcile.deciding import GRACE_S
from agentic.executors.durable.runs.children import STOPPED_AROUND
from agentic.executors.durable.runs.encoding import batches
from agentic.executors.durable.worker.host import OnCut, RunHost
from agentic.executors.durable.worker.process_names import is_gone

log = get_logger(__name__)

CUT_OFF = "cancelled without its code: what its executors had begun elsewhere was not ended"
"""The note of such a run; finished activations of its superstep are still in the ledger."""

PATIENCE_S = 6.0
"""How long a process with the code may take to end the run: it checks every 5 s."""

_LOOK_S = 0.2


async def cut_off_soon(host: RunHost, run_id: RunId) -> None:
    """End a run marked for cancellation, unless a process with its code does so within seconds."""
    until = time.monotonic() + max(PATIENCE_S, GRACE_S) + 1.0
    while time.monotonic() < until:
        if await host.ledger_executor.do(partial(cut_off, run_id=run_id, on_cut=host.on_cut)):
            return
        await asyncio.sleep(_LOOK_S)


def cut_off(ledger: LedgerTransaction, run_id: RunId, on_cut: OnCut | None) -> bool:
    """End a run marked for cancellation, with its child runs, once no other process will.

    Returns:
        False as long as a process with the code, or a running handler, may still do so.
    """
    run = ledger.run(run_id, lock=True)
    if run is None or run.status.is_final or run.cancel_at is None:
        return True
    now = ledger.now()
    patience_s = GRACE_S if _is_at_work(ledger, run_id, now) else PATIENCE_S
    if now < run.cancel_at + patience_s:
        return False
    _end(ledger, run, now, on_cut)
    return True


def _end(ledger: LedgerTransaction, run: RunRow, now: float, on_cut: OnCut | None) -> None:
    step = _cancelled(ledger.load(run.run_id), run, now)
    if not ledger.advance(run.run_id, run.superstep, run.revision, step):
        return
    ledger.note(run.run_id, CUT_OFF)
    if on_cut is not None and run.parent is None:
        ledger.apply([lambda session: on_cut(session, run.run_id)])
    log.warning("run.cut_off", run_id=run.run_id, workflow=run.workflow)
    for child in ledger.children(run.run_id):
        ledger.request_cancel(child.run_id, STOPPED_AROUND)
        if not _is_at_work(ledger, child.run_id, now):
            _end(ledger, child, now, None)


def _is_at_work(ledger: LedgerTransaction, run_id: RunId, now: float) -> bool:
    running = ledger.list_activations(run_id=run_id, statuses=[ActivationStatus.RUNNING], limit=NO_LIMIT)
    return any(
        (row.lease_until or 0.0) > now and not (row.worker is not None and is_gone(row.worker))
        for row in running
    )


def _cancelled(stored: StoredCheckpoint, run: RunRow, now: float) -> LedgerStep:
    """Return the step that ends a run as it is, without reading state that needs its types."""
    head, event = stored.head, None
    data = _read(head)
    if data is not None:
        sequence = _number(data.get("sequence")) + 1
        head = to_text({**data, "status": str(RunStatus.CANCELLED), "sequence": sequence})
        event = _event(data, run, now, sequence)
    metadata = replace(
        stored.metadata,
        revision=run.revision + 1,
        status=RunStatus.CANCELLED,
        saved_at=now,
        size_bytes=stored_bytes(head, ()),
    )
    checkpoint = Checkpoint(metadata=metadata, head=head)
    events = [] if event is None else batches([event])
    return LedgerStep(checkpoint=checkpoint, events=events, deadline=run.deadline)


def _event(data: dict[str, JSONValue], run: RunRow, now: float, sequence: int) -> WorkflowEvent:
    facts = {"superstep_count": run.superstep, "output_count": _number(data.get("output_count"))}
    path = data.get("path", "")
    return WorkflowEvent(
        EventKind.RUN_CANCELLED,
        run.run_id,
        now,
        sequence,
        run.superstep,
        path if isinstance(path, str) else "",
        duration_s=now - run.created_at,
        data=facts,
    )


def _read(head: str) -> dict[str, JSONValue] | None:
    try:
        data = from_text(head)
    except CorruptContentError:
        return None
    return data if isinstance(data, dict) else None


def _number(value: JSONValue) -> int:
    return value if isinstance(value, int) else 0
