"""``agentic audit``: who decided what in runs, and about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import update

from agentic.core.ledger import UnknownRunError
from agentic.executors.commands.shared.options import OptionError
from agentic.mappers import UnknownProjectError
from agentic.mappers.tables.ledger import RunModel

if TYPE_CHECKING:
    from tests.integration.executors.durable.conftest import Office

pytestmark = [
    pytest.mark.integration,
    pytest.mark.requirement("NA21"),
    pytest.mark.requirement("LG15"),
]


@pytest.fixture(autouse=True)
def user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTIC_USER", "anna")


def told(office: Office, *options: str) -> list[tuple[str, str, str, str]]:
    """Return kind, who, what and why of decisions, those of the project itself left out."""
    rows: list[dict[str, Any]] = office.json("audit", *options)
    found = [(row["kind"], row["who"], row["what"], row["reason"]) for row in rows]
    return [row for row in found if row[0] != "project.created"]


@pytest.mark.requirement("OR09")
def test_a_run_tells_which_way_it_went_and_why(office: Office) -> None:
    office.floor.submit("choosing", 5, "one")
    office.floor.work()

    assert told(office, "--run", "one") == [
        ("route.taken", "engine", "look to try", "is_positive holds"),
        (
            "attempt.retried",
            "engine",
            "try is retried after attempt 1",
            "OSError: no route to http://host/5",
        ),
        (
            "executor.given_up",
            "engine",
            "try failed for good after attempt 2, the run continues without it",
            "OSError: no route to http://host/5",
        ),
        ("route.taken", "engine", "try to mend", "its source failed"),
    ]
    assert "geheim" not in office("audit")


def test_what_people_ask_of_a_run_is_told_with_their_name_and_reason(office: Office) -> None:
    office.floor.submit("asking", "hello", "one")
    office.floor.work()
    office("runs", "pause", "one")
    office("runs", "resume", "one")
    office("runs", "cancel", "one", "--reason", "too dear")
    office("runs", "retry", "one")

    found = told(office, "--run", "one", "--who", "anna")

    assert found == [
        ("run.paused", "anna", "nothing more of it starts", ""),
        ("run.unpaused", "anna", "the run continues", ""),
        ("cancel.requested", "anna", "the run is to end", "too dear"),
        ("retry.requested", "anna", "the run is to continue where it stopped", ""),
    ]
    ends = told(office, "--run", "one", "--kind", "run.cancelled", "--kind", "run.resumed")
    # Its child run ends with it.
    assert [row[0] for row in ends][:3] == ["run.cancelled", "run.cancelled", "run.resumed"]


def test_who_refuses_to_cancel_a_run_that_has_ended_leaves_no_row(office: Office) -> None:
    office.floor.submit("adding", 1, "one")
    office.floor.work()
    office.fails("runs", "cancel", "one")
    office.fails("runs", "pause", "one")
    assert told(office) == []


@pytest.mark.parametrize(("given", "author"), [(("--by", "bob"), "bob"), ((), "anna")])
def test_an_answer_is_told_with_its_author_and_not_with_what_it_says(
    office: Office, given: tuple[str, ...], author: str
) -> None:
    office.floor.submit("asking", "hello", "one")
    office.floor.work()
    office("requests", "answer", "one", "talk.0.0/ask.0.0.1", '"geheim"', *given)

    (answered,) = told(office, "--kind", "request.answered")

    assert answered[1:3] == (author, "one:talk.0.0/ask.0.0.1 is answered")
    assert told(office, "--kind", "request.raised")[0][1] == "engine"
    assert "geheim" not in office("audit", "--json")


def test_what_follows_a_crash_is_told_with_who_decides_about_it(office: Office) -> None:
    office.floor.submit("adding", 1, "one")
    office.floor.crash()
    office.floor.work()
    office.floor.submit("guarded", 1, "two")
    office.floor.work(1)
    office.floor.crash()
    office("runs", "retry", "two")

    again, review, retried = told(office)

    assert again == (
        "attempt.retried",
        "engine",
        "first runs again, on another worker",
        "its worker host/1 died",
    )
    assert review[:2] == ("review.requested", "engine")
    assert retried[:3] == ("retry.requested", "anna", "1 activations in review run again")


def test_a_worker_that_cannot_go_on_with_a_run_says_why_once(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.floor.submit("adding", 1, "one")
    monkeypatch.delattr("tests.integration.executors.durable.steered.adding")
    office.floor.work(1)

    ((kind, who, what, reason),) = told(office)

    assert (kind, what) == ("run.refused", "first is left to another worker")
    assert who.startswith("worker ")
    assert "adding" in reason


def test_decisions_outlive_the_runs_they_were_made_in(office: Office) -> None:
    office.floor.submit("choosing", 5, "one")
    office.floor.work()
    before = told(office, "--run", "one")
    with office.database.writing() as session:
        session.execute(update(RunModel).values(finished_at=RunModel.finished_at - 7200))

    office("runs", "prune", "--older-than", "1h", "--unpublished")

    *kept, pruned = told(office, "--run", "one")
    assert kept == before
    assert pruned == (
        "run.pruned",
        "anna",
        "the run is removed from the ledger, with 0 runs within it",
        "it ended more than 3600 s before",
    )
    assert told(office, "--run", "on") == told(office)


def test_the_newest_are_shown_last_and_no_more_than_wanted(office: Office) -> None:
    for number in range(3):
        office.floor.submit("choosing", 5, f"run-{number}")
        office.floor.work()
    every = office.json("audit")
    assert [row["time"] for row in every] == sorted(row["time"] for row in every)
    assert office.json("audit", "--limit", "5") == every[-5:]
    assert office.json("audit", "--since", "1h") == every
    assert office.json("audit", "--since", "2020-05-01T12:00") == every
    assert office.json("audit", "--since", "2999-05-01T12:00:00+02:00") == []
    assert {row["subject"] for row in office.json("audit", "--kind", "route.taken")} == {
        "run-0",
        "run-1",
        "run-2",
    }


def test_the_table_has_time_kind_subject_author_and_decision(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentic.core.cli.output.console.width", 200)
    office.floor.submit("choosing", 5, "one")
    office.floor.work()
    first, heads, *_ = [line.strip() for line in office("audit").splitlines() if line.strip()]
    assert first == "Decisions in default"
    assert heads.split() == ["time", "kind", "subject", "who", "decision"]
    assert "look to try (is_positive holds)" in office("audit")


def test_new_decisions_are_followed_each_shown_once(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    office.floor.submit("asking", "hello", "one")
    office.floor.work()
    office("runs", "pause", "one")
    meanwhile = iter([lambda: office("runs", "resume", "one"), lambda: None, _interrupt])
    monkeypatch.setattr("agentic.executors.commands.audit.time.sleep", lambda _: next(meanwhile)())

    lines = office("audit", "--who", "anna", "--run", "one", "--follow").splitlines()

    assert [line.split("  ")[1] for line in lines] == ["run.paused", "run.unpaused"]


def _interrupt() -> None:
    raise KeyboardInterrupt


def test_runs_that_are_inside_others_are_told_with_them(office: Office) -> None:
    office.floor.submit("asking", "hello", "one")
    office.floor.work()
    office.floor.submit("asking", "hello", "one-more")
    office.floor.work()
    subjects = {row["subject"] for row in office.json("audit", "--run", "one")}
    assert all(subject.partition("/")[0] == "one" for subject in subjects)
    assert subjects


def test_what_is_not_there_is_said_with_what_there_is(office: Office) -> None:
    assert isinstance(office.fails("audit", "--run", "nine"), UnknownRunError)
    error = office.fails("audit", "--project", "nine")
    assert isinstance(error, UnknownProjectError)
    assert "default" in str(error)
    assert isinstance(office.fails("audit", "--since", "yesterday"), OptionError)
    refused = office.run("audit", "--kind", "run.flown")
    assert refused.exit_code == 2
    assert "route.taken" in refused.output
