"""``agentic serve`` and ``agentic mcp serve`` refuse unsafe or wrong options before they listen."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from tests.commands import invoke

from agentic.core.cli.main import build_app
from agentic.core.errors import AgenticError
from agentic.executors.serving.server import Listening

pytestmark = [pytest.mark.integration, pytest.mark.requirement("AG24")]

COMMANDS = {"serve": ["serve"], "mcp": ["mcp", "serve", "--http"]}
both = pytest.mark.parametrize("command", COMMANDS)


def refusal(command: str, *options: str) -> str:
    """Return the message of a refused start."""
    result = invoke(build_app(), [*COMMANDS[command], "--port", "0", *options])
    assert isinstance(result.exception, AgenticError), result.output
    return str(result.exception)


@both
def test_an_address_for_other_machines_needs_tls(home: Path, command: str) -> None:
    words = refusal(command, "--host", "0.0.0.0")
    assert "--tls-cert" in words
    assert "--behind-proxy" in words


@both
def test_options_that_cannot_be_used_are_named(home: Path, command: str) -> None:
    assert "is not an origin" in refusal(command, "--allow-origin", "chat.example.com")
    assert "is not an origin" in refusal(command, "--allow-origin", "https://chat.example.com/path")
    assert "nothing" in refusal(command, "--project", "nothing")
    assert "cannot listen" in refusal(command, "--host", "192.0.2.1", "--behind-proxy")
    assert "certificate" in refusal(command, "--tls-cert", "missing.pem")


@both
def test_a_port_that_is_taken_is_named(home: Path, command: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert f"127.0.0.1:{port}" in refusal(command, "--port", port)


@pytest.mark.parametrize(
    ("host", "is_loopback"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("0.0.0.0", False),
     ("192.168.1.5", False), ("::", False), ("localhost.evil.com", False)],
)  # fmt: skip
def test_only_loopback_needs_no_tls(host: str, is_loopback: bool) -> None:
    assert Listening(host=host).is_loopback is is_loopback
