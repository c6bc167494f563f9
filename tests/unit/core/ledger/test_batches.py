"""Batches of events: each event comes back whole, whichever version wrote it."""

from __future__ import annotations

from agentic.core.graph.codec.codec import to_text
from agentic.core.graph.model.events import EventKind, WorkflowEvent
from agentic.core.ledger import EventBatch
from agentic.core.ledger.batches import event_record, read_batch
from agentic.core.types import JSONValue, RunId

RUN = RunId("3f2504e04f8941d39a0c0305e82c3301/execute.1.0")
EVENTS = [
    WorkflowEvent(EventKind.RUN_STARTED, RUN, 12.5, 7, data={"workflow": "flow", "input": {"$": "Query"}}),
    WorkflowEvent(
        EventKind.EXECUTOR_COMPLETED, RUN, 13.25, 8, 1, "execute/fetch", 2, 3, 0.125, data={"outputs": [1]}
    ),
    WorkflowEvent(EventKind.RUN_COMPLETED, RUN, 13.5, 9, 2, duration_s=0.0, data={}),
]


def batch(records: list[JSONValue]) -> EventBatch:
    return EventBatch(run_id=RUN, first=7, last=9, text=to_text({"events": records}))


def test_events_come_back_as_they_were() -> None:
    assert list(read_batch(batch([event_record(event) for event in EVENTS]))) == EVENTS


def test_events_that_an_older_version_wrote_come_back_as_they_were() -> None:
    assert list(read_batch(batch([event.to_dict() for event in EVENTS]))) == EVENTS


def test_events_of_some_kinds_keep_their_places() -> None:
    for records in ([event_record(event) for event in EVENTS], [event.to_dict() for event in EVENTS]):
        kinds = {EventKind.RUN_STARTED, EventKind.RUN_COMPLETED}
        assert list(read_batch(batch([*records]), kinds)) == [EVENTS[0], EVENTS[2]]


def test_a_record_has_nothing_that_its_batch_knows() -> None:
    for event in EVENTS:
        record = event_record(event)
        assert not {"id", "run_id", "sequence", "live_number"} & record.keys()
        assert len(to_text(record)) < 0.7 * len(to_text(event.to_dict()))
