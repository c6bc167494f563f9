"""``agentic metrics``, as Prometheus sees it."""

from __future__ import annotations

import signal
import socket
import urllib.request
from typing import TYPE_CHECKING

import pytest

from agentic.core.services import free_port
from agentic.executors.commands.servers.metrics import MetricsError, metrics
from agentic.mappers import create_execution

if TYPE_CHECKING:
    from tests.integration.executors.conftest import Place

pytestmark = pytest.mark.integration

WAITING = 'agentic_executions{platform="toy",project="default",state="queued"} 1.0'


@pytest.fixture
def waiting(place: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A place with an execution that waits; this process works there."""
    for name in ("AGENTIC_HOME", "AGENTIC_BROKER_URL"):
        monkeypatch.setenv(name, place.env[name])
    agent = place.agent()
    with place.database.writing() as session:
        create_execution(session, agent)
    return place


def test_they_are_served_until_the_command_is_told_to_stop(waiting: Place) -> None:
    port = free_port()
    exporter = waiting.start_command("metrics", "--port", str(port))
    waiting.eventually(lambda: "/metrics" in waiting.log_of(exporter))

    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain")
        assert WAITING in answer.read().decode()
    exporter.send_signal(signal.SIGTERM)

    assert exporter.wait(10) == 0


def test_they_can_be_printed_once(waiting: Place, capsys: pytest.CaptureFixture[str]) -> None:
    metrics(once=True)

    assert WAITING in capsys.readouterr().out


@pytest.mark.usefixtures("waiting")
def test_a_port_that_is_taken_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(MetricsError, match="--port"):
        metrics(port=taken.getsockname()[1])
