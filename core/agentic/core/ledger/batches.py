"""Durable events as the ledger keeps them: one batch per decision."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from agentic.core.graph.codec.codec import from_text
from agentic.core.graph.errors import CorruptContentError
from agentic.core.graph.model.events import WorkflowEvent
from agentic.core.ledger.records import EventBatch
from agentic.core.types import JSONValue


def event_record(event: WorkflowEvent) -> dict[str, JSONValue]:
    """Return a durable event as a batch keeps it: without the fields of the batch, and without unset fields.

    This saves a third of the space.
    """
    record: dict[str, JSONValue] = {"kind": str(event.kind), "time": event.time, "superstep": event.superstep}
    if event.path:
        record["path"] = event.path
    if event.attempt:
        record["attempt"] = event.attempt
    if event.shard:
        record["shard"] = event.shard
    if event.duration_s is not None:
        record["duration_s"] = event.duration_s
    record["data"] = dict(event.data)
    return record


def read_batch(batch: EventBatch, kinds: Collection[str] | None = None) -> Iterator[WorkflowEvent]:
    """Yield the events of a batch. In batches of older versions, each event has all its fields.

    Args:
        batch: The batch as the ledger keeps it.
        kinds: Kinds of events to yield; all if omitted.

    Raises:
        CorruptContentError: It is not a batch.
    """
    data = from_text(batch.text)
    events = data.get("events") if isinstance(data, dict) else None
    if not isinstance(events, list):
        raise CorruptContentError("it is not a batch of events")
    return (
        _event(batch, place, record)
        for place, record in enumerate(events)
        if kinds is None or not isinstance(record, dict) or record.get("kind") in kinds
    )


def _event(batch: EventBatch, place: int, record: JSONValue) -> WorkflowEvent:
    if isinstance(record, dict):
        record = {"run_id": batch.run_id, "sequence": batch.first + place, **record}
    return WorkflowEvent.from_dict(record)
