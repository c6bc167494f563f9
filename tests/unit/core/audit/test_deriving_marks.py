"""Which events tell of decisions is known without making the decisions."""

from __future__ import annotations

from agentic.core.audit.decision import DecisionKind
from agentic.core.audit.deriving import DECIDING, decided_by, telling
from agentic.core.graph.model.events import EventKind, WorkflowEvent
from agentic.core.types import RunId


def event(kind: EventKind, time: float, **data: object) -> WorkflowEvent:
    return WorkflowEvent(kind, RunId("one"), time, 1, data=data)


def test_what_merely_happened_decides_nothing() -> None:
    assert decided_by([event(EventKind.RUN_STARTED, 1.0), event(EventKind.EDGE_ACTIVATED, 2.0)]) == (
        None,
        None,
    )


def test_the_kinds_of_what_decides_are_named_once_with_the_newest_time() -> None:
    events = [
        event(EventKind.EDGE_ACTIVATED, 1.0, rule="is_positive holds"),
        event(EventKind.EXECUTOR_FAILED, 3.0),
        event(EventKind.EXECUTOR_FAILED, 2.0),
    ]
    assert decided_by(events) == (3.0, " edge.activated executor.failed ")


def test_every_kind_of_decision_in_a_run_names_the_events_that_tell_of_it() -> None:
    found = {kind: telling([kind], None) for kind in DecisionKind}
    assert frozenset().union(*found.values()) == DECIDING
    assert found[DecisionKind.RUN_TIMED_OUT] == {EventKind.RUN_FAILED}
    assert not found[DecisionKind.SCHEDULE_FIRED]


def test_people_decide_in_runs_by_answering() -> None:
    assert telling([], "anna") == {EventKind.REQUEST_ANSWERED}
    assert telling([], "engine") == telling([], None) == DECIDING
