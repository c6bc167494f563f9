"""The progress of evaluations: a graph reports at its barriers, people want to see each try."""

from __future__ import annotations

import pytest

from agentic.core.evals.workflow import CASE_ENDED
from agentic.core.graph import EventKind, WorkflowEvent
from agentic.core.types import RunId
from agentic.plugins.evals.commands.running import count_tries

pytestmark = pytest.mark.integration


def event(kind: EventKind, **data: str) -> WorkflowEvent:
    return WorkflowEvent(kind, RunId("r"), 0.0, path="execute/case", data=dict(data))


def test_each_ended_try_is_progress_also_after_a_kill() -> None:
    heard: list[WorkflowEvent] = []
    hear = count_tries(heard.append, 2, 4)
    for _ in range(3):
        hear(event(EventKind.CUSTOM, type=CASE_ENDED))
    hear(event(EventKind.CUSTOM, type="other"))
    told = [one.data for one in heard if one.kind is EventKind.EXECUTOR_PROGRESS]
    assert [one["done"] for one in told] == [3, 4, 4]
    assert len(heard) == 7
