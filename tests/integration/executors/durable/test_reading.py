"""The ledger as people look at it, on each database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentic.core.graph import RunStatus
from agentic.core.ledger import ActivationStatus, LedgerError, RunRow, UnknownRunError
from agentic.core.types import RunId
from agentic.mappers.runs.reading import LedgerReader
from agentic.mappers.runs.requests import open_requests

if TYPE_CHECKING:
    from tests.integration.executors.durable.conftest import Shelf

pytestmark = pytest.mark.integration

ONE = RunId("one")


def test_runs_of_another_project_are_not_seen(shelf: Shelf) -> None:
    shelf.ours.submit("adding", 1, "one")
    shelf.theirs.submit("adding", 1, "two")
    with shelf.database.reading() as session:
        reader = LedgerReader(session, shelf.project_id)
        assert [run.run_id for run in reader.runs(status=None, workflow=None, limit=9)] == ["one"]
        with pytest.raises(UnknownRunError):
            reader.run("two")


def test_the_beginning_of_an_id_is_taken_literally(shelf: Shelf) -> None:
    for name in ("a_1", "ab1", "ab2"):
        shelf.ours.submit("adding", 1, name)
    with shelf.database.reading() as session:
        reader = LedgerReader(session, shelf.project_id)
        assert reader.run("a_").run_id == "a_1"
        with pytest.raises(LedgerError, match="several runs"):
            reader.run("ab")


def test_an_empty_id_names_no_run_though_there_is_only_one(shelf: Shelf) -> None:
    shelf.ours.submit("adding", 1, "one")
    with shelf.database.reading() as session, pytest.raises(LedgerError, match="the id is empty"):
        LedgerReader(session, shelf.project_id).run("")


def test_a_run_is_looked_at_with_the_child_runs_it_waits_for(shelf: Shelf) -> None:
    shelf.ours.submit("guarded", 1, "one")
    shelf.ours.work(1)
    shelf.ours.crash()
    with shelf.database.reading() as session:
        reader = LedgerReader(session, shelf.project_id)
        family = reader.family(ONE, 9)
        assert family == ["one", "one/send.0.0"]
        assert reader.counts(family) == {ActivationStatus.WAITING: 1, ActivationStatus.REVIEW: 1}
        assert reader.crash_count(family) == 1
        (row,) = reader.activations(family, [ActivationStatus.REVIEW], 9)
        assert (row.id.run_id, row.note) == ("one/send.0.0", "its worker host/1 died")


def test_events_are_read_from_where_a_reader_stands(shelf: Shelf) -> None:
    shelf.ours.submit("adding", 1, "one")
    shelf.ours.work()
    with shelf.database.reading() as session:
        reader = LedgerReader(session, shelf.project_id)
        count = reader.event_count(ONE)
        (last,) = reader.events(ONE, after=count - 1, limit=9)
        assert last.last == count
        assert not reader.events(ONE, after=count, limit=9)


def test_what_runs_ask_is_read_until_it_is_answered(shelf: Shelf) -> None:
    for floor in (shelf.ours, shelf.theirs):
        floor.submit("asking", "hello", "one")
        floor.work()
    with shelf.database.reading() as session:
        (asked,) = open_requests(session, project_id=shelf.project_id)
        assert (asked.id, asked.path) == ("one:talk.0.0/ask.0.0.1", "talk/ask")
        assert (asked.question, asked.response_type) == ({"who": "hello"}, "str")
        assert len(list(open_requests(session))) == 2
    shelf.ours.answer("one", {asked.id: "ada"})
    with shelf.database.reading() as session:
        assert not list(open_requests(session, project_id=shelf.project_id))


def test_pages_of_runs_give_each_run_once_the_newest_first(shelf: Shelf) -> None:
    for number in range(7):
        shelf.ours.submit("adding", 1, f"run-{number}")
    shelf.ours.work()
    with shelf.database.reading() as session:
        reader = LedgerReader(session, shelf.project_id)
        adding = reader.run("run-0").workflow
        for status, workflow in ((None, None), (RunStatus.COMPLETED, None), (None, adding)):
            whole = [run.run_id for run in reader.runs(status=status, workflow=workflow, limit=99)]
            paged: list[RunRow] = []
            while page := reader.runs(
                status=status, workflow=workflow, limit=2, after=paged[-1] if paged else None
            ):
                paged += page
            assert [run.run_id for run in paged] == whole
            assert len(whole) == 7


def test_pages_of_requests_begin_after_a_run(shelf: Shelf) -> None:
    for number in range(3):
        shelf.ours.submit("asking", "hello", f"run-{number}")
        shelf.ours.work()
    with shelf.database.reading() as session:
        asked = [request.run_id for request in open_requests(session, project_id=shelf.project_id)]
        last = LedgerReader(session, shelf.project_id).run(asked[0])
        after = [one.run_id for one in open_requests(session, project_id=shelf.project_id, after=last)]
    assert len(asked) == 3
    assert after == asked[1:]
