"""``agentic runs`` and ``agentic requests``, against a real database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text

from agentic.core import RunStatus
from agentic.core.graph.errors import AnswerError, RunEndedError
from agentic.core.ledger import ActivationStatus, LedgerError, UnknownRunError
from agentic.core.types import RunId
from agentic.executors.commands.runs.steering import Desk
from agentic.executors.commands.shared.options import OptionError
from agentic.executors.durable.runs import cutting_off
from agentic.executors.durable.runs.control import NothingToRetryError
from agentic.mappers import AgentModel, ExecutionModel, ExecutionStatus, create_execution, find_project

if TYPE_CHECKING:
    from tests.integration.executors.durable.conftest import Office

    from agentic.core.ledger import RunRow

pytestmark = pytest.mark.integration


class TestRequests:
    def test_what_a_run_asks_is_listed_with_what_an_answer_must_be(self, office: Office) -> None:
        run_id = office.floor.submit("asking", "hello", "one")
        office.floor.submit("asking", "hi", "two")
        office.floor.work()

        (asked,) = office.json("requests", "list", "--run", run_id)

        assert (asked["request"], asked["asked_by"]) == ("one:talk.0.0/ask.0.0.1", "talk/ask")
        assert (asked["question"], asked["answer"]) == ({"who": "hello"}, "str")
        assert len(office.json("requests", "list")) == 2

    @pytest.mark.parametrize("request_id", ["one:talk.0.0/ask.0.0.1", "talk.0.0/ask.0.0.1"])
    def test_a_run_goes_on_with_the_answer_it_is_given(self, office: Office, request_id: str) -> None:
        office.floor.submit("asking", "hello", "one")
        office.floor.work()

        assert "is running" in office("requests", "answer", "one", request_id, '"ada"', "--by", "bob")

        assert office.json("requests", "list") == []
        office.floor.work()
        assert office.row("one").status is RunStatus.COMPLETED

    def test_an_answer_that_is_no_json_is_refused_with_a_hint(self, office: Office) -> None:
        office.floor.submit("asking", "hello", "one")

        error = office.fails("requests", "answer", "one", "talk.0.0/ask.0.0.1", "ada")

        assert isinstance(error, OptionError)
        assert "quote a text" in str(error)

    def test_an_answer_of_another_type_is_refused_and_the_request_stays(self, office: Office) -> None:
        office.floor.submit("asking", "hello", "one")
        office.floor.work()

        error = office.fails("requests", "answer", "one", "talk.0.0/ask.0.0.1", "[5]")

        assert isinstance(error, AnswerError)
        assert len(office.json("requests", "list")) == 1

    def test_nothing_is_asked_by_a_run_that_was_cancelled(self, office: Office) -> None:
        office.floor.submit("asking", "hello", "one")
        office.floor.work()

        office("runs", "cancel", "one")

        assert office.json("requests", "list") == []


class TestRuns:
    def test_runs_are_listed_the_newest_first_without_their_child_runs(self, office: Office) -> None:
        office.floor.submit("asking", "hello", "one")
        office.floor.work()
        office.floor.submit("adding", 1, "two")

        rows = office.json("runs", "list")

        assert [(row["run_id"], row["state"]) for row in rows] == [
            ("two", "running"),
            ("one", "waiting_input"),
        ]

    @pytest.mark.parametrize(
        ("option", "value"),
        [("--status", "completed"), ("--workflow", "tests.integration.executors.durable.steered:adding")],
    )
    def test_runs_are_found_by_how_they_stand_and_by_their_workflow(
        self, office: Office, option: str, value: str
    ) -> None:
        office.floor.submit("adding", 1, "one")
        office.floor.work()
        office.floor.submit("asking", "hello", "two")

        assert [row["run_id"] for row in office.json("runs", "list", option, value)] == ["one"]

    def test_a_run_is_found_by_how_its_id_begins_if_no_other_one_does(self, office: Office) -> None:
        for name in ("price-1", "price-12", "100%"):
            office.floor.submit("adding", 1, name)

        assert office.json("runs", "show", "price-12")["run_id"] == "price-12"
        assert office.json("runs", "show", "price-1")["run_id"] == "price-1"
        assert office.json("runs", "show", "100")["run_id"] == "100%"
        assert isinstance(office.fails("runs", "show", "price"), LedgerError)
        assert isinstance(office.fails("runs", "show", "%"), UnknownRunError)

    def test_a_cancelled_run_is_over_and_says_why(self, office: Office) -> None:
        office.floor.submit("adding", 1, "one")

        assert "one is cancelled" in office("runs", "cancel", "one", "--reason", "too late")

        assert office.row("one").status is RunStatus.CANCELLED
        assert isinstance(office.fails("runs", "cancel", "one"), RunEndedError)
        assert office.floor.work() == 0

    def test_a_run_whose_handler_is_at_work_is_to_be_cancelled(self, office: Office) -> None:
        office.floor.submit("adding", 1, "one")
        office.floor.claim()

        assert "once its handlers stop" in office("runs", "cancel", "one")

        assert office.json("runs", "show", "one")["state"] == "running, to be cancelled"

    def test_a_run_is_cancelled_where_nobody_knows_its_workflow(
        self, office: Office, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        office.floor.submit("adding", 1, "one")
        monkeypatch.delenv("AGENTIC_WORKFLOW_MODULES")

        monkeypatch.setattr(cutting_off, "PATIENCE_S", 0.0)

        assert "one is cancelled" in office("runs", "cancel", "one")

        assert office.row("one").cancel_reason == "cancelled by hand"
        assert "run.cancelled" in office("runs", "show", "one")
        office("projects", "remove", "default", "--yes")

    def test_an_execution_ends_with_its_run_where_nobody_knows_its_workflow(
        self, office: Office, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with office.database.writing() as session:
            project = find_project(session, "default")
            agent = AgentModel(project_id=project.id, agent_name="news", agent_platform="gone")
            session.add(agent)
            session.flush()
            execution_id = create_execution(session, agent).id
        office.floor.submit("adding", 1, execution_id)
        monkeypatch.delenv("AGENTIC_WORKFLOW_MODULES")
        monkeypatch.setattr(cutting_off, "PATIENCE_S", 0.0)

        office("runs", "cancel", execution_id)

        with office.database.reading() as session:
            ended = session.get_one(ExecutionModel, execution_id)
            assert (ended.status, ended.error) == (ExecutionStatus.CANCELLED, "cancelled")

    def test_what_is_said_of_a_run_that_ended_meanwhile_is_how_it_ended(
        self, office: Office, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        looked = Desk.find

        def look_and_be_late(desk: Desk, name: str) -> RunRow:
            found = looked(desk, name)
            office.floor.work()
            return found

        monkeypatch.setattr(Desk, "find", look_and_be_late)
        for number, command in enumerate(("cancel", "pause", "resume", "retry")):
            office.floor.submit("adding", 1, f"run-{number}")
            assert f"run 'run-{number}' is completed" in str(office.fails("runs", command, f"run-{number}"))

    def test_a_note_is_whole_where_there_is_no_terminal(self, office: Office) -> None:
        office.floor.submit("adding", 1, "one")
        note = "workflow 'adding' does not exist: " + "it went away with an old release, " * 10
        with office.floor.store.transaction() as ledger:
            ledger.note(RunId("one"), note + "the end")

        assert note + "the end" in office("runs", "show", "one")
        assert office.json("runs", "list")[0]["note"].endswith("the end")

    def test_a_run_that_no_worker_goes_on_with_is_told_from_one_at_work(self, office: Office) -> None:
        for run_id in ("at-work", "unknown", "waiting", "new"):
            office.floor.submit("adding", 1, run_id)
        with office.floor.store.transaction() as ledger:
            (best,) = ledger.first_in_line("agentic.default")
            assert ledger.claim(best, "host/1", 60.0)
            ledger.note(RunId("unknown"), "workflow 'adding' does not exist")
        with office.database.writing() as session:
            session.execute(
                text("UPDATE activations SET not_before = not_before - 90 WHERE run_id = 'waiting'")
            )

        states = {run["run_id"]: run["state"] for run in office.json("runs", "list")}

        assert states == {
            "at-work": "running",
            "unknown": "running, no worker has its code",
            "waiting": "running, no worker for agentic.default",
            "new": "running",
        }

    def test_nothing_of_a_paused_run_begins_until_it_is_resumed(self, office: Office) -> None:
        office.floor.submit("adding", 1, "one")

        office("runs", "pause", "one")
        assert office.floor.work() == 0
        assert office.json("runs", "show", "one")["state"] == "running, paused"

        office("runs", "resume", "one")
        office.floor.work()
        assert office.row("one").status is RunStatus.COMPLETED
        assert isinstance(office.fails("runs", "resume", "one"), RunEndedError)

    def test_a_failed_run_goes_on_where_it_stood(self, office: Office) -> None:
        office.floor.submit("failing", 1, "one")
        office.floor.work()
        assert office.row("one").status is RunStatus.FAILED

        assert "run one continues" in office("runs", "retry", "one")

        assert office.row("one").status is RunStatus.RUNNING
        assert office.floor.work() == 1

    def test_what_waits_for_a_person_since_a_crash_is_run_again(self, office: Office) -> None:
        office.floor.submit("guarded", 1, "one")
        office.floor.work(1)
        office.floor.crash()
        assert ActivationStatus.REVIEW in {row.status for row in office.activations()}

        assert "1 activations of run one" in office("runs", "retry", "one")

        office.floor.work()
        assert office.row("one").status is RunStatus.COMPLETED

    def test_there_is_nothing_to_retry_in_a_run_that_goes_on_by_itself(self, office: Office) -> None:
        office.floor.submit("adding", 1, "one")

        assert isinstance(office.fails("runs", "retry", "one"), NothingToRetryError)

    def test_a_run_that_waits_for_an_answer_cannot_be_retried(self, office: Office) -> None:
        office.floor.submit("asking", "hello", "one")
        office.floor.work()

        assert isinstance(office.fails("runs", "retry", "one"), NothingToRetryError)
