"""Messages to workers, over Celery's broker in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from celery import Celery
from kombu import Connection

from agentic.core.settings import load_settings
from agentic.executors.celery import make_app
from agentic.executors.errors import BrokerUnavailableError
from agentic.executors.workers.dispatch import CeleryDispatcher
from agentic.mappers import ExecutionModel, ExecutionStatus

if TYPE_CHECKING:
    from pathlib import Path

    from kombu.message import Message
    from tests.unit.executors.conftest import Lab


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Celery]:
    monkeypatch.chdir(tmp_path)
    with make_app(load_settings(home=tmp_path, broker_url="memory://")) as made:
        yield made
        made.control.purge()


def received(app: Celery, queue: str = "agentic.default") -> Message:
    """Take the oldest message of a queue."""
    connection: Connection
    with app.connection_for_read() as connection, connection.SimpleQueue(queue) as messages:
        return messages.get(block=False)


def test_a_message_holds_ids_only_and_reads_well(lab: Lab, app: Celery) -> None:
    agent = lab.agent("top", goals="private goals", config={"limit": 7})

    execution = CeleryDispatcher(app).submit(lab.database, agent)

    message = received(app)
    assert message.payload[:2] == [[execution.id, agent.id], {}]
    assert message.headers["task"] == "agentic.run_agent"
    assert message.headers["shadow"] == "agentic.toy.top"
    assert message.headers["argsrepr"] == f"execution={execution.id} agent={agent.id}"
    assert "private" not in f"{message.headers} {message.body}"
    assert lab.stored(execution.id).status is ExecutionStatus.QUEUED


def test_each_try_of_an_execution_has_its_own_task_id(lab: Lab, app: Celery) -> None:
    agent = lab.agent()
    execution = CeleryDispatcher(app).submit(lab.database, agent)
    execution.attempts = 1

    CeleryDispatcher(app).dispatch(execution, agent)

    assert received(app).headers["id"] == f"{execution.id}.1"
    assert received(app).headers["id"] == f"{execution.id}.2"


def test_a_platform_can_have_a_queue_of_its_own(lab: Lab, app: Celery) -> None:
    app.conf.task_routes = {"agentic.run_agent.toy": {"queue": "agentic.browser"}}

    execution = CeleryDispatcher(app).submit(lab.database, lab.agent())

    assert received(app, "agentic.browser").payload[0][0] == execution.id


def all_executions(lab: Lab) -> list[ExecutionModel]:
    with lab.database.reading() as session:
        return session.query(ExecutionModel).all()


def test_nothing_is_written_while_the_broker_is_down(lab: Lab, tmp_path: Path) -> None:
    app = make_app(load_settings(home=tmp_path, broker_url="redis://user:s3cret@127.0.0.1:1/0"))

    with pytest.raises(BrokerUnavailableError) as caught:
        CeleryDispatcher(app).submit(lab.database, lab.agent())

    assert "redis://127.0.0.1:1/0" in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert all_executions(lab) == []


def test_an_execution_that_could_not_be_sent_is_kept_as_failed_with_the_reason(lab: Lab, app: Celery) -> None:
    def lose(*_: object, **__: object) -> None:
        raise ConnectionResetError("the broker went away")

    app.conf.task_routes = (lose,)

    with pytest.raises(BrokerUnavailableError):
        CeleryDispatcher(app).submit(lab.database, lab.agent())

    [execution] = all_executions(lab)
    assert execution.status is ExecutionStatus.FAILED
    assert "the broker went away" in str(execution.error)
