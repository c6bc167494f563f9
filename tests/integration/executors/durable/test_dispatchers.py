"""Durable runs in this process, and on Celery workers: the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.integration.executors.durable import flows

from agentic.core import RunStatus, Workflow, WorkflowEvent
from agentic.core.settings import load_settings
from agentic.executors import RunClient
from agentic.executors.durable.runs.service import Submission

if TYPE_CHECKING:
    from tests.integration.executors.conftest import Place

pytestmark = pytest.mark.integration

MODULE = "tests.integration.executors.durable.flows"

BACKLOG = 60
"""Runs that are submitted at once: many more than are worked on at a time."""


@pytest.fixture(scope="module", params=["local", "celery"])
def client(
    request: pytest.FixtureRequest, busy_place: Place, monkeypatch_module: pytest.MonkeyPatch
) -> Iterator[RunClient]:
    """A client of either kind; what its runs leave in files is in the folder of the place."""
    monkeypatch_module.chdir(busy_place.path)
    with opened(busy_place, request.param) as made:
        yield made


def opened(place: Place, dispatcher: str) -> RunClient:
    """Return a client of a place; a context manager."""
    settings = load_settings(
        home=place.path / "home",
        broker_url=place.broker_url,
        dispatcher=dispatcher,
        workflow_modules=("tests",),
    )
    return RunClient(settings)


def log(events: Sequence[WorkflowEvent], run_id: str) -> list[object]:
    """Return the events of a run, but for its name, times and worker."""
    kept = [event.to_dict() for event in events if event.run_id == run_id]
    return [{**event, "id": 0, "run_id": 0, "time": 0, "duration_s": 0} for event in kept]


@pytest.mark.requirement("BR05")
@pytest.mark.parametrize(
    ("name", "workflow", "message"),
    [("count", flows.count(), 0), ("wide", flows.wide(), 1), ("nested", flows.nested(), 3)],
)
async def test_a_run_comes_to_the_result_and_the_log_of_a_run_in_one_process(
    client: RunClient, name: str, workflow: Workflow, message: int
) -> None:
    alone = await workflow.run(message)
    result = client.submit(f"{MODULE}:{name}", message).result(30)
    assert (result.status, result.outputs) == (RunStatus.COMPLETED, alone.outputs)
    assert log(result.events, result.run_id) == log(alone.events, alone.run_id)


def test_a_run_waits_for_an_answer_and_goes_on_with_it(client: RunClient) -> None:
    handle = client.submit(f"{MODULE}:asking", "hello")
    waiting = handle.result(30)
    assert waiting.status is RunStatus.WAITING_INPUT
    handle.answer({waiting.pending_requests[0].id: "world"}, answered_by="ada")
    assert handle.result(30).outputs == ("hello world",)


def test_a_failed_try_is_followed_by_another_one_after_its_delay(client: RunClient) -> None:
    assert client.submit(f"{MODULE}:flaky", 1).result(30).outputs == (3,)


def test_a_key_is_good_for_one_run(client: RunClient, request: pytest.FixtureRequest) -> None:
    how = Submission(idempotency_key=f"once-{request.node.name}")
    first = client.submit(f"{MODULE}:count", 0, how)
    second = client.submit(f"{MODULE}:count", 5, how)
    assert first.run_id == second.run_id
    assert second.result(30).outputs == (20,)


def test_a_failed_run_says_why_and_goes_on_where_it_stood(client: RunClient, busy_place: Place) -> None:
    for name in ("before.txt", "mended"):
        (busy_place.path / name).unlink(missing_ok=True)
    handle = client.submit(f"{MODULE}:failing", 7)
    failed = handle.result(30)
    assert (failed.status, str(failed.error)) == (RunStatus.FAILED, "not mended")
    (busy_place.path / "mended").touch()
    handle.resume()
    assert handle.result(30).outputs == (7,)
    assert (busy_place.path / "before.txt").read_text() == "x"


def test_a_run_that_is_cancelled_at_work_ends_within_seconds(client: RunClient, busy_place: Place) -> None:
    Path(busy_place.path / "gate").unlink(missing_ok=True)
    for old in busy_place.path.glob("at-work-*"):
        old.unlink()
    handle = client.submit(f"{MODULE}:waiting", 1)
    busy_place.eventually(lambda: list(busy_place.path.glob("at-work-*")))
    assert handle.cancel("enough")
    assert handle.result(10).status is RunStatus.CANCELLED
    assert not handle.cancel("again")


def test_runs_of_a_backlog_end_in_the_order_they_began(
    busy_place: Place, monkeypatch_module: pytest.MonkeyPatch
) -> None:
    monkeypatch_module.chdir(busy_place.path)
    with opened(busy_place, "celery") as workers:
        handles = [workers.submit(f"{MODULE}:in_line", number) for number in range(BACKLOG)]
        assert {handle.result(60).status for handle in handles} == {RunStatus.COMPLETED}
    done = Path("in-line.txt").read_text().split()
    ends = sorted({run: number for number, run in enumerate(done, 1)}.values())
    assert (len(ends), len(done)) == (BACKLOG, 3 * BACKLOG)
    assert ends[0] <= 0.10 * len(done)
    assert ends[BACKLOG // 2 - 1] <= 0.55 * len(done)
