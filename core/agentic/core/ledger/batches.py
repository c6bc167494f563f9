"""Durable events as the ledger keeps them: those of one decision together."""

from __future__ import annotations

from collections.abc import Iterator

from agentic.core.graph.codec import from_text, to_text
from agentic.core.graph.errors import CorruptContentError
from agentic.core.graph.events import WorkflowEvent
from agentic.core.ledger.records import EventBatch


def read_batch(batch: EventBatch) -> Iterator[WorkflowEvent]:
    """Yield the events of a batch.

    Raises:
        CorruptContentError: It is no batch.
    """
    data = from_text(batch.text)
    events = data.get("events") if isinstance(data, dict) else None
    if not isinstance(events, list):
        raise CorruptContentError("it is no batch of events")
    return (WorkflowEvent.from_json(to_text(event)) for event in events)
