"""``agentic runs watch`` and ``agentic executions watch``, against a real database."""

from __future__ import annotations

import io
import json
import threading
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from agentic.core import RunStatus
from agentic.core.ledger import UnknownRunError
from agentic.executors.commands.executions import command
from agentic.executors.commands.runs import watching
from agentic.mappers import add_agent, create_execution, find_project

if TYPE_CHECKING:
    from tests.integration.executors.durable.conftest import Office

pytestmark = pytest.mark.integration


def working_meanwhile(office: Office) -> threading.Thread:
    """Work off what there is, on a thread."""
    thread = threading.Thread(target=office.floor.work)
    thread.start()
    return thread


def test_it_ends_with_the_run_and_tells_what_happened(office: Office) -> None:
    office.floor.submit("adding", 1, "one")
    thread = working_meanwhile(office)

    lines = office("runs", "watch", "one", "--every", "0.1").splitlines()
    thread.join()

    kinds = [line.split()[4] for line in lines if " s0 " in line or " s1 " in line]
    assert kinds[0] == "run.started"
    assert kinds.count("executor.completed") == 2
    assert lines[-1].startswith("run one is completed; superstep 2; 2 done")


@pytest.mark.parametrize(("workflow", "exit_code"), [("adding", 0), ("failing", 1)])
def test_its_exit_code_is_the_outcome(office: Office, workflow: str, exit_code: int) -> None:
    office.floor.submit(workflow, 1, "one")
    office.floor.work()

    assert office.run("runs", "watch", "one").exit_code == exit_code


def test_a_cancelled_run_is_no_success(office: Office) -> None:
    office.floor.submit("adding", 1, "one")
    office("runs", "cancel", "one", "--reason", "too late")

    watched = office.run("runs", "watch", "one")

    assert watched.exit_code == 1
    assert "run one is cancelled" in watched.stdout


def test_for_scripts_each_line_is_an_object_and_no_event_comes_twice(office: Office) -> None:
    office.floor.submit("adding", 1, "one")
    thread = working_meanwhile(office)

    looks = [json.loads(line) for line in office("runs", "watch", "one", "--json").splitlines()]
    thread.join()

    told = [event["sequence"] for look in looks for event in look["events"]]
    assert told == list(range(1, looks[-1]["event_count"] + 1))
    assert (looks[-1]["status"], looks[-1]["activations"]) == ("completed", {"done": 2})


def test_once_shows_who_is_at_work_and_how_long_that_holds(office: Office) -> None:
    office.floor.submit("adding", 1, "one")
    office.floor.claim(lease_s=60)

    (row,) = office.json("runs", "watch", "one", "--once")["open"]

    assert (row["executor"], row["status"], row["worker"]) == ("first", "running", "host/1")
    assert 0 < row["lease_s"] <= 60
    assert row["for_s"] >= 0
    shown = office("runs", "watch", "one", "--once")
    assert "1 running" in shown
    assert "host/1" in shown


def test_what_is_at_work_in_child_runs_is_seen_with_crashes_and_their_reason(office: Office) -> None:
    office.floor.submit("guarded", 1, "one")
    office.floor.work(1)
    office.floor.crash()

    look = office.json("runs", "show", "one")

    assert look["activations"] == {"review": 1, "waiting": 1}
    assert look["crashes"] == 1
    rows = {row["executor"]: row for row in look["open"]}
    assert rows.keys() == {"send", "send.0.0/post"}
    assert rows["send.0.0/post"]["note"] == "its worker host/1 died"


def test_what_a_run_asks_is_shown_with_where_to_answer(office: Office) -> None:
    office.floor.submit("asking", "hello", "one")
    office.floor.work()

    shown = office("runs", "show", "one")

    assert "waits for one:talk.0.0/ask.0.0.1" in shown
    assert "agentic requests list --run one" in shown


def test_why_a_run_failed_is_shown(office: Office) -> None:
    office.floor.submit("failing", 1, "one")
    office.floor.work()

    assert "1 is too few" in office("runs", "show", "one")


def test_in_a_terminal_one_frame_takes_the_place_of_the_other(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = io.StringIO()
    terminal = Console(file=screen, force_terminal=True, width=100, height=40, color_system=None)
    monkeypatch.setattr(watching, "console", terminal)
    office.floor.submit("adding", 1, "one")
    thread = working_meanwhile(office)

    office("runs", "watch", "one", "--every", "0.1")
    thread.join()

    frames = screen.getvalue().split("\x1b[2K")  # a line of the frame before is erased
    assert len(frames) > 1
    assert "completed" in frames[-1]
    assert "run.completed" in frames[-1]


def test_a_run_that_is_not_there_is_told(office: Office) -> None:
    assert isinstance(office.fails("runs", "watch", "nobody"), UnknownRunError)


def test_an_execution_that_waits_for_a_worker_is_watched_and_cancelled(office: Office) -> None:
    with office.database.writing() as session:
        agent = add_agent(session, find_project(session, "default"), "news", "hackernews")
        execution = create_execution(session, agent)

    office("executions", "cancel", execution.id[:12], "--reason", "not today")

    assert office.row(execution.id).status is RunStatus.CANCELLED
    (row,) = office.json("executions", "list")
    assert row["state"] == "cancelled"
    assert office.run("executions", "watch", execution.id).exit_code == 1


def test_an_execution_is_watched_before_a_worker_begins_it(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    with office.database.writing() as session:
        agent = add_agent(session, find_project(session, "default"), "news", "hackernews")
        execution = create_execution(session, agent)
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            office("executions", "cancel", execution.id, "--reason", "not today")

    monkeypatch.setattr(f"{command.__name__}.time.sleep", pause)
    watched = office.run("executions", "watch", execution.id, "--every", "0.1")

    assert pauses == [0.1, 0.1]
    assert watched.exit_code == 1
    assert "is cancelled" in watched.stdout
    assert watched.stderr == (
        f"execution {execution.id} waits for a worker; `agentic doctor` says whether one runs\n"
    )
