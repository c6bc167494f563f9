"""Old runs leave the ledger, on each database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import func, insert, select, update

from agentic.core.audit import DecisionKind
from agentic.core.types import RunId
from agentic.mappers.audit import DecisionFilter, newest_decisions
from agentic.mappers.checkpoints.statements import CHECKPOINTS, PARTS
from agentic.mappers.ledger.sql import ACTIVATIONS, EFFECTS, EVENTS, RUNS
from agentic.mappers.runs import retention as removing
from agentic.mappers.runs.retention import OldRun, Retention
from agentic.mappers.tables.ledger import RunEventModel, RunModel

if TYPE_CHECKING:
    from tests.integration.executors.durable.conftest import Office, Shelf
    from tests.integration.executors.durable.steered import Floor

pytestmark = pytest.mark.integration

HOUR_S = 3600.0
TABLES = (RUNS, ACTIVATIONS, EFFECTS, EVENTS, CHECKPOINTS, PARTS)
PRUNED = DecisionFilter(kinds=[DecisionKind.RUN_PRUNED])
ONE = OldRun(run_id=RunId("one"), within=[RunId("one/send.0.0")])


def retention(shelf: Shelf) -> Retention:
    return Retention(shelf.database, shelf.project_id, HOUR_S)


def publish(floor: Floor) -> None:
    with floor.store.transaction() as ledger:
        ledger.mark_published(ledger.unpublished(1000))


def end_long_ago(shelf: Shelf, *run_ids: str) -> None:
    with shelf.database.writing() as session:
        old = RunModel.run_id.in_(run_ids)
        session.execute(update(RunModel).where(old).values(finished_at=RunModel.finished_at - 2 * HOUR_S))


def work(shelf: Shelf, workflow: str, run_id: str) -> None:
    """Begin a run and work it off, long ago."""
    shelf.ours.submit(workflow, 1, run_id)
    shelf.ours.work()
    publish(shelf.ours)
    end_long_ago(shelf, run_id)


def counts(shelf: Shelf) -> dict[str, int]:
    """Return how many rows our ledger has in each table."""
    with shelf.database.reading() as session:
        return {
            table.name: session.scalar(
                select(func.count()).select_from(table).where(table.c.project_id == shelf.project_id)
            )
            or 0
            for table in TABLES
        }


def test_of_an_old_run_and_its_child_runs_nothing_is_left(shelf: Shelf) -> None:
    work(shelf, "guarded", "one")
    shelf.theirs.submit("adding", 1, "one")
    shelf.theirs.work()
    end_long_ago(shelf, "one")

    found = retention(shelf).find()

    assert (found.runs, found.held_count) == ([ONE], 0)
    retention(shelf).remove(ONE)
    assert set(counts(shelf).values()) == {0}
    with shelf.theirs.store.transaction() as ledger:
        assert ledger.run(RunId("one")) is not None


def test_a_run_stays_that_is_young_or_goes_on(shelf: Shelf) -> None:
    shelf.ours.submit("adding", 1, "young")
    shelf.ours.work()
    shelf.ours.submit("asking", "hello", "open")
    shelf.ours.work()
    publish(shelf.ours)

    assert not retention(shelf).find().runs


def test_a_run_stays_as_long_as_a_child_run_goes_on(shelf: Shelf) -> None:
    work(shelf, "guarded", "one")
    with shelf.database.writing() as session:
        session.execute(update(RunModel).where(RunModel.run_id == "one/send.0.0").values(finished_at=None))

    assert not retention(shelf).find().runs


def test_a_run_with_events_that_are_not_published_stays_unless_that_is_asked_for(shelf: Shelf) -> None:
    work(shelf, "guarded", "one")
    within = RunEventModel.run_id == "one/send.0.0"
    with shelf.database.writing() as session:
        session.execute(update(RunEventModel).where(within).values(published_at=None))

    found = retention(shelf).find()

    assert (found.runs, found.held_count) == ([], 1)
    assert retention(shelf).find(even_unpublished=True).runs == [ONE]


def test_what_only_its_events_tell_of_goes_with_a_run(shelf: Shelf) -> None:
    work(shelf, "adding", "one")
    work(shelf, "adding", "one-more")
    with shelf.database.writing() as session:
        told = {"project_id": shelf.project_id, "run_id": "one/run.0.0/deep.0.0", "published_at": 1.0}
        session.execute(insert(RunEventModel).values(first=1, last=1, text="{}", **told))

    (one, _) = retention(shelf).find().runs
    retention(shelf).remove(one)

    assert one.within == ["one/run.0.0/deep.0.0"]
    with shelf.database.reading() as session:
        assert set(session.scalars(select(RunEventModel.run_id))) == {"one-more"}


ODD = ("ab'c", 'ab"c', "ab\\c", "{a,b}", "a%b", "a b", "nul\u0131", "\u540d\u524d")


def test_runs_of_any_name_are_removed_and_each_is_told_in_the_audit(shelf: Shelf) -> None:
    for name in (*ODD, "stays"):
        work(shelf, "adding", name)
    found = [run for run in retention(shelf).find().runs if run.run_id != "stays"]

    retention(shelf).remove(*found)

    with shelf.database.reading() as session:
        assert session.scalars(select(RunModel.run_id)).all() == ["stays"]
        told = newest_decisions(session, shelf.project_id, PRUNED, 99)
    assert {decision.subject for decision in told} == {run.run_id for run in found} == {*ODD}
    assert len({decision.id for decision in told}) == len(ODD)
    assert {decision.what for decision in told} == {
        "the run is removed from the ledger, with 0 runs within it"
    }


def test_of_what_is_removed_the_audit_says_how_much_was_within_it(shelf: Shelf) -> None:
    work(shelf, "guarded", "one")
    work(shelf, "adding", "two")

    retention(shelf).remove(*retention(shelf).find().runs)

    with shelf.database.reading() as session:
        told = newest_decisions(session, shelf.project_id, PRUNED, 99)
    assert {(decision.subject, decision.what.split(", ")[1]) for decision in told} == {
        ("one", "with 1 runs within it"),
        ("two", "with 0 runs within it"),
    }
    assert {decision.reason for decision in told} == {"it ended more than 3600 s before"}


def test_much_is_removed_little_by_little(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removing, "MAX_ROWS", 3)
    work(shelf, "guarded", "one")
    count = sum(counts(shelf).values())

    assert retention(shelf).remove(ONE) == count > 3
    assert set(counts(shelf).values()) == {0}


def test_what_a_killed_process_left_of_a_run_is_found_again(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    work(shelf, "guarded", "one")
    with monkeypatch.context() as killed:
        killed.setattr(removing, "MAX_ROWS", 5)
        retention(shelf)._remove_some(ONE)

    (left,) = retention(shelf).find().runs
    retention(shelf).remove(left)

    assert set(counts(shelf).values()) == {0}


def test_a_run_that_was_let_go_on_meanwhile_stays(shelf: Shelf) -> None:
    work(shelf, "failing", "one")
    before = counts(shelf)
    (found,) = retention(shelf).find().runs
    with shelf.database.writing() as session:
        session.execute(update(RunModel).values(finished_at=None))

    assert retention(shelf).remove(found) == 0
    assert counts(shelf) == before


def test_the_command_tells_what_it_removed_and_what_has_to_stay(office: Office) -> None:
    office.floor.submit("adding", 1, "one")
    office.floor.work()
    with office.database.writing() as session:
        session.execute(update(RunModel).values(finished_at=RunModel.finished_at - 2 * HOUR_S))

    assert "1 stay" in office("runs", "prune", "--older-than", "1h")
    assert office.json("runs", "prune", "--older-than", "1h", "--unpublished", "--dry-run")["runs"] == 1
    assert office("runs", "prune", "--older-than", "1h", "--unpublished").startswith("1 runs removed")
    assert office.json("runs", "list") == []
