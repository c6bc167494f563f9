"""Metrics of durable runs, read on each database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from prometheus_client.parser import text_string_to_metric_families

from agentic.core.types import RunId
from agentic.executors.metrics import runs
from agentic.executors.metrics.metrics import SqlCollector, as_text

if TYPE_CHECKING:
    from tests.integration.executors.durable.conftest import Shelf

pytestmark = pytest.mark.integration

QUEUE = "agentic.default"
LABELS = ("project", "queue", "status")


def told(shelf: Shelf, name: str, project: str | None = None) -> dict[str, float]:
    """Return the samples of a metric, by their labels."""
    families = text_string_to_metric_families(as_text(SqlCollector(shelf.database, project)))
    return {
        " ".join(sample.labels[label] for label in LABELS if label in sample.labels): sample.value
        for family in families
        for sample in family.samples
        if sample.name == name
    }


def test_runs_are_counted_by_where_they_stand_without_child_runs(shelf: Shelf) -> None:
    for workflow in ("adding", "adding", "failing", "guarded"):
        shelf.ours.submit(workflow)
    shelf.ours.submit("asking", "hello")
    shelf.ours.work()
    shelf.theirs.submit("adding")

    assert told(shelf, "agentic_runs") == {
        "ours completed": 3,
        "ours failed": 1,
        "ours waiting_input": 1,
        "theirs running": 1,
    }
    assert told(shelf, "agentic_runs", "theirs") == {"theirs running": 1}


def test_questions_that_wait_are_counted(shelf: Shelf) -> None:
    for floor in (shelf.ours, shelf.ours, shelf.theirs):
        floor.submit("asking", "hello")
    shelf.ours.work()
    shelf.theirs.work()

    assert told(shelf, "agentic_requests_waiting") == {"ours": 2, "theirs": 1}
    assert told(shelf, "agentic_requests_waiting", "theirs") == {"theirs": 1}


def test_activations_are_counted_by_queue_as_long_as_somebody_has_to_see_to_them(shelf: Shelf) -> None:
    shelf.ours.submit("guarded")
    shelf.ours.work(1)
    shelf.ours.crash()
    shelf.ours.submit("adding")
    shelf.ours.work(1)
    shelf.ours.submit("adding")
    shelf.ours.claim()

    assert told(shelf, "agentic_activations") == {
        f"ours {QUEUE} pending": 1,
        f"ours {QUEUE} review": 1,
        f"ours {QUEUE} running": 1,
        f"ours {QUEUE} waiting": 1,
    }


def test_each_lease_that_ended_is_counted_and_what_was_given_up_is_told(shelf: Shelf) -> None:
    shelf.ours.submit("adding")
    for _ in range(3):
        shelf.ours.crash()

    assert told(shelf, "agentic_lease_expiries_total") == {"ours": 3}
    assert told(shelf, "agentic_activations") == {f"ours {QUEUE} dead": 1}


def test_a_queue_lags_by_its_oldest_activation_that_could_be_claimed(shelf: Shelf) -> None:
    assert told(shelf, "agentic_queue_lag_seconds") == {}
    shelf.ours.submit("adding")
    shelf.ours.submit("adding", run_id="paused")
    with shelf.ours.store.transaction() as ledger:
        ledger.pause(RunId("paused"), is_paused=True)

    (lag_s,) = told(shelf, "agentic_queue_lag_seconds").values()
    assert 0 <= lag_s < 30

    shelf.ours.claim()
    assert told(shelf, "agentic_queue_lag_seconds") == {}


def test_events_are_counted_until_they_are_published(shelf: Shelf) -> None:
    shelf.ours.submit("adding")
    with shelf.ours.store.transaction() as ledger:
        (batch,) = ledger.unpublished()
        assert told(shelf, "agentic_events_unpublished") == {"ours": batch.last}


def test_of_a_history_that_nobody_publishes_as_many_batches_are_counted_as_tell_enough(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "MAX_BATCHES", 2)
    for floor in (shelf.ours, shelf.theirs):
        floor.submit("adding", 1, "one")
        floor.work()
    with shelf.ours.store.transaction() as ledger:
        first, second, *others = ledger.unpublished()
    assert others

    assert told(shelf, "agentic_events_unpublished") == {"ours": second.last, "theirs": second.last}
    assert first.last < second.last
