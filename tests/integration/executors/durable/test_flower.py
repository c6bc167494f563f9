"""Runs as Flower shows them: a real worker, a real Flower."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest
from celery.events.state import State

from agentic.core import RunStatus
from agentic.core.ledger import ActivationId, Dispatchable
from agentic.core.services import ServiceSupervisor
from agentic.core.settings import load_settings
from agentic.core.types import ExecutorId, RunId
from agentic.executors import RunClient
from agentic.executors.durable.publish.messages import MessageDispatcher, label_of
from agentic.executors.workers.services import flower_service, worker_service

if TYPE_CHECKING:
    from tests.integration.executors.conftest import Place
from tests.pace import slowed
from tests.pages import read_page

pytestmark = pytest.mark.integration

MODULE = "tests.integration.executors.durable.flows"
SECRET = "what is asked is nobody's business"
STATES = {
    "agent": "FAILURE",
    "failing": "FAILURE",
    "flaky": "SUCCESS",  # a try failed, and another one followed
    "dying": "SUCCESS",  # its process was killed, and another one went on
    "asking": "SUCCESS",  # it waits for an answer
}
"""How the last task of each run ends."""


@pytest.mark.parametrize(
    ("workflow", "label"),
    [
        ("prices", "prices"),
        ("shop.flows:prices", "prices"),
        ("shop.flows:prices#fetch#page", "prices#fetch#page"),
        ("agent:web:4c74ce3f", "web"),
    ],
)
def test_a_task_is_called_as_people_call_its_workflow(workflow: str, label: str) -> None:
    assert label_of(workflow) == label


def test_a_task_heard_of_as_sent_after_its_end_keeps_its_name(place: Place) -> None:
    activation = Dispatchable(
        id=ActivationId(RunId("r"), 0, ExecutorId("fetch"), 0),
        queue="agentic.default",
        priority=0,
        workflow="prices",
        fence=1,
        not_before=0,
    )
    sent = sent_event_of(place, activation)

    task, _ = State().get_or_create_task(sent["uuid"])
    task.event("received", 1.0, 1.0, {"name": "agentic.prices.fetch"})
    task.event("succeeded", 2.0, 2.0, {"result": "None"})
    task.event("sent", sent["timestamp"], 3.0, sent)

    assert (task.state, task.name) == ("SUCCESS", "agentic.prices.fetch")


@pytest.mark.requirement("BR09")
async def test_tasks_have_names_and_ids_and_only_what_needs_a_person_is_red(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place.path)
    for name, value in {**place.env, "AGENTIC_DISPATCHER": "celery"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AGENTIC_LEASE_S", f"{slowed(2):g}")
    monkeypatch.setenv("AGENTIC_SWEEP_S", "0.5")
    home = place.path / "home"
    async with ServiceSupervisor(
        home, [worker_service(home, concurrency=1), flower_service(home)]
    ) as supervisor:
        url = supervisor.urls["flower"]
        assert refused(url) == {"no password": 401, "another's name": 403}
        # It listens to events once it has heard of the worker.
        await asyncio.to_thread(place.eventually, lambda: "worker_online{" in read(f"{url}/metrics"))
        runs, shown = await asyncio.to_thread(ended_in_flower, place, url)
        red = await asyncio.to_thread(red_in_flower, url, runs)

    assert states(shown) == STATES
    assert red == {"agent", "failing"}
    assert shown["agent"]["name"] == "agentic.toy.shown"
    assert shown["agent"]["args"].startswith(f"execution={runs['agent']} agent=")
    assert shown["agent"]["exception"] == "ExecutionFailedError('RuntimeError: quota used up')"
    assert shown["failing"]["name"] == "agentic.failing.before"
    assert shown["failing"]["args"] == f"run={runs['failing']} step=0 node=before shard=0"
    assert shown["failing"]["exception"] == f"RunFailedError('run {runs['failing']} failed: not mended')"
    assert {task["kwargs"] for task in shown.values()} == {"{}"}
    assert SECRET not in str(shown)


def sent_event_of(place: Place, activation: Dispatchable) -> dict[str, Any]:
    """Return what is told of an activation when its message is sent."""
    heard: list[dict[str, Any]] = []
    dispatcher = MessageDispatcher(place.app, "project")
    with (
        place.app.connection_for_read() as connection,
        place.app.events.Receiver(connection, {"task-sent": heard.append}).consumer_context() as (own, *_),
    ):

        def is_heard() -> bool:
            # Sent again, as events are lost to who does not listen yet.
            dispatcher.send([activation])
            with contextlib.suppress(TimeoutError):
                own.drain_events(timeout=0.2)
            return bool(heard)

        place.eventually(is_heard)
    dispatcher.close()
    return heard[0]


def ended_in_flower(place: Place, url: str) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
    """Have runs worked on until Flower shows their ends: what is sent in its first seconds it may miss.

    Returns:
        Their ids, and the last task of each.
    """
    agent = place.agent(name="shown", fail="quota used up")
    shown: dict[str, dict[str, Any]] = {}
    for _ in range(3):
        runs = {"agent": place.ended(place.submit(agent).id).id, **worked_on()}
        deadline = time.monotonic() + 8
        while time.monotonic() < deadline:
            shown = tasks_in_flower(url, runs)
            if states(shown) == STATES:
                return runs, shown
            time.sleep(0.1)
    raise AssertionError(f"Flower does not show the end of each run: {states(shown)}")


def states(shown: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the state of each task."""
    return {name: task["state"] for name, task in shown.items()}


def worked_on() -> dict[str, str]:
    """Have runs worked on, one after the other, as a message may call to another run; return their ids."""
    found: dict[str, str] = {}
    with RunClient(load_settings()) as client:
        for name, message in (("dying", 1), ("failing", 1), ("flaky", 1), ("asking", SECRET)):
            handle = client.submit(f"{MODULE}:{name}", message)
            assert handle.result(30).status is not RunStatus.RUNNING
            found[name] = handle.run_id
    return found


def red_in_flower(url: str, runs: Mapping[str, str]) -> set[str]:
    """Return the runs of which Flower shows a task as failed."""
    tasks = [task for task in json.loads(read(f"{url}/api/tasks")).values() if task["state"] == "FAILURE"]
    return {name for name, run_id in runs.items() for task in tasks if run_id in (task["args"] or "")}


def tasks_in_flower(url: str, runs: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return the last task of each run that Flower knows of."""
    tasks = json.loads(read(f"{url}/api/tasks") or "{}").values()
    in_order = sorted(tasks, key=lambda task: task["received"] or 0)
    return {
        name: task for task in in_order for name, run_id in runs.items() if run_id in (task["args"] or "")
    }


def refused(url: str) -> dict[str, int]:
    """Return the answers to requests that are not the owner's."""
    login, _, address = url.removeprefix("http://").partition("@")
    password = {"Authorization": f"Basic {base64.b64encode(login.encode()).decode()}"}
    return {
        "no password": status_of(f"http://{address}/metrics", {}),
        "another's name": status_of(
            f"http://{address}/workers", {**password, "Host": f"evil.example:{address[-5:]}"}
        ),
    }


def status_of(url: str, headers: Mapping[str, str]) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=dict(headers)), timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as exc:
        return exc.code


def read(url: str) -> str:
    """Return a page, nothing while it cannot be had."""
    try:
        return read_page(url)
    except OSError:
        return ""
